internal import RTCWire

/// Fragments that are not a whole message yet. Their order is that of the numbers they are given: TSNs for DATA, whose
/// fragments have consecutive ones (RFC 9260 §6.9), and fragment numbers for I-DATA (RFC 8260 §2.1).
struct SCTPFragments: Sendable {
    /// Fragments of one message without a gap. Runs that touch are one, so that a message is whole when its run is.
    private struct Run: Sendable {
        let first: UInt32
        /// The number behind the last fragment.
        var end: UInt32
        let stream: UInt16
        let hasFirst: Bool
        var hasLast: Bool
        let payloadProtocol: UInt32
        /// The bytes are these, and then `rest`: what is large is not moved when runs are joined.
        var bytes: [UInt8]
        var rest: [[UInt8]] = []
        var count: Int

        private static let small = 4_096

        /// The next fragment comes.
        mutating func append(_ payload: RawSpan, isLast: Bool) {
            if rest.isEmpty {
                bytes.append(contentsOf: payload)
            } else {
                rest[rest.count - 1].append(contentsOf: payload)
            }
            count += payload.byteCount
            end = end &+ 1
            hasLast = isLast
        }

        /// The run behind this one follows it without a gap.
        mutating func append(_ next: Run) {
            if next.bytes.count > Self.small {
                rest.append(next.bytes)
            } else if rest.isEmpty {
                bytes += next.bytes
            } else {
                rest[rest.count - 1] += next.bytes
            }
            rest += next.rest
            count += next.count
            end = next.end
            hasLast = next.hasLast
        }
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
    /// Twice the gaps that `SCTPReceivedTSNs` remembers.
    private static let maximumRuns = 4_096

    /// What is held, for the limit on it.
    private(set) var cost = 0
    var isEmpty: Bool { runs.isEmpty }
    var streams: Set<UInt16> { Set(runs.map(\.stream)) }

    mutating func insert(
        _ number: UInt32, _ header: SCTPDataHeader, _ payload: RawSpan, maximumSize: Int
    ) -> Insertion {
        let next = firstRun(after: number)
        if next > 0, SerialNumber.isNewer(runs[next - 1].end, than: number) { return .contradictory }
        let follows = next > 0 && !header.isFirst && isEnd(of: next - 1, number, header.stream)
        let leads = next < runs.count && !header.isLast && isBeginning(of: next, number &+ 1, header.stream)
        let size = payload.byteCount + (follows ? runs[next - 1].count : 0) + (leads ? runs[next].count : 0)
        guard size <= maximumSize else { return .tooLarge }
        guard follows || leads || runs.count < Self.maximumRuns else { return .tooMany }
        cost += payload.byteCount
        if follows {
            runs[next - 1].append(payload, isLast: header.isLast)
            if leads { join(next - 1) }
            return finish(next - 1)
        }
        let run = Run(
            first: number, end: number &+ 1, stream: header.stream, hasFirst: header.isFirst, hasLast: header.isLast,
            payloadProtocol: header.payloadProtocol, bytes: payload.withUnsafeBytes { [UInt8]($0) },
            count: payload.byteCount)
        cost += Self.overhead
        runs.insert(run, at: next)
        if leads { join(next) }
        return finish(next)
    }

    /// Whether this fragment continues a run.
    private func isEnd(of index: Int, _ number: UInt32, _ stream: UInt16) -> Bool {
        runs[index].end == number && !runs[index].hasLast && runs[index].stream == stream
    }

    /// Whether a run continues what ends before this number.
    private func isBeginning(of index: Int, _ number: UInt32, _ stream: UInt16) -> Bool {
        runs[index].first == number && !runs[index].hasFirst && runs[index].stream == stream
    }

    /// Makes one of a run and the one behind it.
    private mutating func join(_ index: Int) {
        let next = runs.remove(at: index + 1)
        runs[index].append(next)
        cost -= Self.overhead
    }

    /// Takes the message out if none of its fragments is missing.
    private mutating func finish(_ index: Int) -> Insertion {
        guard runs[index].hasFirst, runs[index].hasLast else { return .stored }
        var run = runs.remove(at: index)
        cost -= run.count + Self.overhead
        if !run.rest.isEmpty {
            run.bytes.reserveCapacity(run.count)
            for piece in run.rest { run.bytes += piece }
        }
        return .complete(run.bytes, payloadProtocol: run.payloadProtocol)
    }

    /// Forgets what belongs to messages that begin at or before `number` (RFC 3758 §3.6).
    mutating func discard(upTo number: UInt32) {
        guard let first = runs.first, !SerialNumber.isNewer(first.first, than: number) else { return }
        let end = firstRun(after: number)
        for run in runs[..<end] { cost -= run.count + Self.overhead }
        runs.removeFirst(end)
    }

    /// Forgets what belongs to these streams.
    mutating func discard(streams: [UInt16]) {
        guard !runs.isEmpty else { return }
        let streams = Set(streams)
        runs.removeAll { run in
            guard streams.contains(run.stream) else { return false }
            cost -= run.count + Self.overhead
            return true
        }
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
