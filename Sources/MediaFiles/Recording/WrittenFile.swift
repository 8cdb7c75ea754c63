import Foundation

/// A recording that was written to its end, and may not be on the disk yet.
package struct WrittenFile: @unchecked Sendable {
    let path: String
    /// Nobody writes by it any more.
    let handle: FileHandle

    /// Waits until the disk has it, which may take seconds; on any thread.
    ///
    /// - Returns: why it is not there.
    package func sync() -> MediaFileError? {
        guard fsync(handle.fileDescriptor) != 0, errno != EINVAL, errno != EROFS else { return nil }
        return .unwritable(file: path)
    }
}
