import RTCEngine

/// One peer connection of a room: its machine, what it publishes and what it is subscribed to.
final class RoomPeer {
    let id: RoomPeerID
    /// It may have something to send or to tell.
    private(set) var isTouched = false
    /// When the machine next wants a tick, as it said last.
    var wake: Instant?
    private unowned let room: Room
    // Nothing that a machine is given to do comes back to its peer, so two accesses never overlap; the check for it
    // costs more than the look.
    @exclusivity(unchecked) var machine: PeerMachine
    /// Streams may be paused where the path does not carry them.
    let mayPause: Bool
    /// A transceiver of the room's carries another publication once its subscription is over; otherwise only where
    /// there is no room for more.
    let reusesTransceivers: Bool
    /// It puts spatial layers of AV1 together by dependency descriptors alone.
    let needsDescriptors: Bool
    /// A track is there for it when packets of it come.
    let needsPackets: Bool
    /// What comes on each transceiver.
    var published: [(transceiver: TransceiverID, publication: Publication)] = []
    /// Of what it publishes.
    var clock = PublisherClock()
    var subscriptions: [Subscription] = []
    /// Transceivers of subscriptions that are over, for others to come: sections are never removed, and to reject one
    /// costs a peer more than to leave it inactive.
    var idle: [TransceiverID] = []
    /// Which transceivers of the room's have carried each publication that there is, or another in its place.
    var carriers: [PublicationID: Set<TransceiverID>] = [:]
    /// Where the streams on those have got to, for a subscription that goes on with one.
    var ended: [TransceiverID: StreamRewriter.End] = [:]
    var allocator = StreamAllocator()
    /// What it has is to be divided anew, once all is known that has come with what changed it.
    var needsDivision = false
    var dividedAt: Instant?

    init(
        id: RoomPeerID, machine: consuming PeerMachine, mayPause: Bool, reusesTransceivers: Bool,
        needsDescriptors: Bool, needsPackets: Bool, room: Room
    ) {
        self.id = id
        self.machine = machine
        self.mayPause = mayPause
        self.reusesTransceivers = reusesTransceivers
        self.needsDescriptors = needsDescriptors
        self.needsPackets = needsPackets
        self.room = room
    }

    /// Notes that the machine has been used: it is asked for what it has to send and to tell.
    func touch() {
        guard !isTouched else { return }
        isTouched = true
        room.touched(self)
    }

    /// It has been asked.
    func settle() {
        isTouched = false
        wake = machine.nextWake
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
