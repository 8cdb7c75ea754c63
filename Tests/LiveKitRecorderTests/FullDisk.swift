import Foundation

/// From now on nothing more can be written to an open file of ours, as on a full disk.
func fillDisk(under file: URL) {
    let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
    defer { close(full) }
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
        guard target == file.resolvingSymlinksInPath().path, let descriptor = Int32(name) else { continue }
        dup2(full, descriptor)
    }
}
