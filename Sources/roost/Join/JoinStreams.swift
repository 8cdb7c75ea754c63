internal import Foundation
internal import LiveKitClient
internal import LiveKitRecorder

/// Commands on streams of data, and what is printed of those that others send.
extension JoinRunner {
    func sendText(_ command: JoinCommand) async throws {
        var options = StreamTextOptions(topic: command.topic ?? "")
        options.attributes = command.attributes ?? [:]
        options.destinationIdentities = command.recipients
        let text = try command.needed(\.text, "text")
        let info = try await room.sendText(text, options: options)
        output.say("stream_sent", "A text is sent.", ["id": .text(info.id), "topic": .text(info.topic)])
    }

    func sendFile(_ command: JoinCommand) async throws {
        var options = StreamByteOptions(topic: command.topic ?? "")
        options.attributes = command.attributes ?? [:]
        options.destinationIdentities = command.recipients
        options.name = command.name
        options.mimeType = command.type
        let info = try await room.sendFile(at: try command.needed(\.file, "file"), options: options)
        output.say(
            "stream_sent", "The file \(info.name) is sent.", ["id": .text(info.id), "topic": .text(info.topic)])
    }

    /// Prints texts on a topic as they come, or no more of them.
    func readText(_ command: JoinCommand) async {
        let topic = command.topic ?? ""
        guard command.wanted ?? true else { return await room.registerTextStreamHandler(for: topic, nil) }
        await room.registerTextStreamHandler(for: topic) { [output] reader, sender in
            await Self.read(reader, from: sender, output)
        }
    }

    private static func read(
        _ reader: TextStreamReader, from sender: ParticipantIdentity?, _ output: CallOutput
    ) async {
        let who = sender?.rawValue ?? ""
        let name = ["id": JSONField.text(reader.info.id), "topic": .text(reader.info.topic), "participant": .text(who)]
        var began = name
        began["attributes"] = .object(reader.info.attributes.fields)
        output.say("text_stream_began", "\(who) writes on \(reader.info.topic).", began)
        do throws(StreamError) {
            for try await piece in reader {
                output.say("text_stream_piece", "\(who): \(piece)", name.merging(["text": .text(piece)]) { $1 })
            }
            let fields: [String: JSONField] = ["attributes": .object(reader.attributes.fields)]
            output.say("text_stream_ended", "\(who) has written it.", name.merging(fields) { $1 })
        } catch {
            let fields: [String: JSONField] = ["reason": .text("\(error)")]
            output.say("stream_failed", "A text of \(who) breaks off. \(error)", name.merging(fields) { $1 })
        }
    }

    /// Of a file that is received, in bytes.
    private static let usualFileLimit = 1 << 30

    /// Writes what comes on a topic into files, or no more of it.
    func readFiles(_ command: JoinCommand) async throws {
        let topic = command.topic ?? ""
        guard command.wanted ?? true else { return await room.registerByteStreamHandler(for: topic, nil) }
        let folder = try command.needed(\.folder, "folder")
        let limit = command.limit ?? Self.usualFileLimit
        if let reason = Folder.make(folder) { throw CommandError("the folder \(folder) cannot be made: \(reason)") }
        await room.registerByteStreamHandler(for: topic) { [output] reader, sender in
            await Self.read(reader, from: sender, into: folder, atMost: limit, output)
        }
    }

    private static func read(
        _ reader: ByteStreamReader, from sender: ParticipantIdentity?, into folder: String, atMost limit: Int,
        _ output: CallOutput
    ) async {
        let (info, who) = (reader.info, sender?.rawValue ?? "")
        let fields: [String: JSONField] = [
            "id": .text(info.id), "topic": .text(info.topic), "participant": .text(who), "name": .text(info.name),
            "type": .text(info.mimeType),
        ]
        do {
            let file = try ReceivedFile(in: folder, named: info.name)
            do {
                for try await piece in reader {
                    guard file.length + piece.count <= limit else { throw StreamError.tooLong(limit: limit) }
                    try file.write(piece)
                }
            } catch {
                file.remove()
                throw error
            }
            let more: [String: JSONField] = [
                "file": .text(file.path), "bytes": .number(Double(file.length)),
                "attributes": .object(reader.attributes.fields),
            ]
            output.say("file_received", "\(who) has sent \(file.path).", fields.merging(more) { $1 })
        } catch {
            let more: [String: JSONField] = ["reason": .text("\(error)")]
            output.say("stream_failed", "A file of \(who) is not received. \(error)", fields.merging(more) { $1 })
        }
    }
}

extension [String: String] {
    fileprivate var fields: [String: JSONField] { mapValues { .text($0) } }
}

/// A file that comes in pieces, under a name that others have chosen: letters, digits and a few signs are left of it,
/// and it is another one where there is such a file. For the user alone.
private final class ReceivedFile {
    let path: String
    private(set) var length = 0
    private let handle: FileHandle

    init(in folder: String, named name: String) throws {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
        var safe = RecordingPath.made(safe: last, also: ".-_ ", limit: 120)
        if safe.isEmpty || safe.unicodeScalars.first == "." { safe = "_" + safe }
        var number = 0
        while true {
            let path = folder + "/" + (number == 0 ? safe : "\(number)-\(safe)")
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                self.path = path
                handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
                return
            }
            number += 1
            guard errno == EEXIST, number < 10_000 else {
                throw CommandError("\(path) cannot be written: \(String(cString: strerror(errno)))")
            }
        }
    }

    func write(_ piece: [UInt8]) throws {
        try handle.write(contentsOf: piece)
        length += piece.count
    }

    func remove() { unlink(path) }
}
