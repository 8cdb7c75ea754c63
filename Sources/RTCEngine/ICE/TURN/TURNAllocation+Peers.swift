internal import RTCWire

/// Data to and from peers (RFC 8656 §9 to §12).
extension TURNAllocation {
    /// How a datagram for a peer travels to the server.
    enum Carriage: Sendable {
        /// As data on this channel: four bytes, then the datagram as it is.
        case channel(UInt16)
        /// As this message.
        case indication([UInt8])
        /// It waits for a permission, or is lost as a datagram may be.
        case none
    }

    /// A datagram for a peer. Asks for permission first where there is none.
    mutating func carry(_ bytes: [UInt8], to peer: TransportAddress, at now: Instant) -> Carriage {
        guard case .active = phase else { return .none }
        if let number = channels.use(peer, at: now) {
            _ = permissions.use(peer.ip, at: now)
            return .channel(number)
        }
        switch permissions.use(peer.ip, at: now) {
        case .granted:
            return .indication(sendIndication(bytes, to: peer))
        case .requested:
            hold(bytes, for: peer)
        case .refused:
            return .none
        case nil:
            guard permissions.request(peer.ip, at: now) else { return .none }
            askPermission(for: peer.ip, at: now)
            hold(bytes, for: peer)
        }
        return .none
    }

    /// Much will be sent to this peer: it gets a channel.
    mutating func use(_ peer: TransportAddress, at now: Instant) {
        guard case .active = phase, let number = channels.request(peer, at: now) else { return }
        bind(number, to: peer, at: now)
    }

    /// RFC 8656 §11.1: without an answer, and so without a credential.
    private mutating func sendIndication(_ bytes: [UInt8], to peer: TransportAddress) -> [UInt8] {
        STUNMessage(
            .indication, .send, transactionID: STUNTransactionID(using: &random),
            attributes: [.turn(.xorPeerAddress(peer)), .turn(.data(bytes))]
        ).encoded(signedWith: nil, fingerprint: false)
    }

    private mutating func hold(_ bytes: [UInt8], for peer: TransportAddress) {
        // The newest count: checks are repeated.
        if held.count >= configuration.maximumHeld, !held.isEmpty { held.removeFirst() }
        held.append((bytes, peer))
    }

    mutating func sendHeld(to ip: IPAddress) {
        for (bytes, peer) in held where peer.ip == ip { put(.send(sendIndication(bytes, to: peer))) }
        held.removeAll { $0.peer.ip == ip }
    }

    mutating func permissionRefused(_ ip: IPAddress, at now: Instant) {
        permissions.refused(ip, at: now)
        held.removeAll { $0.peer.ip == ip }
    }

    mutating func permissionUnanswered(_ ip: IPAddress, at now: Instant) {
        permissions.unanswered(ip, at: now)
        // They are too old to be of use.
        held.removeAll { $0.peer.ip == ip }
    }

    // MARK: From the server

    /// What a message from the server was.
    enum Receipt: Hashable, Sendable {
        /// The server's own business, or nothing that may be acted on.
        case consumed
        /// A peer's datagram, which now stands alone in the buffer, for one of our relayed addresses.
        case payload(from: TransportAddress, to: TransportAddress)
    }

    /// Takes one message of the server, without a stream's padding.
    mutating func receive(_ message: inout [UInt8], at now: Instant) -> Receipt {
        if let header = ChannelDataHeader(message.span.bytes) {
            let end = ChannelDataHeader.size + Int(header.length)
            guard message.count >= end, let peer = channels.peer(of: header.number) else { return .consumed }
            // §12.5: over UDP, too, there may be padding.
            message.removeLast(message.count - end)
            message.removeFirst(ChannelDataHeader.size)
            return payload(from: peer)
        }
        guard let parsed = try? STUNMessage(parsing: message.span.bytes) else { return .consumed }
        switch (parsed.kind, parsed.method) {
        case (.indication, .data):
            // §11.4: only from peers that we have permitted. §11.5: one with ICMP has no data.
            guard let peer = parsed.peerAddress, let data = parsed.relayedData, permissions.isGranted(peer.ip) else {
                return .consumed
            }
            message.removeAll(keepingCapacity: true)
            message.append(contentsOf: data)
            return payload(from: peer)
        case (.success, _), (.error, _):
            if parsed.kind == .error, parsed.errorCode?.code == STUNErrorCode.tryAlternate.code {
                receiveRedirection(parsed)
            } else {
                receiveResponse(parsed, message.span.bytes, at: now)
            }
            return .consumed
        default:
            return .consumed
        }
    }

    private func payload(from peer: TransportAddress) -> Receipt {
        guard case .active = phase, let relayed = grant?.relayed.first(where: { $0.ip.isIPv6 == peer.ip.isIPv6 })
        else { return .consumed }
        return .payload(from: peer, to: relayed)
    }

    /// RFC 8489 §10: before there is anything to lose.
    private mutating func receiveRedirection(_ response: STUNMessage) {
        guard let transaction = transactions.find(response.transactionID), transaction.purpose == .allocate,
            phase == .allocating
        else { return }
        guard let address = response.alternateServer, address.port != 0, !address.ip.isUnspecified,
            !address.ip.isMulticast
        else { return fail(.malformed) }
        finish()
        put(.redirected(address, domain: response.alternateDomain))
    }
}
