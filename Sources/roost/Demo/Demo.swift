internal import ArgumentParser
internal import Foundation
internal import MediaFiles

/// `roost demo`: a whole call between real processes, checked.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a call between two processes on this machine and check every frame.",
        discussion: """
            Starts a server, a callee and a caller as three processes. Both sides send the test video with sound over \
            UDP on 127.0.0.1 and record what they receive. At the end both recordings are decoded with ffmpeg, the frame \
            counter in each picture and the tones in the sound are read back, and a report is written. The exit status \
            is 0 only if the received frames are the sent ones.
            """
    )

    @Option(help: ArgumentHelp("The folder for recordings and report.", valueName: "folder"))
    var output = "demo-output"

    @Option(help: ArgumentHelp("How long the call lasts.", valueName: "time"))
    var duration: TimeSpan = TimeSpan(.seconds(12))

    @Option(help: "The video codec.")
    var codec: Call.Codec = .h264

    func validate() throws {
        if duration.duration < .seconds(3) { throw ValidationError("--duration takes 3s or more: less shows nothing.") }
    }

    func run() async throws {
        do {
            let passed = try await play()
            if !passed { throw ExitCode.failure }
        } catch let error as CommandError {
            FileHandle.standardError.write(Data("roost: \(error)\n".utf8))
            throw ExitCode.failure
        }
    }

    private func play() async throws -> Bool {
        guard let ffmpeg = ChildProcess.find("ffmpeg") else {
            throw CommandError("ffmpeg is needed to check the recordings: apt-get install ffmpeg.")
        }
        guard let executable = Bundle.main.executableURL else { throw CommandError("This program's path is unknown.") }
        let folder = try prepareFolder()
        let began = ContinuousClock.now
        let server = try ChildProcess(
            executable, ["serve", "--host", "127.0.0.1", "--port", "0", "--signaling-port", "0", "--no-echo", "--json"])
        defer { server.terminate() }
        let port = try await signalingPort(of: server)
        print("The server listens on 127.0.0.1:\(port). Calling for \(Int(duration.duration.seconds)) s …")
        let callee = try peer("Callee", ["--callee"], executable, port, folder, began)
        let caller = try peer(
            "Caller", ["--caller", "--duration", "\(duration.duration.seconds)s"], executable, port, folder, began)
        let interrupts = Task {
            for await _ in Interrupts.stream() {
                caller.interrupt()
                callee.interrupt()
            }
        }
        defer { interrupts.cancel() }
        let live = LiveLine(peers: [caller, callee])
        let liveTask = Task { await live.run() }
        async let callerStatus = caller.follow()
        async let calleeStatus = callee.follow()
        let statuses = await (callerStatus, calleeStatus)
        liveTask.cancel()
        await liveTask.value
        server.interrupt()
        return try await conclude(
            caller, callee, statuses, folder, ffmpeg, total: (ContinuousClock.now - began).seconds)
    }

    private func prepareFolder() throws -> URL {
        let folder = URL(filePath: output, directoryHint: .isDirectory)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
            where name.contains("-received") || name == "report.html" {
                try FileManager.default.removeItem(at: folder.appending(path: name))
            }
        } catch {
            throw CommandError("The folder \(output) cannot be prepared: \(error.localizedDescription)")
        }
        return folder
    }

    private func signalingPort(of server: ChildProcess) async throws -> Int {
        for await line in server.lines {
            guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let port = object["signaling_port"] as? NSNumber
            else { continue }
            return port.intValue
        }
        throw CommandError("The server did not start: \(server.errorText)")
    }

    private func peer(
        _ name: String, _ arguments: [String], _ executable: URL, _ port: Int, _ folder: URL,
        _ began: ContinuousClock.Instant
    ) throws -> DemoPeer {
        try DemoPeer(
            name: name, executable: executable,
            arguments: [
                "call", "--room", "1", "--as", name, "--server", "http://127.0.0.1:\(port)", "--address", "127.0.0.1",
                "--record", folder.path, "--codec", codec.rawValue, "--json",
            ] + arguments, began: began)
    }

    private func conclude(
        _ caller: DemoPeer, _ callee: DemoPeer, _ statuses: (Int32, Int32), _ folder: URL, _ ffmpeg: URL, total: Double
    ) async throws -> Bool {
        var results: [DemoResult] = []
        for (peer, status) in [(caller, statuses.0), (callee, statuses.1)] {
            results.append(
                try await DemoResult(
                    peer, status: status, expectedSeconds: duration.duration.seconds, ffmpeg: ffmpeg))
        }
        let report = DemoReport.make(results, codec: codec.rawValue.uppercased(), duration: total)
        let page = folder.appending(path: "report.html")
        do {
            try Data(report.html.utf8).write(to: page)
        } catch {
            throw CommandError("The report cannot be written: \(error.localizedDescription)")
        }
        print("")
        for result in results {
            print("\(result.name): \(result.verdict)")
            if let recording = result.recording { print("  \(recording.path)") }
        }
        print("Report: \(page.path)")
        return results.allSatisfy(\.faults.isEmpty)
    }
}
