internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Signs of life on the signaling connection, as often as the server wants them.
struct Pings {
    /// LiveKit's own, where a server says nothing.
    private static let usual = (interval: Int32(5), timeout: Int32(15))

    private(set) var interval = Interval.seconds(Int64(usual.interval))
    private(set) var timeout = Interval.seconds(Int64(usual.timeout))
    private(set) var lastHeard = Instant.zero
    private(set) var nextPing = Instant.zero
    /// Of the last ping that was answered.
    var roundTrip = Interval.zero
    private(set) var isRunning = false

    init() {}

    /// - Parameters:
    ///   - interval: in seconds, as `join` has it; 0 for one that is not said.
    ///   - timeout: likewise.
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

    /// When something is to be done.
    func next(_ isSignalOpen: Bool) -> Instant? {
        isSignalOpen && isRunning ? min(nextPing, lastHeard + timeout) : nil
    }
}

extension RoomClientMachine {
    mutating func ping(at now: Instant) {
        guard let next = pings.next(isSignalOpen), next <= now else { return }
        // Any message is a sign of life.
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
        // Servers of before `ping_req` know this one.
        put(.send(.ping(time)))
    }

    mutating func pongReceived(_ response: LiveKitSignalResponse.OneOf_Message, at now: Instant) {
        guard case .pongResp(let pong) = response else { return }
        // Whatever number the server says: a time that is none does not pass the check.
        let trip = Interval(nanoseconds: now.nanoseconds &- pong.lastPingTimestamp &* 1_000_000)
        if trip >= .zero, trip < pings.timeout { pings.roundTrip = trip }
    }
}
