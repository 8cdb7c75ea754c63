import AllocatorMeter
import Glibc
import Testing

@testable import LiveKitCore

/// Rooms leave nothing behind: measured at the allocator, each test in a process of its own where nothing else
/// allocates. Not under a sanitizer, which brings an allocator of its own.
@Suite(.enabled(if: dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil))
struct RoomMemoryTests {
    @Test func `after a hundred random rooms the process holds what it held before`() async {
        await #expect(processExitsWith: .success) {
            let grown = grownByRooms(100, keeping: false)
            #expect(grown < 16 * 1_024, "\(grown) bytes")
        }
    }

    @Test func `a room that is kept by mistake would be noticed`() async {
        await #expect(processExitsWith: .success) {
            let grown = grownByRooms(50, keeping: true)
            #expect(grown > 256 * 1_024, "\(grown) bytes")
        }
    }
}

/// By how many bytes the process grows in so many rooms, after as many others have filled what is filled only once.
private func grownByRooms(_ rooms: UInt64, keeping: Bool) -> Int {
    nonisolated(unsafe) var kept: [RoomStory] = []
    func live(through seeds: Range<UInt64>) {
        onThreadOfItsOwn {
            for seed in seeds {
                let story = RoomStory(seed: seed)
                try? story.run()
                if keeping, seed % 8 == 0 { kept.append(story) }
            }
        }
    }
    live(through: 0..<rooms)
    let before = bytesInUse()
    live(through: rooms..<2 * rooms)
    let grown = bytesInUse() - before
    kept = []
    return grown
}
