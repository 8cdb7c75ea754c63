import RTCEngine
import RTCNetwork

/// One line of input with JSON in it: a description of the peer's, or something to do.
struct Instruction: Decodable {
    /// What can be done. The names are those of the API.
    enum Action: String, Decodable {
        /// Makes a data channel, or `count` of them with numbers behind their labels.
        case create
        /// Sends `text`, or `size` bytes, or the bytes of `base64`; `count` times.
        case send
        case close
        /// What to do with messages: `print`, `echo` or `count` them.
        case listen
        /// Adds sound to the call, so that data shares a transport with media.
        case addAudio
        /// Makes an offer.
        case offer
        case getStats
        /// Ends the connection and the program.
        case quit
    }

    var type: SDPType?
    var sdp: String?
    var action: Action?
    var label: String?
    var text: String?
    var base64: String?
    var size: Int?
    var count: Int?
    var ordered: Bool?
    var maxRetransmits: UInt16?
    var maxPacketLifeTime: UInt16?
    var `protocol`: String?
    var negotiated: Bool?
    var id: UInt16?
    var mode: Listening?

    /// The peer's description; nil when the line is something else.
    var description: SessionDescriptionInit? {
        guard let type, let sdp else { return nil }
        return SessionDescriptionInit(type: type, sdp: sdp)
    }

    var options: DataChannelInit {
        DataChannelInit(
            ordered: ordered ?? true, maxPacketLifeTime: maxPacketLifeTime, maxRetransmits: maxRetransmits,
            protocol: self.protocol ?? "", negotiated: negotiated ?? false, id: id)
    }
}

/// What is done with messages that come.
enum Listening: String, Decodable {
    case print, echo, count
}
