import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A Python program of `Interop/socketio`, run by a test: a peer that we did not write.
final class PythonPeer: Sendable {
    /// Its standard output, line by line; ends with the program.
    let lines: AsyncStream<String>
    private let process: Mutex<Process>
    /// One element when the program has ended: its status, negative for a signal.
    private let ends: AsyncStream<Int32>
    private let input: Pipe
    private let errors: Pipe

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// `ROOST_PYTHON`, or the virtual environment that `make test` makes at the repository's root.
    private static func python() throws -> String {
        if let named = ProcessInfo.processInfo.environment["ROOST_PYTHON"], !named.isEmpty { return named }
        let path = repository().appending(path: ".venv/bin/python").path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure(description: "\(path) is missing: `make test` installs it (or set ROOST_PYTHON).")
        }
        return path
    }

    /// The repository's root.
    static func repository(_ file: String = #filePath) -> URL {
        var url = URL(filePath: file).resolvingSymlinksInPath()
        while url.pathComponents.count > 1, !FileManager.default.fileExists(atPath: url.path + "/Interop/socketio") {
            url.deleteLastPathComponent()
        }
        return url
    }

    /// Starts a script of `Interop/socketio`.
    init(_ script: String, _ arguments: [String] = []) throws {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        let (process, output) = (Process(), Pipe())
        input = Pipe()
        errors = Pipe()
        process.executableURL = URL(filePath: try Self.python())
        process.arguments = [Self.repository().appending(path: "Interop/socketio/\(script)").path] + arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        let (ends, end) = AsyncStream.makeStream(of: Int32.self)
        self.ends = ends
        process.terminationHandler = { process in
            end.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            end.finish()
        }
        try process.run()
        // A `readabilityHandler` would not hear of the end of one that writes and ends at once.
        let handle = output.fileHandleForReading
        Thread.detachNewThread {
            var partial = ""
            while case let data = handle.availableData, !data.isEmpty {
                partial += String(decoding: data, as: UTF8.self)
                while let end = partial.firstIndex(of: "\n") {
                    continuation.yield(String(partial[..<end]))
                    partial = String(partial[partial.index(after: end)...])
                }
            }
            continuation.finish()
        }
        self.process = Mutex(process)
    }

    /// Runs a script to its end; its lines, or what went wrong.
    @discardableResult
    static func run(_ script: String, _ arguments: [String]) async throws -> [String] {
        let peer = try PythonPeer(script, arguments)
        var lines: [String] = []
        for await line in peer.lines { lines.append(line) }
        try await peer.finish(lines)
        return lines
    }

    /// The next line; an error with the program's own words if there is none.
    func line() async throws -> String {
        for await line in lines { return line }
        try await finish([])
        throw Failure(description: "The program ended without another line.")
    }

    /// Waits for its end; an error with its own words unless all went well.
    func finish(_ lines: [String]) async throws {
        for await status in ends where status != 0 {
            let text = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
            throw Failure(description: "The program failed (\(status)) after \(lines): \(text)")
        }
    }

    /// Kills it at once, as a crash would, and waits until it is gone.
    func kill() async {
        process.withLock { process in
            if process.isRunning { _ = sendSignal(process.processIdentifier, SIGKILL) }
        }
        for await _ in ends {}
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.withLock { if $0.isRunning { _ = sendSignal($0.processIdentifier, SIGKILL) } }
    }
}

/// Outside the class, whose own `kill` would hide the system's.
private func sendSignal(_ process: Int32, _ signal: Int32) -> Int32 { kill(process, signal) }
