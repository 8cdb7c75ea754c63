/// What somebody is in a room for who has no signaling but one offer and its answer.
package enum Exchange: Sendable, Hashable {
    /// To publish what the offer sends (WHIP).
    case publishing
}

/// The answer to an offer of `RoomMachine.open`, and the session that it begins.
package struct ExchangeAnswer: Sendable {
    /// Names the session: `RoomOutput.closeSignal` says that it is over.
    package let signal: SignalID
    /// With all candidates.
    package let sdp: String
}

/// Why a session's change of paths comes to nothing. Nothing has changed then.
package enum ExchangeRefusal: Error, Sendable, Equatable {
    case noSuchSession
    /// It cannot be applied to the session's description.
    case unusable(String)
}
