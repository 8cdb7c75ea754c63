public import Foundation

/// What something is named by: a UUID, of version 7 where the server made it (RFC 9562 §5.7), so that identifiers sort
/// by the time they were made. In JSON and in paths it is the UUID's text in lower case.
///
/// - Parameter Named: what it names, so that a channel's identifier is not taken for a message's.
public struct Identifier<Named>: Hashable, Sendable {
    public let uuid: UUID

    public init(_ uuid: UUID) { self.uuid = uuid }
}

extension Identifier: LosslessStringConvertible {
    public init?(_ description: String) {
        // Foundation takes more than RFC 9562 §4 allows.
        let isHyphen = { (place: Int) in [8, 13, 18, 23].contains(place) }
        guard description.utf8.count == 36,
            description.utf8.enumerated().allSatisfy({ place, byte in
                isHyphen(place)
                    ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
            }), let uuid = UUID(uuidString: description)
        else { return nil }
        self.uuid = uuid
    }

    public var description: String {
        String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            withUnsafeBytes(of: uuid.uuid) { bytes in
                for (index, byte) in bytes.enumerated() {
                    switch index {
                    case 4, 6, 8, 10:
                        text[place] = UInt8(ascii: "-")
                        place += 1
                    default: break
                    }
                    text[place] = Hexadecimal.digit(byte >> 4)
                    text[place + 1] = Hexadecimal.digit(byte & 15)
                    place += 2
                }
            }
            return place
        }
    }
}

extension Identifier: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let identifier = Self(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "an identifier is a UUID")
        }
        self = identifier
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Identifier: Comparable {
    public static func < (one: Self, other: Self) -> Bool {
        withUnsafeBytes(of: one.uuid.uuid) { one in
            withUnsafeBytes(of: other.uuid.uuid) { other in one.lexicographicallyPrecedes(other) }
        }
    }
}

public typealias UserID = Identifier<Profile>
public typealias WorkspaceID = Identifier<Workspace>
public typealias ChannelID = Identifier<Channel>
public typealias MessageID = Identifier<Message>
public typealias CallID = Identifier<Call>
public typealias FileID = Identifier<FileInfo>
public typealias SessionID = Identifier<SessionInfo>
public typealias InvitationID = Identifier<Invitation>
