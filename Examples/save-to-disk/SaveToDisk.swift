import ExampleSupport
import Foundation
import RTCEngine
import RTCNetwork
import RTCWire

/// Answers an offer and saves what comes, each track in a file of its own. Ends with its input, or with the peer.
@main
struct SaveToDisk {
    static func main() async { await Example.run(save) }

    private static func save() async throws {
        let folder = Example.arguments.first ?? "."
        var configuration = try Example.configuration()
        configuration.receivesSimulcast = Example.has("simulcast")
        let connection = PeerConnection(configuration: configuration)
        let events = connection.events
        Task {
            for await message in LineSignaling.messages() {
                guard let offer = message.description, offer.type == .offer else { continue }
                try await connection.setRemoteDescription(offer)
                LineSignaling.send(SignalLine(try await connection.completeLocalDescription()))
            }
            await connection.printStatistics()
            await connection.close()
        }
        await withTaskGroup(of: Void.self) { tracks in
            // A track that is held and goes on, or moves to another stream, is told again.
            var saved: Set<RTPTransceiver> = []
            for await event in events {
                switch event {
                case .connectionStateChange(let state, _):
                    report(["event": "state", "state": state.rawValue])
                    if state == .failed { await connection.close() }
                case .track(let transceiver):
                    let saver = TrackSaver(folder: folder, number: saved.count)
                    guard saved.insert(transceiver).inserted else { continue }
                    tracks.addTask { await saver.save(transceiver) }
                    tracks.addTask { await reportKeys(transceiver) }
                default: continue
                }
            }
        }
    }

    /// Telephone keys that the peer presses.
    private static func reportKeys(_ transceiver: RTPTransceiver) async {
        for await tone in transceiver.receiver.tones {
            guard let key = tone.key else { continue }
            report(["event": tone.duration == nil ? "pressed" : "released", "key": String(key)])
        }
    }
}

/// One line of JSON on standard output, told from descriptions by its `event`.
func report(_ event: [String: String]) {
    guard let data = try? JSONEncoder().encode(event) else { return }
    FileHandle.standardOutput.write(data + Data("\n".utf8))
}
