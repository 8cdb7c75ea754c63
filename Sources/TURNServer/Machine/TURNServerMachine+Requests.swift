internal import RTCEngine
internal import RTCWire

/// Requests about an allocation that is there, and the answers to all.
extension TURNServerMachine {
    /// §18.9. The system that sends for us cannot be told for one datagram, so it counts as unknown (§7.2).
    static let dontFragment: UInt16 = 0x001a

    mutating func receiveRequest(_ request: STUNMessage, _ bytes: RawSpan, from client: TURNClientPath, at now: Instant)
    {
        switch request.method {
        case .binding:
            // RFC 8489 §6.3: what is malformed is passed over, where TURN does not have it answered.
            guard request.malformedAttributes.isEmpty else { return }
            return bind(request, from: client, at: now)
        case .allocate, .refresh, .createPermission, .channelBind: break
        // RFC 8489 §6.3: a method that is not known is passed over.
        default: return
        }
        if client.transport == .udp, let answer = answers.answer(to: request, from: client, at: now) {
            return put(.send(answer, to: client))
        }
        guard let session = authenticate(request, bytes, from: client, at: now) else { return }
        // RFC 8489 §6.3.1: after the credential.
        var unknown = request.unknownRequiredAttributes
        if request.attributes.contains(.turn(.dontFragment)) { unknown.append(Self.dontFragment) }
        guard unknown.isEmpty else {
            return refuse(request, session, .unknownAttribute, [.unknownAttributes(unknown)], to: client, at: now)
        }
        // §7.2, §10.2, §12.2.
        guard request.malformedAttributes.isEmpty else {
            return refuse(request, session, .badRequest, to: client, at: now)
        }
        if request.method == .allocate { return allocate(request, session, from: client, at: now) }
        guard let slot = activeSlot(of: client, at: now) else {
            return refuse(request, session, .allocationMismatch, to: client, at: now)
        }
        guard slots[slot].allocation?.login == session.login else {
            return refuse(request, session, .wrongCredentials, to: client, at: now)
        }
        switch request.method {
        case .refresh: refresh(request, session, slot, client, at: now)
        case .createPermission: createPermission(request, session, slot, client, at: now)
        case .channelBind: bindChannel(request, session, slot, client, at: now)
        // Answered, or passed over, above.
        default: return
        }
    }

    /// Anybody may ask where they are seen (RFC 8489 §12).
    private mutating func bind(_ request: STUNMessage, from client: TURNClientPath, at now: Instant) {
        guard mayAnswerStranger(client, at: now) else { return }
        let unknown = request.unknownRequiredAttributes
        let answer =
            unknown.isEmpty
            ? STUNMessage(
                .success, transactionID: request.transactionID, attributes: [.xorMappedAddress(client.remote)])
            : STUNMessage(
                .error, transactionID: request.transactionID,
                attributes: [.errorCode(.unknownAttribute), .unknownAttributes(Array(unknown.prefix(4)))])
        put(.send(answer.encoded(signedWith: nil, fingerprint: request.hasFingerprint), to: client))
    }

    /// §8.2.
    private mutating func refresh(
        _ request: STUNMessage, _ session: Session, _ slot: Int, _ client: TURNClientPath, at now: Instant
    ) {
        let family = request.turnValue { if case .requestedAddressFamily(let value) = $0 { value } else { nil } }
        if let family, slots[slot].allocation?.relay(for: family) == nil {
            return refuse(request, session, .peerAddressFamilyMismatch, to: client, at: now)
        }
        let lifetime = lifetime(for: request)
        if lifetime == .zero {
            // One of two addresses may go alone.
            let relays = slots[slot].allocation?.relays ?? []
            if let family, relays.count > 1, let relay = relays.first(where: { $0.id.family == family }) {
                slots[slot].allocation?.relays.removeAll { $0.id == relay.id }
                close(relay)
            } else {
                remove(slot)
            }
        } else {
            slots[slot].allocation?.until = now + lifetime
            wake(at: now + lifetime)
        }
        succeed(request, session, [.turn(.lifetime(UInt32(lifetime.seconds)))], to: client, at: now)
    }

    /// §7.2 and §8.2: what was asked for, within what the server grants; zero ends it.
    func lifetime(for request: STUNMessage) -> Interval {
        guard let seconds = request.lifetime else { return configuration.defaultLifetime }
        if seconds == 0, request.method == .refresh { return .zero }
        return max(configuration.defaultLifetime, min(.seconds(Int64(seconds)), configuration.maximumLifetime))
    }

    /// §10.2: all of them or none.
    private mutating func createPermission(
        _ request: STUNMessage, _ session: Session, _ slot: Int, _ client: TURNClientPath, at now: Instant
    ) {
        let peers = request.attributes.compactMap {
            if case .turn(.xorPeerAddress(let peer)) = $0 { peer.ip } else { nil }
        }
        guard !peers.isEmpty else { return refuse(request, session, .badRequest, to: client, at: now) }
        for peer in peers {
            if let error = objection(to: peer, slot) { return refuse(request, session, error, to: client, at: now) }
        }
        guard slots[slot].allocation?.hasRoom(for: peers, limit: configuration.maximumPermissions, at: now) == true
        else { return refuse(request, session, .insufficientCapacity, to: client, at: now) }
        for peer in peers { permit(peer, slot, at: now) }
        succeed(request, session, [], to: client, at: now)
    }

    /// §12.2.
    private mutating func bindChannel(
        _ request: STUNMessage, _ session: Session, _ slot: Int, _ client: TURNClientPath, at now: Instant
    ) {
        let number = request.turnValue { if case .channelNumber(let value) = $0 { value } else { nil } }
        guard let number, ChannelDataHeader.acceptedNumbers.contains(number), let peer = request.peerAddress,
            peer.port != 0
        else { return refuse(request, session, .badRequest, to: client, at: now) }
        if let error = objection(to: peer.ip, slot) { return refuse(request, session, error, to: client, at: now) }
        guard slots[slot].allocation?.hasRoom(for: [peer.ip], limit: configuration.maximumPermissions, at: now) == true
        else { return refuse(request, session, .insufficientCapacity, to: client, at: now) }
        let channel = Allocation.Channel(
            number: number, peer: peer, isOutside: configuration.policy.permits(peer.ip),
            until: now + configuration.channelLifetime)
        switch slots[slot].allocation?.bind(channel, limit: configuration.maximumChannels, at: now) {
        case .mismatch?: refuse(request, session, .badRequest, to: client, at: now)
        case .full?: refuse(request, session, .insufficientCapacity, to: client, at: now)
        case .bound?:
            permit(peer.ip, slot, at: now)
            succeed(request, session, [], to: client, at: now)
        case nil: return
        }
    }

    private mutating func permit(_ peer: IPAddress, _ slot: Int, at now: Instant) {
        slots[slot].allocation?.permit(
            peer, isOutside: configuration.policy.permits(peer), until: now + configuration.permissionLifetime)
    }

    /// Why this allocation may not reach that address; nil when it may.
    private func objection(to peer: IPAddress, _ slot: Int) -> STUNErrorCode? {
        guard slots[slot].allocation?.relay(for: TURNAddressFamily(of: peer)) != nil else {
            return .peerAddressFamilyMismatch
        }
        // Our own relayed addresses are reached inside the server, whatever the policy says, and services of the host
        // that are named. Nothing else of the host is reached with them: `forward` sees to it, as permissions know no
        // ports.
        let isOurs = configuration.relayAddresses.contains { $0.announced == peer } || hostServices.areAt(peer)
        return isOurs || configuration.policy.permits(peer) ? nil : .forbidden
    }

    // MARK: Answers

    mutating func succeed(
        _ request: STUNMessage, _ session: Session, _ attributes: [STUNAttribute], to client: TURNClientPath,
        at now: Instant
    ) {
        answer(request, session, .success, attributes, client, at: now)
    }

    mutating func refuse(
        _ request: STUNMessage, _ session: Session, _ error: STUNErrorCode, _ attributes: [STUNAttribute] = [],
        to client: TURNClientPath, at now: Instant
    ) {
        count { $0.errors[error.code, default: 0] += 1 }
        answer(request, session, .error, [.errorCode(error)] + attributes, client, at: now)
    }

    /// RFC 8489 §9.2.4: signed with what the request was signed with.
    private mutating func answer(
        _ request: STUNMessage, _ session: Session, _ kind: STUNClass, _ attributes: [STUNAttribute],
        _ client: TURNClientPath, at now: Instant
    ) {
        let message = STUNMessage(
            kind, request.method, transactionID: request.transactionID, attributes: attributes)
        let bytes = message.encoded(signedWith: session.key, fingerprint: request.hasFingerprint)
        if client.transport == .udp { answers.keep(bytes, for: request, from: client, at: now) }
        put(.send(bytes, to: client))
    }
}
