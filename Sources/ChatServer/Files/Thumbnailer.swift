package import Foundation

/// Looks into pictures, each in a process of its own: what reads pictures that strangers have sent has neither the
/// server's keys nor its files, little memory, and ten seconds (`roost thumbnail`).
package struct Thumbnailer: Sendable {
    /// What was found.
    struct Picture: Sendable, Equatable {
        /// In pixels, as it is shown.
        let width: Int
        let height: Int
        /// Nil where there is none; otherwise `type` says what it is.
        let thumbnail: [UInt8]?
        let type: String?
    }

    /// The longer edge of a thumbnail, in pixels.
    static let edge = 480
    /// The largest picture that is looked into, in bytes.
    static let sizeLimit: Int64 = 32 << 20
    /// What is read of a process' answer.
    private static let answerLimit = 4 << 20
    private static let types: Set<String> = ["image/jpeg", "image/png", "image/gif", "image/webp"]

    private let program: URL
    private let patience: Duration

    /// - Parameter program: is started with `thumbnail` as its argument.
    package init(program: URL, patience: Duration = .seconds(10)) {
        self.program = program
        self.patience = patience
    }

    static func isPicture(_ mediaType: String, size: Int64) -> Bool {
        types.contains(mediaType) && size <= sizeLimit
    }

    /// - Parameter file: holds the picture.
    /// - Returns: nil for what is no picture, or none that could be read in time.
    func picture(in file: URL) async -> Picture? {
        let (program, patience) = (program, patience)
        return await withCheckedContinuation { continuation in
            // Not on a thread of Swift's, which are as many as there are cores.
            Thread.detachNewThread {
                let answer = Self.run(program, on: file, patience: patience)
                continuation.resume(returning: answer.flatMap(Self.picture(of:)))
            }
        }
    }

    private static func run(_ program: URL, on file: URL, patience: Duration) -> [UInt8]? {
        guard let input = try? FileHandle(forReadingFrom: file) else { return nil }
        let (process, output) = (Process(), Pipe())
        process.executableURL = program
        process.arguments = ["thumbnail"]
        // Neither the keys of a store nor the passwords of a database; where Swift's libraries are.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key == "LD_LIBRARY_PATH" }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let number = process.processIdentifier
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler { if process.isRunning { kill(number, SIGKILL) } }
        timer.schedule(deadline: .now() + .milliseconds(Int(patience / .milliseconds(1))))
        timer.activate()
        defer { timer.cancel() }
        var answer: [UInt8] = []
        while let data = try? output.fileHandleForReading.read(upToCount: 64 << 10), !data.isEmpty {
            answer += data
            guard answer.count <= answerLimit else {
                kill(number, SIGKILL)
                break
            }
        }
        process.waitUntilExit()
        return process.terminationStatus == 0 && answer.count <= answerLimit ? answer : nil
    }

    /// `WIDTH HEIGHT TYPE`, a line feed, and the thumbnail's bytes; nothing for the type where there is none.
    static func picture(of answer: [UInt8]) -> Picture? {
        guard let end = answer.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let words = String(decoding: answer[..<end], as: UTF8.self).split(separator: " ")
        guard words.count == 2 || words.count == 3, let width = Int(words[0]), let height = Int(words[1]),
            (1...1_000_000).contains(width), (1...1_000_000).contains(height)
        else { return nil }
        let bytes = Array(answer[(end + 1)...])
        guard words.count == 3, ["image/jpeg", "image/png"].contains(words[2]), !bytes.isEmpty else {
            return Picture(width: width, height: height, thumbnail: nil, type: nil)
        }
        return Picture(width: width, height: height, thumbnail: bytes, type: String(words[2]))
    }
}
