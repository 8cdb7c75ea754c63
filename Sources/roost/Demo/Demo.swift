internal import ArgumentParser
internal import Foundation
internal import LiveKitRecorder
internal import MediaFiles

/// `roost demo`: a whole call between real processes, checked.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a call between two processes on this machine and check every frame.",
        discussion: """
            Starts a server, a callee and a caller as three processes. Both sides send the test video with sound over \
            UDP on 127.0.0.1 and record what they receive. At the end both recordings are decoded with ffmpeg, the frame \
            counter in each picture and the tones in the sound are read back, and a report is written. The exit status \
            is 0 only if the received frames are the sent ones, and 130 after Ctrl-C.
            """
    )

    @Option(help: ArgumentHelp("The folder for recordings and report.", valueName: "folder"))
    var output = "demo-output"

    @Option(help: ArgumentHelp("How long the call lasts, as 10s or 2m.", valueName: "time"))
    var duration: TimeSpan = TimeSpan(.seconds(12))

    @Option(help: "The video codec.")
    var codec: Call.Codec = .h264

    func validate() throws {
        if duration.duration < .seconds(3) { throw ValidationError("--duration takes 3s or more: less shows nothing.") }
    }

    /// How long the server may take to listen.
    private static let serverPatience = Duration.seconds(20)
    /// How long the two may take to find each other.
    private static let callPatience = Duration.seconds(30)
    /// How long hanging up and ending the recordings may take.
    private static let endPatience = Duration.seconds(15)

    func run() async throws {
        do {
            try await play()
        } catch let error as CommandError {
            FileHandle.standardError.write(Data("roost: \(error)\n".utf8))
            throw ExitCode.failure
        }
    }

    private func play() async throws {
        guard let ffmpeg = ChildProcess.find("ffmpeg") else {
            throw CommandError("ffmpeg is needed to check the recordings: apt-get install ffmpeg.")
        }
        guard let executable = Bundle.main.executableURL else { throw CommandError("This program's path is unknown.") }
        let folder = try prepareFolder()
        let began = ContinuousClock.now
        let server = try ChildProcess(
            executable, ["serve", "--host", "127.0.0.1", "--port", "0", "--signaling-port", "0", "--no-echo", "--json"])
        defer { server.kill() }
        let port = try await signalingPort(of: server)
        Console.say("The server listens on 127.0.0.1:\(port). Calling for \(Int(duration.duration.seconds)) s …")
        let callee = try peer("Callee", ["--callee"], executable, port, folder, began)
        let caller = try peer(
            "Caller", ["--caller", "--duration", "\(duration.duration.seconds)s"], executable, port, folder, began)
        let watch = DemoWatch(peers: [caller, callee])
        let watching = Task { await watch.interruptPeersWhenAsked() }
        let patience = Self.callPatience + duration.duration + Self.endPatience
        let limit = Task { await watch.giveUp(after: patience) }
        let live = LiveLine(peers: [caller, callee])
        let liveTask = Task { await live.run() }
        async let callerStatus = caller.follow()
        async let calleeStatus = callee.follow()
        let statuses = await (callerStatus, calleeStatus)
        // Ctrl-C counts until the end: a second one ends the checks too.
        defer { watching.cancel() }
        for task in [limit, liveTask] { task.cancel() }
        await liveTask.value
        server.interrupt()
        try await conclude(
            caller, callee, statuses, folder, ffmpeg, total: (ContinuousClock.now - began).seconds,
            wasInterrupted: await watch.wasInterrupted)
    }

    private func prepareFolder() throws -> URL {
        let folder = URL(filePath: output, directoryHint: .isDirectory)
        do {
            try RecordingFolder.prepare(folder.path)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
            where name.contains("-received") || name == "report.html" {
                try FileManager.default.removeItem(at: folder.appending(path: name))
            }
        } catch let error as RecordingFolderError {
            throw CommandError(error.description)
        } catch {
            throw CommandError("The folder \(output) cannot be prepared: \(error.localizedDescription)")
        }
        return folder
    }

    private func signalingPort(of server: ChildProcess) async throws -> Int {
        // A server that is killed has no more lines.
        let limit = Task { if (try? await Task.sleep(for: Self.serverPatience)) != nil { server.kill() } }
        defer { limit.cancel() }
        for await line in server.lines {
            guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let port = object["signaling_port"] as? NSNumber
            else { continue }
            return port.intValue
        }
        let reason = server.errorText.trimmingCharacters(in: .whitespacesAndNewlines)
        throw CommandError("The server did not start: \(reason.isEmpty ? "it gave no reason." : reason)")
    }

    private func peer(
        _ name: String, _ arguments: [String], _ executable: URL, _ port: Int, _ folder: URL,
        _ began: ContinuousClock.Instant
    ) throws -> DemoPeer {
        try DemoPeer(
            name: name, executable: executable,
            arguments: [
                "call", "--room", "1", "--as", name, "--server", "http://127.0.0.1:\(port)", "--address", "127.0.0.1",
                "--record", folder.path, "--codec", codec.rawValue, "--json", "--wait",
                "\(Self.callPatience.components.seconds)s",
            ] + arguments, began: began)
    }

    private func conclude(
        _ caller: DemoPeer, _ callee: DemoPeer, _ statuses: (Int32, Int32), _ folder: URL, _ ffmpeg: URL, total: Double,
        wasInterrupted: Bool
    ) async throws {
        var results: [DemoResult] = []
        for (peer, status) in [(caller, statuses.0), (callee, statuses.1)] {
            results.append(
                await DemoResult(
                    peer, status: status, expectedSeconds: wasInterrupted ? nil : duration.duration.seconds,
                    ffmpeg: ffmpeg))
        }
        let report = DemoReport.make(
            results, codec: codec.rawValue.uppercased(), duration: total, wasInterrupted: wasInterrupted)
        let page = folder.appending(path: "report.html")
        do {
            try Data(report.html.utf8).write(to: page)
        } catch {
            throw CommandError("The report cannot be written: \(error.localizedDescription)")
        }
        Console.say("")
        if wasInterrupted { Console.say("The demo was interrupted. Until then:") }
        for result in results {
            Console.say("\(result.name): \(result.verdict)")
            if let recording = result.recording { Console.say("  \(recording.path)") }
        }
        Console.say("Report: \(page.path)")
        if wasInterrupted { throw ExitCode(130) }
        if !results.allSatisfy(\.faults.isEmpty) { throw ExitCode.failure }
    }
}
