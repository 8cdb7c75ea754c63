/// Divides the connection's bitrate among its senders: first everybody's minimum, the most important ones first; then
/// what is left in proportion to their priorities, up to everybody's maximum.
enum BitrateAllocator {
    static func divide(_ available: Bitrate, among senders: [SenderBitrateLimits]) -> [Bitrate] {
        var shares = [Double](repeating: 0, count: senders.count)
        var left = available.value
        let order = senders.indices.sorted {
            (senders[$1].priority.weight, $0) < (senders[$0].priority.weight, $1)
        }
        for index in order {
            shares[index] = min(minimum(of: senders[index]), left)
            left -= shares[index]
        }
        // Each round fills at least one sender to its maximum, or gives everything away.
        var open = order.filter { shares[$0] < maximum(of: senders[$0]) }
        while left > 1, !open.isEmpty {
            let weights = open.reduce(0) { $0 + senders[$1].priority.weight }
            let portion = left / weights
            let full = open.filter {
                shares[$0] + portion * senders[$0].priority.weight >= maximum(of: senders[$0])
            }
            for index in full.isEmpty ? open : full {
                let share = min(
                    shares[index] + portion * senders[index].priority.weight, maximum(of: senders[index]))
                left -= share - shares[index]
                shares[index] = share
            }
            if full.isEmpty { break }
            open.removeAll { full.contains($0) }
        }
        return shares.map { Bitrate(bitsPerSecond: $0) }
    }

    /// What all of them could use; nil when one of them can use any rate.
    static func wanted(by senders: [SenderBitrateLimits]) -> Bitrate? {
        guard !senders.isEmpty else { return nil }
        var sum = Bitrate.zero
        for sender in senders {
            guard let maximum = sender.maximum else { return nil }
            sum = sum + maximum
        }
        return sum
    }

    private static func maximum(of sender: SenderBitrateLimits) -> Double {
        max(sender.maximum?.value ?? .greatestFiniteMagnitude, sender.minimum.value)
    }

    private static func minimum(of sender: SenderBitrateLimits) -> Double { sender.minimum.value }
}
