internal import Foundation
internal import Synchronization

/// A program that we start, with its output as lines. Whoever starts it ends it.
final class ChildProcess: Sendable {
    let lines: AsyncStream<String>
    private let errors = Mutex("")
    private let process: Process
    /// Its standard input. Nothing is ever written: that it closes, however we end, tells the child to end
    /// (`Lifeline`).
    private let lifeline = Pipe()

    /// What it has written to standard error so far.
    var errorText: String { errors.withLock { $0 } }

    init(_ executable: URL, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        let output = Pipe()
        let errorOutput = Pipe()
        process.standardOutput = output
        process.standardError = errorOutput
        process.standardInput = lifeline
        process.environment = ProcessInfo.processInfo.environment.merging(Lifeline.environment) { $1 }
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        self.process = process
        let buffer = LineBuffer()
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            for line in buffer.take(data) { continuation.yield(line) }
            guard data.isEmpty else { return }
            handle.readabilityHandler = nil
            continuation.finish()
        }
        errorOutput.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.errors.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
        do {
            try process.run()
        } catch {
            throw CommandError("\(executable.lastPathComponent) could not be started: \(error.localizedDescription).")
        }
    }

    var isRunning: Bool { process.isRunning }

    /// Waits for its end.
    func status() async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                process.waitUntilExit()
                continuation.resume(returning: process.terminationStatus)
            }
        }
    }

    /// Asks it to end (SIGINT), as Ctrl-C does.
    func interrupt() { if process.isRunning { process.interrupt() } }
    /// Ends it without asking (SIGKILL), for one that does not answer; a stopped one too.
    func kill() {
        // The process is reaped by the one that waits for it, so its number is its own while it runs.
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// Runs a program to its end and returns what it printed.
    /// - Parameter limit: After so long it is ended, and counts as failed.
    static func output(of executable: URL, _ arguments: [String], limit: TimeInterval = 120) throws -> Data {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        do { try process.run() } catch {
            throw CommandError("\(executable.lastPathComponent) could not be started: \(error.localizedDescription).")
        }
        let number = process.processIdentifier
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { if process.isRunning { Foundation.kill(number, SIGKILL) } }
        timer.schedule(deadline: .now() + limit)
        timer.activate()
        defer { timer.cancel() }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw CommandError("\(executable.lastPathComponent) ended with status \(process.terminationStatus).")
        }
        return data
    }

    /// A program by its name, looked for in `PATH`.
    static func find(_ name: String) -> URL? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map { URL(filePath: String($0)).appending(path: name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}

/// Cuts a stream of bytes into lines. Used by one reader at a time.
private final class LineBuffer: Sendable {
    private let rest = Mutex(Data())

    func take(_ data: Data) -> [String] {
        rest.withLock { rest in
            rest.append(data)
            var lines: [String] = []
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: rest[..<end], as: UTF8.self))
                rest = Data(rest[rest.index(after: end)...])
            }
            return lines
        }
    }
}
