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
            if relays[index].hasNewCredential { makeAllocation(anew: index) }
            relays[index].allocation.start(at: now)
        } else {
            _ = relays[index].allocation.pathChanged(at: now)
        }
        drain(index, at: now)
    }

    /// It could not be made, or is gone: with a ticket the allocation moves to another one (RFC 8016), without one it
    /// is over.
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

    // MARK: Sockets

    /// Sockets of ours are gone, as when an interface is, and others have come. Allocations whose socket is gone move
    /// to another one or are made anew; from what is left of the new ones servers are asked.
    mutating func basesChanged(lost: [TransportAddress], found: [TransportAddress], at now: Instant) {
        bases.removeAll { lost.contains($0) }
        let new = found.filter { !bases.contains($0) }
        // An allocation may move there, and then nothing else is asked for from there.
        bases += new
        for base in lost { leave(base, at: now) }
        moveStranded(at: now)
        for base in new {
            // An allocation that can move is asked for nowhere else: it comes here when it has to, and could not if
            // there were one already.
            for server in servers where server.transport == .udp && !hasTicket(of: server) {
                ask(server, from: base, at: now)
            }
        }
    }

    private mutating func leave(_ base: TransportAddress, at now: Instant) {
        for index in relays.indices where relays[index].path == .datagrams(base: base) && !relays[index].hasEnded {
            if let other = freeBase(for: index) {
                move(index, to: other, at: now)
            } else if relays[index].allocation.ticket == nil || hasAnother(than: index) {
                relays[index].allocation.abandon(.connection("there is no way to it any more"))
                drain(index, at: now)
            }
        }
    }

    /// Allocations with a ticket whose socket went before there was another: a telephone that leaves one network has
    /// the next one seconds later.
    private mutating func moveStranded(at now: Instant) {
        for index in relays.indices where !relays[index].hasEnded {
            guard case .datagrams(let base) = relays[index].path, !bases.contains(base),
                let other = freeBase(for: index)
            else { continue }
            move(index, to: other, at: now)
        }
    }

    /// The same server has an allocation of ours from another socket.
    private func hasAnother(than index: Int) -> Bool {
        relays.indices.contains {
            $0 != index && !relays[$0].hasEnded && relays[$0].server.address == relays[index].server.address
        }
    }

    private func freeBase(for index: Int) -> TransportAddress? {
        bases.first { isFree($0, for: relays[index].server, but: index) }
    }

    private mutating func move(_ index: Int, to base: TransportAddress, at now: Instant) {
        relays[index].path = .datagrams(base: base)
        if !relays[index].allocation.pathChanged(at: now) { relays[index].allocation.abandon(.expired) }
        drain(index, at: now)
    }

    /// Whether a server can be asked from there for an allocation. RFC 8656 §5: it knows an allocation by the addresses
    /// at both ends of the way to it, so that a socket has one with each server. A second one would be told that it is
    /// the first, and what ends it would end that one.
    private func isFree(_ base: TransportAddress, for server: TURNServer, but index: Int? = nil) -> Bool {
        guard base.ip.canPair(with: server.address.ip) else { return false }
        return !relays.indices.contains { other in
            other != index && !relays[other].hasEnded && relays[other].path == .datagrams(base: base)
                && relays[other].server.address == server.address
        }
    }

    private func hasTicket(of server: TURNServer) -> Bool {
        relays.contains { !$0.hasEnded && $0.server.address == server.address && $0.allocation.ticket != nil }
    }

    // MARK: Beginning

    mutating func ask(_ server: TURNServer, from base: TransportAddress, at now: Instant) {
        guard isFree(base, for: server) else { return }
        add(server, .datagrams(base: base), tried: [server.address], at: now)
    }

    mutating func connect(_ server: TURNServer, at now: Instant) {
        guard hasRoom else { return }
        add(server, openStream(to: server, at: now), tried: [server.address], at: now)
    }

    /// Those that have ended take none.
    private var hasRoom: Bool { relays.count { !$0.hasEnded } < configuration.maximumAllocations }

    mutating func add(_ server: TURNServer, _ path: Path, tried: [TransportAddress], at now: Instant) {
        guard hasRoom else { return }
        let relay = Relay(asked: server, server: server, path: path, allocation: makeAllocation(server), tried: tried)
        var index = relays.count
        if index < configuration.maximumAllocations {
            relays.append(relay)
        } else if let ended = placeOfEnded {
            index = ended
            relays[index] = relay
        }
        startIfReady(index, at: now)
    }

    /// One that a restart has no use for, if there is one: its socket is gone. Those over streams are the last to go,
    /// for no new socket asks for them again.
    private var placeOfEnded: Int? {
        func worth(_ relay: Relay) -> Int {
            if isRetired(relay) { return -1 }
            return switch relay.path {
            case .datagrams(let base): bases.contains(base) ? 1 : 0
            case .connecting, .stream: 2
            }
        }
        return relays.indices.filter { relays[$0].hasEnded }.min { worth(relays[$0]) < worth(relays[$1]) }
    }

    mutating func makeAllocation(_ server: TURNServer) -> TURNAllocation {
        // Who has IPv6 may have a peer that has nothing else.
        let hasIPv6 = bases.contains { $0.ip.isIPv6 && !$0.ip.isLoopback }
        return TURNAllocation(server, configuration, additionalIPv6: hasIPv6, random: random.split())
    }

    private mutating func makeAllocation(anew index: Int) {
        let (asked, retries) = (relays[index].asked, relays[index].allocation.retries)
        relays[index].server.username = asked.username
        relays[index].server.password = asked.password
        relays[index].server.url = asked.url
        relays[index].allocation = makeAllocation(relays[index].server)
        relays[index].allocation.retries = retries
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

    /// The same server, or the one that it named, from the beginning. Over UDP it stays ended while no socket is left
    /// for it.
    mutating func begin(anew index: Int, at now: Instant) {
        closeStream(of: index)
        let server = relays[index].server
        if case .datagrams(let base) = relays[index].path,
            !bases.contains(base) || !isFree(base, for: server, but: index)
        {
            guard let other = bases.first(where: { isFree($0, for: server, but: index) }) else {
                relays[index].hasEnded = true
                return
            }
            relays[index].path = .datagrams(base: other)
        }
        makeAllocation(anew: index)
        relays[index].hasEnded = false
        switch server.transport {
        case .udp: break
        case .tcp, .tls: relays[index].path = openStream(to: server, at: now)
        }
        startIfReady(index, at: now)
    }
}
