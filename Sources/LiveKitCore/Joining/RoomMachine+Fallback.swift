import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore

/// Over TCP alone, where datagrams do not get through: there are networks that let STUN pass and nothing else, or
/// take datagrams away after a while. ICE sees nothing of the one, and chooses the same again after the other. So the
/// next attempt is offered TCP (RFC 6544) and nothing else, as by LiveKit's server.
extension RoomMachine {
    /// DTLS has so long once ICE has a path. LiveKit's browser SDK waits for fifteen seconds in all.
    static let handshakeTimeout = Interval.seconds(Int64(10))
    /// What fails so soon will not last the next time either.
    static let shortConnection = Interval.seconds(Int64(90))
    /// So long it is remembered of somebody who has gone.
    static let fallbackMemory = Interval.seconds(Int64(300))

    func pathChanged(of connection: Connection, to state: ICEConnectionState, at now: Instant) {
        switch state {
        case .connected, .completed: connection.pathSince = connection.pathSince ?? now
        case .new, .checking, .disconnected, .failed, .closed: connection.pathSince = nil
        }
    }

    /// Whether ICE has had a path for a while and nothing has come of it, though the client has been heard since: else
    /// all of its network may have gone just then.
    func hasNoHandshake(_ participant: Participant, at now: Instant) -> Bool {
        guard isHeard(participant, at: now) else { return false }
        return participant.connections.contains { connection in
            guard connection.state == .connecting, !connection.hasBeenConnected, let since = connection.pathSince else {
                return false
            }
            return now - since >= Self.handshakeTimeout && participant.contact.heardAt > since
                && mayFallBack(from: connection)
        }
    }

    /// Whether a connection that has failed should not be tried in the same way again.
    func hasFailedSoon(_ connection: Connection, at now: Instant) -> Bool {
        guard let since = connection.connectedSince else { return false }
        return now - since < Self.shortConnection && mayFallBack(from: connection)
    }

    /// Somebody of whom nothing is heard otherwise either is away, whatever the path is. Coming back is not enough: the
    /// message before it counts, as with LiveKit's server.
    func isHeard(_ participant: Participant, at now: Instant) -> Bool {
        guard case .attached = participant.signaling else { return false }
        // A connection fails when nothing has come over it for `consentTimeout`. A message that is hardly newer may be
        // the last one of somebody whose whole network went at that moment; who is there says something again soon.
        let newest = Self.consentTimeout - .seconds(Int64(configuration.server.pingInterval))
        return now - participant.contact.heardAt < min(lossTime, newest)
    }

    /// Whether there is another way than the one that its packets take. Those that come through a relay come from it by
    /// UDP, and it is the client's way to the relay that matters.
    private func mayFallBack(from connection: Connection) -> Bool {
        let participant = connection.participant
        guard !participant.prefersTCP, !transport.tcpHosts.isEmpty, participant.quirks.takesTCP,
            !participant.mode.isExchange
        else { return false }
        let pair = media.withMachine(of: connection.id) { $0.selectedPair } ?? nil
        guard let pair else { return false }
        return transport.udpHosts.contains(pair.base) && pair.remoteCandidate.type != .relayed
    }

    /// From the next restart on all is over TCP alone. A client's other connection has its path, if that is of use,
    /// until it is restarted, too (`resume`).
    func fallBack(from connection: Connection, at now: Instant) {
        let participant = connection.participant
        participant.prefersTCP = true
        // Whether TCP is of use shows from here on.
        for connection in participant.connections { connection.connectedSince = nil }
        offerPaths(overTCPAlone: true, on: connection, at: now)
    }

    /// From now on the connection has only TCP as a path, or datagrams, too.
    func offerPaths(overTCPAlone isAlone: Bool, on connection: Connection, at now: Instant) {
        media.withMachine(of: connection.id) { machine in
            machine.interfacesChanged(
                lost: isAlone ? transport.udpHosts : [], found: isAlone ? [] : transport.udpHosts, at: now)
        }
    }

    // MARK: Sessions

    /// Somebody leaves, and may come back with a new session. Whoever has not got through over TCP either is
    /// offered everything again; whoever has is not, though all paths may be lost with the client's network.
    func rememberFallback(of participant: Participant, at now: Instant) {
        guard participant.prefersTCP,
            participant.connections.contains(where: { $0.pathSince != nil || $0.connectedSince != nil })
        else { return }
        tcpAlone[participant.identity] = now + Self.fallbackMemory
    }

    func recallFallback(of participant: Participant, at now: Instant) {
        guard !participant.mode.isExchange, let end = tcpAlone.removeValue(forKey: participant.identity), now < end,
            participant.quirks.takesTCP
        else { return }
        participant.prefersTCP = true
    }

    func forgetFallbacks(at now: Instant) {
        if !tcpAlone.isEmpty { tcpAlone = tcpAlone.filter { now < $0.value } }
    }
}
