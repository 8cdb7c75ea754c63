internal import SwiftProtobuf

/// What a token allows around rooms and media: its claim `video`, under LiveKit's names.
///
/// Some permissions are granted unless they are denied. They are optional here, because a token that says nothing is
/// not one that says "true"; the `may…` properties say what holds.
package struct VideoGrants: Codable, Sendable, Equatable {
    // On the server.
    @Claim package var roomCreate = false
    @Claim package var roomList = false
    @Claim package var roomRecord = false
    @Claim package var ingressAdmin = false
    /// Register as a worker that runs agents.
    @Claim package var agent = false

    // On one room.
    @Claim package var room = ""
    @Claim package var roomJoin = false
    @Claim package var roomAdmin = false
    /// The other room of a participant who is forwarded or moved.
    @Claim package var destinationRoom = ""

    // In that room.
    package var canPublish: Bool?
    package var canSubscribe: Bool?
    package var canPublishData: Bool?
    /// Lower-case names of sources; if there are any, nothing else may be published. Kept as they came: a name that we
    /// do not know allows nothing, and must not make an empty list, which allows all.
    @Claim package var canPublishSources: [String] = []
    package var canUpdateOwnMetadata: Bool?
    package var canSubscribeMetrics: Bool?
    package var canManageAgentSession: Bool?
    @Claim package var hidden = false
    @Claim package var recorder = false

    package init() {}
}

extension VideoGrants {
    package var mayPublish: Bool { canPublish ?? true }
    package var maySubscribe: Bool { canSubscribe ?? true }
    package var mayPublishData: Bool { canPublishData ?? mayPublish }
    package var mayUpdateOwnMetadata: Bool { canUpdateOwnMetadata ?? false }
    package var maySubscribeToMetrics: Bool { canSubscribeMetrics ?? false }
    package var mayManageAgentSession: Bool { canManageAgentSession ?? false }

    package func mayPublish(_ source: LiveKitTrackSource) -> Bool {
        mayPublish && (canPublishSources.isEmpty || publishableSources.contains(source))
    }

    /// The sources that were named. A name that we do not know is none of them, and not `unknown` either, which is a
    /// name of its own: clients use it for tracks that are none of the others.
    private var publishableSources: [LiveKitTrackSource] {
        canPublishSources.compactMap { LiveKitTrackSource(claim: $0) }
    }

    /// As they are told: where nothing but names were named that we do not know, something has to be, for an empty list
    /// allows all.
    private var toldSources: [LiveKitTrackSource] {
        publishableSources.isEmpty && !canPublishSources.isEmpty ? [.unknown] : publishableSources
    }

    /// As the room tells the participant and everybody else.
    package var permission: LiveKitParticipantPermission {
        .with {
            $0.canPublish = mayPublish
            $0.canSubscribe = maySubscribe
            $0.canPublishData = mayPublishData
            $0.canPublishSources = toldSources
            $0.canUpdateMetadata = mayUpdateOwnMetadata
            $0.canSubscribeMetrics = maySubscribeToMetrics
            $0.canManageAgentSession = mayManageAgentSession
            $0.hidden = hidden
            $0.recorder = recorder
            $0.agent = agent
        }
    }
}
