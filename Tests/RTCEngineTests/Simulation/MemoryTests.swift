import AllocatorMeter
import Glibc
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Calls leave nothing behind: measured at the allocator, each test in a process of its own where nothing else
/// allocates. Not under a sanitizer, which brings an allocator of its own.
@Suite(.enabled(if: dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil))
struct MemoryTests {
    @Test func `after two hundred random calls the process holds what it held before`() async {
        await #expect(processExitsWith: .success) {
            #expect(grownByCalls(200, leaking: false) < 4 * 1_024)
        }
    }

    @Test func `a machine that is kept by mistake would be noticed`() async {
        await #expect(processExitsWith: .success) {
            #expect(grownByCalls(200, leaking: true) > 1_024 * 1_024)
        }
    }

    @Test func `a closed machine holds its descriptions and counters, and little else`() async {
        await #expect(processExitsWith: .success) {
            // What JSEP's getters and `getStats` still tell after the end, and the transceivers.
            let held = heldByClosedMachines(40)
            #expect(held < 48 * 1_024, "\(held) bytes each")
        }
    }

    @Test func `an open machine after a call's media would hold more than that`() async {
        await #expect(processExitsWith: .success) {
            let held = heldByClosedMachines(40, closing: false)
            #expect(held > 64 * 1_024, "\(held) bytes each")
        }
    }
}

/// By how many bytes the process grows in so many random calls, after as many others have filled what is filled only
/// once.
private func grownByCalls(_ calls: UInt64, leaking: Bool) -> Int {
    nonisolated(unsafe) var kept: [CallSimulation] = []
    func live(through seeds: Range<UInt64>) {
        onThreadOfItsOwn {
            for seed in seeds {
                let call = CallScenario(seed: seed).run()
                if leaking, seed % 8 == 0 { kept.append(call) }
            }
        }
    }
    live(through: 0..<calls)
    let before = bytesInUse()
    live(through: calls..<2 * calls)
    let grown = bytesInUse() - before
    kept = []
    return grown
}

/// By how many bytes a machine at the end of a call is larger than a new one, on average.
private func heldByClosedMachines(_ calls: UInt64, closing: Bool = true) -> Int {
    nonisolated(unsafe) var ended: [CallSimulation] = []
    onThreadOfItsOwn {
        for seed in 0..<calls {
            var call = CallSimulation { $0.seed = seed }
            call.begin([.audio, .video], answersWith: [.audio, .video])
            call.run(within: .seconds(10)) { $0.bothConnected }
            call.run(for: .seconds(3))
            if closing { for side in CallSimulation.Side.allCases { call.close(side) } }
            ended.append(call)
        }
    }
    let before = bytesInUse()
    onThreadOfItsOwn {
        for call in ended {
            for peer in call.peers { peer.renewMachine() }
        }
    }
    let held = before - bytesInUse()
    ended = []
    return held / Int(calls * 2)
}
