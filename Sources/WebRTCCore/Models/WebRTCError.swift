public import Foundation

/// What can go wrong with one peer. The others do not notice.
public enum WebRTCError: Error, Hashable, Sendable {
    /// The offer is no session description, or asks for what cannot be.
    case offerRefused(userId: String, reason: String)
    /// The offer has neither sound nor pictures: only data channels, say.
    case nothingToReceive(userId: String)
    /// The candidate cannot be read, or belongs to no section.
    case candidateRefused(userId: String, reason: String)
    /// No path to the peer is left.
    case connectionFailed(userId: String, reason: String)
    /// The peer was disconnected while its offer was being answered.
    case disconnected(userId: String)
    /// There is no engine to receive with.
    case unavailable(reason: String)

    /// Whom it is about; nil when it is about nobody in particular.
    public var userId: String? {
        switch self {
        case .offerRefused(let userId, _), .nothingToReceive(let userId), .candidateRefused(let userId, _),
            .connectionFailed(let userId, _), .disconnected(let userId):
            userId
        case .unavailable: nil
        }
    }
}

extension WebRTCError: LocalizedError {
    /// One sentence that a person can read, and for refusals the reason as a second one.
    public var errorDescription: String? {
        switch self {
        case .offerRefused(let userId, let reason): "The call from \(userId) cannot be answered. \(reason)"
        case .nothingToReceive(let userId): "\(userId) sends neither pictures nor sound."
        case .candidateRefused(let userId, let reason): "A network path of \(userId) cannot be used. \(reason)"
        case .connectionFailed(let userId, let reason): "The connection to \(userId) failed. \(reason)"
        case .disconnected(let userId): "\(userId) was disconnected before the call was answered."
        case .unavailable(let reason): "Video cannot be received here. \(reason)"
        }
    }
}

/// Why an engine refused something of a peer's; whoever knows the peer makes a `WebRTCError` of it.
struct Refusal: Error, Hashable, Sendable {
    /// A sentence.
    let reason: String
}
