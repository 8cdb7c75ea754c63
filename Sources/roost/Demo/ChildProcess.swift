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
        do {
            try process.run()
        } catch {
            throw CommandError("\(executable.lastPathComponent) could not be started: \(error.localizedDescription).")
        }
        let buffer = LineBuffer()
        Self.read(output) { data in
            for line in buffer.take(data) { continuation.yield(line) }
            if data.isEmpty { continuation.finish() }
        }
        Self.read(errorOutput) { [weak self] data in
            self?.errors.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
    }

    /// Gives what a started process writes, and at its end nothing, once. By a thread of its own: a
    /// `readabilityHandler` of Linux is called once for a process that writes and ends before it is looked at, and what
    /// the call leaves in the pipe, the end as well, is never told of.
    private static func read(_ pipe: Pipe, _ take: @escaping @Sendable (Data) -> Void) {
        let handle = pipe.fileHandleForReading
        Thread.detachNewThread {
            while true {
                let data = handle.availableData
                take(data)
                if data.isEmpty { return }
            }
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
