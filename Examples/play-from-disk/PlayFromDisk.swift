import ExampleSupport
import Foundation
import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire

/// Offers the tracks of media files and plays them to whoever answers; with `--simulcast` the files hold one picture in
/// several sizes, and each is a layer that has the file's name. Ends with its input, or with the peer.
@main
struct PlayFromDisk {
    static func main() async { await Example.run(play) }

    private static func play() async throws {
        let tracks = try Example.arguments.flatMap { try MediaFile(path: $0).tracks }
        guard !tracks.isEmpty else {
            LineSignaling.note(
                "Usage: play-from-disk [--simulcast] [--redundant] [--playout-delay=MILLISECONDS] [--dial=KEYS] FILE…")
            exit(2)
        }
        var configuration = try Example.configuration()
        configuration.videoCodecs = codecs(of: tracks, among: CodecParameters.defaultVideo)
        configuration.audioCodecs = codecs(of: tracks, among: CodecParameters.defaultAudio)
        let connection = PeerConnection(configuration: configuration)
        let events = connection.events
        let players =
            Example.has("simulcast") ? try await addLayers(to: connection) : try await add(tracks, to: connection)
        LineSignaling.send(SignalLine(try await connection.completeLocalDescription()))
        Task {
            for await message in LineSignaling.messages() {
                if let answer = message.description { try await connection.setRemoteDescription(answer) }
            }
            await connection.printStatistics()
            await connection.close()
        }
        await play(players, connection, events)
    }

    /// No less than this, and no more: the receiver shows pictures so much later than they come.
    private static var playoutDelay: PlayoutDelayLimits? {
        Example.value(of: "playout-delay").flatMap { Int($0) }.map { PlayoutDelayLimits(minimum: $0, maximum: $0) }
    }

    /// A transceiver for each track.
    private static func add(
        _ tracks: [MediaTrack], to connection: PeerConnection
    ) async throws -> [TransceiverID: [FilePlayer]] {
        var players: [TransceiverID: [FilePlayer]] = [:]
        for track in tracks {
            let transceiver = try await connection.addTransceiver(
                track.format.isVideo ? .video : .audio, direction: .sendonly, streams: ["file"])
            players[transceiver.id] = [
                FilePlayer(
                    playing: MediaSource(track: track), on: transceiver.sender,
                    playoutDelay: track.format.isVideo ? playoutDelay : nil)
            ]
        }
        return players
    }

    /// One transceiver, with a layer for each file.
    private static func addLayers(to connection: PeerConnection) async throws -> [TransceiverID: [FilePlayer]] {
        let layers = try Example.arguments.compactMap { path in
            try MediaFile(path: path).video.map { (rid: layerName(of: path), track: $0) }
        }
        let transceiver = try await connection.addTransceiver(
            .video, direction: .sendonly, streams: ["file"], sendEncodings: layers.map { SendEncoding(rid: $0.rid) })
        let players = layers.map { layer in
            FilePlayer(
                playing: MediaSource(track: layer.track), on: transceiver.sender, layer: layer.rid,
                playoutDelay: playoutDelay)
        }
        return [transceiver.id: players]
    }

    private static func layerName(of path: String) -> String {
        URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    }

    private static func play(
        _ players: [TransceiverID: [FilePlayer]], _ connection: PeerConnection,
        _ events: AsyncStream<PeerConnectionEvent>
    ) async {
        await withTaskGroup(of: Void.self) { group in
            var isPlaying = false
            for await event in events {
                switch event {
                // Again after every interruption, through which the players go on.
                case .connectionStateChange(.connected, _) where !isPlaying:
                    isPlaying = true
                    for player in players.values.joined() { group.addTask { await player.run() } }
                    await dial(on: connection)
                case .connectionStateChange(.failed, let because):
                    LineSignaling.note("It failed: \(because)")
                    await connection.close()
                case .keyFrameRequested(let transceiver):
                    // Whichever layer it was: the event names none, and the layers stay side by side.
                    for player in players[transceiver.id] ?? [] { await player.keyFrameRequested() }
                default: continue
                }
            }
            group.cancelAll()
        }
    }

    /// Presses the keys of `--dial`, each for half a second.
    private static func dial(on connection: PeerConnection) async {
        guard let keys = Example.value(of: "dial").flatMap({ DialedKeys($0, duration: .milliseconds(500)) }) else {
            return
        }
        for transceiver in await connection.transceivers where transceiver.kind == .audio {
            try? await transceiver.sender.dial(keys)
        }
    }

    /// A file is not transcoded, so only what it holds is offered, and what may go beside it. Redundancy comes before
    /// Opus where it is wanted, for then it is used.
    private static func codecs(of tracks: [MediaTrack], among all: [CodecParameters]) -> [CodecParameters] {
        let formats = Set(tracks.map(\.format))
        let media = all.filter { codec in codec.payloadFormat.map(formats.contains) ?? false }
        guard media.contains(.opus) else { return media }
        return (Example.has("redundant") ? [.redundantOpus] : []) + media + [.telephoneEvent]
    }
}
