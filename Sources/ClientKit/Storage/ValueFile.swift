internal import Foundation
internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A JSON object of texts in a file. A reader sees the old content or the new one, never a part.
final class ValueFile: Sendable {
    /// Who may read the file.
    enum Audience: Sendable {
        case everybody
        case owner

        var mode: mode_t {
            switch self {
            case .everybody: 0o644
            case .owner: 0o600
            }
        }
    }

    private let url: URL
    private let audience: Audience
    /// Serialises changes made through this value; other processes are kept apart by a lock on the folder.
    private let changing = Mutex(())
    /// How often a folder that another process has locked is asked for, and how long between: two seconds.
    private static let lockAttempts = (count: 400, pause: UInt32(5_000))

    init(url: URL, audience: Audience) {
        self.url = url
        self.audience = audience
    }

    /// Everything in the file; empty when there is no file.
    func read() throws(StoreError) -> [String: String] {
        let path = url.path
        guard FileManager.default.fileExists(atPath: path) else { return [:] }
        try checkAudience()
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw .unreadable(path: path, reason: ValueFile.reason(error))
        }
        do {
            return try JSONDecoder().decode([String: String].self, from: data)
        } catch {
            throw .damaged(path: path)
        }
    }

    /// Changes one value. A file that cannot be trusted is put aside as `….damaged` first.
    func set(_ value: String?, for name: String) throws(StoreError) {
        try changing.withLock { _ throws(StoreError) in
            if value != nil { try makeFolder() }
            // Without it, of two processes that read and then write, one would undo the other's change.
            let lock = lockFolder()
            defer { if lock >= 0 { close(lock) } }
            var values = try readToChange()
            guard values[name] != value else { return }
            values[name] = value
            try write(values)
        }
    }

    private func makeFolder() throws(StoreError) {
        do {
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw .unwritable(path: url.path, reason: ValueFile.reason(error))
        }
    }

    /// Returns the open folder, whose closing releases the lock; negative without a folder. A process that holds it
    /// for long has been stopped: a login is worth more than its change.
    private func lockFolder() -> Int32 {
        let folder = open(url.deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return folder }
        for _ in 0..<ValueFile.lockAttempts.count {
            if flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { break }
            usleep(ValueFile.lockAttempts.pause)
        }
        return folder
    }

    private func readToChange() throws(StoreError) -> [String: String] {
        do throws(StoreError) {
            return try read()
        } catch {
            switch error {
            case .damaged, .exposed: break
            case .unreadable, .unwritable: throw error
            }
        }
        try putAside()
        return [:]
    }

    private func checkAudience() throws(StoreError) {
        switch audience {
        case .everybody:
            return
        case .owner:
            var status = stat()
            guard stat(url.path, &status) == 0 else { return }
            if status.st_mode & 0o077 != 0 { throw .exposed(path: url.path) }
        }
    }

    private func putAside() throws(StoreError) {
        let aside = url.path + ".damaged"
        guard rename(url.path, aside) == 0 else { throw unwritable() }
        // What others could read stays unread from now on.
        _ = chmod(aside, audience.mode)
    }

    private func write(_ values: [String: String]) throws(StoreError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let temporary = url.path + ".\(UUID().uuidString)"
        do {
            try write(try encoder.encode(values), to: temporary)
        } catch let error as StoreError {
            unlink(temporary)
            throw error
        } catch {
            throw .unwritable(path: url.path, reason: ValueFile.reason(error))
        }
        guard rename(temporary, url.path) == 0 else {
            let error = unwritable()
            unlink(temporary)
            throw error
        }
    }

    /// Creates the file with its final mode, so that a secret is at no moment readable by others.
    private func write(_ data: Data, to path: String) throws(StoreError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, audience.mode)
        guard descriptor >= 0 else { throw unwritable() }
        defer { close(descriptor) }
        var rest = [UInt8](data)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw unwritable() }
            rest = rest.dropFirst(count)
        }
        // Without it a power cut can leave the new name with no content.
        guard fsync(descriptor) == 0 else { throw unwritable() }
    }

    private func unwritable() -> StoreError {
        .unwritable(path: url.path, reason: String(cString: strerror(errno)))
    }

    private static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        return (underlying ?? (error as NSError)).localizedDescription
    }
}

/// The system's `write`, which `ValueFile`'s own methods of that name hide.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
