internal import SocketIO

/// Any JSON value, for payloads whose shape only the peer knows.
enum LooseJSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([LooseJSON])
    case object([String: LooseJSON])

    /// What is nested deeper than any payload that is read stays unread: a peer may nest as it likes, and each level
    /// would cost another pass over the text.
    private static let depthLimit = 8

    /// Nil when the text is no JSON.
    init?(text: String) {
        guard let json = RawJSON(text) else { return nil }
        self.init(json)
    }

    init(_ json: RawJSON) {
        self.init(json, depth: 0)
    }

    private init(_ json: RawJSON, depth: Int) {
        let isTooDeep = depth == LooseJSON.depthLimit
        switch json.kind {
        case .null: self = .null
        case .bool: self = .bool(json.bool ?? false)
        case .number: self = .number(json.double ?? .nan)
        case .string: self = .string(json.string ?? "")
        case .array:
            let elements = isTooDeep ? [] : json.elements ?? []
            self = .array(elements.map { LooseJSON($0, depth: depth + 1) })
        case .object:
            let members = isTooDeep ? [] : json.members ?? []
            // Of several values of a key the last counts, as JavaScript reads it.
            self = .object(
                Dictionary(members.map { ($0.key, LooseJSON($0.value, depth: depth + 1)) }) { _, last in last })
        }
    }

    /// A member of an object.
    subscript(key: String) -> LooseJSON? {
        switch self {
        case .object(let members): members[key]
        case .null, .bool, .number, .string, .array: nil
        }
    }

    /// A text, or a whole number written out.
    var text: String? {
        switch self {
        case .string(let text): text
        case .number: wholeNumber.map(String.init)
        case .null, .bool, .array, .object: nil
        }
    }

    /// A whole number, be it written as a number or as text.
    var wholeNumber: Int? {
        switch self {
        case .number(let value): Int(exactly: value)
        case .string(let text): Int(text)
        case .null, .bool, .array, .object: nil
        }
    }

    /// A truth value as servers and query strings write it.
    var truth: Bool? {
        switch self {
        case .bool(let value): value
        case .number(let value): value != 0
        case .string(let text):
            switch text.lowercased() {
            case "true", "1": true
            case "false", "0": false
            default: nil
            }
        case .null, .array, .object: nil
        }
    }
}

/// What was wrong with a peer's payload.
enum CallPayloadError: Error, Hashable, Sendable {
    case noSessionDescription(SessionDescriptionPayload.Kind)
    case noCandidate
    case noUsername(event: String)
    case noJSON(event: String)

    /// One sentence for a log or a notice; the payload itself stays out of it.
    var sentence: String {
        switch self {
        case .noSessionDescription(let kind): "The \(kind.rawValue) of the other side carries no session description."
        case .noCandidate: "A candidate of the other side cannot be read."
        case .noUsername(let event): "The server's \(event) names nobody."
        case .noJSON(let event): "What came as \(event) is no JSON."
        }
    }
}
