#if !canImport(WebRTC)
    internal import RTCEngine
    internal import RTCNetwork

    /// Receives over Roost's own `PeerConnection`, whose answers send nothing unless a track was added, and refuse data
    /// channels.
    final class RoostConnection: ReceivingConnection {
        let happenings: AsyncStream<ConnectionHappening>
        private let connection: PeerConnection

        init(configuration: PeerConnectionConfiguration) {
            var configuration = configuration
            configuration.dataChannels.acceptsOffers = false
            connection = PeerConnection(configuration: configuration)
            let (happenings, continuation) = AsyncStream.makeStream(of: ConnectionHappening.self)
            self.happenings = happenings
            // Holds the events and not the connection: they end when it is closed or gone.
            Task { [events = connection.events, weak connection] in
                var receiving: Set<RTPTransceiver> = []
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
            _ event: PeerConnectionEvent, _ receiving: inout Set<RTPTransceiver>, _ connection: PeerConnection?
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
                guard receiving.insert(transceiver).inserted else { return nil }
                let track = RemoteTrack(transceiver, of: connection)
                return transceiver.kind == .video
                    ? .videoAdded(id: track.id, track) : .audioAdded(id: track.id, track)
            case .trackEnded(let transceiver):
                guard receiving.remove(transceiver) != nil else { return nil }
                let track = RemoteTrack(transceiver, of: connection)
                return transceiver.kind == .video
                    ? .videoRemoved(id: track.id, track) : .audioRemoved(id: track.id, track)
            case .negotiationNeeded, .signalingStateChange, .iceConnectionStateChange, .iceGatheringStateChange,
                .iceCandidateError, .keyFrameRequested, .dataChannel:
                // Data channels are refused. We never offer; the connection's state sums the others up.
                return nil
            }
        }
    }

    extension RemoteTrack {
        fileprivate init(_ transceiver: RTPTransceiver, of connection: PeerConnection?) {
            self.init(
                id: "\(transceiver.id)", frames: { transceiver.receiver.frames },
                requestKeyFrame: { [weak connection] in await connection?.requestKeyFrame(on: transceiver) })
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
