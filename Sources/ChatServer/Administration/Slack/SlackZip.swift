internal import ChatCore
internal import Foundation

/// Unpacks an archive with Info-ZIP's `unzip`.
enum SlackZip {
    private static let program = URL(filePath: "/usr/bin/unzip")

    /// - Parameter folder: is there, and empty.
    static func unpack(_ archive: URL, into folder: URL) throws(ImportFault) {
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw .refused("There is no /usr/bin/unzip here: unpack the archive first, and name its folder.")
        }
        let names = try run(["-Z1", archive.path]).split(separator: "\n")
        for name in names where name.hasPrefix("/") || name.contains("\\") || name.split(separator: "/").contains("..")
        {
            throw .refused("The archive has a file '\(name)', which would be outside of its folder.")
        }
        _ = try run(["-qq", "-o", archive.path, "-d", folder.path])
    }

    private static func run(_ arguments: [String]) throws(ImportFault) -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = program
        process.arguments = arguments
        // Names as they are, whatever the machine's language; no options of somebody's.
        process.environment = ["LC_ALL": "C.UTF-8"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { throw .refused("/usr/bin/unzip cannot be started.") }
        let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        // 1 is a warning (unzip(1), DIAGNOSTICS).
        guard process.terminationReason == .exit, process.terminationStatus <= 1 else {
            throw .refused("The archive cannot be unpacked: it is no ZIP file, or it is damaged, or the disk is full.")
        }
        return String(decoding: data, as: UTF8.self)
    }
}
