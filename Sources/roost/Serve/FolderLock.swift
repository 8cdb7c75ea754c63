internal import Foundation

/// One `roost serve` alone keeps its chat in a folder: a second one would take the first one's calls for those of a
/// process that is no more, and end them. It is let go of with the process, however that ends.
struct FolderLock: Sendable {
    private static let name = "serve.lock"

    private let file: Int32

    /// Takes it for as long as the process lives.
    ///
    /// - Throws: `CommandError` when another process has it, or nothing can be written into the folder.
    static func take(_ folder: String) throws(CommandError) -> FolderLock {
        let path = URL(filePath: folder, directoryHint: .isDirectory).appending(path: name).path
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw CommandError("\(path) cannot be written by user \(geteuid()): \(String(cString: strerror(errno))).")
        }
        // Some file systems of other machines have no locks; that is no reason not to serve.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            defer { close(file) }
            let owner = processID(in: file).map { " (process \($0))" } ?? ""
            throw CommandError("Another `roost serve`\(owner) keeps its chat in \(folder); one can at a time.")
        }
        let number = Array("\(getpid())\n".utf8)
        // For people alone: who has the lock has it, whatever is written.
        if ftruncate(file, 0) == 0 { _ = pwrite(file, number, number.count, 0) }
        return FolderLock(file: file)
    }

    private static func processID(in file: Int32) -> Int? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(file, &bytes, bytes.count, 0)
        guard count > 0 else { return nil }
        return Int(String(decoding: bytes[..<count], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Others may have it.
    func release() { close(file) }
}
