import Foundation

/// The WebRTC stack under load, one mode a file. `run.py` starts it beside its peers.
@main
struct RTCBench {
    static let usage = """
        usage: rtc-bench srtp PACKETS gcm|cm protect|unprotect
               rtc-bench setup COUNT video|data
               rtc-bench subject|subject-unpaced|subject-packets
               rtc-bench memory PAIRS idle|busy video|data
               rtc-bench path send|receive|take FRAMES
               rtc-bench room FRAMES SUBSCRIBERS single|burst [cold] [cm]
        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let number = arguments.dropFirst().compactMap { Int($0) }.first
        let cargo = arguments.contains("data") ? Cargo.data : .video
        switch (arguments.first, number) {
        case ("srtp", let packets?): try SRTPLoop.run(packets, Array(arguments.dropFirst(2)))
        case ("setup", let count?): try await Setup.run(count, of: cargo)
        case ("subject", nil): try await Subject.run()
        case ("subject-unpaced", nil): try await Subject.run(paces: false)
        case ("subject-packets", nil): try await Subject.run(receives: .packets)
        case ("memory", let pairs?):
            try await MemoryUse.run(pairs, of: cargo, isBusy: arguments.contains("busy"))
        case ("path", let frames?):
            guard let way = arguments.lazy.compactMap({ PacketPath.Way(rawValue: $0) }).first else { failUsage() }
            try PacketPath.run(frames, way)
        case ("room", let frames?):
            guard let subscribers = arguments.dropFirst(2).first.flatMap({ Int($0) }),
                1...10_000 ~= subscribers
            else { failUsage() }
            try RoomPath.run(
                frames, to: subscribers, inBursts: arguments.contains("burst"), isCold: arguments.contains("cold"))
        default: failUsage()
        }
    }

    private static func failUsage() -> Never {
        FileHandle.standardError.write(Data((usage + "\n").utf8))
        exit(2)
    }
}

/// One line of JSON on the standard output, at once.
func report(_ values: [String: any Sendable]) {
    guard var line = try? JSONSerialization.data(withJSONObject: values, options: [.sortedKeys]) else { return }
    line.append(0x0a)
    FileHandle.standardOutput.write(line)
}

/// The calling thread's CPU time in nanoseconds.
func threadNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}
