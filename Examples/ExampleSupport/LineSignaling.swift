internal import Foundation

/// Signaling by hand: what goes out is printed as a line, what comes in is typed, pasted or piped. Real programs put a
/// socket here; WebRTC leaves the choice to them (RFC 8825 §3).
public enum LineSignaling {
    /// The lines of standard input, as they come.
    public static func lines() -> AsyncStream<String> {
        AsyncStream { continuation in
            // A thread of its own: reading waits, and Swift's pool has few threads.
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }

    /// The messages among the lines; what is no message is told on standard error and left out.
    public static func messages() -> AsyncStream<SignalLine> {
        let lines = lines()
        return AsyncStream { continuation in
            Task {
                for await line in lines where !line.isEmpty {
                    do {
                        continuation.yield(try JSONDecoder().decode(SignalLine.self, from: Data(line.utf8)))
                    } catch {
                        note("That line is no message: \(error)")
                    }
                }
                continuation.finish()
            }
        }
    }

    /// Prints one message.
    public static func send(_ message: SignalLine) {
        guard let json = try? JSONEncoder().encode(message) else { return }
        FileHandle.standardOutput.write(json + Data("\n".utf8))
    }

    /// Says something to the person at the keyboard, apart from what the other program reads.
    public static func note(_ sentence: String) {
        FileHandle.standardError.write(Data((sentence + "\n").utf8))
    }
}
