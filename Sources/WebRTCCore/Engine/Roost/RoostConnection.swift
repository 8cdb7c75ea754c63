#if !canImport(WebRTC)
    internal import RTCEngine
    internal import RTCNetwork

    /// Receives over Roost's own `PeerConnection`, whose answers send nothing unless a track was added, and refuse data
    /// channels.
    final class RoostConnection: ReceivingConnection {
        let happenings: AsyncStream<ConnectionHappening>
        private let connection: PeerConnection

        /// A track that comes in. It ends when its peer holds it (RFC 3264 §8.4), and its transceiver may go on.
        private struct Incoming {
            let track: RemoteTrack
            let frames: TrackFrames

            init(_ transceiver: RTPTransceiver, of connection: PeerConnection?) {
                let frames = TrackFrames(of: transceiver.receiver)
                self.frames = frames
                track = RemoteTrack(
                    id: "\(transceiver.id)", frames: { frames.stream() },
                    requestKeyFrame: { [weak connection] in await connection?.requestKeyFrame(on: transceiver) })
            }
        }

        init(configuration: PeerConnectionConfiguration) {
            var configuration = configuration
            configuration.dataChannels.acceptsOffers = false
            connection = PeerConnection(configuration: configuration)
            let (happenings, continuation) = AsyncStream.makeStream(of: ConnectionHappening.self)
            self.happenings = happenings
            // Holds the events and not the connection: they end when it is closed or gone.
            Task { [events = connection.events, weak connection] in
                var receiving: [RTPTransceiver: Incoming] = [:]
                for await event in events {
                    if let happening = Self.happening(event, &receiving, connection) { continuation.yield(happening) }
                }
                continuation.finish()
            }
        }

        func answer(_ offer: String) async throws(Refusal) -> String {
            do throws(PeerConnectionError) {
                try await connection.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: offer))
                try await connection.setLocalDescription()
            } catch {
                if await connection.signalingState == .haveRemoteOffer {
                    try? await connection.setRemoteDescription(SessionDescriptionInit(type: .rollback, sdp: ""))
                }
                throw Refusal(reason: "\(error)")
            }
            guard let answer = await presentAnswer() else { throw Refusal(reason: "The connection is closed.") }
            return answer
        }

        func presentAnswer() async -> String? {
            await connection.localDescription.flatMap { $0.type == .answer ? $0.sdp : nil }
        }

        func add(_ candidate: ICECandidate.Candidate) async throws(Refusal) {
            do throws(PeerConnectionError) {
                try await connection.addICECandidate(
                    ICECandidateInit(
                        candidate: candidate.attribute ?? candidate.candidate, sdpMid: candidate.sdpMid,
                        sdpMLineIndex: candidate.sdpMLineIndex))
            } catch {
                throw Refusal(reason: "\(error)")
            }
        }

        func close() async { await connection.close() }

        private static func happening(
            _ event: PeerConnectionEvent, _ receiving: inout [RTPTransceiver: Incoming], _ connection: PeerConnection?
        ) -> ConnectionHappening? {
            switch event {
            case .connectionStateChange(let state, let because):
                return .state(WebRTCConnectionState(state), because: because)
            case .iceCandidate(let candidate):
                return .candidate(
                    ICECandidate.Candidate(
                        candidate: candidate.candidate, sdpMLineIndex: candidate.sdpMLineIndex ?? 0,
                        sdpMid: candidate.sdpMid))
            case .track(let transceiver):
                // Each offer says again what is sent.
                guard receiving[transceiver] == nil else { return nil }
                let incoming = Incoming(transceiver, of: connection)
                receiving[transceiver] = incoming
                let track = incoming.track
                return transceiver.kind == .video
                    ? .videoAdded(id: track.id, track) : .audioAdded(id: track.id, track)
            case .trackEnded(let transceiver):
                guard let incoming = receiving.removeValue(forKey: transceiver) else { return nil }
                incoming.frames.end()
                let track = incoming.track
                return transceiver.kind == .video
                    ? .videoRemoved(id: track.id, track) : .audioRemoved(id: track.id, track)
            case .negotiationNeeded, .signalingStateChange, .iceConnectionStateChange, .iceGatheringStateChange,
                .iceCandidateError, .keyFrameRequested, .dataChannel:
                // Data channels are refused. We never offer; the connection's state sums the others up.
                return nil
            }
        }
    }

    extension WebRTCConnectionState {
        fileprivate init(_ state: PeerConnectionState) {
            switch state {
            case .new: self = .new
            case .connecting: self = .connecting
            case .connected: self = .connected
            case .disconnected: self = .disconnected
            case .failed: self = .failed
            case .closed: self = .closed
            }
        }
    }
#endif
