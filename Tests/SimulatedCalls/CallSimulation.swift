import RTCEngine
import RTCWire

/// Two peer connections on a virtual network, with a virtual signaling channel and applications that send counted
/// frames. A test sets it up, lets time pass and reads what happened; nothing in it waits, and a seed repeats it.
///
/// What the applications do with descriptions is in `+Signaling`, what they do with frames in `+Media`.
struct CallSimulation {
    enum Side: Int, CaseIterable {
        case left, right

        var other: Side { self == .left ? .right : .left }
    }

    /// One peer connection with its place in the network, its application and everything it has told.
    final class Peer {
        var machine: PeerMachine
        private let newMachine: () -> PeerMachine
        let host: HostID
        let bases: [TransportAddress]
        let turn: [TURNServer]
        var hasGathered = false
        /// What is said on its data channels.
        var conversations: [DataChannelID: DataConversation] = [:]
        var closedChannels: Set<DataChannelID> = []
        /// What its data channels have told.
        var channelEvents: [(id: DataChannelID, event: DataChannelEvent)] = []

        var connectionStates: [PeerConnectionState] = []
        var iceStates: [ICEConnectionState] = []
        var reasons: [String] = []
        var tracks: [TransceiverID] = []
        var endedTracks: [TransceiverID] = []
        var refusals: [String] = []
        var candidateErrors: [ICEServerError] = []
        var keyFrameRequests = 0
        var targets: [(at: Instant, target: TargetBitrate)] = []
        /// Datagrams sent that were not STUN.
        var sentBesidesSTUN = 0
        var sent = 0
        /// To a TURN server, as data on a channel.
        var sentOnChannels = 0
        var connectedAt: Instant?

        var sources: [TransceiverID: CallSource] = [:]
        var judges: [TransceiverID: FrameJudge] = [:]

        /// Candidates that came before a description.
        var waitingCandidates: [CandidateMessage] = []
        /// Kinds of media that it adds when it is first called.
        var bringsAlong: [MediaKind] = []
        /// The number of its offer that waits for an answer.
        var offer = 0

        init(_ seat: Seat, random: EngineRandom) {
            var negotiation = NegotiatorConfiguration(fingerprint: seat.security.localFingerprint)
            seat.negotiation(&negotiation)
            let configuration = PeerMachineConfiguration(
                ice: seat.ice, negotiation: negotiation, wallClockOffset: .seconds(Int64(1_700_000_000)))
            newMachine = { PeerMachine(configuration: configuration, security: seat.security, random: random) }
            machine = newMachine()
            host = seat.host
            bases = seat.bases
            turn = seat.turn
        }

        /// Puts a machine in the place of this one that has lived through nothing.
        func renewMachine() { machine = newMachine() }
    }

    /// Something deliberately wrong in the driver, to see that it is noticed.
    enum Sabotage {
        case none, losesFrame, repeatsFrame, damagesFrame, sendsMediaAtOnce, sendsToStranger, talksAfterTheEnd
        case tellsAfterTheEnd, keepsTimer
    }

    enum Agenda {
        case frame(Side, TransceiverID)
        case script((inout CallSimulation) -> Void)
    }

    var network: VirtualNetwork
    var signaling = VirtualSignaling()
    var invariants = CallInvariants()
    var sabotage = Sabotage.none
    /// Of so many packets of sound only one is made: a thousand calls have other things to show.
    var audioStride = 1
    let peers: [Peer]
    var signals = EventQueue<(Side, SignalMessage)>()
    var agenda = EventQueue<Agenda>()
    private(set) var now = Instant.zero
    /// Whether the applications talk on every channel that is opened.
    var talksOnChannels = false
    /// What happened, line by line; only kept when it is asked for.
    var isTracing = false
    private(set) var trace: [String] = []
    /// Steps since the beginning: what a loop over all moments counts.
    private(set) var steps = 0

    /// One side's place and parts.
    struct Seat {
        var host: HostID
        var bases: [TransportAddress]
        var turn: [TURNServer] = []
        var security: ScriptedSecurityProvider
        var negotiation: (inout NegotiatorConfiguration) -> Void = { _ in }
        var ice = ICEConfiguration()
    }

    init(network: VirtualNetwork, seats: (Seat, Seat), seed: UInt64) {
        self.network = network
        if seats.0.ice.isLite { invariants.liteSide = .left }
        if seats.1.ice.isLite { invariants.liteSide = .right }
        var random = EngineRandom.seeded(seed)
        peers = [seats.0, seats.1].map { Peer($0, random: random.split()) }
    }

    subscript(side: Side) -> Peer { peers[side.rawValue] }

    var violations: [String] { invariants.violations }

    // MARK: Time

    /// Lets `interval` pass.
    mutating func run(for interval: Interval) {
        let end = now + interval
        while step(until: end) {}
        now = end
    }

    /// Lets time pass until `condition` holds; false when it does not within `limit`.
    @discardableResult
    mutating func run(
        within limit: Interval = .milliseconds(20_000), until condition: (borrowing CallSimulation) -> Bool
    ) -> Bool {
        let end = now + limit
        while !condition(self) {
            guard step(until: end) else { return condition(self) }
        }
        return true
    }

    /// Does something after a time.
    mutating func after(_ interval: Interval, _ script: @escaping (inout CallSimulation) -> Void) {
        agenda.schedule(.script(script), at: now + interval)
    }

    /// Goes to the next thing that happens; false when there is none before `end`.
    @discardableResult
    mutating func step(until end: Instant) -> Bool {
        var next: Instant?
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            next = min(next ?? instant, instant)
        }
        consider(network.nextEvent)
        consider(signals.nextAt)
        consider(agenda.nextAt)
        for index in peers.indices { consider(peers[index].machine.nextWake) }
        guard let next, next <= end, violations.isEmpty || sabotage != .none else { return false }
        now = max(now, next)
        steps += 1
        let arrival = network.receive(by: now)
        lookAtCarried()
        if let (host, datagram, _) = arrival {
            deliver(datagram, to: host)
        } else if let (_, (side, message)) = signals.pop(dueAt: now) {
            receive(message, at: side)
        } else if let (_, item) = agenda.pop(dueAt: now) {
            perform(item)
        } else {
            wake()
        }
        return true
    }

    private mutating func wake() {
        for side in Side.allCases {
            guard let wake = self[side].machine.nextWake, wake <= now else { continue }
            tell(side) { machine, now in machine.tick(at: now) }
            invariants.ticked(nextWake: self[side].machine.nextWake, side, at: now)
        }
    }

    private mutating func perform(_ item: Agenda) {
        switch item {
        case .frame(let side, let id): makeFrame(side, id)
        case .script(let script): script(&self)
        }
    }

    private mutating func deliver(_ datagram: VirtualDatagram, to host: HostID) {
        guard let side = Side.allCases.first(where: { self[$0].host == host }) else { return }
        invariants.arrived(datagram, at: side, now)
        note("→ \(side) \(Self.described(datagram.bytes)) from \(datagram.source)")
        var bytes = datagram.bytes
        tell(side) { machine, now in
            machine.receive(&bytes, from: datagram.source, to: datagram.destination, at: now)
        }
    }

    // MARK: The machines

    /// Something is reported to one machine; what it wants is then done.
    mutating func tell<Value>(
        _ side: Side, _ fact: (inout PeerMachine, Instant) throws -> Value
    ) rethrows -> Value {
        defer { drain(side) }
        return try fact(&peers[side.rawValue].machine, now)
    }

    /// Ends one side.
    mutating func close(_ side: Side) {
        tell(side) { machine, now in machine.close(at: now) }
    }

    private mutating func drain(_ side: Side) {
        let index = side.rawValue
        invariants.called(peers[index].machine, side, at: now)
        while let transmit = peers[index].machine.pollTransmit() {
            send(transmit, side)
            peers[index].machine.recycle(transmit)
        }
        while let event = peers[index].machine.pollEvent() {
            invariants.tells(event, peers[index].machine, side, at: now)
            handle(event, side)
        }
        if sabotage == .tellsAfterTheEnd, self[side].machine.connectionState == .closed {
            invariants.tells(.negotiationNeeded, peers[index].machine, side, at: now)
        }
        let keepsTimer = sabotage == .keepsTimer && self[side].machine.connectionState == .closed
        let nextWake = keepsTimer ? now : self[side].machine.nextWake
        invariants.settled(peers[index].machine, nextWake: nextWake, side, at: now)
    }

    /// Peers consent to a relayed address as to any other, and what goes out from there is media only when DTLS is
    /// done.
    private mutating func lookAtCarried() {
        for (datagram, at) in network.takeCarried() {
            for side in [Side.left, .right] {
                if self[side].machine.isOurs(datagram.destination) { invariants.arrived(datagram, at: side, at) }
                if self[side].machine.isOurs(datagram.source) {
                    let transmit = Transmit(
                        bytes: datagram.bytes, from: datagram.source, to: datagram.destination)
                    invariants.sends(transmit, side, isCarried: true, at: at)
                }
            }
        }
    }

    /// A datagram in the trace: its protocol, of STUN and TURN the message type (RFC 8489 §5), and its size in bytes.
    private static func described(_ bytes: [UInt8]) -> String {
        let kind = DatagramKind(bytes)
        guard kind == .stun, bytes.count > 1 else { return "\(kind) \(bytes.count)" }
        return "\(kind) 0x\(String(UInt16(bytes[0]) << 8 | UInt16(bytes[1]), radix: 16)) \(bytes.count)"
    }

    mutating func note(_ text: @autoclosure () -> String) {
        if isTracing { trace.append("\(now.seconds) \(text())") }
    }

    mutating func send(_ transmit: Transmit, _ side: Side) {
        // What a channel carries is looked at where the server takes it out: `lookAtCarried`.
        if transmit.channel == nil { invariants.sends(transmit, side, at: now) }
        note("← \(side) \(Self.described(transmit.bytes)) from \(transmit.from) to \(transmit.to)")
        peers[side.rawValue].sent += 1
        if DatagramKind(transmit.bytes) != .stun { peers[side.rawValue].sentBesidesSTUN += 1 }
        var bytes = transmit.bytes
        if let channel = transmit.channel {
            peers[side.rawValue].sentOnChannels += 1
            bytes = []
            bytes.append(uint32: channel.word)
            bytes += transmit.bytes
        }
        network.send(
            bytes, from: transmit.from, to: transmit.to, by: self[side].host, at: now)
    }

    private mutating func handle(_ event: PeerEvent, _ side: Side) {
        let index = side.rawValue
        switch event {
        case .signalingStateChanged(let state):
            note("\(side) signaling \(state)")
        case .iceConnectionStateChanged(let state, let because):
            note("\(side) ice \(state): \(because)")
            peers[index].iceStates.append(state)
        case .iceGatheringStateChanged(let state):
            note("\(side) gathering \(state)")
        case .connectionStateChanged(let state, let because):
            note("\(side) connection \(state): \(because)")
            peers[index].connectionStates.append(state)
            peers[index].reasons.append(because)
            if state == .connected, peers[index].connectedAt == nil { peers[index].connectedAt = now }
            if state == .closed, sabotage == .talksAfterTheEnd {
                after(.milliseconds(10)) { $0.sendStrayMedia(side, to: Self.rightBase) }
            }
        case .iceCandidateError(let error):
            note("\(side) candidate error \(error.errorCode)")
            peers[index].candidateErrors.append(error)
        case .localCandidate(let candidate, let mid, let mLineIndex):
            signal(
                .candidate(
                    CandidateMessage(
                        attribute: candidate.attribute, mid: mid, mLineIndex: mLineIndex,
                        fragment: candidate.usernameFragment)), from: side)
        case .endOfLocalCandidates(let place):
            signal(
                .candidate(
                    CandidateMessage(
                        mid: place.mid, mLineIndex: place.mLineIndex, fragment: place.usernameFragment)), from: side)
        case .negotiationNeeded:
            note("\(side) wants to negotiate")
            negotiationNeeded(side)
        case .nameToResolve(let name):
            note("\(side) looks up \(name)")
        case .trackAdded(let id):
            note("\(side) track \(id.rawValue)")
            peers[index].tracks.append(id)
        case .trackRemoved(let id):
            note("\(side) track \(id.rawValue) ends")
            peers[index].endedTracks.append(id)
        case .frame(let id, let frame):
            judge(frame, side, id)
        case .tone(let id, let tone):
            note("\(side) key \(tone.code) on \(id.rawValue)")
        case .targetBitrateChanged(let target):
            note("\(side) target \(target.available)")
            peers[index].targets.append((now, target))
        case .dataChannel(let id, let event):
            note("\(side) channel \(id.rawValue) \(event)")
            peers[index].channelEvents.append((id, event))
            if talksOnChannels { take(event, of: id, at: side) }
        case .packetRequested(let id, let number):
            note("\(side) packet \(number) wanted on \(id.rawValue)")
        case .keyFrameRequested(let id):
            note("\(side) key frame wanted on \(id.rawValue)")
            peers[index].keyFrameRequests += 1
            peers[index].sources[id]?.wantsKeyFrame = true
        }
    }
}
