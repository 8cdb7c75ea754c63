public import RTCEngine

/// Why a call to a `PeerConnection` failed. Each has a sentence that a person can read.
public enum PeerConnectionError: Error, Sendable, Equatable {
    /// The engine refused; nothing has changed.
    case peer(PeerError)
    /// No UDP socket could be opened on any of the host's addresses.
    case noSocket(SystemError)
    /// The host's addresses could not be listed.
    case interfaces(SystemError)
    /// The host has no address on which a candidate could be gathered.
    case noAddress
    /// An ICE server's URL is not understood, or of a kind that is not supported.
    case iceServer(String)
    /// A TURN server without a user name or credential (W3C: InvalidAccessError).
    case iceServerCredential(String)
    /// A part of the configuration that cannot change while a connection lasts, by its name (W3C:
    /// InvalidModificationError).
    case fixedConfiguration(String)
    /// No certificate could be made.
    case certificate(String)
}

extension PeerConnectionError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .peer(let error): "\(error)"
        case .noSocket(let error): "No UDP socket could be opened: \(error)."
        case .interfaces(let error): "The network interfaces could not be listed: \(error)."
        case .noAddress: "This host has no usable network address."
        case .iceServer(let url):
            """
            The ICE server \"\(url)\" is not understood: servers read stun:host:port, turn:host:port, \
            turn:host:port?transport=tcp or turns:host:port.
            """
        case .iceServerCredential(let url):
            "The ICE server \"\(url)\" is a TURN server: it needs a user name and a credential."
        case .fixedConfiguration(let part):
            "The configuration's \"\(part)\" cannot be changed while the connection lasts."
        case .certificate(let reason): "No certificate could be made: \(reason)."
        }
    }
}
