/// The names under which header extensions are negotiated (RFC 8285 §5).
public enum HeaderExtensionURI {
    /// The media section that a packet belongs to (RFC 9143 §15).
    public static let mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
    /// The RTP stream within a media section (RFC 8852).
    public static let rid = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id"
    /// The RTP stream that a retransmission repairs (RFC 8852).
    public static let repairedRID = "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id"
    /// The level of the sound in the packet (RFC 6464).
    public static let audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
    /// When the packet left, 24 bits of NTP time (webrtc.org's extension, used with REMB).
    public static let absoluteSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    /// One count over all packets of a transport (draft-holmer-rmcat-transport-wide-cc-extensions-01 §2).
    public static let transportSequence =
        "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    /// How the camera is held (3GPP TS 26.114 §7.4.5).
    public static let videoOrientation = "urn:3gpp:video-orientation"
    /// How long a receiver may hold pictures back (webrtc.org's extension).
    public static let playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
    /// When the media was captured (webrtc.org's extension).
    public static let absoluteCaptureTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"
    /// What a frame depends on (AV1 RTP specification, appendix A).
    public static let dependencyDescriptor =
        "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
}

/// The negotiated identifiers of the header extensions that the stack reads and writes; nil when not negotiated.
public struct HeaderExtensionIDs: Sendable, Hashable {
    public var mid: UInt8?
    public var rid: UInt8?
    public var repairedRID: UInt8?
    public var audioLevel: UInt8?
    public var absoluteSendTime: UInt8?
    public var transportSequence: UInt8?
    public var videoOrientation: UInt8?
    public var playoutDelay: UInt8?
    public var absoluteCaptureTime: UInt8?
    public var dependencyDescriptor: UInt8?

    public init(
        mid: UInt8? = nil, rid: UInt8? = nil, repairedRID: UInt8? = nil, audioLevel: UInt8? = nil,
        absoluteSendTime: UInt8? = nil, transportSequence: UInt8? = nil
    ) {
        self.mid = mid
        self.rid = rid
        self.repairedRID = repairedRID
        self.audioLevel = audioLevel
        self.absoluteSendTime = absoluteSendTime
        self.transportSequence = transportSequence
    }

    /// Whether identifiers that were given before mean what they meant; more of them may have come. RFC 8285 §7 asks
    /// for it, and not every peer keeps to it.
    public func keepsMeaning(of former: HeaderExtensionIDs) -> Bool {
        zip(former.all, all).allSatisfy { $0 == nil || $0 == $1 }
    }

    private var all: [UInt8?] {
        [
            mid, rid, repairedRID, audioLevel, absoluteSendTime, transportSequence, videoOrientation, playoutDelay,
            absoluteCaptureTime, dependencyDescriptor,
        ]
    }

    /// From a session description's `a=extmap` lines, identifier by URI. Unknown URIs are ignored.
    public init(_ identifiers: [String: UInt8]) {
        self.init(
            mid: identifiers[HeaderExtensionURI.mid], rid: identifiers[HeaderExtensionURI.rid],
            repairedRID: identifiers[HeaderExtensionURI.repairedRID],
            audioLevel: identifiers[HeaderExtensionURI.audioLevel],
            absoluteSendTime: identifiers[HeaderExtensionURI.absoluteSendTime],
            transportSequence: identifiers[HeaderExtensionURI.transportSequence])
        videoOrientation = identifiers[HeaderExtensionURI.videoOrientation]
        playoutDelay = identifiers[HeaderExtensionURI.playoutDelay]
        absoluteCaptureTime = identifiers[HeaderExtensionURI.absoluteCaptureTime]
        dependencyDescriptor = identifiers[HeaderExtensionURI.dependencyDescriptor]
    }
}
