/// An ERROR-CODE (RFC 8489 §14.8): a number from 300 to 699 and a reason for people.
public struct STUNErrorCode: Hashable, Sendable {
    public var code: UInt16
    public var reason: String

    public init(_ code: UInt16, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// A request that lacks what authentication needs (RFC 8489 §9.1.3).
    public static let badRequest = STUNErrorCode(400, reason: "Bad Request")
    /// An unknown user name or a wrong MESSAGE-INTEGRITY (RFC 8489 §9.1.3).
    public static let unauthenticated = STUNErrorCode(401, reason: "Unauthenticated")
    /// A comprehension-required attribute that is not understood (RFC 8489 §6.3.1).
    public static let unknownAttribute = STUNErrorCode(420, reason: "Unknown Attribute")
    /// Both ICE agents took the same role (RFC 8445 §7.3.1.1).
    public static let roleConflict = STUNErrorCode(487, reason: "Role Conflict")
}
