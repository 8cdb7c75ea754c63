package import SFUCore
package import LiveKitProtocol

/// What somebody is in a room for who has no signaling but one offer and its answer.
package enum Exchange: Sendable, Hashable {
    /// To publish what the offer sends (WHIP).
    case publishing
    /// To be sent what is chosen of the room (WHEP).
    case playing(PlaybackChoice)
}

/// Which of a room's tracks a player is sent: all that fit, as many as it has sections.
package struct PlaybackChoice: Sendable, Hashable {
    /// Of nobody else.
    package var identity: String?
    /// No others; empty for all.
    package var tracks: Set<TrackSID> = []
    /// Of each kind of which one is named, no others.
    package var sources: Set<LiveKitTrackSource> = []
    /// The best layer that it wants, as far as its path carries it.
    package var quality = VideoQuality.high

    package init() {}
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
