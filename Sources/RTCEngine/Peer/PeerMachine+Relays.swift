public import RTCWire

/// TURN servers between ICE and the sockets: what ICE sends from a relayed address goes through the allocation, and
/// what comes through it is ICE's as if it had come to that address.
extension PeerMachine {
    /// The STUN and TURN servers, in place of all that were known but for those of `ICEConfiguration.stunServers` (W3C
    /// WebRTC §4.4.1.6, `setConfiguration`). While candidates are gathered, new ones are asked at once; afterwards by
    /// the next ICE restart. A relayed address that there is goes on under the credential that it was given for, and
    /// one whose server is left out until a restart finds that it is not in use.
    ///
    /// - Parameter areAll: false while more may follow, since names are being looked up: a restart meanwhile is not
    ///   done with gathering before `localHostsComplete` is called once more.
    public mutating func setServers(
        stun: [TransportAddress], turn: [TURNServer], areAll: Bool = true, at now: Instant
    ) {
        guard connectionState != .closed else { return }
        awaitsServers = !areAll
        let fixed = configuration.ice.stunServers
        ice.setSTUNServers(fixed + stun.filter { !fixed.contains($0) }, at: now)
        let isGathering = relayGathering != .complete
        if isGathering, !turn.isEmpty { ice.relaysAwaited() }
        relays.setServers(turn, areAsked: isGathering, at: now)
        if case .closing = relayGathering, relays.isGathering { closeGathering(at: now) }
        drainTransport(at: now)
    }

    mutating func closeGathering(at now: Instant) {
        relayGathering = .closing(deadline: now + configuration.ice.gatheringTimeout)
    }

    // MARK: Streams

    /// The next thing to do about streams to TURN servers; nil when there is none. Drained with `pollTransmit`.
    public mutating func pollRelayCommand() -> RelayCommand? { relayCommands.popFirst() }

    /// A stream is connected, and its certificate is the server's where there is TLS.
    public mutating func relayStreamOpened(_ stream: RelayStreamID, at now: Instant) {
        guard connectionState != .closed else { return }
        relays.opened(stream, at: now)
        wayMayHaveChanged(at: now)
        drainTransport(at: now)
    }

    /// A stream could not be made, or has ended. The reason is for people and names no address.
    public mutating func relayStreamClosed(_ stream: RelayStreamID, because reason: String, at now: Instant) {
        guard connectionState != .closed else { return }
        relays.closed(stream, because: reason, at: now)
        drainTransport(at: now)
    }

    /// One message of a stream, as `TURNStreamReader` cuts it. What it holds is decrypted where it lies.
    public mutating func receive(_ message: inout [UInt8], on stream: RelayStreamID, at now: Instant) {
        guard connectionState != .closed else { return }
        counters.bytesReceived += UInt64(message.count)
        counters.packetsReceived += 1
        guard let index = relays.index(of: stream) else {
            counters.dropped += 1
            return
        }
        receiveRelayed(&message, by: index, at: now)
    }

    // MARK: What is relayed

    mutating func receiveRelayed(_ message: inout [UInt8], by index: Int, at now: Instant) {
        switch relays.receive(&message, by: index, at: now) {
        case .consumed: drainTransport(at: now)
        case .payload(let peer, let relayed): handle(&message, from: peer, to: relayed, at: now)
        }
    }

    /// Sends through an allocation.
    mutating func relay(_ bytes: [UInt8], by index: Int, to peer: TransportAddress, at now: Instant) {
        switch relays.carry(bytes, by: index, to: peer, at: now) {
        case .channel(let number):
            let header = ChannelDataHeader(number: number, length: UInt16(truncatingIfNeeded: bytes.count))
            put(bytes, after: header, by: index)
        case .indication(let message):
            put(message, after: nil, by: index)
        case .none:
            _ = drainRelays(at: now)
        }
    }

    private mutating func put(_ bytes: [UInt8], after header: ChannelDataHeader?, by index: Int) {
        let (path, server) = relays.way(of: index)
        switch path {
        case .datagrams(let base):
            put(Transmit(bytes: bytes, from: base, to: server, channel: header))
        case .stream(let stream):
            put(Transmit(bytes: bytes, from: server, to: server, channel: header, stream: stream))
        case .connecting: break
        }
    }

    /// Does what the relays want. True when ICE has been told something.
    ///
    /// - Parameter isRestarting: what is given back is given back by a restart.
    mutating func drainRelays(isRestarting: Bool = false, at now: Instant) -> Bool {
        var hasNews = false
        while let output = relays.pollOutput() {
            switch output {
            case .send(let bytes, let from, let to):
                put(Transmit(bytes: bytes, from: from, to: to))
            case .sendOnStream(let bytes, let stream):
                let nowhere = TransportAddress(.v4(0), port: 0)
                put(Transmit(bytes: bytes, from: nowhere, to: nowhere, stream: stream))
            case .command(let command):
                relayCommands.append(command)
            case .relayed(let relay):
                ice.addRelay(relay, at: now)
                hasNews = true
            case .lost(let relayed):
                negotiator.removeLocalCandidates(ice.removeRelay(relayed, isRestarting: isRestarting, at: now))
                hasNews = true
            case .failed(let error):
                events.append(.iceCandidateError(error))
            }
        }
        return hasNews
    }

    // MARK: The end of gathering

    /// Gathering is over when STUN and TURN servers have answered, or have had their time.
    mutating func considerGatheringComplete(at now: Instant) {
        switch relayGathering {
        case .open, .complete: return
        case .closing(let deadline):
            guard !relays.isGathering || deadline <= now else { return }
            relayGathering = .complete
            ice.localHostsComplete(at: now)
        }
    }

    /// A restart follows: servers that were lost, never answered or are new are asked, and gathering awaits them again,
    /// and those whose names are being looked up.
    mutating func renewRelays(at now: Instant) {
        relays.renew(keeping: ice.route?.base, at: now)
        // What is given back is no candidate of the restart.
        _ = drainRelays(isRestarting: true, at: now)
        guard relayGathering != .open, awaitsServers || relays.isGathering else { return }
        if awaitsServers { relayGathering = .open } else { closeGathering(at: now) }
        ice.relaysAwaitedAgain()
    }

    /// When the servers' time is over.
    var relayGatheringDeadline: Instant? {
        switch relayGathering {
        case .closing(let deadline): deadline
        case .open, .complete: nil
        }
    }
}

/// Whether relays hold up the end of gathering.
enum RelayGathering: Hashable, Sendable {
    /// Sockets and servers may follow.
    case open
    /// All are known, and the servers have until then.
    case closing(deadline: Instant)
    case complete
}
