/// A claim that is left out of a token when it says nothing: false, an empty text, list or object. A missing one is
/// read as that, and so is JSON's null.
@propertyWrapper
package struct Claim<Value: ClaimValue>: Codable, Sendable, Equatable {
    package var wrappedValue: Value

    package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        wrappedValue = try Value(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

/// What a claim can be.
package protocol ClaimValue: Codable, Sendable, Equatable {
    /// The value that says nothing.
    static var absent: Self { get }
}

extension Bool: ClaimValue { package static var absent: Bool { false } }
extension String: ClaimValue { package static var absent: String { "" } }
extension [String]: ClaimValue { package static var absent: [String] { [] } }
extension [String: String]: ClaimValue { package static var absent: [String: String] { [:] } }

// The code that the compiler writes for `Codable` prefers these.
extension KeyedDecodingContainer {
    /// Null for the value of a key is an empty one, as Go reads it.
    package func decode(_: Claim<[String: String]>.Type, forKey key: Key) throws -> Claim<[String: String]> {
        let values = try decodeIfPresent([String: String?].self, forKey: key) ?? [:]
        return Claim(wrappedValue: values.mapValues { $0 ?? "" })
    }

    package func decode<Value>(_: Claim<Value>.Type, forKey key: Key) throws -> Claim<Value> {
        Claim(wrappedValue: try decodeIfPresent(Value.self, forKey: key) ?? .absent)
    }
}

extension KeyedEncodingContainer {
    package mutating func encode<Value>(_ claim: Claim<Value>, forKey key: Key) throws {
        guard claim.wrappedValue != .absent else { return }
        try encode(claim.wrappedValue, forKey: key)
    }
}
