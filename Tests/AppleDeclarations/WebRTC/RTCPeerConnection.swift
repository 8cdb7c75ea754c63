public import Foundation

// sdk/objc/api/peerconnection/RTCPeerConnection.h
// An enum of C that the library may add cases to: a switch over it needs `@unknown default`, as with this module, which
// is compiled for library evolution.

public enum RTCSignalingState: Int, Sendable {
    case stable, haveLocalOffer, haveLocalPrAnswer, haveRemoteOffer, haveRemotePrAnswer, closed
}

public enum RTCIceConnectionState: Int, Sendable {
    case new, checking, connected, completed, failed, disconnected, closed, count
}

public enum RTCPeerConnectionState: Int, Sendable {
    case new, connecting, connected, disconnected, failed, closed
}

public enum RTCIceGatheringState: Int, Sendable {
    case new, gathering, complete
}

// Completion handlers are imported as `@Sendable`.
open class RTCPeerConnection: NSObject {
    @available(*, unavailable) public override init() { declared() }

    open weak var delegate: (any RTCPeerConnectionDelegate)?
    open var localDescription: RTCSessionDescription? { declared() }
    open var remoteDescription: RTCSessionDescription? { declared() }
    open var signalingState: RTCSignalingState { declared() }
    open var iceConnectionState: RTCIceConnectionState { declared() }
    open var connectionState: RTCPeerConnectionState { declared() }
    open var iceGatheringState: RTCIceGatheringState { declared() }
    open var receivers: [RTCRtpReceiver] { declared() }

    open func close() { declared() }

    open func add(_ candidate: RTCIceCandidate, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        declared()
    }

    open func answer(
        for constraints: RTCMediaConstraints,
        completionHandler: @escaping @Sendable (RTCSessionDescription?, (any Error)?) -> Void
    ) { declared() }

    open func setLocalDescription(
        _ sdp: RTCSessionDescription, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) { declared() }

    open func setRemoteDescription(
        _ sdp: RTCSessionDescription, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) { declared() }
}
