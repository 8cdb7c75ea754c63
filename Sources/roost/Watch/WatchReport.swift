#if os(Linux)
    internal import ComposableArchitectureStandIn
    internal import Foundation
    internal import WebRTCCore

    /// What is said about the peers: what has changed since the last look.
    struct WatchReport {
        struct Line {
            let event: String
            let sentence: String
            var fields: [String: JSONField] = [:]
        }

        private var last = WebRTCFeature.State()

        mutating func changes(to state: WebRTCFeature.State) -> [Line] {
            defer { last = state }
            var lines: [Line] = []
            for peer in state.connectedPeers {
                let before = last.connectedPeers[id: peer.id]
                guard before?.connectionState != peer.connectionState || before?.connection != peer.connection else {
                    continue
                }
                lines.append(Self.line(peer.id, peer.connectionState))
            }
            for peer in last.connectedPeers where state.connectedPeers[id: peer.id] == nil {
                lines.append(Self.line(peer.id, .closed))
            }
            if let error = state.error, error != last.error {
                var fields: [String: JSONField] = [:]
                if let userId = error.userId { fields["peer"] = .text(userId) }
                lines.append(Line(event: "problem", sentence: error.localizedDescription, fields: fields))
            }
            return lines
        }

        private static func line(_ peer: String, _ state: WebRTCConnectionState) -> Line {
            let sentence =
                switch state {
                case .new, .connecting: "\(peer) calls."
                case .connected: "\(peer) is connected."
                case .disconnected: "\(peer) is lost for the moment."
                case .failed: "\(peer) cannot be reached."
                case .closed: "\(peer) has left."
                }
            return Line(
                event: "peer", sentence: sentence, fields: ["peer": .text(peer), "state": .text(state.rawValue)])
        }

        /// `Ann 120 pictures, 200 sounds; Bob 90 pictures`.
        static func sentence(_ tallies: [String: WatchSink.Tally]) -> String {
            tallies.sorted { $0.key < $1.key }.map { name, tally in
                name + " \(tally.pictures) pictures" + (tally.sounds > 0 ? ", \(tally.sounds) packets of sound" : "")
            }
            .joined(separator: "; ")
        }

        static func fields(_ tallies: [String: WatchSink.Tally]) -> [String: JSONField] {
            [
                "peers": .object(
                    tallies.mapValues { tally in
                        .object(["video": .number(Double(tally.pictures)), "audio": .number(Double(tally.sounds))])
                    })
            ]
        }
    }
#endif
