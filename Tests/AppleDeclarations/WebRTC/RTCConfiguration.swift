public import Foundation

// sdk/objc/api/peerconnection/RTCConfiguration.h
public enum RTCIceTransportPolicy: Int, Sendable {
    case none, relay, noHost, all
}

public enum RTCBundlePolicy: Int, Sendable {
    case balanced, maxCompat, maxBundle
}

public enum RTCContinualGatheringPolicy: Int, Sendable {
    case gatherOnce, gatherContinually
}

public enum RTCSdpSemantics: Int, Sendable {
    case planB, unifiedPlan
}

open class RTCConfiguration: NSObject {
    open var iceServers: [RTCIceServer] {
        get { declared() }
        set { declared() }
    }
    open var iceTransportPolicy: RTCIceTransportPolicy {
        get { declared() }
        set { declared() }
    }
    open var bundlePolicy: RTCBundlePolicy {
        get { declared() }
        set { declared() }
    }
    open var continualGatheringPolicy: RTCContinualGatheringPolicy {
        get { declared() }
        set { declared() }
    }
    open var sdpSemantics: RTCSdpSemantics {
        get { declared() }
        set { declared() }
    }

    public override init() { declared() }
}

// sdk/objc/api/peerconnection/RTCIceServer.h
open class RTCIceServer: NSObject {
    open var urlStrings: [String] { declared() }

    @available(*, unavailable) public override init() { declared() }
    public init(urlStrings: [String]) { declared() }
    public init(urlStrings: [String], username: String?, credential: String?) { declared() }
}
