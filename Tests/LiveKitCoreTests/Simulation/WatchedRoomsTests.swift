import Foundation
import Testing

@testable import LiveKitCore

/// Random lives of rooms, a thousand of them; what has to hold in each is in `RoomStory`, `StreamWatch` and
/// `ModelReceiver`.
///
/// More of them, or one again: `ROOST_ROOM_SEEDS=100 ROOST_FIRST_SEED=1 swift test --filter WatchedRoomsTests`, as
/// `make simulate` does.
@Suite struct WatchedRoomsTests {
    /// One test for each core and more: they run beside each other.
    private static let parts: [Range<UInt64>] = {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["ROOST_FIRST_SEED"].flatMap { UInt64($0) } ?? 0
        let count = environment["ROOST_ROOM_SEEDS"].flatMap { UInt64($0) } ?? 1_000
        let size: UInt64 = 100
        return stride(from: first, to: first + count, by: Int(size)).map { $0..<min($0 + size, first + count) }
    }()

    /// What a hundred of them do not go without.
    private static let usual = [
        "one connection", "two connections", "sound", "redundancy", "pictures(SFUModels.ModelCoding.vp8Simulcast)",
        "pictures(SFUModels.ModelCoding.h264Simulcast)", "pictures(SFUModels.ModelCoding.vp9Scalable)",
        "pictures(SFUModels.ModelCoding.vp9KeyScalable)", "pictures(SFUModels.ModelCoding.vp9Encodings)",
        "pictures(SFUModels.ModelCoding.av1Scalable)",
        "pictures(SFUModels.ModelCoding.av1KeyScalable)", "unpublish", "mute", "unmute", "server mute", "subscribe",
        "unsubscribe", "look away", "size", "quality", "narrow path", "layer off", "resume", "permit all",
        "permit some", "allow", "forbid", "leave",
    ]

    @Test(arguments: parts)
    func `no subscriber sees a broken stream, everybody has what they want in the end, and nothing is left`(
        _ seeds: Range<UInt64>
    ) async throws {
        var events = RoomEvents()
        for seed in seeds {
            await Task.yield()
            weak var room: RoomMachine?
            let violations = try { () throws -> [String] in
                let story = RoomStory(seed: seed)
                room = story.venue.room
                try story.run()
                events.add(story.events)
                return story.violations
            }()
            #expect(room == nil, "seed \(seed): the room is still there")
            guard !violations.isEmpty else { continue }
            Issue.record("seed \(seed):\n\(violations.prefix(8).joined(separator: "\n"))")
        }
        guard seeds.count >= 100 else { return }
        let missing = Self.usual.filter { events.counts[$0] == nil }
        #expect(missing.isEmpty, "nothing of this happened: \(missing) \(events.counts)")
    }
}
