internal import Foundation

/// Finds the files that come with Roost: the browser page and the test media.
enum ProjectFiles {
    /// The folder or file `name`, looked for in `$ROOST_HOME`, beside the executable and in the folders above it (a
    /// checkout), in `/usr/share/roost` (an installation) and in the working folder, in this order.
    static func locate(_ name: String) -> URL? {
        var places: [URL] = []
        if let home = ProcessInfo.processInfo.environment["ROOST_HOME"] {
            places.append(URL(filePath: home, directoryHint: .isDirectory))
        }
        if let executable = Bundle.main.executableURL?.resolvingSymlinksInPath() {
            var folder = executable.deletingLastPathComponent()
            for _ in 0..<5 {
                places.append(folder)
                folder = folder.deletingLastPathComponent()
            }
        }
        places.append(URL(filePath: "/usr/share/roost", directoryHint: .isDirectory))
        places.append(URL(filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory))
        return places.map { $0.appending(path: name) }.first { FileManager.default.fileExists(atPath: $0.path) }
    }
}
