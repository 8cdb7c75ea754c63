import RTCWire

/// Keys to send as telephone events (W3C: RTCDTMFSender).
public struct DialedKeys: Sendable, Hashable {
    /// W3C WebRTC §7.2 has these bounds.
    private static let duration = Interval.milliseconds(40)...Interval.milliseconds(6_000)
    private static let shortestGap = Interval.milliseconds(30)

    let steps: [ToneSender.Step]

    /// - Parameters:
    ///   - keys: digits, `*`, `#`, `A` to `D`; a comma waits two seconds.
    ///   - duration: of each; 40 ms to 6 s are used.
    ///   - gap: between two; at least 30 ms is used.
    /// - Returns: nil when there is another character, or more keys than can wait.
    public init?(
        _ keys: String, duration: Interval = .milliseconds(100), gap: Interval = .milliseconds(70)
    ) {
        let length = min(max(duration, Self.duration.lowerBound), Self.duration.upperBound)
        var steps: [ToneSender.Step] = []
        for key in keys {
            if key == "," {
                steps.append(.pause(.seconds(Int64(2))))
            } else {
                guard let code = TelephoneEvent.code(ofKey: key) else { return nil }
                steps.append(.tone(code: code, duration: length))
                steps.append(.pause(max(gap, Self.shortestGap)))
            }
        }
        guard steps.count <= ToneSender.maximumSteps else { return nil }
        self.steps = steps
    }
}

extension SendStream {
    /// Whether telephone events were negotiated.
    public var canDial: Bool { configuration.telephoneEventType != nil }

    /// Sends keys instead of sound, beginning now; what waited of an earlier call is dropped. False when telephone
    /// events were not negotiated.
    @discardableResult
    public mutating func dial(_ keys: DialedKeys, into queue: inout PacketQueue, at now: Instant) -> Bool {
        guard canDial else { return false }
        tones.replace(keys.steps, at: now)
        sendTones(into: &queue, at: now)
        return true
    }
}
