public import SocketIO

/// What a client gives when it connects: `roomId`, `username`, `isCaller`, from the query (where `connectParams`
/// puts them) or from the auth object.
public struct CallRoomParameters: Hashable, Sendable {
    /// The room's number, within `roomRange`.
    public var roomId: Int
    /// What the others are shown. It need not be unique.
    public var username: String
    /// Whether this one makes the offer.
    public var isCaller: Bool
    /// Ours, and optional: names one client through all its reconnections, and is told to nobody. A connection that
    /// is made again takes the place of the lost one, which the server may not miss for a while.
    public var client: String?

    /// The longest name, in characters.
    public static let usernameLimit = 64
    /// The longest name, in bytes of UTF-8: one character may hold any number of combining marks.
    public static let usernameByteLimit = 256

    /// The longest name of a client, in bytes; a longer one is taken for none.
    static let clientByteLimit = 64
    /// The whole numbers that survive a JavaScript client unchanged (±(2⁵³ − 1)).
    public static let roomRange = -9_007_199_254_740_991...9_007_199_254_740_991

    public init(roomId: Int, username: String, isCaller: Bool, client: String? = nil) {
        self.roomId = roomId
        self.username = username
        self.isCaller = isCaller
        self.client = client
    }

    /// Reads a handshake; the query comes before the auth object.
    public init(_ handshake: SocketIOHandshake) throws(CallRoomRefusal) {
        roomId = try Self.require(.roomId, handshake, Self.roomId)
        username = try Self.require(.username, handshake, \.string)
        try Self.checkName(username)
        isCaller = try Self.require(.isCaller, handshake, Self.flag)
        let client = handshake.query["client"] ?? handshake.auth?["client"]?.string
        self.client = client.flatMap { (1...Self.clientByteLimit).contains($0.utf8.count) ? $0 : nil }
    }

    private static func require<Value>(
        _ field: CallRoomField, _ handshake: SocketIOHandshake, _ read: (RawJSON) -> Value?
    ) throws(CallRoomRefusal) -> Value {
        let text = handshake.query[field.rawValue].map { RawJSON(string: $0) }
        guard let json = text ?? handshake.auth?[field.rawValue], json.kind != .null else { throw .missing(field) }
        guard let value = read(json) else { throw .malformed(field) }
        return value
    }

    /// A JSON integer, or its digits as a string.
    static func roomId(_ json: RawJSON) -> Int? {
        guard let number = json.int ?? json.string.flatMap({ $0.first == "+" ? nil : Int($0) }) else { return nil }
        return roomRange.contains(number) ? number : nil
    }

    /// Not empty or blank, not too long, and nothing in it that would break or turn round the line it is shown in.
    static func checkName(_ name: String) throws(CallRoomRefusal) {
        guard name.utf8.count <= usernameByteLimit, name.count <= usernameLimit else { throw .usernameTooLong }
        guard !name.unicodeScalars.contains(where: disturbsDisplay) else { throw .usernameUnprintable }
        guard name.contains(where: { !$0.isWhitespace }) else { throw .malformed(.username) }
    }

    private static func disturbsDisplay(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Unicode Standard Annex 9 §2: embeddings, overrides and isolates reorder the text around the name.
        case 0x202a...0x202e, 0x2066...0x2069: return true
        // What broken UTF-8 was decoded to.
        case 0xfffd: return true
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }

    /// A Bool, or `true`, `false`, `1`, `0` as number or string.
    static func flag(_ json: RawJSON) -> Bool? {
        if let flag = json.bool { return flag }
        switch json.string?.lowercased() ?? json.text {
        case "true", "1": return true
        case "false", "0": return false
        default: return nil
        }
    }
}

/// The parameters by the names that clients use.
public enum CallRoomField: String, Hashable, Sendable {
    case roomId, username, isCaller
}

/// Why somebody was not let into a room.
public enum CallRoomRefusal: Error, Hashable, Sendable {
    /// Not given, or null.
    case missing(CallRoomField)
    /// Given, but not of the kind or within the limits.
    case malformed(CallRoomField)
    /// The name has more characters or bytes than a name may have.
    case usernameTooLong
    /// The name has line breaks, control characters, or bytes that are not UTF-8.
    case usernameUnprintable
    /// As many people as one room takes are in it.
    case roomFull(limit: Int)

    /// For programs; the `code` of the `connect_error`'s data.
    public var code: String {
        switch self {
        case .missing: "missing_parameter"
        case .malformed, .usernameTooLong, .usernameUnprintable: "malformed_parameter"
        case .roomFull: "room_full"
        }
    }

    /// The parameter at fault.
    public var field: CallRoomField {
        switch self {
        case .missing(let field), .malformed(let field): field
        case .usernameTooLong, .usernameUnprintable: .username
        case .roomFull: .roomId
        }
    }

    /// For people; the `connect_error`'s message.
    public var message: String {
        switch self {
        case .missing(let field): "\(field.rawValue) is missing"
        case .malformed(.roomId): "roomId has to be an integer of at most 53 bits"
        case .malformed(.username):
            "username has to be text of 1 to \(CallRoomParameters.usernameLimit) characters, not only spaces"
        case .usernameTooLong:
            "username has to be at most \(CallRoomParameters.usernameLimit) characters and "
                + "\(CallRoomParameters.usernameByteLimit) bytes"
        case .usernameUnprintable:
            "username has to be one line of valid UTF-8, without control characters or ones that change "
                + "the direction of text"
        case .malformed(.isCaller): "isCaller has to be true or false"
        case .roomFull(let limit): "the room is full: \(limit) people are in it"
        }
    }

    /// The `connect_error`'s data.
    var data: RawJSON {
        RawJSON(object: ["code": RawJSON(string: code), "field": RawJSON(string: field.rawValue)])
    }
}
