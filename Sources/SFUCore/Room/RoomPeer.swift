import RTCEngine

/// One peer connection of a room: its machine, what it publishes and what it is subscribed to.
final class RoomPeer {
    let id: RoomPeerID
    /// Whether the machine was used since it was last asked what it has to send and to tell.
    private(set) var isTouched = false
    /// Where the room's `wakeTimes` has the time of the machine's next tick; nil once it has left.
    var wakePlace: Int?
    private unowned let room: Room
    // No call of the machine comes back to its peer, so two accesses never overlap. The run-time check for that would
    // cost more than the access.
    @exclusivity(unchecked) var machine: PeerMachine
    /// Streams may be paused where the path does not carry them.
    let mayPause: Bool
    /// Whether a transceiver whose subscription is over may carry another publication. Where false that is done only
    /// when no more transceivers can be made.
    let reusesTransceivers: Bool
    /// The peer can put spatial layers of AV1 together only with dependency descriptors.
    let needsDescriptors: Bool
    /// The peer reports a track to its application only when a packet of it comes.
    let needsPackets: Bool
    /// The peer takes off what is behind pictures (`PacketTrailer`); others get them without it.
    let takesTrailers: Bool
    /// What the peer publishes, by the transceiver that it comes on.
    var published: [(transceiver: TransceiverID, publication: Publication)] = []
    /// Relates the time stamps of all that the peer publishes to one clock.
    var clock = PublisherClock()
    var subscriptions: [Subscription] = []
    /// Transceivers whose subscriptions are over, to be used for others. Sections are never removed from a description,
    /// and to reject one costs a peer more work than to leave it inactive.
    var idle: [TransceiverID] = []
    /// Which of the room's transceivers have carried each publication, or another codec of it in its place.
    var carriers: [PublicationID: Set<TransceiverID>] = [:]
    /// The end of the last stream on each idle transceiver, for a subscription that continues it.
    var ended: [TransceiverID: StreamRewriter.End] = [:]
    var allocator = StreamAllocator()
    /// Its bitrate has to be divided again: by `drainTransmits`, when all changes that came together are known.
    var needsDivision = false
    var dividedAt: Instant?

    init(
        id: RoomPeerID, machine: consuming PeerMachine, mayPause: Bool, reusesTransceivers: Bool,
        needsDescriptors: Bool, needsPackets: Bool, takesTrailers: Bool, room: Room
    ) {
        self.id = id
        self.machine = machine
        self.mayPause = mayPause
        self.reusesTransceivers = reusesTransceivers
        self.needsDescriptors = needsDescriptors
        self.needsPackets = needsPackets
        self.takesTrailers = takesTrailers
        self.room = room
    }

    /// Notes that the machine has been used: it is asked for what it has to send and to tell.
    func touch() {
        guard !isTouched else { return }
        isTouched = true
        room.touched(self)
    }

    /// The machine has been asked for all that it has to send and to tell.
    func settle() {
        isTouched = false
        room.wakeTimes.set(machine.nextWake, of: self)
    }

    func publication(on transceiver: TransceiverID) -> Publication? {
        for entry in published where entry.transceiver == transceiver { return entry.publication }
        return nil
    }

    func subscription(on transceiver: TransceiverID) -> Subscription? {
        for subscription in subscriptions where subscription.transceiver == transceiver { return subscription }
        return nil
    }
}
