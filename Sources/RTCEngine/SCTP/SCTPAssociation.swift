/// One SCTP association (RFC 9260) as WebRTC data channels use it (RFC 8831): facts come in, what to do comes out, and
/// time is an argument. After each call, `pollOutput` until it gives nil, then ask `nextWake`.
public struct SCTPAssociation: Sendable {
    let configuration: SCTPConfiguration
    var random: EngineRandom
    /// RFC 9260 §4. Changes only through `move`.
    public private(set) var state = SCTPAssociationState.new
    var outputs = FIFO<SCTPOutput>()
    var now = Instant.zero
    var counters = SCTPStatistics()

    public init(configuration: SCTPConfiguration, random: EngineRandom) {
        self.configuration = configuration.withinReason
        self.random = random
    }

    /// Sends INIT. Both peers call it, when DTLS is connected (RFC 8841 §9.3); their handshakes become one.
    public mutating func start(at now: Instant) { self.now = now }

    /// A packet that came out of DTLS. One that is malformed or nobody's changes nothing.
    public mutating func receive(_ packet: RawSpan, at now: Instant) { self.now = now }

    /// Queues a message; before the association is established too.
    public mutating func send(_ message: SCTPMessage, at now: Instant) throws(SCTPSendError) {
        self.now = now
        throw .closed
    }

    /// Resets our outgoing side of these streams (RFC 6525) when what is queued on them has been sent.
    /// `outgoingStreamsReset` tells when it is done; until then `send` on them throws `streamClosing`.
    public mutating func resetStreams(_ streams: [UInt16], at now: Instant) { self.now = now }

    /// Bytes of user data that were queued and not yet handed to the network: W3C's `bufferedAmount`.
    public func bufferedAmount(of stream: UInt16) -> Int { 0 }

    /// RFC 9260 §9.2: sends what is queued, waits for its arrival, then ends the association.
    public mutating func shutdown(at now: Instant) { self.now = now }

    /// RFC 9260 §9.1: ends it at once.
    public mutating func abort(at now: Instant) { self.now = now }

    /// Call when `nextWake` has come.
    public mutating func tick(at now: Instant) { self.now = now }

    /// When `tick` is next wanted; nil when nothing is pending. To be asked after the outputs have been polled.
    public var nextWake: Instant? { nil }

    /// The next thing to do, oldest first; nil when there is none. Packets are made here, so that all that happened
    /// between two rounds of polling shares them.
    public mutating func pollOutput() -> SCTPOutput? { outputs.popFirst() }

    public var statistics: SCTPStatistics { counters }
}
