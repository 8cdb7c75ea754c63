package import LiveKitCore
package import LiveKitProtocol
internal import LiveKitRecorder
internal import RTCEngine
internal import RTCWire
package import SocketIO
internal import SwiftProtobuf

/// How a `LiveKitServer` is.
package struct LiveKitServerConfiguration: Sendable {
    package var keys: APIKeys
    /// Signs the tokens that clients come back with, and webhooks.
    package var signingKey: APIKey
    /// Where media comes in. Further workers have the ports above.
    package var media: MediaWorkerConfiguration
    /// Threads for media. A room lives on one.
    package var workers = 1
    /// What a room is that nobody has described; its name is replaced.
    package var rooms = RoomConfiguration(name: "")
    /// Whether a room comes into being when somebody joins it; otherwise only by the room service.
    package var createsRooms = true
    /// Rooms at most, on each worker.
    package var maximumRooms = 10_000
    /// Sessions of WHIP and WHEP at most, on all workers together.
    package var maximumHTTPSessions = 5_000
    /// How often people may come.
    package var joinRates = JoinRates()
    /// Where tracks are recorded to when services ask for it; nil for nowhere.
    package var recordings: RecordingConfiguration?
    /// Where events are posted.
    package var webhooks: [WebhookURL] = []
    /// Told of the same events, each at once, in their order; from the threads of media, so not to block.
    package var heard: (@Sendable (LiveKitWebhookEvent) -> Void)?
    /// TURN servers for whoever sends this request.
    package var iceServers: @Sendable (SocketIOHTTPRequest) -> [LiveKitICEServer] = { _ in [] }

    /// Of `rooms`: participants at most; 0 for as many as come.
    package var maximumParticipants: Int {
        get { rooms.maximumParticipants }
        set { rooms.maximumParticipants = newValue }
    }

    /// Of `rooms`: whether services may switch on again what they have muted.
    package var allowsRemoteUnmute: Bool {
        get { rooms.allowsRemoteUnmute }
        set { rooms.allowsRemoteUnmute = newValue }
    }

    /// Of `rooms`: names of agents that come into rooms which name none themselves.
    package var agents: [String] {
        get { rooms.agents?.map(\.agentName) ?? [] }
        set { rooms.agents = newValue.isEmpty ? nil : newValue.map { name in .with { $0.agentName = name } } }
    }

    package init(keys: APIKeys, signingKey: APIKey, media: MediaWorkerConfiguration) {
        self.keys = keys
        self.signingKey = signingKey
        self.media = media
    }
}

/// Where recordings go.
package struct RecordingConfiguration: Sendable {
    package var folder: String
    /// Tracks that are recorded at the same time, of all rooms together.
    package var limit = 100
    /// A published track that the recorder is not given within this time is not recorded.
    package var patience = RoomRecorder.usualPatience

    /// Of one room, but for those that a service names: half of them.
    var limitOfRoom: Int { max(limit / 2, 1) }

    package init(folder: String) { self.folder = folder }
}

extension RoomConfiguration {
    /// A room as a token or the room service describes it; what they leave open is as in `self`.
    func described(_ name: String, as wanted: LiveKitRoomConfiguration) -> RoomConfiguration {
        var configuration = self
        configuration.name = name
        if wanted.emptyTimeout > 0 { configuration.emptyTimeout = .seconds(Int64(wanted.emptyTimeout)) }
        if wanted.departureTimeout > 0 { configuration.departureTimeout = .seconds(Int64(wanted.departureTimeout)) }
        if wanted.maxParticipants > 0 { configuration.maximumParticipants = Int(wanted.maxParticipants) }
        if !wanted.metadata.isEmpty { configuration.metadata = wanted.metadata }
        if !wanted.agents.isEmpty { configuration.agents = wanted.agents }
        if let delay = wanted.playoutDelay { configuration.playoutDelay = delay }
        if wanted.syncStreams { configuration.syncsStreams = true }
        return configuration
    }
}

extension LiveKitRoomConfiguration {
    /// Where it says how little pictures are held back, and not how much, that may be ten seconds, as with LiveKit's
    /// server.
    private static let usualMaximum: UInt32 = 10_000

    /// Nil where nothing is said of it.
    fileprivate var playoutDelay: PlayoutDelayLimits? {
        guard minPlayoutDelay > 0 || maxPlayoutDelay > 0 else { return nil }
        let maximum = maxPlayoutDelay > 0 ? maxPlayoutDelay : Self.usualMaximum
        return PlayoutDelayLimits(minimum: Int(minPlayoutDelay), maximum: Int(max(minPlayoutDelay, maximum)))
    }
}
