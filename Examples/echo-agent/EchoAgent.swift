import Dispatch
import ExampleSupport
import Foundation
import LiveKitClient
import RTCEngine
import RTCNetwork
import RTCWire

/// An agent for a server of LiveKit's protocol: says back to everybody what they say, and answers their messages.
/// Ctrl-C lets what goes on come to its end, and a second one ends it.
@main
struct EchoAgent {
    static func main() async {
        do {
            try await work()
        } catch {
            LineSignaling.note("echo-agent: \(error)")
            exit(1)
        }
    }

    private static func work() async throws {
        let environment = ProcessInfo.processInfo.environment
        var options = AgentWorker.Options()
        options.agentName = Example.value(of: "name") ?? "echo"
        options.answer = { _ in .accept(AgentIdentity(name: "Echo")) }
        options.onEvent = { LineSignaling.note($0.description) }
        if Example.has("loopback") { options.connect.addresses = .all }
        let worker = try AgentWorker(
            url: environment["LIVEKIT_URL"] ?? "ws://localhost:7880",
            apiKey: environment["LIVEKIT_API_KEY"] ?? "devkey",
            apiSecret: environment["LIVEKIT_API_SECRET"] ?? "secret", options: options, job: echo)
        let stops = [SIGINT, SIGTERM]
        let sources = stops.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                for number in stops { signal(number, SIG_DFL) }
                worker.drain()
            }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        try await worker.run()
    }

    private static func echo(_ context: AgentJobContext) async throws {
        let room = context.room
        // What people write in LiveKit's own applications.
        await room.registerTextStreamHandler(for: "lk.chat") { [weak room] reader, sender in
            guard let room, let sender else { return }
            var options = StreamTextOptions(topic: "lk.chat")
            options.destinationIdentities = [sender]
            try await room.sendText(try await reader.readAll(limit: 1 << 20), options: options)
        }
        let events = room.events
        try await context.connect()
        for await event in events {
            switch event {
            case .trackSubscribed(let track) where track.kind == .audio && track.participant.kind != .agent:
                let options = TrackPublishOptions(name: "\(track.participant.identity), again", source: .microphone)
                let publication = try await room.publish(.opus, options: options)
                Task {
                    for await frame in track.frames { await publication.send(frame) }
                    await publication.unpublish()
                }
            case .dataReceived(let message):
                guard let sender = message.sender else { continue }
                if message.payload == Array("goodbye".utf8) { return }
                try await room.publish(data: message.payload, to: [sender], topic: message.topic)
            case .participantDisconnected:
                if await room.remoteParticipants.values.allSatisfy({ $0.kind == .agent }) { return }
            default: continue
            }
        }
    }
}
