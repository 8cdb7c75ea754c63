import ExampleSupport
import RTCEngine
import RTCNetwork

/// Answers an offer and sends back whatever comes, frame by frame, undecoded.
@main
struct Echo {
    static func main() async { await Example.run(echo) }

    private static func echo() async throws {
        LineSignaling.note("Paste an offer, as a line of JSON: {\"type\":\"offer\",\"sdp\":…}")
        for await message in LineSignaling.messages() {
            guard let offer = message.description, offer.type == .offer else { continue }
            let connection = PeerConnection(configuration: try Example.configuration())
            let events = connection.events
            do {
                try await connection.setRemoteDescription(offer)
                // What the peer wants to send is answered with `recvonly` unless we say that we send too.
                for transceiver in await connection.transceivers {
                    try await connection.setDirection(.sendrecv, of: transceiver)
                }
                LineSignaling.send(SignalLine(try await connection.completeLocalDescription()))
            } catch {
                LineSignaling.note("That offer cannot be answered: \(error)")
                await connection.close()
                continue
            }
            await echo(connection, events)
            LineSignaling.note("It is over; the next offer may come.")
        }
    }

    private static func echo(_ connection: PeerConnection, _ events: AsyncStream<PeerConnectionEvent>) async {
        // A track that is held and goes on, or moves to another stream, is told again.
        var echoed: Set<RTPTransceiver> = []
        for await event in events {
            switch event {
            case .track(let transceiver):
                guard echoed.insert(transceiver).inserted else { continue }
                Task {
                    for await frame in transceiver.receiver.frames { try? await transceiver.sender.send(frame) }
                }
            case .keyFrameRequested(let transceiver):
                // The peer cannot decode what came back: only its own encoder can help.
                await connection.requestKeyFrame(on: transceiver)
            case .connectionStateChange(let state, let because):
                LineSignaling.note("\(state): \(because)")
                if state == .failed { await connection.close() }
            default: continue
            }
        }
    }
}
