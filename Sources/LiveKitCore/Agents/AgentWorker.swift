import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

/// A program that waits for jobs, as the pool sees it: one connection.
struct AgentWorker {
    /// `AW_…`: as it is told.
    let sid: String
    /// The API key that its token was signed with, which signs its agents' tokens.
    let key: String
    let connectedAt: Instant
    /// Nil until it has registered.
    var kind: AgentKind?
    /// What its agents may do.
    var permission = LiveKitParticipantPermission.with {
        $0.canSubscribe = true
        $0.canPublish = true
        $0.canPublishData = true
        $0.canUpdateMetadata = true
    }
    var isFull = false
    var isDraining = false
    /// From 0 to 1.
    var load: Float = 0
    /// The job that it is to say yes or no to.
    var asked: String?
    /// Jobs that are its to speak of (`PooledJob.holder`).
    var held: Set<String> = []
    /// It has not answered, and has said nothing since.
    var isSilent = false
    /// Jobs that it was given since it said how it fares, and since when.
    var given = 0
    var givenSince = Instant.zero
    /// Jobs that it has refused, and may be asked for once more; no worker has them.
    var refused: Set<String> = []
    /// Of the jobs that wait, none up to this ticket can be its own as things are.
    var passed: UInt64 = 0
    /// Jobs that it tries by itself.
    var tries = 0

    /// How much more it can do, from 0 to 1.
    var room: Float { max(0, 1 - load) }

    /// It has room, if it was not given too much at once.
    var isFree: Bool { !isFull && !isDraining && !isSilent && room > 0 && asked == nil }

    func hasRoom(at now: Instant) -> Bool {
        let isBusy = given >= AgentPool.givenLimit && now < givenSince + AgentPool.givenTime
        return isFree && !isBusy
    }

    /// When it has not registered in time, or may be given more; nil for never.
    var due: Instant? {
        if kind == nil { return connectedAt + AgentPool.registerTime }
        return given >= AgentPool.givenLimit ? givenSince + AgentPool.givenTime : nil
    }

    mutating func noteGiven(at now: Instant) {
        if given == 0 || now >= givenSince + AgentPool.givenTime { (given, givenSince) = (0, now) }
        given += 1
    }

    /// As LiveKit's SDKs look for it.
    static let nameAttribute = "lk.agent_name"

    /// Whom the token of its agent is for.
    func subject(_ identity: String, _ answer: LiveKitAvailabilityResponse, inRoom room: String) -> TokenSubject {
        var grants = VideoGrants()
        grants.apply(permission)
        grants.recorder = false
        grants.agent = true
        grants.roomJoin = true
        grants.room = room
        var claims = AccessToken.Claims()
        claims.name = answer.participantName
        claims.kind = "agent"
        claims.metadata = answer.participantMetadata
        claims.attributes = answer.participantAttributes
        claims.attributes[Self.nameAttribute] = kind?.name ?? ""
        claims.video = grants
        claims.agentJob = answer.jobID
        return TokenSubject(identity: identity, claims: claims)
    }
}
