package import SFUCore
package import LiveKitProtocol

/// What somebody is in a room for who has no signaling but one offer and its answer.
package enum Exchange: Sendable, Hashable {
    /// To publish what the offer sends (WHIP).
    case publishing(PublisherForm)
    /// To be sent what is chosen of the room (WHEP).
    case playing(PlaybackChoice)

    var isPlaying: Bool {
        switch self {
        case .playing: true
        case .publishing: false
        }
    }
}

/// What the others are told of who publishes so and of the tracks.
package enum PublisherForm: Sendable, Hashable {
    /// Of the kind INGRESS, with tracks that are called like their sources.
    case ours
    /// As LiveKit's server has it at `/whip/v1`: of the kind that the token names, every picture the camera's and every
    /// sound the microphone's, as far as the token lets them be published, without pauses (DTX), and under names that
    /// say that nobody has given them. Agents link to some kinds alone, of which INGRESS is not always one.
    case liveKits

    /// Each picture or sound is what the first one is.
    var repeatsSources: Bool {
        switch self {
        case .ours: false
        case .liveKits: true
        }
    }

    func name(_ source: String) -> String {
        switch self {
        case .ours: source
        case .liveKits: "synthesized-\(source)"
        }
    }
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
    /// It is about paths that are over.
    case former
    /// It cannot be applied to the session's description.
    case unusable(String)
}

/// Our part of a session's transport, as its client is told of it.
package struct OwnTransport: Sendable, Equatable {
    /// As an SDP fragment (RFC 8840).
    package var fragment: String
    /// The client has asked for it with a credential that it did not have before.
    package var isNew: Bool
}
