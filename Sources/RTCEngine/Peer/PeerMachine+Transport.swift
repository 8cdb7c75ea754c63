public import RTCWire

/// How bytes travel: addresses, the demultiplexing of what comes in, ICE and DTLS at work.
extension PeerMachine {
    /// A socket has been bound at this address: a host candidate.
    public mutating func addLocalHost(_ base: TransportAddress, at now: Instant) {
        guard connectionState != .closed else { return }
        ice.addLocalHost(base, at: now)
        relays.add(base: base, at: now)
        drainTransport(at: now)
    }

    /// Addresses of this host have come or gone in the course of the connection, with the sockets that are bound there.
    public mutating func interfacesChanged(lost: [TransportAddress], found: [TransportAddress], at now: Instant) {
        guard connectionState != .closed else { return }
        let gone = ice.interfacesChanged(lost: lost, found: found, at: now)
        relays.basesChanged(lost: lost, found: found, at: now)
        wayMayHaveChanged(at: now)
        negotiator.removeLocalCandidates(gone)
        drainTransport(at: now)
    }

    /// TCP connections can be accepted at `base`, or made from its address (`ICEAgent.activePort`).
    public mutating func addTCPHost(_ base: TransportAddress, _ type: ICECandidate.TCPType, at now: Instant) {
        guard connectionState != .closed else { return }
        ice.addTCPHost(base, type, at: now)
        drainTransport(at: now)
    }

    /// A TCP connection is over, or could not be made.
    public mutating func tcpConnectionClosed(from base: TransportAddress, to remote: TransportAddress, at now: Instant)
    {
        guard connectionState != .closed else { return }
        ice.tcpConnectionClosed(from: base, to: remote, at: now)
        drainTransport(at: now)
    }

    /// Whether the peer has proven to be at this address, or has named it: nobody else is listened to.
    public func knows(_ remote: TransportAddress) -> Bool { ice.knows(remote) }

    /// The address behind a name that `PeerEvent.nameToResolve` told; nil when nobody knows it.
    public mutating func nameResolved(_ name: String, to address: IPAddress?, at now: Instant) {
        guard connectionState != .closed else { return }
        ice.nameResolved(name, to: address, at: now)
        drainTransport(at: now)
    }

    /// There are no more sockets: gathering is complete when the STUN servers have answered.
    public mutating func localHostsComplete(at now: Instant) {
        guard connectionState != .closed else { return }
        if relayGathering == .open { closeGathering(at: now) }
        drainTransport(at: now)
    }

    /// Several calls of `receive` follow, and then `endBatch`: what data channels have to tell and to answer waits for
    /// it, so that one acknowledgement speaks of them all.
    public mutating func beginBatch() {
        isInBatch = true
        isAmidPicture = nil
    }

    /// All that had come has been received.
    public mutating func endBatch(at now: Instant) {
        guard isInBatch else { return }
        isInBatch = false
        drainData(at: now)
    }

    /// Takes a datagram that came in. It is decrypted where it lies.
    public mutating func receive(
        _ datagram: inout [UInt8], from remote: TransportAddress, to local: TransportAddress, at now: Instant
    ) {
        guard connectionState != .closed else { return }
        counters.bytesReceived += UInt64(datagram.count)
        counters.packetsReceived += 1
        if !relays.isEmpty, let index = relays.index(ofDatagram: datagram, from: remote, to: local) {
            return receiveRelayed(&datagram, by: index, at: now)
        }
        handle(&datagram, from: remote, to: local, at: now)
    }

    /// As above, whether it came to a socket or through a relay.
    mutating func handle(
        _ datagram: inout [UInt8], from remote: TransportAddress, to local: TransportAddress, at now: Instant
    ) {
        // A packet nobody took belongs to an earlier datagram: drop it.
        received = nil
        if confirmed != nil { confirmed = nil }
        let kind = DatagramKind(datagram)
        if kind == .stun {
            ice.receive(datagram.span.bytes, from: remote, to: local, at: now)
            return drainTransport(at: now)
        }
        // DTLS listens to whoever can send a datagram, and one forged alert ends a handshake: strangers stop here.
        // By the route first, for to ask the agent costs a copy of it.
        guard ice.route?.remote == remote || ice.knows(remote) else {
            counters.dropped += 1
            return
        }
        paths.received(datagram.count, on: ICERoute(base: local, remote: remote), at: now)
        let isOnPath = ice.mediaReceived(from: remote, to: local, at: now)
        let isAuthentic: Bool
        switch kind {
        case .dtls:
            dataIsAuthentic = false
            secure.receive(datagram, at: now)
            drainTransport(at: now)
            isAuthentic = dataIsAuthentic
        case .rtp:
            isAuthentic = receiveRTP(&datagram, at: now)
        case .rtcp:
            isAuthentic = receiveRTCP(&datagram, at: now)
        case .stun, .unknown:
            counters.dropped += 1
            return
        }
        if isOnPath, isAuthentic, ice.mediaAuthenticated(at: now) { drainTransport(at: now) }
    }

    // MARK: What ICE and DTLS want

    mutating func drainTransport(at now: Instant) {
        repeat { drainICE(at: now) } while drainRelays(at: now)
        // Only now: a server's answer that was the last to be awaited is a candidate first.
        considerGatheringComplete(at: now)
        drainICE(at: now)
        drainSecure(at: now)
    }

    private mutating func drainICE(at now: Instant) {
        while let output = ice.pollOutput() {
            switch output {
            case .send(let bytes, let from, let to):
                transmit(bytes, from: from, to: to, at: now)
            case .localCandidate(let candidate):
                guard let place = negotiator.addLocalCandidate(candidate) else { continue }
                events.append(.localCandidate(candidate, mid: place.mid, mLineIndex: place.mLineIndex))
            case .gatheringStateChanged(let state):
                if state == .complete {
                    let place = negotiator.endOfLocalCandidates(of: ice.localParameters.usernameFragment)
                    if let place { events.append(.endOfLocalCandidates(place)) }
                }
                events.append(.iceGatheringStateChanged(state))
            case .serverSilent(let server):
                let text = "The server did not answer."
                events.append(
                    .iceCandidateError(ICEServerError(url: "stun:\(server)", errorCode: 701, errorText: text)))
            case .connectionStateChanged(let state, let because):
                events.append(.iceConnectionStateChanged(state, because: because))
                if state == .connected { secure.pathFound(at: now) }
                updateConnectionState(because: because)
            case .selectedPairChanged:
                pathFound(at: now)
            case .restartNeeded:
                restartICE()
            case .resolveName(let name):
                events.append(.nameToResolve(name))
            case .roleChanged:
                continue
            }
        }
    }

    private mutating func pathFound(at now: Instant) {
        counters.selectedPairChanges += 1
        if let route = ice.route {
            wayMayHaveChanged(at: now)
            relays.use(route.remote, from: route.base, at: now)
            for datagram in secure.takeUnsent() { transmit(datagram, from: route.base, to: route.remote, at: now) }
        }
        secure.pathFound(at: now)
        wantKeyFrames()
    }

    /// Another way carries more or less. A restart that comes out at the same addresses has found the same one, and
    /// what it carries is known.
    mutating func wayMayHaveChanged(at now: Instant) {
        guard let route = ice.route else { return }
        let way = MeasuredWay(route: route, relay: relays.path(of: route.base))
        // A relay that is being connected to anew is told of when it is.
        if case .connecting = way.relay { return }
        if let measuredWay, measuredWay != way { congestion.pathChanged(at: now) }
        measuredWay = way
    }

    mutating func drainSecure(at now: Instant) {
        takeSecureOutputs(at: now)
        drainData(at: now)
    }

    mutating func takeSecureOutputs(at now: Instant) {
        while let output = secure.pollOutput() {
            switch output {
            case .send(let bytes):
                guard let route = ice.route else {
                    secure.hold(bytes)
                    continue
                }
                transmit(bytes, from: route.base, to: route.remote, at: now)
            case .connected(let keys):
                connected(with: keys, at: now)
            case .applicationData(let record):
                dataIsAuthentic = true
                data.receive(record, at: now)
            case .closed(let reason):
                secure.ended(reason)
                dtlsClosed(reason, at: now)
            }
        }
    }

    private mutating func connected(with keys: SRTPKeyingMaterial?, at now: Instant) {
        do throws(SRTPError) {
            secure.protect(with: try keys.map(security.makeSRTP), profile: keys?.profile)
        } catch {
            secure.ended(.failed("the SRTP contexts could not be made"))
            return updateConnectionState(because: "the SRTP contexts could not be made")
        }
        if secure.isProtected { reports.start(at: now) }
        if let role = secure.role { data.transportConnected(as: role, at: now) }
        updateConnectionState(because: "the DTLS handshake is done")
        wantKeyFrames()
    }

    private mutating func dtlsClosed(_ reason: DTLSCloseReason, at now: Instant) {
        if reason != .remote { data.close(at: now) }
        switch reason {
        case .local: return
        case .remote: close(at: now, because: "the peer closed the connection")
        case .fingerprintMismatch: updateConnectionState(because: "the certificate is not the one that was promised")
        case .noSRTPProfile: updateConnectionState(because: "there is no SRTP profile in common")
        case .timedOut: updateConnectionState(because: "the DTLS handshake timed out")
        case .failed(let text): updateConnectionState(because: "the DTLS handshake failed: \(text)")
        }
    }

    /// W3C WebRTC §4.3.3: the connection's state follows from ICE's and DTLS's.
    mutating func updateConnectionState(because reason: String) {
        let state: PeerConnectionState
        switch (ice.connectionState, secure.state) {
        case (.closed, _): return
        case (.failed, _), (_, .failed): state = .failed
        case (.disconnected, _): state = .disconnected
        case (.new, .new): state = .new
        case (.connected, .connected), (.completed, .connected): state = .connected
        case (.new, _), (.checking, _), (.connected, _), (.completed, _): state = .connecting
        }
        move(to: state, because: reason)
    }

    mutating func transmit(_ bytes: consuming [UInt8], from: TransportAddress, to: TransportAddress, at now: Instant) {
        // RFC 7983 §7: 0 to 3 is STUN.
        if let first = bytes.first, first > 3 { paths.sent(bytes.count, on: ICERoute(base: from, remote: to), at: now) }
        if !relays.isEmpty {
            if let index = relays.index(of: from) { return relay(bytes, by: index, to: to, at: now) }
            // An address that a server has taken back: no socket of ours has it.
            guard ice.isOurs(from) else { return counters.dropped += 1 }
        }
        put(Transmit(bytes: bytes, from: from, to: to))
    }

    /// The one door for what leaves.
    mutating func put(_ transmit: consuming Transmit) {
        counters.bytesSent += UInt64(transmit.bytes.count)
        counters.packetsSent += 1
        transmits.append(transmit)
    }
}
