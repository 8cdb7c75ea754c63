internal import LiveKitProtocol

/// Why something asked of a `Room` did not come about. Each has a sentence that a person can read.
public enum RoomError: Error, Sendable, Hashable {
    /// The URL is not one of a server: `ws://host:port` or `wss://host`, perhaps with a path, and without a query.
    case invalidURL(String)
    /// The server answered the request to join with this HTTP status, and these words, if any.
    case refused(status: Int, message: String = "")
    /// The server cannot be reached, or what it says makes no sense; a part of a sentence.
    case unreachable(String)
    /// The server did not go on in time.
    case timedOut
    /// The task was cancelled while it waited. What it asked for may have come about: a track that was to be published
    /// is taken back.
    case cancelled
    /// The room let us in and then sent us away, or we have left.
    case disconnected(DisconnectReason)
    /// There is no connection to ask over, or there is one already.
    case notConnected, alreadyConnected
    /// The server refused what we asked for.
    case requestRefused(RequestRefusal, message: String)
    /// Our side of a peer connection failed.
    case media(String)
    /// `TrackPublishOptions.layers` are for pictures, two or three of them and each of another quality; files that are
    /// played as layers are of one format.
    case invalidLayers
    /// A message, with its topic, its recipients and what the protocol adds, is longer than `limit` bytes.
    case dataTooLarge(limit: Int)
    /// Too many messages are queued to be sent.
    case dataBacklog
    /// The data track is not published, or not any more.
    case dataTrackEnded
    /// End-to-end encrypted data tracks cannot be read by this client, even with a key.
    case dataTrackEncrypted
    /// The stream was begun in a session that is over, so that its receivers know it no longer; or the task that writes
    /// it was cancelled.
    case streamInterrupted
    /// The stream has been ended.
    case streamClosed
    /// Encryption is on and this cannot be encrypted (no key yet, or a kind that never is), so it is neither sent nor
    /// accepted.
    case notEncryptable
    /// A file cannot be read; a part of a sentence.
    case fileUnreadable(String)
}

/// Why the server refused a request (LiveKit's names).
public enum RequestRefusal: String, Sendable, Hashable {
    /// What the request is about does not exist.
    case notFound = "not_found"
    /// Our permissions, or the publisher's, do not allow it.
    case notAllowed = "not_allowed"
    /// The server takes no more, or nothing so large.
    case limitExceeded = "limit_exceeded"
    /// The server does not do this.
    case unsupported
    /// The request makes no sense to the server: a name or a handle is taken or malformed, or something else is.
    case invalid
    /// Another reason, or one of a protocol newer than this client.
    case unclassified

    /// Nil where the request was taken.
    init?(_ reason: LiveKitRequestResponse.Reason) {
        switch reason {
        case .ok, .queued: return nil
        case .notFound: self = .notFound
        case .notAllowed: self = .notAllowed
        case .limitExceeded: self = .limitExceeded
        case .unsupportedType: self = .unsupported
        case .invalidHandle, .invalidName, .duplicateHandle, .duplicateName, .invalidRequest: self = .invalid
        case .unclassifiedError, .UNRECOGNIZED: self = .unclassified
        }
    }
}

extension RoomError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalidURL(let url) where url.contains("?"):
            "\"\(url)\" has a query, which the URL of a server goes without."
        case .invalidURL(let url): "\"\(url)\" is no URL of a server: they read ws://host:port or wss://host."
        case .refused(let status, let message):
            Self.refusal(status) + (message.isEmpty ? "." : ": \(message)")
        case .unreachable(let how): "There is no connection to the server: \(how)."
        case .timedOut: "The server did not answer in time."
        case .cancelled: "The task was cancelled while it waited for the server."
        case .disconnected(let reason): reason.sentence
        case .notConnected: "There is no connection to a room."
        case .alreadyConnected: "There is a connection already."
        case .requestRefused(let reason, let message):
            "The server refused it (\(reason.rawValue))" + (message.isEmpty ? "." : ": \(message)")
        case .media(let how): "The media connection failed: \(how)"
        case .invalidLayers:
            "The layers of a picture are two or three, each of another quality, and all of one format."
        case .dataTooLarge(let limit): "The message, with what goes along, is longer than \(limit) bytes."
        case .dataBacklog: "Too many messages wait to be sent."
        case .dataTrackEnded: "The data track is not published any more."
        case .dataTrackEncrypted: "The data track is encrypted, and cannot be read here."
        case .streamInterrupted: "The stream cannot go on: its session was lost, or its writer was cancelled."
        case .streamClosed: "The stream has been ended already."
        case .notEncryptable: "It cannot be encrypted, so it is neither sent nor taken."
        case .fileUnreadable(let how): "The file cannot be read: \(how)."
        }
    }

    private static func refusal(_ status: Int) -> String {
        switch status {
        case 401, 403: "The server does not take this token (status \(status))"
        case 404: "The server has no such room, or does not speak LiveKit's protocol (status 404)"
        case 429, 503: "The server takes nobody more at the moment (status \(status))"
        default: "The server refused to let us in (status \(status))"
        }
    }
}
