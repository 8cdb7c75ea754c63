internal import ArgumentParser
internal import ChatServer
internal import Foundation

/// `roost admin export`.
struct AdminExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write a workspace out as lines of JSON, without the bytes of files.",
        discussion: """
            All of it is in there, private channels and direct messages among it, and the members' e-mail addresses. \
            No passwords. The server may run meanwhile.
            """)

    @OptionGroup var options: AdminOptions

    @Argument(help: "The workspace's address (slug) or identifier.")
    var workspace: String

    @Option(
        help: ArgumentHelp(
            "Into this file, which only you may read; one that is there is replaced. Default: standard output.",
            valueName: "file"))
    var output: String?

    func run() async throws {
        try await options.run { chat in
            guard let output else {
                try await chat.export(workspace) { line in
                    guard Console.say(line) else { throw CommandError("Nobody reads the export any more.") }
                }
                return
            }
            let file = try ExportOutput(output)
            do {
                try await chat.export(workspace) { try file.write($0) }
                try file.finish()
            } catch {
                file.abandon()
                throw error
            }
        }
    }
}

/// The file of an export, which takes its name when all of it is on the disk. Used by one task.
private final class ExportOutput {
    private let url: URL
    private let partial: URL
    private let file: FileHandle
    private var buffer = Data()

    init(_ path: String) throws(CommandError) {
        url = URL(filePath: path)
        partial = url.deletingLastPathComponent().appending(path: ".\(url.lastPathComponent).\(UUID().uuidString)")
        let isMade = FileManager.default.createFile(
            atPath: partial.path, contents: nil, attributes: [.posixPermissions: 0o600])
        guard isMade, let file = try? FileHandle(forWritingTo: partial) else {
            throw CommandError("The file \(path) cannot be made.")
        }
        self.file = file
    }

    func write(_ line: String) throws {
        buffer += Data((line + "\n").utf8)
        if buffer.count >= 1 << 20 { try flush() }
    }

    private func flush() throws {
        do { try file.write(contentsOf: buffer) } catch {
            throw CommandError("The file \(url.path) cannot be written: is the disk full?")
        }
        buffer.removeAll(keepingCapacity: true)
    }

    func finish() throws {
        try flush()
        do {
            try file.synchronize()
            try file.close()
        } catch {
            throw CommandError("The file \(url.path) cannot be written: is the disk full?")
        }
        guard rename(partial.path, url.path) == 0 else { throw CommandError("The file \(url.path) cannot be made.") }
    }

    func abandon() { try? FileManager.default.removeItem(at: partial) }
}
