import Foundation
import WebRTC

// What does not fit the declarations of WebRTC. Scripts/check-apple.sh expects an error at each line marked "refused",
// and none elsewhere.

final class MisspeltDelegate: NSObject, RTCPeerConnectionDelegate {
    func peerConnection(_ peerConnection: RTCPeerConnection, didChange stateChanged: RTCSignalingState) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didAdd stream: RTCMediaStream) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didRemove stream: RTCMediaStream) {}
    func peerConnectionShouldNegotiate(_ peerConnection: RTCPeerConnection) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCIceConnectionState) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCIceGatheringState) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didGenerate candidate: RTCIceCandidate) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didRemove candidates: [RTCIceCandidate]) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didOpen dataChannel: RTCDataChannel) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didChange newState: RTCPeerConnectionState) {}
    func peerConnection(_ peerConnection: RTCPeerConnection, didRemove rtpReceiver: RTCRtpReceiver) {}
    func peerConnection(_: RTCPeerConnection, didAdd: RTCRtpReceiver, stream: [RTCMediaStream]) {}  // refused
}

func candidateOfAnotherInteger(line: Int) -> RTCIceCandidate {
    RTCIceCandidate(sdp: "", sdpMLineIndex: line, sdpMid: nil)  // refused
}

func closedSwitch(over state: RTCPeerConnectionState) -> Bool {
    switch state {  // refused
    case .connected: true
    case .new, .connecting, .disconnected, .failed, .closed: false
    }
}

func unwrapped(_ factory: RTCPeerConnectionFactory, _ configuration: RTCConfiguration) -> RTCPeerConnection {
    let constraints = RTCMediaConstraints(mandatoryConstraints: nil, optionalConstraints: nil)
    return factory.peerConnection(with: configuration, constraints: constraints, delegate: nil)  // refused
}

func emptyDescription() -> RTCSessionDescription {
    RTCSessionDescription()  // refused
}

func renamedCall(_ connection: RTCPeerConnection, _ candidate: RTCIceCandidate) {
    connection.addIceCandidate(candidate) { _ in }  // refused
}

func callbackThatMayRunAnywhere(_ connection: RTCPeerConnection, _ sdp: RTCSessionDescription) {
    var calls = 0
    connection.setRemoteDescription(sdp) { _ in calls += 1 }  // refused
    print(calls)
}
