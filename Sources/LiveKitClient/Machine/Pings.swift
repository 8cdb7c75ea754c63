internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Signs of life on the signaling connection, as often as the server wants them.
struct Pings {
    /// In seconds, where a server does not say: the defaults of LiveKit's server.
    private static let usual = (interval: Int32(5), timeout: Int32(15))

    private(set) var interval = Interval.seconds(Int64(usual.interval))
    private(set) var timeout = Interval.seconds(Int64(usual.timeout))
    private(set) var lastHeard = Instant.zero
    private(set) var nextPing = Instant.zero
    /// How long the answer to the last answered ping took.
    var roundTrip = Interval.zero
    private(set) var isRunning = false

    init() {}

    /// - Parameters:
    ///   - interval: between pings, in seconds, as `join` says; 0 where it does not.
    ///   - timeout: how long the server may be silent, in seconds; 0 likewise.
    init(interval: Int32, timeout: Int32, at now: Instant) {
        self.interval = .seconds(Int64(interval > 0 ? interval : Self.usual.interval))
        self.timeout = .seconds(Int64(timeout > 0 ? timeout : Self.usual.timeout))
        restart(at: now)
    }

    mutating func restart(at now: Instant) {
        isRunning = true
        lastHeard = now
        nextPing = now + interval
    }

    mutating func heard(at now: Instant) { lastHeard = now }

    mutating func pinged(at now: Instant) { nextPing = now + interval }

    /// When `ping` is to be called: to send the next ping, or because the server is silent.
    func next(_ isSignalOpen: Bool) -> Instant? {
        isSignalOpen && isRunning ? min(nextPing, lastHeard + timeout) : nil
    }
}

extension RoomClientMachine {
    mutating func ping(at now: Instant) {
        guard let next = pings.next(isSignalOpen), next <= now else { return }
        // `lastHeard` is the time of the last message of any kind, not only of a pong.
        guard now - pings.lastHeard < pings.timeout else {
            return signalLost(.unreachable("it does not answer"), at: now)
        }
        pings.pinged(at: now)
        let time = now.nanoseconds / 1_000_000
        let trip = pings.roundTrip.nanoseconds / 1_000_000
        put(
            .send(
                .pingReq(
                    .with {
                        $0.timestamp = time
                        $0.rtt = trip
                    })))
        // Servers older than `ping_req` know only this form.
        put(.send(.ping(time)))
    }

    mutating func pongReceived(_ response: LiveKitSignalResponse.OneOf_Message, at now: Instant) {
        guard case .pongResp(let pong) = response else { return }
        // The number may be anything, so the arithmetic wraps. A result that is no round trip fails the check.
        let trip = Interval(nanoseconds: now.nanoseconds &- pong.lastPingTimestamp &* 1_000_000)
        if trip >= .zero, trip < pings.timeout { pings.roundTrip = trip }
    }
}
