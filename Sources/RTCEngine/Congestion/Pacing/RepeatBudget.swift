/// How much may be sent again. What a full path loses it loses again: in half a second no more is repeated than it is
/// thought to carry in that time, as libwebrtc has it. What is refused the peer asks for once more, if it still wants
/// it.
struct RepeatBudget {
    private static let window = Interval.milliseconds(500)
    /// Bytes that may be repeated at once however little the path carries: the packets of a small picture.
    private static let least = 10 * 1_200.0
    /// Of a packet of pictures, before it is known which is asked for.
    private static let packetBytes = 1_200.0

    /// Bytes that were repeated and have not been carried since.
    private var debt = 0.0
    private var last = Instant.zero

    /// How many packets may be repeated now.
    mutating func packets(over rate: Bitrate, at now: Instant) -> Int {
        debt = max(debt - rate.bytes(in: min(max(now - last, .zero), Self.window)), 0)
        last = max(last, now)
        return Int(max(max(rate.bytes(in: Self.window), Self.least) - debt, 0) / Self.packetBytes)
    }

    mutating func repeated(_ bytes: Int) { debt += Double(bytes) }
}
