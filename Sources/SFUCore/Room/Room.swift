public import RTCEngine
import RTCWire

/// The media of one room: who publishes, who is subscribed to what, and the packets between them. Without sockets,
/// clock or signaling; its owner keeps it on one thread.
///
/// Its peers are `PeerMachine`s that pass packets on (`MediaUnit.packets`). Datagrams go in by `receive`; when those
/// that were read together are in, the owner calls `forwardReceived` and `drainTransmits` and drains `pollEvent`, and
/// calls `tick` when `nextWake` has come. A participant may have one peer connection or two, one to publish and one to
/// subscribe: the room knows of peers only.
///
/// A packet's way: `receive` → `store` → `PublishedTrack.receive`, which keeps it once for all; then, subscriber after
/// subscriber, `forwardReceived` → `Subscription.forward`, which decides and numbers → `PeerMachine.forward` of the
/// subscriber; what that has left unsealed, `DatagramOutbox.seal` seals for eight subscribers at a time. Each
/// subscriber gets all packets of a burst before the next one does: to load a subscriber's state into the cache costs
/// more than to write one packet, and the system call takes a row of packets to one address in one piece.
public final class Room {
    // Unchecked is what is used for each datagram and calls nobody back, so that two accesses never overlap.
    @exclusivity(unchecked) var peers: [RoomPeerID: RoomPeer] = [:]
    private var publications: [PublicationID: Publication] = [:]
    private var lastID: UInt32 = 0
    private var random: EngineRandom
    /// Peers whose machines were used since `drainTransmits` last asked them for what they have to send and to tell.
    @exclusivity(unchecked) private var touched: [RoomPeer] = []
    @exclusivity(unchecked) var wakeTimes = WakeTimes()
    @exclusivity(unchecked) var events: [RoomEvent] = []
    private var firstEvent = 0

    var speakers = ActiveSpeakers()
    /// The publications by their index in `speakers`. One that has ended stays until its index is used again, for its
    /// silence is still to be reported.
    private var speaking: [Int: PublicationID] = [:]
    private var changes: [ActiveSpeakers.Change] = []
    private var nextAllocation: Instant?
    private var lastAllocation = Instant.zero
    /// How often a subscriber's bitrate was divided, for tests.
    var divisions = 0
    var lostSound = LostSound()
    /// Publications with packets that are still to be forwarded, in the order in which the first of them came.
    @exclusivity(unchecked) var waiting: [Publication] = []
    /// Publications that have been muted just now.
    var silenced: [Publication] = []
    var mutedTrackPadding: [MutedTrackPadding] = []

    /// How often bitrates are measured and divided among the subscriptions.
    static let allocationInterval = Interval.milliseconds(500)
    /// After a change that clients can cause as often as they like, bitrates are divided again, but no sooner than this
    /// after the last time.
    static let earlyAllocationInterval = Interval.milliseconds(100)
    /// A single subscriber's bitrate is divided again at once, but no sooner than this after the last time. A change
    /// that comes sooner waits for the next division for all.
    private static let shortestDivisionInterval = Interval.milliseconds(10)

    /// - Parameter random: makes the sequence numbers that streams begin with.
    public init(random: EngineRandom) { self.random = random }

    private func makeID() -> UInt32 {
        lastID += 1
        return lastID
    }

    private func peer(_ id: RoomPeerID) throws(RoomError) -> RoomPeer {
        guard let peer = peers[id] else { throw .unknownPeer }
        return peer
    }

    private func publication(_ id: PublicationID) throws(RoomError) -> Publication {
        guard let publication = publications[id] else { throw .unknownPublication }
        return publication
    }

    // MARK: Peers

    /// Takes in a connection.
    ///
    /// - Parameters:
    ///   - machine: with `MediaUnit.packets`.
    ///   - mayPause: pictures may be paused where the path does not carry even their lowest layer.
    ///   - reusesTransceivers: a transceiver whose subscription has ended carries a later one, unless the peer has
    ///     offered that transceiver.
    ///   - needsDescriptors: the peer needs dependency descriptors to put spatial layers of AV1 together, as browsers
    ///     do. It gets the lowest layer only where it has not negotiated them.
    ///   - needsPackets: the peer reports a track when the first packet comes, as Pion does.
    ///   - takesTrailers: the peer takes off what some clients put behind their pictures; without that it is cut off.
    public func add(
        _ machine: consuming PeerMachine, mayPause: Bool = false, reusesTransceivers: Bool = true,
        needsDescriptors: Bool = false, needsPackets: Bool = false, takesTrailers: Bool = false
    ) -> RoomPeerID {
        let id = RoomPeerID(rawValue: makeID())
        let peer = RoomPeer(
            id: id, machine: machine, mayPause: mayPause, reusesTransceivers: reusesTransceivers,
            needsDescriptors: needsDescriptors, needsPackets: needsPackets, takesTrailers: takesTrailers, room: self)
        peers[id] = peer
        wakeTimes.add(peer)
        peer.touch()
        return id
    }

    /// Calls `body` with a peer's machine, for descriptions, candidates and data channels. `body` must not call the
    /// room.
    ///
    /// - Returns: nil when there is no such peer.
    public func withMachine<Value, Failure: Error>(
        of id: RoomPeerID, _ body: (inout PeerMachine) throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        guard let peer = peers[id] else { return nil }
        defer { peer.touch() }
        return try body(&peer.machine)
    }

    /// The server itself drops datagrams, since it reads too slowly: until then missing packets are asked for once only
    /// (`PeerMachine.askOnce`).
    public func askOnce(until end: Instant) {
        for peer in peers.values { peer.machine.askOnce(until: end) }
    }

    /// Ends a connection, its publications and its subscriptions. Its last packets and events are still to be polled.
    public func remove(_ id: RoomPeerID, at now: Instant) {
        guard let peer = peers[id] else { return }
        for entry in peer.published { end(entry.publication, at: now) }
        for subscription in peer.subscriptions { leave(subscription, at: now) }
        peer.subscriptions = []
        peer.machine.close(at: now)
        peer.touch()
        peers[id] = nil
        wakeTimes.remove(peer)
    }

    public var isEmpty: Bool { peers.isEmpty }

    /// At which address a peer is reached, for the owner of the sockets.
    public func path(of id: RoomPeerID) -> PeerPath {
        guard let peer = peers[id], peer.machine.connectionState != .closed else { return .over }
        guard let pair = peer.machine.selectedPair, let heardAt = peer.machine.heardAt else { return .unknown }
        return .heard(at: pair.remote, heardAt)
    }

    /// The room has no peers, and has kept nothing of former ones; for tests.
    var holdsNothing: Bool {
        peers.isEmpty && publications.isEmpty && touched.isEmpty && mutedTrackPadding.isEmpty
    }

    // MARK: Publications

    /// Publishes the track that a peer sends on a transceiver: other peers can be subscribed to it.
    public func publish(
        on transceiver: TransceiverID, of id: RoomPeerID, _ description: PublicationDescription, at now: Instant
    ) throws(RoomError) -> PublicationID {
        let peer = try peer(id)
        guard peer.publication(on: transceiver) == nil,
            let known = peer.machine.transceivers.first(where: { $0.id == transceiver }),
            (known.kind == .video) == description.format.isVideo
        else { throw .unusableTransceiver }
        let publication = Publication(
            id: PublicationID(rawValue: makeID()), publisher: peer, transceiver: transceiver, description, at: now)
        if !description.format.isVideo, description.isSpeech {
            let index = speakers.add()
            publication.speaker = index
            speaking[index] = publication.id
        }
        peer.published.append((transceiver, publication))
        publications[publication.id] = publication
        return publication.id
    }

    /// Ends a publication, and all subscriptions to it.
    public func unpublish(_ id: PublicationID, at now: Instant) throws(RoomError) {
        let publication = try publication(id)
        publication.publisher.published.removeAll { $0.publication === publication }
        end(publication, at: now)
    }

    /// What comes on a publication's transceiver is another track from now on, for example because its codec has
    /// changed. Ends the publication and all subscriptions to it, and begins a new one, which is muted if the old one
    /// was.
    public func republish(
        _ id: PublicationID, _ description: PublicationDescription, at now: Instant
    ) throws(RoomError) -> PublicationID {
        let old = try publication(id)
        guard description.format.isVideo == old.description.format.isVideo else { throw .unusableTransceiver }
        let carriers = peers.values.compactMap { peer in peer.carriers[id].map { (peer, $0) } }
        try unpublish(id, at: now)
        let new = try publish(on: old.transceiver, of: old.publisher.id, description, at: now)
        // What its publisher was told, and which transceivers have carried it, holds for the new one too.
        publications[new]?.dynacast = Dynacast(told: old.dynacast.told, published: now)
        for (peer, used) in carriers { peer.carriers[new] = used }
        if old.isMuted { try setMuted(true, new, at: now) }
        return new
    }

    func began(_ publication: Publication) {
        publication.hasBegun = true
        events.append(.mediaBegan(publication.id))
    }

    func tell(_ publication: Publication, sends format: PayloadFormat) {
        events.append(.codecChanged(publication.id, format))
    }

    private func end(_ publication: Publication, at now: Instant) {
        publications[publication.id] = nil
        for peer in peers.values { peer.carriers[publication.id] = nil }
        if let speaker = publication.speaker {
            speakers.remove(speaker)
        }
        for subscription in publication.subscriptions {
            subscription.subscriber.subscriptions.removeAll { $0 === subscription }
            endMutedTrackPadding(of: subscription)
            stop(subscription, at: now)
        }
        publication.subscriptions = []
        publication.endWaiting()
        waiting.removeAll { $0 === publication }
        endSilence(of: publication)
    }

    /// Stops forwarding a publication, or forwards it again: video from its next key frame. The subscribers' bitrates
    /// are divided anew a little later, once for all changes until then.
    public func setMuted(_ isMuted: Bool, _ id: PublicationID, at now: Instant) throws(RoomError) {
        let publication = try publication(id)
        guard publication.isMuted != isMuted else { return }
        publication.isMuted = isMuted
        if isMuted { publication.track.mute() } else { publication.track.unmute(at: now) }
        if isMuted { beginSilence(of: publication, at: now) } else { endSilence(of: publication) }
        if isMuted, let speaker = publication.speaker { speakers.muted(speaker) }
        for subscription in publication.subscriptions {
            if isMuted { beginMutedTrackPadding(of: subscription, at: now) }
            let isWanted =
                publication.description.format.isVideo
                ? subscription.wantedQuality != .off : !subscription.hints.isDisabled
            subscription.target =
                !isMuted && isWanted && !subscription.isPaused
                ? subscription.withinLimit(subscription.held ?? .highest) : nil
            subscription.wantKeyFrameIfNeeded(at: now)
        }
        divideSoon(at: now)
    }

    // MARK: Subscriptions

    /// Forwards a publication to a peer: on a transceiver that the peer has offered to receive on, or on one of ours,
    /// which has to be negotiated (`PeerEvent.negotiationNeeded`).
    ///
    /// - Parameters:
    ///   - streamID: the id of the track's media stream in our description (the first part of `a=msid`).
    ///   - trackID: the id of the track in our description (the second part of `a=msid`).
    ///   - existing: the transceiver that the peer offered to receive on. With nil, that of an ended subscription, or a
    ///     new one, is used.
    ///   - isContinued: the stream on the transceiver goes on under the same SSRC, without the peer being told.
    ///   - original: a publication of the same track in another codec, which this one replaces for the peer; nil for
    ///     none.
    ///   - hints: how the subscriber shows the publication, as far as that is known.
    /// - Returns: the transceiver on which the publication is forwarded.
    @discardableResult
    public func subscribe(
        _ id: RoomPeerID, to publicationID: PublicationID, streamID: String, trackID: String? = nil,
        on existing: TransceiverID? = nil, continuing isContinued: Bool = false,
        inPlaceOf original: PublicationID? = nil,
        hints: SubscriberHints = SubscriberHints(), at now: Instant
    ) throws(RoomError) -> TransceiverID {
        let peer = try peer(id)
        let publication = try publication(publicationID)
        guard publication.publisher !== peer,
            !peer.subscriptions.contains(where: { $0.publication === publication })
        else { throw .alreadySubscribed }
        let transceiver: TransceiverID
        do throws(PeerError) {
            transceiver = try peer.attach(
                publication, existing, streamID: streamID, trackID: trackID, continuing: isContinued,
                inPlaceOf: original.flatMap { publications[$0] } ?? publication, at: now)
        } catch {
            throw .peer(error)
        }
        let subscription = Subscription(
            to: publication, of: peer, on: transceiver,
            continuing: peer.ended.removeValue(forKey: transceiver).flatMap { isContinued ? $0 : nil },
            // In the lower half: when the first packets are lost and the number wraps at once, the receiver could not
            // tell that SRTP's rollover counter has moved (RFC 3711 §3.3.1).
            firstSequenceNumber: UInt16(truncatingIfNeeded: random.next() >> 24) & 0x7fff)
        publication.subscriptions.append(subscription)
        peer.subscriptions.append(subscription)
        subscription.hints = hints
        subscription.quality = subscription.wantedQuality
        tell(publication.dynacast.changed(from: nil, to: subscription.quality, at: now), of: publication)
        if publication.isMuted { subscription.target = nil }
        beginMutedTrackPadding(of: subscription, at: now)
        allocate(peer, at: now)
        peer.touch()
        return transceiver
    }

    /// Ends a subscription. Its transceiver is inactive from the peer's next negotiation on, and then free for others.
    public func unsubscribe(_ id: RoomPeerID, from publicationID: PublicationID, at now: Instant) throws(RoomError) {
        let peer = try peer(id)
        let publication = try publication(publicationID)
        guard let subscription = peer.subscriptions.first(where: { $0.publication === publication }) else {
            throw .notSubscribed
        }
        peer.subscriptions.removeAll { $0 === subscription }
        leave(subscription, at: now)
        stop(subscription, at: now)
        allocate(peer, at: now)
    }

    private func leave(_ subscription: Subscription, at now: Instant) {
        let publication = subscription.publication
        publication.subscriptions.removeAll { $0 === subscription }
        endMutedTrackPadding(of: subscription)
        tell(publication.dynacast.changed(from: subscription.quality, to: nil, at: now), of: publication)
    }

    private func stop(_ subscription: Subscription, at now: Instant) {
        let (peer, id) = (subscription.subscriber, subscription.transceiver)
        peer.touch()
        guard let transceiver = peer.machine.transceivers.first(where: { $0.id == id }) else { return }
        // A transceiver that was never negotiated can be stopped; any other is kept, inactive, to be used again.
        try? peer.machine.setDirection(transceiver.mid == nil ? .stopped : .inactive, of: id, at: now)
        if transceiver.mid != nil, !peer.idle.contains(id) { peer.idle.append(id) }
        peer.ended[id] = transceiver.mid == nil ? nil : subscription.end
    }

    /// How a subscriber shows a publication.
    public func setHints(
        _ hints: SubscriberHints, of id: RoomPeerID, for publicationID: PublicationID, at now: Instant
    ) throws(RoomError) {
        let peer = try peer(id)
        let publication = try publication(publicationID)
        guard let subscription = peer.subscriptions.first(where: { $0.publication === publication }) else {
            throw .notSubscribed
        }
        subscription.hints = hints
        let quality = subscription.wantedQuality
        if quality != subscription.quality {
            let old = subscription.quality
            subscription.quality = quality
            tell(publication.dynacast.changed(from: old, to: quality, at: now), of: publication)
        }
        peer.needsDivision = true
        peer.touch()
    }

    /// The highest quality that anybody wants of a publication, as the publisher was last told
    /// (`RoomEvent.qualityWanted`); nil when there is no such publication.
    public func qualityWanted(of id: PublicationID) -> VideoQuality? { publications[id]?.dynacast.told }

    /// How many packets of a publication were lost on their way here and restored from the redundancy in later ones
    /// (RFC 2198).
    public func recoveredPackets(of id: PublicationID) -> Int64 { publications[id]?.recovered ?? 0 }

    /// How many more spatial layers of a publication a subscriber could use, and the publisher sends, than go to it.
    public func missingLayers(to id: RoomPeerID, of publicationID: PublicationID) -> Int {
        peers[id]?.subscriptions.first { $0.publication.id == publicationID }?.missingLayers ?? 0
    }

    /// How many of the wanted spatial layers of a publication do not come. A publisher whose path does not carry all
    /// leaves out the upper ones, so that no packet is lost and nothing else tells of it. 0 for layers inside one
    /// stream.
    public func missingLayers(of publicationID: PublicationID) -> Int {
        guard let publication = publications[publicationID], !publication.isMuted,
            publication.track.arrangement == .simulcast, publication.description.spatialLayers.count > 1,
            let wanted = publication.description.sizes.lastIndex(where: { $0.quality <= publication.dynacast.told })
        else { return 0 }
        return publication.track.bitrates.live.highestSetBit.map { max(wanted - $0, 0) } ?? 0
    }

    /// The layers of a publication that go to a subscriber now; nil when none does.
    public func forwardedLayers(to id: RoomPeerID, of publicationID: PublicationID) -> LayerTarget? {
        peers[id]?.subscriptions.first { $0.publication.id == publicationID }?.forwarded
    }

    private func tell(_ quality: VideoQuality?, of publication: Publication) {
        guard let quality, publication.description.format.isVideo else { return }
        publication.track.bitrates.wantedAnew()
        events.append(.qualityWanted(publication.id, quality))
    }

    // MARK: Time

    /// When `tick` is next wanted; nil when nothing is pending.
    public var nextWake: Instant? {
        guard !peers.isEmpty else { return nil }
        var wake = nextAllocation ?? .zero
        func consider(_ other: Instant?) {
            if let other { wake = min(wake, other) }
        }
        consider(touched.isEmpty ? wakeTimes.earliest : .zero)
        for publication in publications.values { consider(publication.nextWake) }
        if !speaking.isEmpty { consider(speakers.nextWake ?? .zero) }
        if !mutedTrackPadding.isEmpty { consider(nextMutedTrackPadding) }
        return wake
    }

    /// Does what has fallen due.
    public func tick(at now: Instant) {
        wakeTimes.forEachDue(at: now) { peer in
            peer.machine.tick(at: now)
            peer.touch()
        }
        for publication in publications.values {
            publication.askForKeyFrames(at: now)
            if publication.dynacast.nextWake != nil { tell(publication.dynacast.tick(at: now), of: publication) }
        }
        tellSpeakers(at: now)
        guard nextAllocation.map({ $0 <= now }) ?? true else { return }
        nextAllocation = now + Self.allocationInterval
        lastAllocation = now
        for publication in publications.values {
            publication.noteClocks()
            publication.track.bitrates.advance(to: now)
        }
        for publication in publications.values { publication.tellClocks() }
        for peer in peers.values { allocate(peer, at: now) }
    }

    private func tellSpeakers(at now: Instant) {
        guard !speaking.isEmpty else { return }
        changes.removeAll(keepingCapacity: true)
        speakers.tick(at: now, changes: &changes)
        let told = changes.compactMap { change in
            speaking[change.track].map { RoomEvent.Speaker(publication: $0, level: change.level) }
        }
        if !told.isEmpty { events.append(.speakersChanged(told)) }
    }

    // MARK: Who gets how much

    /// Moves the next division for all forward, as far as `earlyAllocationInterval` allows.
    private func divideSoon(at now: Instant) {
        nextAllocation = nextAllocation.map { min($0, max(now, lastAllocation + Self.earlyAllocationInterval)) }
    }

    // MARK: Outputs

    func touched(_ peer: RoomPeer) { touched.append(peer) }

    /// Takes all that is to be sent, peer by peer. A datagram's storage goes back to its connection afterwards.
    public func drainTransmits(at now: Instant, _ send: (RoomPeerID, borrowing Transmit) -> Void) {
        // An event of one peer, such as a request for a key frame, may give others something to send.
        while let peer = touched.popLast() {
            settleEvents(of: peer, at: now)
            while let transmit = peer.machine.pollTransmit() {
                send(peer.id, transmit)
                peer.machine.recycle(transmit)
            }
            peer.settle()
        }
    }

    private func settleEvents(of peer: RoomPeer, at now: Instant) {
        while let event = peer.machine.pollEvent() {
            switch event {
            // NACK (RFC 4585 §6.2.1).
            case .packetRequested(let transceiver, let number):
                peer.subscription(on: transceiver)?.retransmit(number, at: now)
            case .keyFrameRequested(let transceiver):
                guard let subscription = peer.subscription(on: transceiver) else { continue }
                subscription.wantKeyFrame(at: now)
                subscription.publication.askForKeyFrames(at: now)
            case .targetBitrateChanged: peer.needsDivision = true
            case .signalingStateChanged, .connectionStateChanged:
                // Something may be sent to the peer from now on.
                for subscription in peer.subscriptions { subscription.wantKeyFrameIfNeeded(at: now) }
                events.append(.peer(peer.id, event))
            case .iceConnectionStateChanged, .iceGatheringStateChanged, .localCandidate, .endOfLocalCandidates,
                .nameToResolve, .iceCandidateError, .negotiationNeeded, .trackAdded, .trackRemoved, .frame, .tone,
                .dataChannel:
                events.append(.peer(peer.id, event))
            }
        }
        guard peer.needsDivision else { return }
        if peer.dividedAt.map({ now - $0 >= Self.shortestDivisionInterval }) ?? true {
            allocate(peer, at: now)
        } else {
            divideSoon(at: now)
        }
    }

    /// The next event; nil when there is none. To be asked after `drainTransmits`.
    public func pollEvent() -> RoomEvent? {
        guard firstEvent < events.count else {
            events.removeAll(keepingCapacity: true)
            firstEvent = 0
            return nil
        }
        defer { firstEvent += 1 }
        return events[firstEvent]
    }
}
