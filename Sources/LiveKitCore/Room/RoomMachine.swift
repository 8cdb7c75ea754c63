import LiveKitProtocol
package import RTCEngine
package import RTCWire
package import SFUCore
import SwiftProtobuf

/// A room of LiveKit's protocol as a machine: who is in it, what they publish, what they are told, and through an
/// `SFUCore.Room` their media. Without sockets and clock: whoever owns it keeps it on one thread.
///
/// Requests of clients go in by `receive(_:from:at:)`, datagrams by `receive(_:for:from:to:at:)`, and the room
/// service's commands by methods of their own, all with the time. Afterwards the owner calls `drainTransmits`, then
/// drains `pollOutput`, and calls `tick` when `nextWake` has come.
///
/// Where to look: how somebody comes in is in `Joining`, how descriptions go to and fro in `Negotiating`, whose tracks
/// there are in `Publishing`, who gets them in `Subscribing`, messages in `Data`, tracks of data in `DataTracks`, which
/// agents come in `Agents`, what others than clients ask for in `Service`, and what time does in `RoomMachine+Time`.
package final class RoomMachine {
    enum Phase {
        case open
        case ended
    }

    package internal(set) var configuration: RoomConfiguration
    var transport: RoomTransport
    private var wallClockOffset: Interval
    let media: Room
    let sid: String
    let createdAt: Instant
    /// Ends frames that a server makes itself and no client is to decrypt. We make none; clients want one.
    let serverFrameTrailer: [UInt8]
    var random: EngineRandom
    var phase = Phase.open
    /// Nobody new comes in,
    var isDraining = false
    /// but for those who were in it then: a client that makes its connection anew leaves first.
    var mayReturn: Set<String> = []

    /// In the order in which they came.
    var people: [Participant] = []
    var bySignal: [SignalID: Participant] = [:]
    var byPeer: [RoomPeerID: Connection] = [:]
    var tracks: [TrackSID: Track] = [:]
    var byPublication: [PublicationID: Track] = [:]
    var dataTracks: [TrackSID: DataTrack] = [:]
    var calls: [ServerCall] = []
    /// Which agents are to be in it.
    var dispatches: [AgentDispatch] = []
    /// Agents whose dispatch is deleted, and when they are taken out.
    var departingAgents: [ParticipantSID: Instant] = [:]
    /// Who has left and may come back, by identity, as far as it matters to agents.
    var absences: [String: Absence] = [:]
    /// When something of agents falls due.
    var nextAgentCheck: Instant?
    /// Whether workers are there for that.
    let offersAgents: @Sendable (AgentKind) -> Bool
    /// Of the messages that services have sent.
    var nonces = Nonces()
    /// Connections whose clients are to hear of a change by a description.
    var unsettled: [Connection] = []
    /// What the others have not been told yet, in a large room.
    var news: [News] = []
    var departures = Departures()
    /// Who, by identity, is to be offered TCP alone when coming back, and until when.
    var tcpAlone: [String: Instant] = [:]
    var lastSignal: UInt64 = 0
    var lastCall: UInt64 = 0

    /// Since when nobody is in it but those who depend on the others; nil while somebody is.
    var emptySince: Instant?
    var hasHadPeople = false
    /// What clients have been told last of whether somebody records.
    var toldRecording = false
    /// How many clients have been told are in the room, and may be told anew.
    var toldCounts = RoomCounts()
    var nextRoomUpdate = Instant.zero
    /// When what has a time-out is looked at next.
    var nextCheck: Instant
    /// Whose connections are judged in this interval.
    var qualityTurn = 0

    private var outputs: [RoomOutput] = []
    private var firstOutput = 0

    /// - Parameters:
    ///   - random: for ids and for the media.
    ///   - offersAgents: whether some worker does jobs of that kind. Those for which nobody is there are not ordered.
    package init(
        configuration: RoomConfiguration, transport: RoomTransport, random: EngineRandom,
        offersAgents: @escaping @Sendable (AgentKind) -> Bool = { _ in false }, at now: Instant
    ) {
        var random = random
        self.offersAgents = offersAgents
        self.configuration = configuration
        self.transport = transport
        wallClockOffset = transport.wallClockOffset
        media = Room(random: random.split())
        sid = random.sid("RM_")
        serverFrameTrailer = random.bytes(18)
        self.random = random
        createdAt = now
        emptySince = now
        nextCheck = now
        tell(webhook: "room_started", at: now)
        dispatchFirst()
    }

    // MARK: Messages

    /// A client's message. What is of a connection that is over is ignored.
    package func receive(_ said: ClientMessage, from signal: SignalID, at now: Instant) {
        guard let participant = bySignal[signal], let message = said.request.message else { return }
        participant.contact.heardAt = now
        switch message {
        case .offer(let offer): takeOffer(offer, said, from: participant, at: now)
        case .answer(let answer): takeAnswer(answer, said.description, from: participant, at: now)
        case .trickle(let candidate): takeCandidate(candidate, from: participant, at: now)
        case .addTrack(let request): addTrack(request, of: participant, at: now)
        case .mute(let request): mute(request, by: participant, at: now)
        case .subscription(let request):
            updateSubscription(
                request.trackSids + request.participantTracks.flatMap(\.trackSids), isWanted: request.subscribe,
                of: participant, at: now)
        case .trackSetting(let settings): takeSettings(settings, of: participant, at: now)
        case .leave(let request): leave(participant, because: request.reason, at: now)
        case .subscriptionPermission(let permission): takePermission(permission, of: participant, at: now)
        case .syncState(let state): takeState(state, of: participant, at: now)
        case .simulate(let scenario): simulate(scenario, for: participant, at: now)
        case .ping: send(.pong(wallClock(now) / 1_000_000), to: participant)
        case .pingReq(let ping):
            send(
                .pongResp(
                    .with {
                        $0.lastPingTimestamp = ping.timestamp
                        $0.timestamp = wallClock(now) / 1_000_000
                    }), to: participant)
        case .updateMetadata(let request): updateOwn(request, of: participant, at: now)
        case .updateAudioTrack(let request): updateAudio(request, of: participant)
        case .updateVideoTrack(let request): updateVideo(request, of: participant)
        case .publishDataTrackRequest(let request): publishDataTrack(request, of: participant)
        case .unpublishDataTrackRequest(let request): unpublishDataTrack(request, of: participant)
        case .updateDataSubscription(let request): updateDataSubscription(request, of: participant)
        // As LiveKit's server, where its configuration does not switch them on.
        case .storeDataBlobRequest(let request):
            refuse(.notAllowed, nil, id: request.requestID, "data blob not enabled", to: participant)
        case .getDataBlobRequest(let request):
            refuse(.notFound, nil, id: request.requestID, "data blob not found", to: participant)
        // What is deprecated, no server takes notice of.
        case .updateLayers: break
        }
        settle(at: now)
    }

    /// To the client, as long as it can be reached.
    func send(_ message: LiveKitSignalResponse.OneOf_Message, to participant: Participant) {
        guard case .attached(let signal) = participant.signaling else { return }
        put(.signal(signal, .with { $0.message = message }))
    }

    func refuse(
        _ reason: LiveKitRequestResponse.Reason, _ request: LiveKitRequestResponse.OneOf_Request?, id: UInt32 = 0,
        _ text: String, to participant: Participant
    ) {
        send(
            .requestResponse(
                .with {
                    $0.requestID = id
                    $0.reason = reason
                    $0.message = text
                    $0.request = request
                }), to: participant)
    }

    // MARK: Media

    /// Takes a datagram, or a packet that came over TCP. It is decrypted where it lies.
    ///
    /// - Parameters:
    ///   - outbox: takes what cannot wait for `forwardReceived`.
    ///   - send: sends the outbox, which is full, and empties it.
    package func receive(
        _ datagram: inout [UInt8], for peer: RoomPeerID, from remote: TransportAddress, to local: TransportAddress,
        into outbox: inout DatagramOutbox, at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        media.receive(&datagram, for: peer, from: remote, to: local, into: &outbox, at: now, sending: send)
    }

    /// Where a connection is to be found. One that has ended is nowhere, though its participant may still come back.
    package func path(of peer: RoomPeerID) -> PeerPath { media.path(of: peer) }

    /// Forwards what has come since the last time: to be called when what was read together is in, and before
    /// `drainTransmits`.
    package func forwardReceived(
        into outbox: inout DatagramOutbox, at now: Instant, sending send: (inout DatagramOutbox) -> Void
    ) {
        media.forwardReceived(into: &outbox, at: now, sending: send)
    }

    /// The server loses what clients send, for it cannot read it in time: until `end` nothing is asked for twice.
    package func askOnce(until end: Instant) { media.askOnce(until: end) }

    /// A TCP connection of a peer is over.
    package func tcpConnectionClosed(
        for peer: RoomPeerID, from local: TransportAddress, to remote: TransportAddress, at now: Instant
    ) {
        media.withMachine(of: peer) { $0.tcpConnectionClosed(from: local, to: remote, at: now) }
    }

    /// Whether a peer has proven to be at an address, or has named it: nothing but STUN is to be given to it from
    /// elsewhere.
    package func knows(_ remote: TransportAddress, of peer: RoomPeerID) -> Bool {
        media.withMachine(of: peer) { $0.knows(remote) } ?? false
    }

    /// Takes all datagrams that are to be sent, and does what the connections had to tell. The last words of a
    /// connection may come after it was said to be removed.
    package func drainTransmits(at now: Instant, _ send: (RoomPeerID, borrowing Transmit) -> Void) {
        var isSettled: Bool
        repeat {
            isSettled = true
            media.drainTransmits(at: now, send)
            while let event = media.pollEvent() {
                isSettled = false
                take(event, at: now)
            }
            settle(at: now)
        } while !isSettled
    }

    private func take(_ event: RoomEvent, at now: Instant) {
        switch event {
        case .peer(let id, let event):
            guard let connection = byPeer[id] else { return }
            take(event, of: connection, at: now)
        case .speakersChanged(let speakers): tellSpeakers(speakers, at: now)
        case .streamPaused(let publication, let subscriber, let isPaused):
            tellStreamState(publication, subscriber, isPaused: isPaused, at: now)
        case .qualityWanted(let publication, _): byPublication[publication].map { tellQuality(of: $0) }
        case .mediaBegan(let publication): mediaBegan(of: publication, at: now)
        case .codecChanged(let publication, let format): codecChanged(publication, to: format, at: now)
        }
    }

    private func take(_ event: PeerEvent, of connection: Connection, at now: Instant) {
        switch event {
        case .connectionStateChanged(let state, _): connectionChanged(connection, to: state, at: now)
        case .iceConnectionStateChanged(let state, _): pathChanged(of: connection, to: state, at: now)
        case .dataChannel(let channel, let event): take(event, on: channel, of: connection, at: now)
        // Negotiation is ours to begin, candidates are in the descriptions, tracks are found by their sections, and
        // nothing is decoded here.
        case .signalingStateChanged, .iceGatheringStateChanged, .localCandidate, .endOfLocalCandidates, .nameToResolve,
            .iceCandidateError, .negotiationNeeded, .trackAdded, .trackRemoved, .frame, .tone, .keyFrameRequested,
            .packetRequested, .targetBitrateChanged:
            break
        }
    }

    // MARK: Outputs

    func put(_ output: RoomOutput) { outputs.append(output) }

    /// The next output; nil when there is none. To be asked after `drainTransmits`.
    package func pollOutput() -> RoomOutput? {
        guard firstOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            firstOutput = 0
            return nil
        }
        defer { firstOutput += 1 }
        return outputs[firstOutput]
    }

    /// Nothing is kept of anybody, for tests.
    var holdsNothing: Bool {
        people.isEmpty && bySignal.isEmpty && byPeer.isEmpty && tracks.isEmpty && byPublication.isEmpty
            && calls.isEmpty && dataTracks.isEmpty && unsettled.isEmpty && news.isEmpty && departures.isEmpty
            && media.isEmpty
    }

    /// Nanoseconds since 1970.
    func wallClock(_ now: Instant) -> Int64 { (now + wallClockOffset).nanoseconds }

    /// What to add to the time now. The wall clock is set, and goes on while the machine sleeps: what is told of times
    /// follows it, but not each of its ticks, so that one time is told as the same.
    package func follow(wallClockOffset: Interval) {
        let change = wallClockOffset - self.wallClockOffset
        if max(change, .zero - change) > .seconds(Int64(1)) { self.wallClockOffset = wallClockOffset }
    }
}
