public import RTCEngine

/// Divides what a subscriber's path is thought to carry among its subscriptions.
///
/// Sound comes first. Then each picture gets its lowest step, the most important ones first, before anybody gets more;
/// then the steps above, all of the most important class before the next class has any, in a class one step each in
/// turn: as the subscriber ranks them, and then larger pictures first. Where even the lowest step does not fit, the
/// stream is paused, if it may be.
///
/// **Hysteresis.** A step that a stream has is kept while 95 % of it fits; one that it has not must fit with a tenth to
/// spare, and two seconds after a stream was taken down it is not taken up again. Measured bitrates and the estimate
/// both sway by more than a few percent, and every change costs a key frame or a visible change of sharpness.
public struct StreamAllocator: Sendable {
    public struct Configuration: Sendable, Hashable {
        /// A stream keeps its step while this fraction of the step's bitrate fits.
        public var keeping = 0.95
        /// A stream rises to a step when this fraction of the step's bitrate fits.
        public var rising = 1.10
        /// For this long after a stream was lowered, it does not rise.
        public var rest = Interval.seconds(Int64(2))

        public init() {}
    }

    /// The result of a division.
    public struct Allocation: Sendable, Hashable {
        /// The layers that each subscription is given, in the order of the demands; nil for none. For audio it is
        /// always `LayerTarget.lowest`, and means nothing.
        public var targets: [LayerTarget?]
        /// The sum of the bitrates of what is given.
        public var used: Bitrate
        /// The bitrate that the path would have to carry for the next rise of a stream; nil when all streams have their
        /// highest step. A probe for less would allow no rise, and a probe for more is not needed for one.
        public var nextStep: Bitrate?
    }

    private struct Stream: Sendable {
        /// What it was given at the last division at which it had steps; nil for nothing.
        var target: LayerTarget?
        var loweredAt: Instant?
    }

    public let configuration: Configuration
    private var streams: [UInt64: Stream] = [:]

    public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// Divides anew.
    ///
    /// - Parameter demands: each with an identifier, under which its last target is remembered.
    public mutating func divide(
        _ available: Bitrate, among demands: [(id: UInt64, demand: StreamDemand)], at now: Instant
    ) -> Allocation {
        var division = Division(available: available.value, configuration)
        for (id, demand) in demands {
            let stream = streams[id]
            division.add(demand, stream?.target, isResting: isResting(stream, at: now))
        }
        division.divide()
        let targets = division.targets
        let before = streams
        streams.removeAll(keepingCapacity: true)
        for (index, (id, demand)) in demands.enumerated() {
            let old = before[id]
            // It has no steps now, since nothing is measured. What it had before is kept until there are some again.
            if case .video(let steps) = demand.media, steps.isEmpty {
                streams[id] = Stream(target: old?.target, loweredAt: old?.loweredAt)
                continue
            }
            let had = [old?.target, division.had(index)].compactMap { $0 }.max()
            let isLowered = had.map { demand.offers(above: targets[index], upTo: $0) } ?? false
            streams[id] = Stream(target: targets[index], loweredAt: isLowered ? now : old?.loweredAt)
        }
        return Allocation(
            targets: targets, used: Bitrate(bitsPerSecond: division.used), nextStep: division.nextStep)
    }

    private func isResting(_ stream: Stream?, at now: Instant) -> Bool {
        guard let loweredAt = stream?.loweredAt else { return false }
        return now - loweredAt < configuration.rest
    }
}

/// One division.
private struct Division {
    private struct Entry {
        var demand: StreamDemand
        var steps: [LayerStep]
        /// The step it had, and the one it is given, as indices of `steps`; −1 for none.
        var before: Int
        var given = -1
        var isResting: Bool
        /// Its next step does not fit, so it is given no more.
        var isDone = false
    }

    private let configuration: StreamAllocator.Configuration
    private let available: Double
    /// The bitrate that is left to be given. Steps are charged with hysteresis, see `StreamAllocator`.
    private var left: Double
    private var entries: [Entry] = []

    init(available: Double, _ configuration: StreamAllocator.Configuration) {
        self.available = available
        self.configuration = configuration
        left = available
    }

    mutating func add(_ demand: StreamDemand, _ before: LayerTarget?, isResting: Bool) {
        var steps: [LayerStep] = []
        switch demand.media {
        case .audio(let bitrate): left -= bitrate.value
        case .video(let list): steps = list
        }
        // The last target may not be among the steps any more. Then it counts as the next step of the same spatial
        // layer, for leaving that layer is visible and costs a key frame; else as the nearest step below; else as the
        // lowest.
        let place =
            before.flatMap { target in
                steps.firstIndex { $0.target.spatial == target.spatial && $0.target >= target }
                    ?? steps.lastIndex { $0.target <= target } ?? steps.indices.first
            } ?? -1
        entries.append(Entry(demand: demand, steps: steps, before: place, isResting: isResting))
    }

    /// Sorted by importance, then by rank, then by size, the largest first, then by the order of the demands.
    private var order: [Int] {
        entries.indices.filter { !entries[$0].steps.isEmpty }.sorted { first, second in
            let (a, b) = (entries[first].demand, entries[second].demand)
            return (b.importance, a.rank, b.pixels, first) < (a.importance, b.rank, a.pixels, second)
        }
    }

    mutating func divide() {
        let order = order
        // Those that may not be paused have their lowest step in any case.
        for index in order where !entries[index].demand.mayPause && !raise(index) {
            left -= cost(index, 0)
            entries[index].given = 0
        }
        for index in order where entries[index].given < 0 { _ = raise(index) }
        for importance in StreamDemand.Importance.allCases.reversed() {
            var rises = true
            while rises {
                rises = false
                for index in order
                where entries[index].demand.importance == importance && entries[index].given >= 0 && raise(index) {
                    rises = true
                }
            }
        }
    }

    /// What a step takes of what is left.
    private func cost(_ index: Int, _ step: Int) -> Double {
        guard step >= 0 else { return 0 }
        let factor = step <= entries[index].before ? configuration.keeping : configuration.rising
        return entries[index].steps[step].bitrate.value * factor
    }

    private mutating func raise(_ index: Int) -> Bool {
        let next = entries[index].given + 1
        guard next < entries[index].steps.count, !entries[index].isDone else { return false }
        let isRising = next > entries[index].before
        // One bit a second more is allowed, since the products of floating-point rates are not exact.
        let more = cost(index, next) - cost(index, entries[index].given)
        guard !(isRising && entries[index].isResting), more <= left + 1 else {
            entries[index].isDone = true
            return false
        }
        left -= more
        entries[index].given = next
        return true
    }

    // MARK: Results

    /// The step that the stream counts as having had before this division.
    func had(_ index: Int) -> LayerTarget? {
        entries[index].before >= 0 ? entries[index].steps[entries[index].before].target : nil
    }

    var targets: [LayerTarget?] {
        entries.map { entry in
            switch entry.demand.media {
            case .audio: .lowest
            case .video: entry.given >= 0 ? entry.steps[entry.given].target : nil
            }
        }
    }

    var used: Double {
        entries.reduce(0) { sum, entry in
            switch entry.demand.media {
            case .audio(let bitrate): sum + bitrate.value
            case .video: sum + (entry.given >= 0 ? entry.steps[entry.given].bitrate.value : 0)
            }
        }
    }

    var nextStep: Bitrate? {
        guard let index = nextInTurn else { return nil }
        let entry = entries[index]
        let has = entry.given >= 0 ? entry.steps[entry.given].bitrate.value : 0
        return Bitrate(
            bitsPerSecond: (used + entry.steps[entry.given + 1].bitrate.value - has) * configuration.rising)
    }

    /// The stream that would be given the next step if there were more to give. As in the division that is first one
    /// that has nothing; then, of the most important class that could use more, the one with the fewest steps.
    private var nextInTurn: Int? {
        let order = order.filter { entries[$0].given + 1 < entries[$0].steps.count }
        if let waiting = order.first(where: { entries[$0].given < 0 }) { return waiting }
        guard let first = order.first else { return nil }
        let importance = entries[first].demand.importance
        // Of streams with equally many steps the first in the order.
        return order.filter { entries[$0].demand.importance == importance }
            .reduce(first) { entries[$1].given < entries[$0].given ? $1 : $0 }
    }
}

extension StreamDemand {
    /// Whether there are steps above what was given, up to what the stream had before. If there are none, the demand
    /// has fallen, and the stream was not lowered because of the path.
    fileprivate func offers(above given: LayerTarget?, upTo before: LayerTarget) -> Bool {
        guard case .video(let steps) = media else { return false }
        return steps.contains { step in step.target <= before && (given.map { step.target > $0 } ?? true) }
    }
}
