internal import RTCWire

/// The ways to servers: sockets that come and go, and streams.
extension TURNRelays {
    // MARK: Streams

    mutating func opened(_ stream: RelayStreamID, at now: Instant) {
        let index = relays.firstIndex {
            if case .connecting(stream, _) = $0.path { !$0.hasEnded } else { false }
        }
        guard let index else { return }
        relays[index].path = .stream(stream)
        if relays[index].allocation.phase == .idle {
            relays[index].allocation.start(at: now)
        } else {
            _ = relays[index].allocation.pathChanged(at: now)
        }
        drain(index, at: now)
    }

    /// It could not be made, or is gone: with a ticket the allocation moves to another one (RFC 8016), without one it is
    /// over.
    mutating func closed(_ stream: RelayStreamID, because reason: String, at now: Instant) {
        let index = relays.firstIndex {
            switch $0.path {
            case .connecting(stream, _), .stream(stream): !$0.hasEnded
            case .connecting, .stream, .datagrams: false
            }
        }
        guard let index else { return }
        let isMovable = relays[index].allocation.ticket != nil && relays[index].renewals < Self.limit
        if case .stream = relays[index].path, isMovable {
            relays[index].renewals += 1
            relays[index].path = openStream(to: relays[index].server, at: now)
        } else {
            relays[index].allocation.abandon(.connection(reason))
            drain(index, at: now)
        }
    }

    /// A socket of ours is gone, as when an interface is: its allocations move to another one or are made anew.
    mutating func remove(base: TransportAddress, at now: Instant) {
        bases.removeAll { $0 == base }
        for index in relays.indices where relays[index].path == .datagrams(base: base) && !relays[index].hasEnded {
            let server = relays[index].server.address.ip
            guard let other = bases.first(where: { $0.ip.canPair(with: server) }) else {
                relays[index].allocation.abandon(.connection("there is no way to it any more"))
                drain(index, at: now)
                continue
            }
            relays[index].path = .datagrams(base: other)
            if !relays[index].allocation.pathChanged(at: now) { relays[index].allocation.abandon(.expired) }
            drain(index, at: now)
        }
    }

    // MARK: Beginning

    mutating func ask(_ server: TURNServer, from base: TransportAddress, at now: Instant) {
        guard server.address.ip.canPair(with: base.ip) else { return }
        add(server, .datagrams(base: base), tried: [server.address], at: now)
    }

    mutating func connect(_ server: TURNServer, at now: Instant) {
        guard hasRoom else { return }
        add(server, openStream(to: server, at: now), tried: [server.address], at: now)
    }

    private var hasRoom: Bool { relays.count < configuration.maximumAllocations }

    mutating func add(_ server: TURNServer, _ path: Path, tried: [TransportAddress], at now: Instant) {
        guard hasRoom else { return }
        relays.append(Relay(server: server, path: path, allocation: makeAllocation(server), tried: tried))
        startIfReady(relays.count - 1, at: now)
    }

    mutating func makeAllocation(_ server: TURNServer) -> TURNAllocation {
        // Who has IPv6 may have a peer that has nothing else.
        let hasIPv6 = bases.contains { $0.ip.isIPv6 && !$0.ip.isLoopback }
        return TURNAllocation(server, configuration, additionalIPv6: hasIPv6, random: random.split())
    }

    mutating func startIfReady(_ index: Int, at now: Instant) {
        guard case .datagrams = relays[index].path else { return }
        relays[index].allocation.start(at: now)
        drain(index, at: now)
    }

    mutating func openStream(to server: TURNServer, at now: Instant) -> Path {
        nextStream += 1
        let stream = RelayStreamID(nextStream)
        outputs.append(.command(.open(stream, server)))
        return .connecting(stream, until: now + configuration.streamTimeout)
    }

    mutating func closeStream(of index: Int) {
        switch relays[index].path {
        case .stream(let stream), .connecting(let stream, _): outputs.append(.command(.close(stream)))
        case .datagrams: break
        }
    }

    /// The same server, or the one that it named, from the beginning.
    mutating func begin(anew index: Int, at now: Instant) {
        closeStream(of: index)
        let server = relays[index].server
        let retries = relays[index].allocation.retries
        relays[index].allocation = makeAllocation(server)
        relays[index].allocation.retries = retries
        relays[index].hasEnded = false
        switch server.transport {
        case .udp: break
        case .tcp, .tls: relays[index].path = openStream(to: server, at: now)
        }
        startIfReady(index, at: now)
    }
}
