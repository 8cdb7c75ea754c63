public import Foundation

// sdk/objc/api/peerconnection/RTCSessionDescription.h
public enum RTCSdpType: Int, Sendable {
    case offer, prAnswer, answer, rollback
}

open class RTCSessionDescription: NSObject {
    open var type: RTCSdpType { declared() }
    open var sdp: String { declared() }

    @available(*, unavailable) public override init() { declared() }
    public init(type: RTCSdpType, sdp: String) { declared() }
}

// sdk/objc/api/peerconnection/RTCIceCandidate.h
open class RTCIceCandidate: NSObject {
    open var sdpMid: String? { declared() }
    open var sdpMLineIndex: Int32 { declared() }
    open var sdp: String { declared() }
    open var serverUrl: String? { declared() }

    @available(*, unavailable) public override init() { declared() }
    public init(sdp: String, sdpMLineIndex: Int32, sdpMid: String?) { declared() }
}

// sdk/objc/api/peerconnection/RTCMediaConstraints.h
open class RTCMediaConstraints: NSObject {
    @available(*, unavailable) public override init() { declared() }
    public init(mandatoryConstraints mandatory: [String: String]?, optionalConstraints optional: [String: String]?) {
        declared()
    }
}
