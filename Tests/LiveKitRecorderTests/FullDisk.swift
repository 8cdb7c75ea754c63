import Foundation

/// An index of this name cannot be written into a folder, as on a full disk, until the disk has room again.
func fillDisk(forIndex name: String = "index", in folder: URL) throws {
    // Something is where it is written to first.
    try FileManager.default.createDirectory(
        at: folder.appending(path: name + ".json.part"), withIntermediateDirectories: false)
}

func makeRoom(forIndex name: String = "index", in folder: URL) throws {
    try FileManager.default.removeItem(at: folder.appending(path: name + ".json.part"))
}

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
