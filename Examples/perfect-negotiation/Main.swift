import ExampleSupport
import RTCEngine
import RTCNetwork

/// Two of these, each reading what the other prints, both add a track at once and so offer at once. `--polite` on one.
@main
struct Main {
    static func main() async { await Example.run(negotiate) }

    private static func negotiate() async throws {
        let connection = PeerConnection(configuration: try Example.configuration())
        var negotiator = PerfectNegotiator(connection, isPolite: Example.has("polite"))
        _ = try await connection.addTransceiver(.audio)
        await negotiator.run(messages: LineSignaling.messages(), send: LineSignaling.send) { event in
            switch event {
            case .connectionStateChange(let state, let because): LineSignaling.note("\(state): \(because)")
            case .track(let transceiver): LineSignaling.note("The peer sends \(transceiver.kind.rawValue).")
            default: return
            }
        }
        await connection.close()
    }
}
