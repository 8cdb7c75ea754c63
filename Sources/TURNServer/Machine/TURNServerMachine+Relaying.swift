public import RTCEngine
public import RTCWire

/// What comes from clients and peers (RFC 8656 §11, §12).
extension TURNServerMachine {
    /// Takes one message of a client: a datagram, or what a `TURNStreamReader` has cut out of a stream.
    public mutating func receive(_ bytes: RawSpan, from client: TURNClientPath, at now: Instant) -> Forwarding {
        if let header = ChannelDataHeader(bytes) {
            let end = ChannelDataHeader.size + Int(header.length)
            // §12.6: over UDP, too, there may be padding.
            guard bytes.byteCount >= end else { return .none }
            guard let slot = activeSlot(of: client, at: now),
                let channel = slots[slot].allocation?.channel(header.number, at: now)
            else { return dropped(.notPermitted) }
            return forward(
                bytes, ChannelDataHeader.size..<end, to: channel.peer, isOutside: channel.isOutside, slot, at: now)
        }
        if let indication = SendIndication(bytes) {
            guard let slot = activeSlot(of: client, at: now),
                let permission = slots[slot].allocation?.permission(for: indication.peer.ip, at: now)
            else { return dropped(.notPermitted) }
            return forward(
                bytes, indication.data, to: indication.peer, isOutside: permission.isOutside, slot, at: now)
        }
        if let request = try? STUNMessage(parsing: bytes, keepingMalformed: true), request.kind == .request {
            receiveRequest(request, bytes, from: client, at: now)
        }
        return .none
    }

    /// Takes a datagram that came to a relayed address.
    public mutating func receive(
        _ bytes: RawSpan, on relay: TURNRelayID, from peer: TransportAddress, at now: Instant
    ) -> Forwarding {
        guard let slot = slot(of: relay, at: now) else { return .none }
        let service = hostServices.announced(of: peer)
        let peer = service ?? peer
        guard let permission = slots[slot].allocation?.permission(for: peer.ip, at: now) else {
            return dropped(.notPermitted)
        }
        // Whoever may not be reached is not heard either.
        guard permission.isOutside || service != nil else { return dropped(.forbidden) }
        return deliver(bytes, 0..<bytes.byteCount, from: peer, to: slot, at: now)
    }

    private mutating func forward(
        _ bytes: RawSpan, _ data: Range<Int>, to peer: TransportAddress, isOutside: Bool, _ slot: Int, at now: Instant
    ) -> Forwarding {
        guard let relay = slots[slot].allocation?.relay(for: TURNAddressFamily(of: peer.ip)), peer.port != 0 else {
            return dropped(.notPermitted)
        }
        guard slots[slot].allocation?.bucket.take(data.count, at: now) == true else { return dropped(.tooMuch) }
        // Another client of ours is not sent to over the network: a NAT in front of us may not lead back in.
        if let other = relayOfAddress[peer] {
            countToPeer(data)
            guard let target = self.slot(of: other, at: now),
                slots[target].allocation?.permission(for: relay.announced.ip, at: now) != nil
            else { return dropped(.notPermitted) }
            return deliver(bytes, data, from: relay.announced, to: target, at: now)
        }
        let service = hostServices.local(of: peer)
        guard isOutside || service != nil else { return dropped(.forbidden) }
        countToPeer(data)
        return .toPeer(service ?? peer, from: relay.id, data)
    }

    private mutating func countToPeer(_ data: Range<Int>) {
        count {
            $0.bytesToPeers += data.count
            $0.packetsToPeers += 1
        }
    }

    /// §11.3, §12.7: to a client, which has permitted this peer.
    private mutating func deliver(
        _ bytes: RawSpan, _ data: Range<Int>, from peer: TransportAddress, to slot: Int, at now: Instant
    ) -> Forwarding {
        guard let client = slots[slot].allocation?.client, let length = UInt16(exactly: data.count) else {
            return .none
        }
        // After the permission: what nobody asked for is not counted against anybody.
        guard slots[slot].allocation?.bucket.take(data.count, at: now) == true else { return dropped(.tooMuch) }
        count {
            $0.bytesToClients += data.count
            $0.packetsToClients += 1
        }
        if let channel = slots[slot].allocation?.channel(to: peer, at: now) {
            return .toClient(client, ChannelDataHeader(number: channel.number, length: length), data)
        }
        let payload = bytes.extracting(data).withUnsafeBytes { [UInt8]($0) }
        let indication = STUNMessage(
            .indication, .data, transactionID: STUNTransactionID(using: &random),
            attributes: [.turn(.xorPeerAddress(peer)), .turn(.data(payload))])
        put(.send(indication.encoded(signedWith: nil, fingerprint: false), to: client))
        return .none
    }

    private mutating func dropped(_ reason: TURNServerStatistics.Drop) -> Forwarding {
        drop(reason)
        return .none
    }
}
