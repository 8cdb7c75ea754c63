internal import ArgumentParser
internal import ClientKit
internal import ClientRTC
internal import Foundation
internal import MediaFiles
internal import RTCEngine
internal import RTCNetwork
internal import RTCWire

/// `roost call`: one side of a call, from the command line.
struct Call: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Place or answer a video call from the command line.",
        discussion: """
            Joins a call room as caller or callee, plays a file as camera and microphone, and records what comes in. \
            A caller calls as soon as a callee is in the room; a callee answers. Somebody who leaves before the call \
            has begun is waited for. The call ends when the other side leaves, after --duration, or with Ctrl-C.

            The status is 0 after a call, 1 when there was none or it was lost, 64 when the command line is not understood, and \
            130 when Ctrl-C came before the call.

            What is recorded is one file of picture and sound: H.264 in MP4 or VP8 in WebM, with Opus; sound alone in \
            Ogg. When a codec changes in mid-call, or a picture comes later than ten seconds behind the sound, another \
            file goes on. Telephones' sound (G.711) is a WAV of its own.

            Examples:
              roost call --room 1 --as Ann --caller --duration 10s
              roost call --room 7 --as Bob --callee --record calls/
            """
    )

    enum Role: String, EnumerableFlag {
        case caller, callee

        static func help(for value: Role) -> ArgumentHelp? {
            switch value {
            case .caller: "Make the call."
            case .callee: "Wait to be called."
            }
        }
    }

    enum Codec: String, ExpressibleByArgument, CaseIterable {
        case h264, vp8
    }

    @OptionGroup var options: RoomOptions

    @Flag var role: Role

    @Option(
        help: ArgumentHelp(
            "A file to send as the camera: MP4 (H.264) or IVF (VP8). Default: the test video.", valueName: "file"))
    var video: String?

    @Option(
        help: ArgumentHelp("A file to send as the microphone: Ogg Opus. Default: the test tones.", valueName: "file"))
    var audio: String?

    @Option(help: ArgumentHelp("Give up when no call has begun after this long, as 10s or 2m.", valueName: "time"))
    var wait: TimeSpan = TimeSpan(.seconds(120))

    @Option(help: "Use only this video codec. Default: what the file is, or what both sides can.")
    var codec: Codec?

    @Option(
        help: ArgumentHelp(
            "Restart ICE this long after the call connected, as 10s or 2m; for tests.", valueName: "time"))
    var restartIce: TimeSpan?

    func validate() throws {
        guard wait.duration > .zero else {
            throw ValidationError("--wait takes a time of more than nothing, such as 10s.")
        }
    }

    @MainActor
    func run() async throws {
        let output = CallOutput(style: options.json ? .json : .text)
        do {
            let media = try CallFiles.load(video: video, audio: audio, codec: codec) { output.notice($0) }
            let recorder = try options.record.map { folder in
                try CallRecorder(folder: folder, name: options.username) { sentence in
                    Task { @MainActor in output.notice(sentence) }
                }
            }
            let engine = RTCCallMediaEngine(
                configuration: try configuration(for: media), media: media, restartsICEAfter: restartIce?.interval,
                sink: { recorder })
            let runner = CallRunner(
                options: CallRunner.Options(
                    room: options.room, username: options.username, isCaller: role == .caller,
                    server: options.server, duration: options.duration?.duration, wait: wait.duration),
                engine: engine, output: output)
            do {
                try await runner.run()
            } catch {
                // However the call ended, what was recorded of it is there.
                if let files = await recorder?.completed().files, !files.isEmpty { output.recorded(files) }
                throw error
            }
            if let recorder {
                let (files, failure) = await recorder.completed()
                if failure == nil || !files.isEmpty { output.recorded(files) }
                if let failure { throw failure }
            }
        } catch let error as CommandError {
            output.failed(error.description)
            throw ExitCode(error.status)
        }
    }

    /// Only the codecs that there is something to send in.
    private func configuration(for media: CallMedia) throws -> PeerConnectionConfiguration {
        let formats = media.video.map(\.format)
        return try options.configuration(
            videoCodecs: [.h264, .vp8].filter { $0.payloadFormat.map(formats.contains) ?? false })
    }
}
