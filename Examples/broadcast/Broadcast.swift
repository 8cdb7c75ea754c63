import ExampleSupport
import Foundation
import MediaFiles
import RTCEngine
import RTCNetwork

/// Plays one file to everybody who asks: each viewer's offer comes as a line with its name in `peer`, and is answered
/// so.
@main
struct Broadcast {
    static func main() async { await Example.run(broadcast) }

    private static func broadcast() async throws {
        guard let path = Example.arguments.first else {
            LineSignaling.note("usage: broadcast FILE [--loopback]")
            exit(2)
        }
        guard let track = try MediaFile(path: path).video else {
            LineSignaling.note("\(path) holds no video.")
            exit(1)
        }
        let studio = Studio(track)
        Task { await studio.play() }
        LineSignaling.note("Paste offers: {\"peer\":\"Bob\",\"type\":\"offer\",\"sdp\":…}")
        for await message in LineSignaling.messages() {
            guard let offer = message.description, offer.type == .offer else { continue }
            let peer = message.peer ?? ""
            do {
                LineSignaling.send(SignalLine(try await studio.admit(peer, offer), peer: peer))
            } catch {
                LineSignaling.note("\(peer) cannot be admitted: \(error)")
            }
        }
    }
}

/// One source, many viewers. Each frame is read once and sent to all; who has just come is shown the picture from the
/// next key frame on, which is the sender's own rule.
actor Studio {
    private let track: MediaTrack
    private var viewers: [String: (connection: PeerConnection, sender: RTPSender)] = [:]

    init(_ track: MediaTrack) { self.track = track }

    /// Answers a viewer. One of the same name takes its place.
    func admit(_ peer: String, _ offer: SessionDescriptionInit) async throws -> SessionDescriptionInit {
        // All on the shared loop: one thread sends to everybody.
        var configuration = try Example.configuration()
        // Nothing is transcoded: a viewer who prefers another codec has to take the file's.
        configuration.videoCodecs.removeAll { $0.payloadFormat != track.format }
        let connection = PeerConnection(configuration: configuration)
        let events = connection.events
        do {
            try await connection.setRemoteDescription(offer)
            let video = try await connection.addTrack(.video)
            let answer = try await connection.completeLocalDescription()
            if let former = viewers.updateValue((connection, video.sender), forKey: peer) {
                await former.connection.close()
            }
            Task { await follow(peer, connection, events) }
            return answer
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Sends the file in a loop, at its own pace. A viewer's wish for a key frame is not followed: it would make
    /// everybody's picture jump, and the file's next one is a second away.
    func play() async {
        var source = MediaSource(track: track)
        let clock = ContinuousClock()
        let start = clock.now
        while let due = source.nextDue {
            try? await clock.sleep(until: start + due.duration)
            guard let frame = source.next() else { return }
            for viewer in viewers.values { try? await viewer.sender.send(frame) }
        }
    }

    private func follow(
        _ peer: String, _ connection: PeerConnection, _ events: AsyncStream<PeerConnectionEvent>
    ) async {
        for await event in events {
            guard case .connectionStateChange(let state, _) = event else { continue }
            LineSignaling.note("\(peer): \(state)")
            if state == .failed { await connection.close() }
        }
        if viewers[peer]?.connection === connection { viewers[peer] = nil }
    }
}
