internal import Foundation
internal import SwiftProtobuf

/// The claim `roomConfig`: a message in the JSON of Protocol Buffers, within the JSON of the token.
@propertyWrapper
package struct RoomConfigurationClaim: Codable, Sendable, Equatable {
    package var wrappedValue: LiveKitRoomConfiguration?

    package init(wrappedValue: LiveKitRoomConfiguration?) { self.wrappedValue = wrappedValue }

    // SwiftProtobuf has a `Decoder` of its own.
    package init(from decoder: any Swift.Decoder) throws {
        let json = try JSONEncoder().encode(JSONValue(from: decoder))
        var options = JSONDecodingOptions()
        options.ignoreUnknownFields = true
        do {
            wrappedValue = try LiveKitRoomConfiguration(jsonUTF8Bytes: json, options: options)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "no RoomConfiguration", underlyingError: error))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        let json: [UInt8] = try wrappedValue?.jsonUTF8Bytes() ?? Array("null".utf8)
        try JSONDecoder().decode(JSONValue.self, from: Data(json)).encode(to: encoder)
    }
}

extension KeyedDecodingContainer {
    package func decode(_: RoomConfigurationClaim.Type, forKey key: Key) throws -> RoomConfigurationClaim {
        try decodeIfPresent(RoomConfigurationClaim.self, forKey: key) ?? RoomConfigurationClaim(wrappedValue: nil)
    }
}

extension KeyedEncodingContainer {
    package mutating func encode(_ claim: RoomConfigurationClaim, forKey key: Key) throws {
        if claim.wrappedValue != nil { try encodeIfPresent(claim, forKey: key) }
    }
}

extension LiveKitRoomConfiguration {
    /// Reads what somebody wrote by hand: nil for anything but a JSON object with fields of this message.
    package init?(json: String) {
        guard let value = try? LiveKitRoomConfiguration(jsonString: json) else { return nil }
        self = value
    }
}

/// Any JSON, to be handed from one reader of JSON to the other.
private enum JSONValue: Codable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Swift.Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let members): try container.encode(members)
        }
    }
}
