/// Why a call of a method did not succeed: one of LiveKit's own codes, or one that the method chose.
public struct RPCError: Error, Sendable, Hashable {
    /// LiveKit's own are those below, from 1400 to 1505; a method chooses others.
    public var code: UInt32
    /// What went wrong, in words.
    public var message: String
    /// More about the error, for the caller's program; may be empty.
    public var data: String

    public init(code: UInt32, message: String, data: String = "") {
        self.code = code
        self.message = message
        self.data = data
    }

    /// The most bytes that a request or an answer may have with a participant that knows version 1 alone.
    public static let largestPayload = 15 << 10
    /// The most bytes where both know version 2, in which they are streams.
    public static let largestStreamedPayload = 4 << 20

    /// The recipient has no method of that name.
    public static let unsupportedMethod = RPCError(code: 1400, message: "Method not supported at destination")
    /// Nobody of that identity is in the room.
    public static let recipientNotFound = RPCError(code: 1401, message: "Recipient not found")
    /// The request is longer than the destination takes (`largestPayload`, `largestStreamedPayload`).
    public static let requestPayloadTooLarge = RPCError(code: 1402, message: "Request payload too large")
    /// The recipient does not know this version of RPC.
    public static let unsupportedVersion = RPCError(code: 1404, message: "Unsupported RPC version")
    /// The method failed with something that is no `RPCError`.
    public static let applicationError = RPCError(code: 1500, message: "Application error in method handler")
    /// The recipient did not acknowledge the request in time.
    public static let connectionTimeout = RPCError(code: 1501, message: "Connection timeout")
    /// The recipient acknowledged the request, and did not respond in time.
    public static let responseTimeout = RPCError(code: 1502, message: "Response timeout")
    /// The recipient has left before it responded, or we have.
    public static let recipientDisconnected = RPCError(code: 1503, message: "Recipient disconnected")
    /// The response is longer than the caller takes (`largestPayload`, `largestStreamedPayload`).
    public static let responsePayloadTooLarge = RPCError(code: 1504, message: "Response payload too large")
    /// The request could not be sent.
    public static let sendFailed = RPCError(code: 1505, message: "Failed to send")
}

extension RPCError: CustomStringConvertible {
    public var description: String { "\(message) (\(code))" }
}

/// A call of one of our methods.
public struct RPCInvocation: Sendable, Hashable {
    /// Chosen by the caller: another one for each call.
    public let requestID: String
    /// Not a participant's identity when the call came through the room service.
    public let caller: ParticipantIdentity
    /// The name under which the handler was registered (`Room.registerRPCMethod`).
    public let method: String
    /// What the caller hands over; its meaning is the method's business.
    public let payload: String
    /// How long the caller waits.
    public let responseTimeout: Duration
}
