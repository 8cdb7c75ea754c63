#if canImport(WebRTC)
    internal import Foundation
    @preconcurrency internal import WebRTC

    /// Hears of a connection on libwebrtc's signaling thread and passes it on. Only that thread calls it, except for
    /// `finish`, which touches what is safe from anywhere.
    final class LibWebRTCDelegate: NSObject, RTCPeerConnectionDelegate, @unchecked Sendable {
        private let continuation: AsyncStream<ConnectionHappening>.Continuation

        init(_ continuation: AsyncStream<ConnectionHappening>.Continuation) {
            self.continuation = continuation
        }

        func finish() { continuation.finish() }

        func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCPeerConnectionState) {
            guard let state = WebRTCConnectionState(newState) else { return }
            continuation.yield(.state(state, because: "libwebrtc says so."))
        }

        func peerConnection(_ peerConnection: RTCPeerConnection, didGenerate candidate: RTCIceCandidate) {
            continuation.yield(
                .candidate(
                    ICECandidate.Candidate(
                        candidate: candidate.sdp, sdpMLineIndex: Int(candidate.sdpMLineIndex),
                        sdpMid: candidate.sdpMid)))
        }

        func peerConnection(
            _ peerConnection: RTCPeerConnection, didAdd rtpReceiver: RTCRtpReceiver,
            streams mediaStreams: [RTCMediaStream]
        ) {
            if let video = rtpReceiver.track as? RTCVideoTrack {
                continuation.yield(.videoAdded(id: rtpReceiver.receiverId, video))
            } else if let audio = rtpReceiver.track as? RTCAudioTrack {
                continuation.yield(.audioAdded(id: rtpReceiver.receiverId, audio))
            }
        }

        func peerConnection(_ peerConnection: RTCPeerConnection, didRemove rtpReceiver: RTCRtpReceiver) {
            if let video = rtpReceiver.track as? RTCVideoTrack {
                continuation.yield(.videoRemoved(id: rtpReceiver.receiverId, video))
            } else if let audio = rtpReceiver.track as? RTCAudioTrack {
                continuation.yield(.audioRemoved(id: rtpReceiver.receiverId, audio))
            }
        }

        // Required by the protocol; the connection's state and its receivers say it all.
        func peerConnection(_ peerConnection: RTCPeerConnection, didChange stateChanged: RTCSignalingState) {}
        func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCIceConnectionState) {}
        func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCIceGatheringState) {}
        func peerConnection(_ peerConnection: RTCPeerConnection, didAdd stream: RTCMediaStream) {}
        func peerConnection(_ peerConnection: RTCPeerConnection, didRemove stream: RTCMediaStream) {}
        func peerConnection(_ peerConnection: RTCPeerConnection, didRemove candidates: [RTCIceCandidate]) {}
        func peerConnection(_ peerConnection: RTCPeerConnection, didOpen dataChannel: RTCDataChannel) {}
        func peerConnectionShouldNegotiate(_ peerConnection: RTCPeerConnection) {}
    }

    extension WebRTCConnectionState {
        fileprivate init?(_ state: RTCPeerConnectionState) {
            switch state {
            case .new: self = .new
            case .connecting: self = .connecting
            case .connected: self = .connected
            case .disconnected: self = .disconnected
            case .failed: self = .failed
            case .closed: self = .closed
            @unknown default: return nil
            }
        }
    }
#endif
