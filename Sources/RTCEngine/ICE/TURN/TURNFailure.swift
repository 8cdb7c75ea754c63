/// Why there is no relayed address, or none any more. A fact for the application: nothing else of a connection fails
/// with it.
public enum TURNFailure: Error, Hashable, Sendable {
    /// No answer.
    case silent
    /// No connection, or it ended; the text names no address.
    case connection(String)
    /// The server does not take the user name or password.
    case wrongCredentials
    /// The server says no. Its reason, at most 127 characters of it (RFC 8489 §14.8).
    case refused(code: UInt16, reason: String)
    /// An answer that cannot be used.
    case malformed
    /// One server names the other in a circle.
    case redirectedTooOften
    /// The server has forgotten the allocation, or would not prolong it.
    case expired

    /// W3C `RTCPeerConnectionIceErrorEvent.errorCode`: STUN's number, 701 where no answer gives one.
    public var code: Int {
        switch self {
        case .silent, .connection, .malformed, .redirectedTooOften, .expired: 701
        case .wrongCredentials: 401
        case .refused(let code, _): Int(code)
        }
    }
}

extension TURNFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .silent: "The TURN server does not answer."
        case .connection(let reason): "The TURN server cannot be reached: \(reason)."
        case .wrongCredentials: "The TURN server does not accept this user name and password."
        case .refused(let code, let reason): "The TURN server refused: \(code) \(reason)."
        case .malformed: "The TURN server's answer cannot be used."
        case .redirectedTooOften: "The TURN servers refer to each other without end."
        case .expired: "The TURN server has given the relayed address up."
        }
    }
}

/// A server that gave no candidate (W3C: `icecandidateerror`).
public struct ICEServerError: Error, Hashable, Sendable {
    /// As the application wrote it.
    public var url: String
    /// STUN's error number, or 701 for a server that could not be reached.
    public var errorCode: Int
    /// For people.
    public var errorText: String

    public init(url: String, errorCode: Int, errorText: String) {
        self.url = url
        self.errorCode = errorCode
        self.errorText = errorText
    }
}
