internal import RTCEngine
public import RTCNetwork
public import RTCSecurity
internal import RTCWire
internal import Synchronization

/// A TURN server with its sockets: a `TURNServerMachine` on a `NetworkLoop`, whose thread reads, relays and writes
/// without handing anything to another.
///
/// ```swift
/// let relays = [TURNServerConfiguration.RelayAddress(local: address)]
/// let server = TURNServerConfiguration(relayAddresses: relays, accounts: TURNAccounts(secrets: [secret]))
/// let service = TURNService(TURNServiceConfiguration(server: server, addresses: [address]))
/// let ports = try await service.start()
/// ```
public actor TURNService {
    /// The thread that it lives on.
    nonisolated public let loop: NetworkLoop
    nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The ports that it listens on.
    public struct Ports: Sendable, Equatable {
        /// For UDP and TCP.
        public var port: UInt16
        /// Nil without a certificate.
        public var tlsPort: UInt16?
    }

    /// What can be read, by the loop's name for it.
    private enum Source {
        case clients(ClientSocket)
        case listener(StreamListener, isTLS: Bool)
        case stream(ClientStream)
        case relay(RelaySocket)
    }

    private let configuration: TURNServiceConfiguration
    /// What is shown to who connects over TLS.
    private var identity: TLSIdentity?
    private var machine: TURNServerMachine
    private var sources: [UInt64: Source] = [:]
    private var clientSockets: [Int: ClientSocket] = [:]
    private var streams: [Int: ClientStream] = [:]
    private var streamsOfSite = SiteCounts()
    /// By the place of their name.
    private var relays: [RelaySocket?] = []
    private var nextNumber = 0
    /// Relays with something to send, and batches that nobody uses just now.
    private var busy: [RelaySocket] = []
    private var spareBatches: [SendBatch] = []
    private lazy var link = TURNServiceLink(self)
    nonisolated private let published = Mutex(TURNServerStatistics())

    /// How often streams are looked through, the wall clock is read, and what was dropped is counted.
    private let round: Interval
    /// When `countOverrun` is due.
    private var nextCount = Instant.zero
    /// Connections accepted in one turn of the loop.
    private static let acceptsInOneTurn = 32

    public init(_ configuration: TURNServiceConfiguration, loop: NetworkLoop = NetworkLoop(name: "roost-turn")) {
        self.configuration = configuration
        identity = configuration.identity
        self.loop = loop
        machine = TURNServerMachine(configuration: configuration.server, random: .system)
        round = min(.seconds(Int64(5)), Interval(configuration.patience))
    }

    /// What it has done; from any thread, at any time.
    nonisolated public var statistics: TURNServerStatistics { published.withLock { $0 } }

    /// Shows this certificate to who connects from now on; those who are connected keep theirs. It is of no use to a
    /// service that was made without one.
    public func show(_ identity: TLSIdentity) { self.identity = identity }

    /// Lets clients reach these services of this host, in place of those before; they reach nothing else of it.
    public func reach(_ services: [TURNHostService]) { machine.hostServes(services) }

    /// Takes its ports and begins. Once.
    public func start() throws -> Ports {
        machine.wallClockRead(unixTime: NetworkLoop.unixTime, at: NetworkLoop.now)
        guard !configuration.addresses.isEmpty else { throw TURNServiceError.noAddress }
        noteHostAddresses()
        do {
            let port = try listen(on: configuration.port) { address in
                let datagrams = try UDPSocket(binding: address, receiveBuffer: UDPSocket.sharedBuffer)
                do {
                    return (datagrams, try StreamListener(binding: datagrams.address, backlog: 128))
                } catch {
                    datagrams.close()
                    throw error
                }
            }
            for (datagrams, listener) in port.sockets {
                try add(datagrams)
                try add(listener, isTLS: false)
            }
            var ports = Ports(port: port.number)
            if configuration.identity != nil {
                let tls = try listen(on: configuration.tlsPort) { try StreamListener(binding: $0, backlog: 128) }
                for listener in tls.sockets { try add(listener, isTLS: true) }
                ports.tlsPort = tls.number
            }
            loop.schedule(link.timer, at: NetworkLoop.now + round)
            return ports
        } catch {
            stop()
            throw error
        }
    }

    /// Closes everything. Clients learn of it when they next ask.
    public func stop() {
        link.leave()
        for source in sources.values {
            switch source {
            case .clients(let clients): clients.socket.close()
            case .listener(let listener, _): listener.close()
            case .stream(let stream): stream.close()
            case .relay(let relay): relay.socket.close()
            }
        }
        sources = [:]
        clientSockets = [:]
        streams = [:]
        streamsOfSite.removeAll()
        relays = []
        busy = []
    }

    // MARK: Opening

    /// Opens a socket on each address, all with the same port: a free one, found by trying, for 0.
    private func listen<Socket>(
        on port: UInt16, _ open: (TransportAddress) throws -> Socket
    ) throws -> (number: UInt16, sockets: [Socket]) {
        var attemptsLeft = port == 0 ? 16 : 1
        while true {
            attemptsLeft -= 1
            var number = port
            var sockets: [Socket] = []
            do {
                for ip in configuration.addresses {
                    if number == 0 { number = try UDPSocket(binding: TransportAddress(ip, port: 0)).address.port }
                    let address = TransportAddress(ip, port: number)
                    do {
                        sockets.append(try open(address))
                    } catch let error as SystemError {
                        throw TURNServiceError.port(address, error)
                    }
                }
                return (number, sockets)
            } catch {
                if attemptsLeft == 0 { throw error }
            }
        }
    }

    private func add(_ socket: UDPSocket) throws {
        let clients = ClientSocket(socket, number: takeNumber())
        let token = try loop.add(socket, reader: link)
        add(token, .clients(clients))
        clientSockets[clients.number] = clients
    }

    private func add(_ listener: StreamListener, isTLS: Bool) throws {
        let token = try listener.attach(to: loop, reader: link)
        add(token, .listener(listener, isTLS: isTLS))
    }

    private func add(_ token: UInt64, _ source: Source) {
        sources[token] = source
        link.tokens.insert(token)
    }

    private func forget(_ token: UInt64) {
        sources[token] = nil
        link.tokens.remove(token)
        loop.forget([token])
    }

    private func takeNumber() -> Int {
        nextNumber += 1
        return nextNumber
    }

    // MARK: From the loop

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        let now = NetworkLoop.now
        switch sources[token] {
        case .clients(let clients):
            _ = batch.receive(from: clients.socket) { datagram, sender in
                let client = TURNClientPath(.udp, socket: clients.number, remote: sender)
                forward(datagram, machine.receive(datagram.span.bytes, from: client, at: now))
                drain(at: now)
            }
        case .relay(let relay):
            // RFC 8656 §11.3, §12.7: what peers send is relayed as it is, also when it is nothing.
            _ = batch.receive(from: relay.socket, takesEmpty: true) { datagram, peer in
                forward(datagram, machine.receive(datagram.span.bytes, on: relay.id, from: peer, at: now))
                drain(at: now)
            }
        case .stream(let stream):
            let goesOn = stream.becameReady { message in
                forward(message, machine.receive(message.span.bytes, from: stream.client, at: now))
                drain(at: now)
            }
            let skipped = stream.takeSkipped()
            if skipped > 0 { machine.count { $0.drops[.tooLarge, default: 0] += skipped } }
            if !goesOn { end(stream, at: now) }
        case .listener(let listener, let isTLS):
            accept(from: listener, isTLS: isTLS, at: now)
        case nil: return
        }
        flush()
    }

    func timerFired(at now: Instant) {
        machine.wallClockRead(unixTime: NetworkLoop.unixTime, at: now)
        noteHostAddresses()
        machine.tick(at: now)
        drain(at: now)
        if now >= nextCount {
            nextCount = now + round
            for source in sources.values { countOverrun(of: source) }
        }
        let patience = Interval(configuration.patience)
        for stream in streams.values {
            if machine.hasAllocation(stream.client) {
                stream.idleSince = now
            } else if now - stream.idleSince > patience {
                end(stream, at: now)
            }
        }
        flush()
        loop.schedule(link.timer, at: min(machine.nextWake ?? now + round, now + round))
    }

    /// All that lead to this host, not only those that are listened on: interfaces come and go while it runs.
    private func noteHostAddresses() {
        let server = configuration.server
        let known = configuration.addresses + server.relayAddresses.flatMap { [$0.local, $0.announced] }
        let interfaces = (try? NetworkInterface.current())?.map(\.address) ?? []
        machine.hostChanged(server.policy.host + known + interfaces)
    }

    private func countOverrun(of source: Source) {
        let count =
            switch source {
            case .clients(let clients): clients.socket.takeOverrun()
            case .relay(let relay): relay.socket.takeOverrun()
            case .listener, .stream: 0
            }
        if count > 0 { machine.count { $0.overrun += count } }
    }

    // MARK: Streams

    private func accept(from listener: StreamListener, isTLS: Bool, at now: Instant) {
        for _ in 0..<Self.acceptsInOneTurn {
            guard let socket = listener.accept() else { return }
            let ip = socket.remote.ip
            let tls = isTLS ? identity.flatMap { try? TLSConnection(as: $0) } : nil
            guard streams.count < configuration.maximumStreams,
                streamsOfSite[ip] < configuration.maximumStreamsPerAddress, mayCome(from: ip),
                (tls != nil) == isTLS,
                let token = try? socket.attach(to: loop, reader: link)
            else {
                socket.close()
                continue
            }
            let number = takeNumber()
            let client = TURNClientPath(isTLS ? .tls : .tcp, socket: number, remote: socket.remote)
            let stream = ClientStream(socket, client: client, token: token, tls: tls, at: now)
            streams[number] = stream
            streamsOfSite.add(ip)
            add(token, .stream(stream))
        }
    }

    /// Whoever has shown no credential yet is not to take the places of all others.
    private func mayCome(from ip: IPAddress) -> Bool {
        let limit = configuration.maximumStrangersPerAddress
        guard streamsOfSite[ip] >= limit else { return true }
        let strangers = streams.values.count {
            $0.client.remote.ip.site == ip.site && !machine.hasAllocation($0.client)
        }
        return strangers < limit
    }

    private func end(_ stream: ClientStream, at now: Instant) {
        guard streams.removeValue(forKey: stream.client.socket) != nil else { return }
        streamsOfSite.remove(stream.client.remote.ip)
        forget(stream.token)
        stream.close()
        machine.streamClosed(stream.client)
        drain(at: now)
    }

    // MARK: Sending

    private func forward(_ bytes: [UInt8], _ forwarding: TURNServerMachine.Forwarding) {
        switch forwarding {
        case .none: return
        case .toPeer(let peer, let id, let data):
            guard let relay = relay(id) else { return }
            if relay.outgoing == nil {
                relay.outgoing = spareBatches.popLast() ?? SendBatch()
                busy.append(relay)
            }
            relay.outgoing?.append(bytes.span.bytes.extracting(data), to: peer)
            if relay.outgoing?.isFull == true { relay.outgoing?.flush(on: relay.socket) }
        case .toClient(let client, let header, let data):
            send(bytes.span.bytes.extracting(data), after: header, to: client)
        }
    }

    private func send(_ bytes: RawSpan, after header: ChannelDataHeader?, to client: TURNClientPath) {
        switch client.transport {
        case .udp:
            guard let clients = clientSockets[client.socket] else { return }
            clients.outgoing.append(bytes, after: header, to: client.remote)
            if clients.outgoing.isFull { clients.flush() }
        case .tcp, .tls:
            streams[client.socket]?.send(bytes, after: header)
        }
    }

    private func drain(at now: Instant) {
        while let output = machine.pollOutput() {
            switch output {
            case .send(let bytes, let client): send(bytes.span.bytes, after: nil, to: client)
            case .open(let id, let address): open(id, at: address, now)
            case .close(let id): close(id)
            }
        }
    }

    private func relay(_ id: TURNRelayID) -> RelaySocket? {
        guard relays.indices.contains(id.place), let relay = relays[id.place], relay.id == id else { return nil }
        return relay
    }

    private func open(_ id: TURNRelayID, at address: TransportAddress, _ now: Instant) {
        guard let socket = try? UDPSocket(binding: address), let token = try? loop.add(socket, reader: link) else {
            return machine.relayFailed(id, at: now)
        }
        while relays.count <= id.place { relays.append(nil) }
        let relay = RelaySocket(socket, id: id, token: token)
        relays[id.place] = relay
        add(token, .relay(relay))
        machine.relayOpened(id, at: now)
    }

    private func close(_ id: TURNRelayID) {
        guard let relay = relay(id) else { return }
        relay.outgoing?.flush(on: relay.socket)
        relays[id.place] = nil
        countOverrun(of: .relay(relay))
        forget(relay.token)
        relay.socket.close()
    }

    private func flush() {
        for relay in busy {
            guard var batch = relay.outgoing else { continue }
            relay.outgoing = nil
            batch.flush(on: relay.socket)
            spareBatches.append(batch)
        }
        busy.removeAll(keepingCapacity: true)
        for clients in clientSockets.values { clients.flush() }
        published.withLock { $0 = machine.statistics }
    }
}

/// What the loop knows of a service: it holds this weakly, and this holds the service weakly.
final class TURNServiceLink: SocketReader, TimerTarget {
    let timer = LoopTimer()
    /// Of what is read for the service.
    var tokens: Set<UInt64> = []
    private weak var service: TURNService?
    private let loop: NetworkLoop

    init(_ service: TURNService) {
        self.service = service
        loop = service.loop
        timer.target = self
    }

    deinit { loop.forget(Array(tokens)) }

    /// The sockets are closed, and nothing is to be told any more.
    func leave() {
        loop.forget(Array(tokens))
        tokens = []
        timer.target = nil
    }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        service?.assumeIsolated { $0.socketReadable(token, &batch) }
    }

    func timerFired(at now: Instant) {
        service?.assumeIsolated { $0.timerFired(at: now) }
    }
}
