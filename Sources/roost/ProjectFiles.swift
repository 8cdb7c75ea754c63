internal import Foundation

/// Finds the files that come with Roost: the browser page and the test media.
enum ProjectFiles {
    /// The folder or file `name`, looked for in `$ROOST_HOME`, the working folder, the folders above the executable (a
    /// checkout) and `/usr/share/roost` (an installation), in this order.
    static func locate(_ name: String) -> URL? {
        var places: [URL] = []
        if let home = ProcessInfo.processInfo.environment["ROOST_HOME"] {
            places.append(URL(filePath: home, directoryHint: .isDirectory))
        }
        places.append(URL(filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory))
        if let executable = Bundle.main.executableURL?.resolvingSymlinksInPath() {
            var folder = executable.deletingLastPathComponent()
            for _ in 0..<5 {
                places.append(folder)
                folder = folder.deletingLastPathComponent()
            }
        }
        places.append(URL(filePath: "/usr/share/roost", directoryHint: .isDirectory))
        return places.map { $0.appending(path: name) }.first { FileManager.default.fileExists(atPath: $0.path) }
    }
}
