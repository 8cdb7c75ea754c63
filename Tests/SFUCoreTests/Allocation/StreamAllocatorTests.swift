import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// One subscriber's bitrate for many subscriptions.
@Suite struct StreamAllocatorTests {
    private static let start = Instant.zero + .seconds(Int64(10))

    /// Three layers, in kilobits.
    private static func video(
        _ importance: StreamDemand.Importance = .ordinary, _ rates: [Int64] = [100, 400, 1_500],
        priority: Int = 0, pixels: Int = 0, mayPause: Bool = true
    ) -> StreamDemand {
        let steps = rates.enumerated().map {
            LayerStep(LayerTarget(spatial: $0.offset, temporal: 2), .kilobits($0.element))
        }
        return StreamDemand(
            .video(steps: steps), importance: importance, priority: priority, pixels: pixels, mayPause: mayPause)
    }

    private static let audio = StreamDemand(.audio(.kilobits(32)))

    /// What each gets, as layers; −1: nothing.
    private static func words(_ allocation: StreamAllocator.Allocation) -> [Int] {
        allocation.targets.map { $0.map { Int($0.spatial) } ?? -1 }
    }

    private static func divide(
        _ allocator: inout StreamAllocator, _ kilobits: Int64, _ demands: [StreamDemand], at now: Instant = start
    ) -> StreamAllocator.Allocation {
        allocator.divide(
            .kilobits(kilobits), among: demands.enumerated().map { (UInt64($0.offset), $0.element) }, at: now)
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var available: Int64
        var demands: [StreamDemand]
        var gets: [Int]
        /// In kilobits.
        var next: Int64?
    }

    private static let rows = [
        Row(testDescription: "nobody", available: 1_000, demands: [], gets: [], next: nil),
        Row(testDescription: "room for all", available: 1_650, demands: [video()], gets: [2], next: nil),
        Row(
            testDescription: "a step that fits only without what is to spare", available: 1_600, demands: [video()],
            gets: [1], next: 1_650),
        Row(testDescription: "no room at all: paused", available: 100, demands: [video()], gets: [-1], next: 110),
        Row(
            testDescription: "no room, and pausing is not allowed", available: 10, demands: [video(mayPause: false)],
            gets: [0], next: 440),
        Row(
            testDescription: "sound comes first", available: 140, demands: [video(), audio], gets: [-1, 0], next: 145),
        Row(
            testDescription: "each its lowest before anybody more", available: 600,
            demands: [video(), video(.screenShare), video()], gets: [0, 0, 0], next: 660),
        Row(
            testDescription: "then the screen", available: 700, demands: [video(), video(.screenShare), video()],
            gets: [0, 1, 0], next: 1_870),
        Row(
            testDescription: "all of the screen before any of the others", available: 2_000,
            demands: [video(), video(.screenShare), video()], gets: [0, 2, 0], next: 2_200),
        Row(
            testDescription: "then who speaks", available: 2_300,
            demands: [video(), video(.screenShare), video(.speaker)], gets: [0, 2, 1], next: 3_410),
        Row(
            testDescription: "the same for equals, in turn", available: 1_100, demands: [video(), video(), video()],
            gets: [1, 1, 0], next: 1_320),
        Row(
            testDescription: "the larger first", available: 1_100,
            demands: [video(pixels: 100), video(pixels: 300), video(pixels: 200)], gets: [0, 1, 1], next: 1_320),
        Row(
            testDescription: "what the subscriber puts first, before the larger", available: 1_100,
            demands: [video(pixels: 300), video(priority: 2), video(priority: 1)], gets: [0, 1, 1], next: 1_320),
        Row(
            testDescription: "of two that the subscriber ranks the first", available: 700,
            demands: [video(priority: 2, pixels: 300), video(priority: 1)], gets: [0, 1], next: 880),
        Row(
            testDescription: "who speaks, whatever the subscriber puts first", available: 120,
            demands: [video(priority: 1), video(.speaker)], gets: [-1, 0], next: 220),
        Row(
            testDescription: "too little for all: the most important ones", available: 240,
            demands: [video(), video(.speaker), video(pixels: 5)], gets: [-1, 0, 0], next: 330),
        Row(
            testDescription: "one who may not pause has it before a larger that may", available: 115,
            demands: [video(mayPause: false), video(pixels: 300)], gets: [0, -1], next: 220),
        Row(
            testDescription: "nothing offered", available: 1_000,
            demands: [video(.ordinary, []), video(.ordinary, [100])], gets: [-1, 0], next: nil),
        Row(
            testDescription: "a smaller stream takes what a larger cannot", available: 800,
            demands: [video(.ordinary, [100, 900]), video(.ordinary, [100, 300])], gets: [0, 1], next: 1_320),
    ]

    @Test(arguments: rows)
    func `the first division`(row: Row) {
        var allocator = StreamAllocator()
        let allocation = Self.divide(&allocator, row.available, row.demands)
        #expect(Self.words(allocation) == row.gets)
        #expect(allocation.nextStep.map { ($0.bitsPerSecond + 500) / 1_000 } == row.next)
    }

    @Test func `what is used is told as it is, without what is to spare`() {
        var allocator = StreamAllocator()
        #expect(Self.divide(&allocator, 700, [Self.video(), Self.audio]).used == .kilobits(432))
    }

    @Test func `a step is kept while nineteen parts of twenty fit`() {
        var allocator = StreamAllocator()
        #expect(Self.words(Self.divide(&allocator, 1_650, [Self.video()])) == [2])
        #expect(Self.words(Self.divide(&allocator, 1_430, [Self.video()])) == [2])
        #expect(Self.words(Self.divide(&allocator, 1_420, [Self.video()])) == [1])
    }

    @Test func `a temporal layer that is not offered any more is no reason to leave its spatial one`() {
        func steps(_ rates: [(Int, Int, Int64)]) -> StreamDemand {
            StreamDemand(
                .video(
                    steps: rates.map { LayerStep(LayerTarget(spatial: $0.0, temporal: $0.1), .kilobits($0.2)) }))
        }
        var allocator = StreamAllocator()
        let all = steps([(0, 2, 22), (1, 2, 67), (2, 1, 79), (2, 2, 122)])
        #expect(Self.divide(&allocator, 1_000, [all]).targets == [LayerTarget(spatial: 2, temporal: 2)])
        // From here on it rests.
        #expect(Self.divide(&allocator, 100, [all]).targets == [LayerTarget(spatial: 2, temporal: 1)])
        let fewer = steps([(0, 2, 22), (1, 2, 57), (2, 2, 102)])
        #expect(Self.divide(&allocator, 1_000, [fewer]).targets == [LayerTarget(spatial: 2, temporal: 2)])
        // Unless there is no room for it.
        #expect(Self.divide(&allocator, 90, [fewer]).targets == [LayerTarget(spatial: 1, temporal: 2)])
    }

    @Test func `who went down rests two seconds before going up, and may go down further`() {
        var allocator = StreamAllocator()
        _ = Self.divide(&allocator, 2_000, [Self.video()])
        #expect(Self.words(Self.divide(&allocator, 600, [Self.video()])) == [1])
        #expect(
            Self.words(Self.divide(&allocator, 5_000, [Self.video()], at: Self.start + .milliseconds(1_999))) == [1])
        #expect(
            Self.words(Self.divide(&allocator, 5_000, [Self.video()], at: Self.start + .milliseconds(2_000))) == [2])
        #expect(Self.words(Self.divide(&allocator, 50, [Self.video()], at: Self.start + .seconds(Int64(3)))) == [-1])
    }

    @Test func `a layer that is not sent any more is replaced by the one below it`() {
        var allocator = StreamAllocator()
        _ = Self.divide(&allocator, 2_000, [Self.video()])
        #expect(Self.words(Self.divide(&allocator, 2_000, [Self.video(.ordinary, [100, 400])])) == [1])
    }

    @Test func `a subscription that left is forgotten, and the others keep what they have`() {
        var allocator = StreamAllocator()
        let all = [(id: 7 as UInt64, demand: Self.video()), (id: 9 as UInt64, demand: Self.video())]
        #expect(Self.words(allocator.divide(.kilobits(2_100), among: all, at: Self.start)) == [2, 1])
        #expect(Self.words(allocator.divide(.kilobits(1_450), among: [all[0]], at: Self.start)) == [2])
        #expect(Self.words(allocator.divide(.kilobits(1_450), among: [all[1]], at: Self.start)) == [1])
    }

    @Test func `a moment without anything to divide is no reason to forget what was given, or lost`() {
        var allocator = StreamAllocator()
        _ = Self.divide(&allocator, 1_650, [Self.video()])
        #expect(Self.words(Self.divide(&allocator, 1_430, [Self.video(.ordinary, [])])) == [-1])
        // Kept as what it had: new it would not fit.
        #expect(Self.words(Self.divide(&allocator, 1_430, [Self.video()])) == [2])
        #expect(Self.words(Self.divide(&allocator, 600, [Self.video()])) == [1])
        _ = Self.divide(&allocator, 5_000, [Self.video(.ordinary, [])], at: Self.start + .seconds(Int64(1)))
        let rested = Self.start + .seconds(Int64(2))
        #expect(Self.words(Self.divide(&allocator, 5_000, [Self.video()], at: rested - .milliseconds(1))) == [1])
        #expect(Self.words(Self.divide(&allocator, 5_000, [Self.video()], at: rested)) == [2])
    }

    @Test func `who had a layer that costs more than the one above it has that one in its place, without a rise`() {
        func steps(_ rates: [(Int, Int64)]) -> StreamDemand {
            StreamDemand(
                .video(steps: rates.map { LayerStep(LayerTarget(spatial: $0.0, temporal: 0), .kilobits($0.1)) }),
                mayPause: true)
        }
        var allocator = StreamAllocator()
        #expect(Self.words(Self.divide(&allocator, 110, [steps([(0, 100), (2, 200)])])) == [0])
        #expect(Self.words(Self.divide(&allocator, 100, [steps([(2, 100)])])) == [2])
    }

    // MARK: Hints

    private static let sizes = [
        SubscriberHints.Size(width: 320, height: 180, quality: .low),
        SubscriberHints.Size(width: 640, height: 360, quality: .medium),
        SubscriberHints.Size(width: 1_280, height: 720, quality: .high),
    ]

    struct HintRow: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var hints: SubscriberHints
        var limit: LayerTarget?
    }

    private static let hintRows = [
        HintRow(testDescription: "says nothing", hints: SubscriberHints(), limit: LayerTarget(spatial: 2, temporal: 2)),
        HintRow(testDescription: "looks away", hints: SubscriberHints(isDisabled: true), limit: nil),
        HintRow(testDescription: "wants nothing", hints: SubscriberHints(quality: .off), limit: nil),
        HintRow(
            testDescription: "small", hints: SubscriberHints(width: 200, height: 112),
            limit: LayerTarget(spatial: 0, temporal: 2)),
        HintRow(
            testDescription: "a little larger than a layer", hints: SubscriberHints(width: 350, height: 197),
            limit: LayerTarget(spatial: 0, temporal: 2)),
        HintRow(
            testDescription: "between layers", hints: SubscriberHints(width: 400, height: 225),
            limit: LayerTarget(spatial: 1, temporal: 2)),
        HintRow(
            testDescription: "held upright", hints: SubscriberHints(width: 360, height: 640),
            limit: LayerTarget(spatial: 1, temporal: 2)),
        HintRow(
            testDescription: "larger than all", hints: SubscriberHints(width: 3_840, height: 2_160),
            limit: LayerTarget(spatial: 2, temporal: 2)),
        HintRow(
            testDescription: "by name", hints: SubscriberHints(quality: .medium),
            limit: LayerTarget(spatial: 1, temporal: 2)),
        HintRow(
            testDescription: "the smaller of both", hints: SubscriberHints(width: 200, height: 112, quality: .high),
            limit: LayerTarget(spatial: 0, temporal: 2)),
        HintRow(
            testDescription: "fifteen pictures a second", hints: SubscriberHints(framesPerSecond: 15),
            limit: LayerTarget(spatial: 2, temporal: 1)),
        HintRow(
            testDescription: "sixteen", hints: SubscriberHints(framesPerSecond: 16),
            limit: LayerTarget(spatial: 2, temporal: 2)),
        HintRow(
            testDescription: "two", hints: SubscriberHints(framesPerSecond: 2),
            limit: LayerTarget(spatial: 2, temporal: 0)),
    ]

    @Test(arguments: hintRows)
    func `what a subscriber shows is the most that it is sent`(row: HintRow) {
        #expect(row.hints.limit(sizes: Self.sizes, temporalLayers: 3, framesPerSecond: 30) == row.limit)
    }

    @Test func `of a publisher that does not say how many pictures it makes half are left out for who wants fifteen`() {
        let hints = SubscriberHints(framesPerSecond: 15)
        #expect(
            hints.limit(sizes: Self.sizes, temporalLayers: 3, framesPerSecond: 0)
                == LayerTarget(spatial: 2, temporal: 1))
        #expect(
            hints.limit(sizes: Self.sizes, temporalLayers: 3, framesPerSecond: 15)
                == LayerTarget(spatial: 2, temporal: 2))
    }

    @Test func `layers inside a stream that were not announced are halves, one of the next`() {
        var description = PublicationDescription(
            codec: .vp9, format: .vp9, arrangement: .scalable(), sizes: Array(Self.sizes.suffix(1)))
        #expect(description.sizes(live: 0b111, .scalable()) == Self.sizes)
        #expect(
            SubscriberHints(width: 600, height: 340).limit(
                sizes: description.sizes(live: 0b111, .scalable()), temporalLayers: 3, framesPerSecond: 30)
                == LayerTarget(spatial: 1, temporal: 2))
        // There is no other.
        #expect(description.sizes(live: 0b001, .scalable()) == description.sizes)
        // Nothing is known at all.
        description.sizes = []
        #expect(description.sizes(live: 0b001, .scalable()) == [])
        #expect(description.sizes(live: 0b011, .scalable()).map(\.width) == [640, 1_280])
        // Streams of their own are announced by their descriptions.
        #expect(description.sizes(live: 0b111, .simulcast) == [])
        // One more than was said: the whole is the largest that was.
        description.sizes = Array(Self.sizes.suffix(2))
        #expect(description.sizes(live: 0b111, .scalable()) == Self.sizes)
        #expect(description.sizes(live: 0b111, .simulcast) == description.sizes)
        #expect(description.sizes(live: 0b001, .scalable()) == description.sizes)
    }

    @Test func `a publisher's two layers are low and medium: high is the better of them`() {
        let two = Array(Self.sizes.prefix(2))
        #expect(
            SubscriberHints(quality: .high).limit(sizes: two, temporalLayers: 1, framesPerSecond: 30)
                == LayerTarget(spatial: 1, temporal: 0))
        #expect(SubscriberHints().limit(sizes: [], temporalLayers: 1, framesPerSecond: 30) == nil)
    }

    @Test func `a simulcast layer that costs no more than a smaller one takes its place`() {
        var bitrates = LayerBitrates()
        for (spatial, count) in [5_000, 10_000, 7_500].enumerated() {
            bitrates.receive(bytes: count, spatial: spatial, temporal: 0, at: Self.start)
        }
        #expect(
            bitrates.steps(.simulcast, limit: .highest, at: Self.start) == [
                LayerStep(LayerTarget(spatial: 0, temporal: 0), .kilobits(80)),
                LayerStep(LayerTarget(spatial: 2, temporal: 0), .kilobits(120)),
            ])
        // Layers that need each other cost more with each.
        #expect(bitrates.steps(.scalable(), limit: .highest, at: Self.start).map(\.target.spatial) == [0, 1, 2])
        // A layer of which nothing came takes nobody's place.
        bitrates.receive(bytes: 0, spatial: 3, temporal: 0, at: Self.start)
        #expect(bitrates.steps(.simulcast, limit: .highest, at: Self.start).map(\.target.spatial) == [0, 2])
    }

    @Test func `steps are the layers that are sent, each dearer than the one before`() {
        var bitrates = LayerBitrates()
        for spatial in [0, 2] {
            for temporal in 0...1 {
                bitrates.receive(bytes: 5_000 * (1 + 3 * spatial), spatial: spatial, temporal: temporal, at: Self.start)
            }
        }
        let simulcast = bitrates.steps(.simulcast, limit: .highest, at: Self.start)
        #expect(
            simulcast == [
                LayerStep(LayerTarget(spatial: 0, temporal: 0), .kilobits(80)),
                LayerStep(LayerTarget(spatial: 0, temporal: 1), .kilobits(160)),
                LayerStep(LayerTarget(spatial: 2, temporal: 0), .kilobits(560)),
                LayerStep(LayerTarget(spatial: 2, temporal: 1), .kilobits(1_120)),
            ])
        let scalable = bitrates.steps(.scalable(), limit: LayerTarget(spatial: 2, temporal: 0), at: Self.start)
        #expect(scalable.map(\.bitrate) == [.kilobits(80), .kilobits(640)])
        // Only a higher one is sent than is wanted: better that than nothing.
        bitrates.stopped(spatial: 0)
        #expect(
            bitrates.steps(.simulcast, limit: .lowest, at: Self.start).map(\.target) == [
                LayerTarget(spatial: 2, temporal: 0)
            ])
    }

    @Test func `a larger picture is no step up with fewer than half of the pictures`() {
        var bitrates = LayerBitrates()
        for spatial in 0...1 {
            for temporal in 0...2 {
                bitrates.receive(bytes: 5_000 * (1 + spatial), spatial: spatial, temporal: temporal, at: Self.start)
            }
        }
        func steps(upTo temporal: Int) -> [[UInt8]] {
            bitrates.steps(
                .simulcast, limit: LayerTarget(spatial: 1, temporal: temporal), prefersMotion: true, at: Self.start
            ).map { [$0.target.spatial, $0.target.temporal] }
        }
        #expect(steps(upTo: 2) == [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2]])
        // Who wants a few pictures only has them large.
        #expect(steps(upTo: 0) == [[0, 0], [1, 0]])
        // Nothing smaller is sent.
        bitrates.stopped(spatial: 0)
        #expect(steps(upTo: 2) == [[1, 0], [1, 1], [1, 2]])
    }
}
