internal import RTCEngine
internal import RTCWire

/// Nonces that the server need not keep (RFC 8489 §9.2): each holds the time at which it grows old and a code over that
/// and the client's address, so that it is of no use to anybody who has overheard it elsewhere.
struct Nonces: Sendable {
    private static let codeSize = 8
    private static let payloadSize = 4 + codeSize

    private let key: HMACSHA1
    private let lifetime: Interval
    private let prefix: [UInt8]

    init(lifetime: Interval, cookie: STUNNonceCookie, random: inout EngineRandom) {
        key = HMACSHA1(key: random.bytes(20))
        self.lifetime = lifetime
        let bits = (0..<3).map { UInt8(truncatingIfNeeded: cookie.rawValue >> UInt32(16 - 8 * $0)) }
        prefix = STUNNonceCookie.mark + Base64.characters(bits)
    }

    /// One for this client. Those of one second are the same: requests that follow each other get the same answer.
    func make(for client: TURNClientPath, at now: Instant) -> [UInt8] {
        make(for: client, until: Self.second(now + lifetime))
    }

    /// Whether this is one of ours, for this client, and still good.
    func accepts(_ nonce: [UInt8], from client: TURNClientPath, at now: Instant) -> Bool {
        let expected = Self.payloadSize / 3 * 4
        guard nonce.count == prefix.count + expected, let until = Self.time(in: nonce[prefix.count...]),
            // A second counter that wraps after a century: the difference decides.
            Int32(bitPattern: until &- Self.second(now)) > 0
        else { return false }
        let ours = make(for: client, until: until)
        return constantTimeEqual(ours.span.bytes, nonce.span.bytes)
    }

    private func make(for client: TURNClientPath, until: UInt32) -> [UInt8] {
        var payload: [UInt8] = []
        payload.append(uint32: until)
        var message = payload
        message.append(client.transport.rawValue)
        message.append(uint16: client.remote.port)
        switch client.remote.ip {
        case .v4(let value): message.append(uint32: value)
        case .v6(let high, let low):
            message.append(uint64: high)
            message.append(uint64: low)
        }
        payload += key.authenticate(message.span.bytes).prefix(Self.codeSize)
        return prefix + Base64.characters(payload)
    }

    private static func second(_ instant: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: instant.nanoseconds / 1_000_000_000)
    }

    /// The time is in the first six characters, of which 32 bits count.
    private static func time(in text: ArraySlice<UInt8>) -> UInt32? {
        var bits: UInt64 = 0
        for character in text.prefix(6) {
            guard let value = Base64.value(of: character) else { return nil }
            bits = bits << 6 | UInt64(value)
        }
        return UInt32(truncatingIfNeeded: bits >> 4)
    }
}
