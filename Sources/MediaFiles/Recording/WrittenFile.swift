import Foundation

/// A recording that was written to its end, and may not be on the disk yet.
package struct WrittenFile: Sendable {
    let path: String
    /// Nobody writes by it any more.
    let handle: FileHandle

    /// Waits until the disk has it, which may take seconds; on any thread.
    ///
    /// - Returns: why it is not there.
    package func sync() -> MediaFileError? {
        let hasFailed = fsync(handle.fileDescriptor) != 0 && errno != EINVAL && errno != EROFS
        return hasFailed || !isInPlace ? .unwritable(file: path) : nil
    }

    /// Who takes a file away, or puts another one in its place, does not hinder those who write to it.
    private var isInPlace: Bool {
        var (found, own) = (stat(), stat())
        guard stat(path, &found) == 0, fstat(handle.fileDescriptor, &own) == 0 else { return false }
        return found.st_ino == own.st_ino && found.st_dev == own.st_dev
    }
}
