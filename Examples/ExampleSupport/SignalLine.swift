public import RTCEngine
public import RTCNetwork

/// One message of the examples' signaling: W3C's objects with their names in one flat JSON object, a line each.
///
///     {"type":"offer","sdp":"v=0\r\n…"}
///     {"candidate":"candidate:…","sdpMid":"0","sdpMLineIndex":0}
///     {"peer":"Bob","type":"offer","sdp":"…"}         where one program talks to several
public struct SignalLine: Codable, Sendable {
    /// Whom it is from or to; nil where there are only two.
    public var peer: String?
    public var type: SDPType?
    public var sdp: String?
    public var candidate: String?
    public var sdpMid: String?
    public var sdpMLineIndex: Int?
    public var usernameFragment: String?

    public init(_ description: SessionDescriptionInit, peer: String? = nil) {
        self.peer = peer
        type = description.type
        sdp = description.sdp
    }

    public init(_ candidate: ICECandidateInit, peer: String? = nil) {
        self.peer = peer
        self.candidate = candidate.candidate
        sdpMid = candidate.sdpMid
        sdpMLineIndex = candidate.sdpMLineIndex
        usernameFragment = candidate.usernameFragment
    }

    /// The description, if it is one.
    public var description: SessionDescriptionInit? {
        type.map { SessionDescriptionInit(type: $0, sdp: sdp ?? "") }
    }

    /// The candidate, if it is one; empty for the end of candidates.
    public var iceCandidate: ICECandidateInit? {
        candidate.map {
            ICECandidateInit(
                candidate: $0, sdpMid: sdpMid, sdpMLineIndex: sdpMLineIndex, usernameFragment: usernameFragment)
        }
    }
}
