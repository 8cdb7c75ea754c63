public import Foundation

// sdk/objc/api/peerconnection/RTCSSLAdapter.h
@discardableResult public func RTCInitializeSSL() -> Bool { declared() }
@discardableResult public func RTCCleanupSSL() -> Bool { declared() }

// sdk/objc/base/RTCVideoEncoderFactory.h, sdk/objc/base/RTCVideoDecoderFactory.h
public protocol RTCVideoEncoderFactory: NSObjectProtocol {}
public protocol RTCVideoDecoderFactory: NSObjectProtocol {}

// sdk/objc/components/video_codec/RTCDefaultVideoEncoderFactory.h
open class RTCDefaultVideoEncoderFactory: NSObject, RTCVideoEncoderFactory {
    public override init() { declared() }
}

// sdk/objc/components/video_codec/RTCDefaultVideoDecoderFactory.h
open class RTCDefaultVideoDecoderFactory: NSObject, RTCVideoDecoderFactory {
    public override init() { declared() }
}

// sdk/objc/api/peerconnection/RTCPeerConnectionFactory.h
open class RTCPeerConnectionFactory: NSObject {
    public override init() { declared() }
    public init(
        encoderFactory: (any RTCVideoEncoderFactory)?, decoderFactory: (any RTCVideoDecoderFactory)?
    ) { declared() }

    open func peerConnection(
        with configuration: RTCConfiguration, constraints: RTCMediaConstraints,
        delegate: (any RTCPeerConnectionDelegate)?
    ) -> RTCPeerConnection? { declared() }
}
