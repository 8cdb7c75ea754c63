import RTCEngine
import SFUCore
import SFUModels

@testable import LiveKitCore

/// Whether everybody is sent what they should be.
extension RoomStory {
    /// Everybody gets the wanted layer of everything, and all its pictures.
    func checkAll(_ moment: String, _ wanted: [String: Int]? = nil) {
        violations += stuck(at: wanted).map { "\(moment), \($0)" }
        for name in watches.keys {
            for source in watches[name]?.keys.map({ $0 }) ?? [] { watches[name]?[source]?.forgetFrames() }
        }
        // A temporal layer may come and go with the estimate; the others may not, but for what is asked below.
        var slowed: Set<String> = []
        for _ in 0..<15 {
            show(1)
            for client in venue.clients {
                for track in tracks where track.client !== client && isSlowed(track, to: client, at: wanted) {
                    slowed.insert("\(client.name) \(track.title)")
                }
            }
        }
        for client in venue.clients {
            for track in tracks where track.client !== client {
                let frames = watches[client.name]?.values.filter { $0.track === track }.map(\.lastFrames.count).max()
                // Where each layer needs those below it, a picture has a frame of each.
                let needsAll = track.coding == .pictures(.vp9Scalable) || track.coding == .pictures(.av1Scalable)
                let layer = wanted?["\(client.name) \(track.title)"] ?? track.top
                let expected = 13 * (needsAll ? layer + 1 : 1)
                guard (frames ?? 0) < expected, !slowed.contains("\(client.name) \(track.title)") else { continue }
                // Where the estimate has moved meanwhile, so has the layer.
                guard stuck(track, to: client, at: wanted) == nil else { continue }
                violations.append(
                    "\(moment), \(client.name) got \(frames ?? 0) of \(expected) frames of \(track.title) (\(track.coding))"
                )
            }
        }
    }

    /// Whom which track does not reach as it should.
    func stuck(at wanted: [String: Int]?) -> [String] {
        venue.clients.flatMap { client in
            tracks.filter { $0.client !== client }.compactMap { stuck($0, to: client, at: wanted) }
        }
    }

    /// Whether a track reaches somebody in the layer that it should, and without its fastest temporal ones.
    private func isSlowed(_ track: ModelTrack, to client: TestClient, at wanted: [String: Int]?) -> Bool {
        guard let layers = forwarded(track, to: client) else { return false }
        let highest = min(wanted?["\(client.name) \(track.title)"] ?? track.top, track.top)
        return layers.spatial == highest && layers.temporal < track.fastest
    }

    /// How a track reaches somebody, when that is not as it should be.
    private func stuck(_ track: ModelTrack, to client: TestClient, at wanted: [String: Int]?) -> String? {
        let layers = forwarded(track, to: client)
        let highest = min(wanted?["\(client.name) \(track.title)"] ?? track.top, track.top)
        guard layers?.spatial != highest || (layers?.temporal ?? 0) < track.fastest else { return nil }
        let told = layers.map { "\($0.spatial), \($0.temporal)" } ?? "none"
        return "\(client.name) has \(track.title) (\(track.coding)) in layer \(told), not \(highest)"
    }

    /// The highest layers of a track that go to somebody.
    func forwarded(_ track: ModelTrack, to client: TestClient) -> (spatial: Int, temporal: Int)? {
        guard let publication = venue.room.tracks[TrackSID(rawValue: sid(track))]?.publication,
            let participant = venue.room.people.first(where: { $0.sid.rawValue == client.sid }),
            let connection = participant.subscriber
        else { return nil }
        if track.kind == .audio {
            return participant.subscriptions[TrackSID(rawValue: sid(track))] == nil ? nil : (0, 0)
        }
        return venue.room.media.forwardedLayers(to: connection.id, of: publication).map {
            (min(Int($0.spatial), 2), min(Int($0.temporal), 2))
        }
    }
}
