public import Foundation

// sdk/objc/api/peerconnection/RTCMediaStreamTrack.h
open class RTCMediaStreamTrack: NSObject {
    open var kind: String { declared() }
    open var trackId: String { declared() }
    open var isEnabled: Bool {
        get { declared() }
        set { declared() }
    }

    @available(*, unavailable) public override init() { declared() }
}

// sdk/objc/api/peerconnection/RTCVideoTrack.h
open class RTCVideoTrack: RTCMediaStreamTrack {}

// sdk/objc/api/peerconnection/RTCAudioTrack.h
open class RTCAudioTrack: RTCMediaStreamTrack {}

// sdk/objc/api/peerconnection/RTCRtpReceiver.h
open class RTCRtpReceiver: NSObject {
    open var receiverId: String { declared() }
    open var track: RTCMediaStreamTrack? { declared() }

    @available(*, unavailable) public override init() { declared() }
}

// sdk/objc/api/peerconnection/RTCMediaStream.h
open class RTCMediaStream: NSObject {
    open var audioTracks: [RTCAudioTrack] { declared() }
    open var videoTracks: [RTCVideoTrack] { declared() }
    open var streamId: String { declared() }

    @available(*, unavailable) public override init() { declared() }
}

// sdk/objc/api/peerconnection/RTCDataChannel.h
open class RTCDataChannel: NSObject {
    @available(*, unavailable) public override init() { declared() }
}
