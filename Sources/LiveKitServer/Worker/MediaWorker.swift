internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import RTCEngine
package import RTCNetwork
internal import RTCWire
internal import SFUCore
internal import Synchronization

/// Rooms and their media on one thread: a `NetworkLoop`, the sockets that all its peers share, and `RoomMachine`s.
///
/// A datagram is read, decrypted, forwarded and written on that thread, without lock, await or hop. What clients say
/// comes through the `SignalInbox`; the room service calls.
package actor MediaWorker {
    /// The thread that it lives on.
    nonisolated package let loop: NetworkLoop
    nonisolated package var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The ports that it listens on.
    package struct Ports: Sendable, Equatable {
        package var port: UInt16
        /// Nil without TCP.
        package var tcpPort: UInt16?
    }

    /// Whom a worker tells things, on its thread.
    struct Surroundings: Sendable {
        var webhook: @Sendable (LiveKitWebhookEvent) -> Void
        /// Signs a client's next token.
        var sign: @Sendable (TokenSubject, _ expires: Date) -> String?
        /// Whether a room of this name may begin here: false when it is somewhere else by now.
        var claim: @Sendable (_ room: String) -> Bool
        var roomEnded: @Sendable (_ room: String) -> Void
        /// Whether somebody does such jobs; and has them done.
        var offersAgents: @Sendable (AgentKind) -> Bool
        var order: @Sendable (AgentOrder) -> Void
        /// So many datagrams were lost since the worker did not read in time; and the bytes that may wait.
        var overran: @Sendable (_ count: Int, _ receiveBuffer: Int) -> Void
        /// The host's networks have changed, and media come in on these addresses now.
        var moved: @Sendable ([MediaWorkerConfiguration.Address]) -> Void
    }

    /// What can be read, by the loop's name for it.
    enum Source {
        case datagrams(Int)
        case listener(Int)
        case tcpConnection(MediaTCPConnection)
    }

    let configuration: MediaWorkerConfiguration
    /// Where media come in now.
    nonisolated let reachable: Mutex<[MediaWorkerConfiguration.Address]>
    let surroundings: Surroundings
    private let limit: Int
    var transport: RoomTransport?
    var sources: [UInt64: Source] = [:]
    var datagramPorts: [DatagramPort] = []
    var tcpPorts: [TCPPort] = []
    /// By the client's address.
    var tcpConnections: [TransportAddress: MediaTCPConnection] = [:]
    /// Peers that may have more TCP connections than they are to have.
    var crowded: [MediaPeer] = []
    /// TCP connections that have shown no credential yet, by the client's address.
    var strangersOfAddress: [IPAddress: Int] = [:]
    var demultiplexer = Demultiplexer<MediaPeer>()
    /// Packets of all rooms that wait for nothing but the system call.
    var forwarded = DatagramOutbox()
    private(set) var rooms: [Int: HostedRoom] = [:]
    private var numbers: [String: Int] = [:]
    private var lastNumber = 0
    /// Rooms that have been given something since they were last asked.
    private var touched: [HostedRoom] = []
    var statistics = MediaWorkerStatistics()
    /// As others see it.
    var told = MediaWorkerStatistics()
    /// What has changed since will be told.
    var willPublish = false
    lazy var publishTimer = PublishTimer(self)
    /// Datagrams that were lost and not reported yet, and when some last were.
    var untoldOverrun = 0
    var toldOverrunAt: Instant?
    private var isStopped = false
    /// No new rooms.
    var isDraining = false
    lazy var link = MediaWorkerLink(self)
    nonisolated let published = Mutex(MediaWorkerStatistics())
    /// For what clients say.
    nonisolated private let inboxes = Mutex<SignalInbox?>(nil)

    /// - Parameter limit: rooms at most.
    init(
        _ configuration: MediaWorkerConfiguration, limit: Int, surroundings: Surroundings,
        loop: NetworkLoop = NetworkLoop(name: "roost-media")
    ) {
        self.configuration = configuration
        reachable = Mutex(configuration.addresses)
        self.limit = limit
        self.surroundings = surroundings
        self.loop = loop
    }

    /// What is on it, and what it has done up to a moment ago (`publish`); from any thread, at any time.
    nonisolated package var load: MediaWorkerStatistics { published.withLock { $0 } }

    /// Where signaling connections put what their clients say.
    nonisolated var inbox: SignalInbox {
        inboxes.withLock { inbox in
            if let inbox { return inbox }
            let made = SignalInbox(self)
            inbox = made
            return made
        }
    }

    // MARK: Rooms

    /// Lets somebody in, into a new room if there is none of the name. What the client is told first is given to `link`
    /// before this returns.
    ///
    /// - Returns: whether this has made the room.
    @discardableResult
    func join(
        _ arrival: Arrival, room configuration: RoomConfiguration, mayCreate: Bool, link: any SignalLink
    ) throws(WorkerRefusal) -> Bool {
        let now = NetworkLoop.now
        let (room, signal, isNew) = try enter(arrival.identity, configuration, mayCreate: mayCreate, at: now) {
            machine throws(JoinRefusal) in
            try machine.join(arrival, at: now)
        }
        attach(link, to: room, as: signal, at: now)
        return isNew
    }

    /// Lets somebody in whose signaling is one offer and its answer.
    ///
    /// - Parameter link: is told when the session is over.
    /// - Returns: the answer, and whether this has made the room.
    func open(
        _ arrival: Arrival, room configuration: RoomConfiguration, mayCreate: Bool, link: any SignalLink
    ) throws(WorkerRefusal) -> (answer: String, isNew: Bool) {
        let now = NetworkLoop.now
        let (room, answer, isNew) = try enter(arrival.identity, configuration, mayCreate: mayCreate, at: now) {
            machine throws(JoinRefusal) in
            try machine.open(arrival, at: now)
        }
        attach(link, to: room, as: answer.signal, at: now)
        return (answer.sdp, isNew)
    }

    /// Ends such a session.
    func close(_ address: SignalAddress) {
        guard let room = room(at: address) else { return }
        withRoom(room) { machine, now in machine.close(address.signal, at: now) }
    }

    private func enter<Value>(
        _ identity: String, _ configuration: RoomConfiguration, mayCreate: Bool, at now: Instant,
        _ body: (RoomMachine) throws(JoinRefusal) -> Value
    ) throws(WorkerRefusal) -> (HostedRoom, Value, isNew: Bool) {
        let former = self.room(named: configuration.name)
        // Whoever is in already comes in place of a former session. Those without a connection are about to have one.
        guard
            max(statistics.peers, statistics.signals) < self.configuration.maximumPeers
                || former?.machine.isIn(identity) == true
        else { throw .tooManyConnections(limit: self.configuration.maximumPeers) }
        let isNew = former == nil
        let room = try openRoom(configuration, mayCreate: mayCreate, at: now)
        do throws(JoinRefusal) {
            let value = try body(room.machine)
            statistics.joins += 1
            return (room, value, isNew)
        } catch {
            if isNew {
                // Nobody has been told of it.
                statistics.roomsMade -= 1
                forget(room)
            } else {
                touch(room)
            }
            settleAll(at: now)
            throw .join(error)
        }
    }

    /// Somebody's signaling is back. Where there is nothing to go on with, the client is told so.
    ///
    /// - Returns: false where the client has asked for this attempt to be refused.
    func resume(_ arrival: Arrival, room name: String, link: any SignalLink) -> Bool {
        let now = NetworkLoop.now
        guard let room = room(named: name) else {
            link.send(RoomMachine.staleSessionResponse)
            link.close()
            return true
        }
        guard let signal = room.machine.resume(arrival, at: now) else { return false }
        attach(link, to: room, as: signal, at: now)
        return true
    }

    private func attach(_ link: any SignalLink, to room: HostedRoom, as signal: SignalID, at now: Instant) {
        room.signals[signal] = link
        statistics.signals += 1
        link.attached(as: SignalAddress(room: room.number, signal: signal))
        touch(room)
        settleAll(at: now)
    }

    /// The room that a signaling connection leads to, as long as both last.
    func room(at address: SignalAddress) -> HostedRoom? {
        rooms[address.room].flatMap { $0.signals[address.signal] == nil ? nil : $0 }
    }

    func room(named name: String) -> HostedRoom? { numbers[name].flatMap { rooms[$0] } }

    /// The room of that name, made if it is new.
    func openRoom(
        _ configuration: RoomConfiguration, mayCreate: Bool = true, at now: Instant
    ) throws(WorkerRefusal) -> HostedRoom {
        if let room = room(named: configuration.name) { return room }
        guard let transport, !isStopped else { throw .goingDown }
        guard mayCreate else { throw .noSuchRoom }
        guard !isDraining else { throw .draining }
        guard rooms.count < limit else { throw .tooManyRooms(limit: limit) }
        guard surroundings.claim(configuration.name) else { throw .elsewhere }
        lastNumber += 1
        let machine = RoomMachine(
            configuration: configuration, transport: transport, random: .system,
            offersAgents: surroundings.offersAgents, at: now)
        machine.follow(wallClockOffset: NetworkLoop.wallClockOffset)
        let room = HostedRoom(number: lastNumber, name: configuration.name, machine: machine, worker: self)
        rooms[room.number] = room
        numbers[room.name] = room.number
        statistics.roomsMade += 1
        statistics.rooms = rooms.count
        return room
    }

    /// Does something with a room, and sends what comes of it.
    func withRoom<Value, Failure: Error>(
        _ room: HostedRoom, _ body: (RoomMachine, Instant) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let now = NetworkLoop.now
        defer {
            touch(room)
            settleAll(at: now)
        }
        return try body(room.machine, now)
    }

    /// Every room on this worker.
    var hostedRooms: [HostedRoom] { rooms.values.sorted { $0.number < $1.number } }

    /// Ends everything: everybody is told, and the ports are given back.
    func stop() {
        guard !isStopped else { return }
        isStopped = true
        let now = NetworkLoop.now
        for room in rooms.values {
            room.machine.end(.roomEndServerShutdown, at: now)
            touch(room)
        }
        settleAll(at: now)
        for room in rooms.values { forget(room) }
        link.leave()
        transport = nil
        statistics.tcpConnections = 0
        publishAll()
        closeSockets()
    }

    // MARK: From the loop

    /// Clients have spoken.
    func receive(_ entries: [(SignalAddress, SignalInbox.News)]) {
        let now = NetworkLoop.now
        for (address, news) in entries {
            let room = rooms[address.room]
            switch news {
            case .message(let message, let link):
                link.messageTaken()
                guard let room, room.signals[address.signal] != nil else { continue }
                room.machine.receive(message, from: address.signal, at: now)
                touch(room)
            case .closed:
                guard let room, room.signals.removeValue(forKey: address.signal) != nil else { continue }
                statistics.signals -= 1
                room.machine.signalClosed(address.signal, at: now)
                touch(room)
            }
        }
        settleAll(at: now)
    }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        let now = NetworkLoop.now
        switch sources[token] {
        case .datagrams(let index):
            let port = datagramPorts[index]
            let base = port.announced
            let mayHaveMore = batch.receive(from: port.socket) { datagram, sender in
                statistics.datagramsReceived += 1
                statistics.bytesReceived += datagram.count
                switch demultiplexer.route(of: datagram.span.bytes, from: sender) {
                case .peer(let peer): give(&datagram, to: peer, from: sender, to: base, at: now)
                case .stranger(let reason): statistics.drops[reason] += 1
                }
            }
            lookForOverrun(of: index, mayHaveMore: mayHaveMore, at: now)
        case .listener(let index): accept(from: tcpPorts[index], at: now)
        case .tcpConnection(let connection): read(connection, at: now)
        case nil: return
        }
        settleAll(at: now)
    }

    func give(
        _ datagram: inout [UInt8], to peer: MediaPeer, from remote: TransportAddress, to base: TransportAddress,
        at now: Instant
    ) {
        peer.room.machine.receive(
            &datagram, for: peer.id, from: remote, to: base, into: &forwarded, at: now, sending: { send(&$0) })
        touch(peer.room)
    }

    func timerFired(ofRoom number: Int, at now: Instant) {
        guard let room = rooms[number] else { return }
        room.machine.follow(wallClockOffset: NetworkLoop.wallClockOffset)
        room.machine.tick(at: now)
        touch(room)
        settleAll(at: now)
    }

    func touch(_ room: HostedRoom) {
        guard !room.isTouched else { return }
        room.isTouched = true
        touched.append(room)
    }

    // MARK: What comes of it

    /// Sends all that there is to send, and asks to be woken.
    ///
    /// What was forwarded goes first: `PeerMachine.forward` puts nothing into the outbox once something of the same
    /// connection is queued, so the outbox is the older of the two.
    func settleAll(at now: Instant) {
        for room in touched { room.machine.forwardReceived(into: &forwarded, at: now) { send(&$0) } }
        send(&forwarded)
        while let room = touched.popLast() {
            room.isTouched = false
            settle(room, at: now)
        }
        for index in datagramPorts.indices { datagramPorts[index].flush() }
        publish()
    }

    /// What was forwarded of the datagrams that were read together leaves together, so that one connection's packets go
    /// in one piece.
    private func send(_ outbox: inout DatagramOutbox) {
        guard !outbox.isEmpty else { return }
        statistics.datagramsSent += outbox.count
        statistics.bytesSent += outbox.bytes.count
        for index in datagramPorts.indices { datagramPorts[index].send(outbox) }
        if !tcpConnections.isEmpty {
            outbox.forEach { entry in
                guard portIndex(of: entry.from) == nil else { return }
                tcpConnections[entry.to]?.send(Array(outbox.bytes[entry.range]))
            }
        }
        outbox.removeAll()
    }

    private func settle(_ room: HostedRoom, at now: Instant) {
        var mayHaveMore = true
        while mayHaveMore {
            mayHaveMore = false
            room.machine.drainTransmits(at: now) { send($1, of: $0, in: room, at: now) }
            while let output = room.machine.pollOutput() {
                handle(output, of: room)
                mayHaveMore = true
            }
        }
        while let peer = crowded.popLast() { endOldestTCPConnections(of: peer, at: now) }
        if rooms[room.number] != nil, let wake = room.machine.nextWake { loop.schedule(room.timer, at: wake) }
    }

    private func handle(_ output: RoomOutput, of room: HostedRoom) {
        switch output {
        case .signal(let signal, let response): room.signals[signal]?.send(response)
        case .closeSignal(let signal):
            guard let link = room.signals.removeValue(forKey: signal) else { return }
            statistics.signals -= 1
            link.close()
        case .peerReachable(let id, let fragment):
            let peer = room.peers[id] ?? MediaPeer(id, in: room)
            if room.peers.updateValue(peer, forKey: id) == nil { statistics.peers += 1 }
            demultiplexer.add(fragment: fragment, of: peer)
        case .peerRemoved(let id):
            guard let peer = room.peers.removeValue(forKey: id) else { return }
            statistics.peers -= 1
            forget(peer)
        case .webhook(let event): surroundings.webhook(event)
        case .tokenWanted(let signal, let subject):
            guard let link = room.signals[signal], let token = surroundings.sign(subject, link.tokenExpires) else {
                return
            }
            room.machine.sendToken(token, to: signal)
        case .agents(let order): surroundings.order(order)
        case .rpcFinished(let call, let outcome): room.calls.removeValue(forKey: call)?.resume(returning: outcome)
        case .ended: forget(room)
        }
    }

    /// The room is over.
    private func forget(_ room: HostedRoom) {
        guard rooms.removeValue(forKey: room.number) != nil else { return }
        numbers[room.name] = nil
        statistics.rooms = rooms.count
        statistics.signals -= room.signals.count
        statistics.peers -= room.peers.count
        for link in room.signals.values { link.close() }
        for peer in room.peers.values { forget(peer) }
        for call in room.calls.values { call.resume(returning: .error(code: 0, message: "the room is over", data: "")) }
        room.signals = [:]
        room.peers = [:]
        room.calls = [:]
        surroundings.roomEnded(room.name)
    }

    private func forget(_ peer: MediaPeer) {
        demultiplexer.remove(peer)
        closeTCPConnections(of: peer)
    }

    private func send(_ transmit: borrowing Transmit, of peer: RoomPeerID, in room: HostedRoom, at now: Instant) {
        let to = transmit.to
        statistics.datagramsSent += 1
        statistics.bytesSent += transmit.bytes.count
        let isProof = STUNMessage.isBindingSuccess(transmit.bytes)
        if let index = portIndex(of: transmit.from) {
            if isProof, let peer = room.peers[peer] {
                demultiplexer.learn(to, of: peer, at: now) { $0.room.machine.path(of: $0.id) }
            }
            datagramPorts[index].outgoing.append(transmit.bytes.span.bytes, to: to)
            if datagramPorts[index].outgoing.isFull { datagramPorts[index].flush() }
        } else if let connection = tcpConnections[to] {
            if isProof, connection.peer === room.peers[peer] { prove(connection, at: now) }
            connection.send(transmit.bytes)
        }
    }

    private func portIndex(of address: TransportAddress) -> Int? {
        for index in datagramPorts.indices where datagramPorts[index].announced == address { return index }
        return nil
    }
}
