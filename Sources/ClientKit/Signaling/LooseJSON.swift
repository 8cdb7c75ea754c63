internal import Foundation

/// Any JSON value, for payloads whose shape only the peer knows.
enum LooseJSON: Hashable, Sendable, Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([LooseJSON])
    case object([String: LooseJSON])

    /// Nil when the text is no JSON.
    init?(text: String) {
        guard let value = try? JSONDecoder().decode(LooseJSON.self, from: Data(text.utf8)) else { return nil }
        self = value
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([LooseJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: LooseJSON].self))
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

    /// One sentence for a log or a notice; the payload itself stays out of it.
    var sentence: String {
        switch self {
        case .noSessionDescription(let kind): "The \(kind.rawValue) of the other side carries no session description."
        case .noCandidate: "A candidate of the other side cannot be read."
        case .noUsername(let event): "The server's \(event) names nobody."
        }
    }
}
