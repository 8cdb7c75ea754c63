internal import ArgumentParser
internal import Foundation
internal import LiveKitClient
internal import LiveKitRecorder
internal import MediaFiles
internal import RTCNetwork

/// `roost join`: a participant of a room of LiveKit's protocol, from the command line.
struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Join a room of LiveKit's protocol from the command line.",
        discussion: """
            Joins a room on Roost or on any other server of LiveKit's protocol, publishes files as camera and \
            microphone, records what others publish, and sends and prints messages. It comes back by itself when the \
            connection is lost. It leaves the room after --duration, or with Ctrl-C.

            Who joins which room is said by a token: one that is given with --token or in LIVEKIT_TOKEN, or one that is \
            made for --room and --as with an API key, from --key or from LIVEKIT_API_KEY and LIVEKIT_API_SECRET.

            With --commands, each line of standard input is a JSON object that says what to "do": data, rpc, register, \
            answer, mute, unmute, publish, unpublish, subscribe, quality, attributes, publish_data_track, push, \
            unpublish_data_track, subscribe_data_track, send_text, send_file, read_text, read_files, simulate or \
            leave. docs/operations/joining.md has their fields.

            The status is 0 after a room that we have left, 1 when it was not joined or was lost or a recording could \
            not be written, 64 when the command line is not understood, and 130 when Ctrl-C came before we were in.

            Examples:
              roost join --livekit-dev --room standup --as bot --publish Media/webRtcTestVideo.mp4
              roost join --url wss://meet.example.org --token "$TOKEN" --record meetings/ --duration 1h
            """
    )

    @OptionGroup(title: "Room") var access: JoinAccess

    @Option(
        help: ArgumentHelp(
            "A file to publish: MP4 (H.264, H.265, Opus), IVF (VP8, VP9, AV1), Ogg (Opus) or WAV (G.711); may be repeated.",
            valueName: "file"))
    var publish: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file that holds the picture of --publish in another size, sent beside it for those with less room "
                + "(simulcast); once or twice.", valueName: "file"))
    var layer: [String] = []

    @Flag(help: "Send a picture, and each size of it, only while somebody in the room takes it.")
    var dynacast = false

    @Flag(help: "Publish each file once; else it begins again at its end.")
    var once = false

    @Option(
        help: ArgumentHelp(
            "Record each track that others publish into a file of its own in this folder, with an index in JSON.",
            valueName: "folder"))
    var record: String?

    @Option(
        help: ArgumentHelp(
            "A password that all in the room have: sound, pictures and messages are encrypted with it between clients. "
                + "Default: ROOST_E2EE_KEY, or nothing is encrypted.", valueName: "password"))
    var e2eeKey: String?

    @Option(help: ArgumentHelp("A message to everybody once we are in; may be repeated.", valueName: "text"))
    var data: [String] = []

    @Option(help: "The topic of the messages of --data.")
    var topic: String?

    @Flag(inversion: .prefixedNo, help: "Whether everything that others publish is received.")
    var subscribe = true

    @Flag(help: "Take commands as lines of JSON from standard input.")
    var commands = false

    @Option(help: ArgumentHelp("Give up when we are not in the room after this long, as 10s or 2m.", valueName: "time"))
    var wait = TimeSpan(.seconds(30))

    @Option(help: ArgumentHelp("Leave after this long, as 10s or 2m. Default: no limit.", valueName: "time"))
    var duration: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Use only this address of this machine for media; may be repeated. Default: all but loopback, and loopback "
                + "for a server on this machine.", valueName: "ip"))
    var address: [String] = []

    @Flag(help: "Print events as one JSON object a line.")
    var json = false

    func validate() throws {
        for (name, time) in [("--wait", wait), ("--duration", duration ?? wait)] where time.duration <= .zero {
            throw ValidationError("\(name) takes a time of more than nothing, such as 10s.")
        }
        // A variable that is not set would have everything go out readable.
        guard e2eeKey != "", ProcessInfo.processInfo.environment["ROOST_E2EE_KEY"] != "" else {
            throw ValidationError("--e2ee-key and ROOST_E2EE_KEY take a password, and an empty one is none.")
        }
        guard layer.isEmpty || publish.count == 1 else {
            throw ValidationError("--layer is about the picture of --publish, of which there is to be one then.")
        }
        guard layer.count < VideoQuality.allCases.count else {
            throw ValidationError("--layer can be given twice: a picture has three sizes at the most.")
        }
        guard topic == nil || !data.isEmpty else { throw ValidationError("--topic is about the messages of --data.") }
    }

    @MainActor
    func run() async throws {
        let output = CallOutput(style: json ? .json : .text)
        do {
            let token = try access.makeToken()
            let files = try publish.map { try JoinFile(path: $0, layers: layer) }
            let recorder = try record.map { folder in
                guard !folder.isEmpty else { throw CommandError("--record wants the name of a folder.") }
                do throws(RecordingFolderError) {
                    try RecordingFolder.prepare(folder)
                } catch {
                    throw CommandError(error.description)
                }
                return RecordingFolder(folder, loop: NetworkLoop(name: "roost-recorder")) { notice in
                    Task { @MainActor in output.notice(notice.description) }
                }
            }
            var options = ConnectOptions()
            options.autoSubscribe = subscribe
            options.dynacast = dynacast
            // What a command line says all on the machine may read.
            if let password = e2eeKey ?? ProcessInfo.processInfo.environment["ROOST_E2EE_KEY"] {
                options.encryption = KeyProvider(sharedKey: password)
            }
            if !address.isEmpty { options.addresses = try PeerAddresses.parse(address) }
            let runner = JoinRunner(
                room: Room(options: options), url: access.server, token: token, files: files,
                ending: once ? .stop : .loop, messages: data, topic: topic, recorder: recorder, output: output)
            do {
                try await runner.run(wait: wait.duration, duration: duration?.duration, takesCommands: commands)
            } catch {
                try? await runner.finishRecording()
                throw error
            }
            try await runner.finishRecording()
        } catch let error as CommandError {
            output.failed(error.description)
            throw ExitCode(error.status)
        }
    }
}

/// A file that is published, read.
struct JoinFile {
    let name: String
    let media: MediaFile
    /// Its picture in other sizes.
    let layers: [MediaTrack]

    /// - Parameter layers: files that hold its picture in other sizes.
    init(path: String, layers: [String] = []) throws {
        name = URL(filePath: path).deletingPathExtension().lastPathComponent
        let file = try Self.read(path)
        media = file
        self.layers = try layers.map { layer in
            guard let picture = file.video else { throw CommandError("\(path) holds no picture that has sizes") }
            guard let track = try Self.read(layer).video else { throw CommandError("\(layer) holds no picture") }
            guard track.format == picture.format else {
                throw CommandError("\(layer) has its picture in another codec than \(path)")
            }
            return track
        }
    }

    private static func read(_ path: String) throws -> MediaFile {
        do {
            return try MediaFile(path: path)
        } catch {
            throw CommandError("\(error)")
        }
    }
}
