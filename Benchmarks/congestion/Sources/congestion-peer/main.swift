import CongestionLinks
import Foundation
import RTCEngine
import RTCNetwork
import RTCWire

// congestion-peer send|receive SECONDS ADDRESS: one end of a call over real sockets on an address of this machine, for
// sockets.py. Descriptions go as lines of JSON: the sender prints its offer and reads the answer, the receiver the
// other way round. Then the sender prints what its estimator says, ten times a second.
guard CommandLine.arguments.count == 4, let seconds = Double(CommandLine.arguments[2]),
    let address = IPAddress(CommandLine.arguments[3])
else {
    print("usage: congestion-peer send|receive SECONDS ADDRESS")
    exit(64)
}

func printed(_ value: [String: Any]) throws {
    let line = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys])
    FileHandle.standardOutput.write(line + Data("\n".utf8))
}

func description() throws -> SessionDescriptionInit {
    guard let line = readLine() else { exit(1) }
    return try JSONDecoder().decode(SessionDescriptionInit.self, from: Data(line.utf8))
}

func sayDescription(of connection: PeerConnection, _ events: AsyncStream<PeerConnectionEvent>) async throws {
    for await event in events {
        guard case .iceGatheringStateChange(.complete) = event else { continue }
        break
    }
    guard let description = await connection.localDescription else { exit(1) }
    try printed(["type": description.type.rawValue, "sdp": description.sdp])
}

let configuration = try PeerConnectionConfiguration(
    addresses: .only([address]), videoCodecs: [.vp8])
let connection = PeerConnection(configuration: configuration)
let events = connection.events

switch CommandLine.arguments[1] {
case "send":
    let video = try await connection.addTransceiver(.video, direction: .sendonly, streams: ["camera"])
    try await connection.setBitrateLimits(
        SenderBitrateLimits(minimum: .kilobits(30), maximum: .kilobits(2_500)), of: video)
    let news = connection.targetBitrates
    try await connection.setLocalDescription()
    try await sayDescription(of: connection, events)
    try await connection.setRemoteDescription(try description())

    let camera = Camera(start: configuration.congestion.startBitrate, maximum: .kilobits(2_500))
    let listening = Task { for await target in news { await camera.follow(target, on: video.id) } }
    let asking = Task {
        for await event in connection.events {
            if case .keyFrameRequested = event { await camera.makeKeyFrame() }
        }
    }
    let clock = ContinuousClock()
    let start = clock.now
    var frames = 0
    var reports = 0
    while clock.now - start < .seconds(seconds) {
        try await clock.sleep(until: start + .microseconds(33_333 * frames), tolerance: .zero)
        frames += 1
        if let format = await connection.sendingFormat(of: video), await connection.connectionState == .connected {
            try? await video.sender.send(await camera.next(format))
        }
        guard clock.now - start >= .milliseconds(100 * reports) else { continue }
        reports += 1
        try printed(["target": await camera.target.bitsPerSecond])
    }
    listening.cancel()
    asking.cancel()
case "receive":
    try await connection.setRemoteDescription(try description())
    try await connection.setLocalDescription()
    try await sayDescription(of: connection, events)
    try await Task.sleep(for: .seconds(seconds))
default:
    exit(64)
}
await connection.close()

/// The encoder, between the loop that takes its pictures and the estimator that steers it.
actor Camera {
    private var encoder: Encoder
    /// What the estimator said last.
    private(set) var target: Bitrate

    init(start: Bitrate, maximum: Bitrate) {
        encoder = Encoder(start: start, maximum: maximum, seed: 1)
        target = start
    }

    func follow(_ news: TargetBitrate, on video: TransceiverID) {
        target = news.available
        if let share = news[video] { encoder.target = share }
    }

    func makeKeyFrame() { encoder.wantsKeyFrame = true }
    func next(_ format: PayloadFormat) -> EncodedFrame { encoder.next(format) }
}
