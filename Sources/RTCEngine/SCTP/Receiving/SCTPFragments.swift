internal import RTCWire

/// Fragments that are not a whole message yet. Their order is that of the numbers they are given: TSNs for DATA, whose
/// fragments have consecutive ones (RFC 9260 §6.9), and fragment numbers for I-DATA (RFC 8260 §2.1).
struct SCTPFragments: Sendable {
    /// Fragments without a gap, already joined.
    private struct Run: Sendable {
        let first: UInt32
        /// The number behind the last fragment.
        var end: UInt32
        let hasFirst: Bool
        var hasLast: Bool
        let payloadProtocol: UInt32
        var bytes: [UInt8]
    }

    enum Insertion: Sendable {
        case stored
        /// A message is whole; it is here no longer.
        case complete([UInt8], payloadProtocol: UInt32)
        /// Its number is taken, or lies behind the last: nothing was stored.
        case contradictory
        /// The message would become larger than allowed.
        case tooLarge
        /// More pieces than we keep.
        case tooMany
    }

    /// In the order of their numbers.
    private var runs: [Run] = []

    /// What a run costs beyond its bytes, in the receive buffer.
    static let overhead = 128
    /// Twice the gaps that a window of `SCTPConfiguration.receiveBuffer` bytes may have.
    private static let maximumRuns = 4_096

    /// What is held, for the limit on it.
    private(set) var cost = 0
    var isEmpty: Bool { runs.isEmpty }

    mutating func insert(
        _ number: UInt32, _ header: SCTPDataHeader, _ payload: RawSpan, maximumSize: Int
    ) -> Insertion {
        let next = firstRun(after: number)
        if next > 0 {
            if SerialNumber.isNewer(runs[next - 1].end, than: number) { return .contradictory }
            if runs[next - 1].end == number, !runs[next - 1].hasLast, !header.isFirst {
                guard runs[next - 1].bytes.count + payload.byteCount <= maximumSize else { return .tooLarge }
                runs[next - 1].bytes.append(contentsOf: payload)
                runs[next - 1].end = number &+ 1
                runs[next - 1].hasLast = header.isLast
                cost += payload.byteCount
                return finish(around: next - 1, maximumSize: maximumSize)
            }
        }
        guard payload.byteCount <= maximumSize else { return .tooLarge }
        guard runs.count < Self.maximumRuns else { return .tooMany }
        let bytes = payload.withUnsafeBytes { [UInt8]($0) }
        runs.insert(
            Run(
                first: number, end: number &+ 1, hasFirst: header.isFirst, hasLast: header.isLast,
                payloadProtocol: header.payloadProtocol, bytes: bytes), at: next)
        cost += bytes.count + Self.overhead
        return finish(around: next, maximumSize: maximumSize)
    }

    /// Forgets what belongs to messages that begin at or before `number` (RFC 3758 §3.6).
    mutating func discard(upTo number: UInt32) {
        runs.removeAll { run in
            guard !SerialNumber.isNewer(run.first, than: number) else { return false }
            cost -= run.bytes.count + Self.overhead
            return true
        }
    }

    /// Takes the message out whose fragments include this run, if none is missing.
    private mutating func finish(around index: Int, maximumSize: Int) -> Insertion {
        var first = index
        while !runs[first].hasFirst {
            guard first > 0, runs[first - 1].end == runs[first].first, !runs[first - 1].hasLast else { return .stored }
            first -= 1
        }
        var last = index
        while !runs[last].hasLast {
            guard last + 1 < runs.count, runs[last + 1].first == runs[last].end, !runs[last + 1].hasFirst else {
                return .stored
            }
            last += 1
        }
        let size = runs[first...last].reduce(0) { $0 + $1.bytes.count }
        guard size <= maximumSize else { return .tooLarge }
        let payloadProtocol = runs[first].payloadProtocol
        var message = runs[first].bytes
        if last > first {
            message.reserveCapacity(size)
            for run in runs[(first + 1)...last] { message.append(contentsOf: run.bytes) }
        }
        cost -= size + (last - first + 1) * Self.overhead
        runs.removeSubrange(first...last)
        return .complete(message, payloadProtocol: payloadProtocol)
    }

    /// The index of the first run whose numbers begin after this one. Most fragments come at the end.
    private func firstRun(after number: UInt32) -> Int {
        guard let last = runs.last, SerialNumber.isNewer(last.first, than: number) else { return runs.count }
        var low = 0
        var high = runs.count - 1
        while low < high {
            let middle = (low + high) / 2
            if SerialNumber.isNewer(runs[middle].first, than: number) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
