public import RTCEngine
internal import RTCWire

/// Allocate requests (RFC 8656 §7.2).
extension TURNServerMachine {
    /// How many ports are tried for one address: other programs of this host may have some of the range.
    private static let attempts = 8

    mutating func allocate(_ request: STUNMessage, _ session: Session, from client: TURNClientPath, at now: Instant) {
        if let slot = slot(of: client, at: now), let allocation = slots[slot].allocation {
            guard allocation.transactionID == request.transactionID else {
                return refuse(request, session, .allocationMismatch, to: client, at: now)
            }
            // The answer was lost and is no longer kept; while sockets are being opened it is yet to come.
            if allocation.isActive { confirm(request, session, slot, nil, [], at: now) }
            return
        }
        if let stale = slotOfClient[client] { remove(stale) }
        let wishes: [Allocation.Wish]
        do throws(Refusal) { wishes = try self.wishes(of: request) } catch {
            return refuse(request, session, error.code, to: client, at: now)
        }
        guard statistics.allocations < configuration.maximumAllocations else {
            return refuse(request, session, .insufficientCapacity, to: client, at: now)
        }
        guard places(for: request, of: session.login, at: now) <= configuration.maximumAllocationsPerUser else {
            return refuse(request, session, .allocationQuotaReached, to: client, at: now)
        }
        let isFromThere = { (slot: Slot) in slot.allocation?.client.remote.ip.site == client.remote.ip.site }
        guard slots.count(where: isFromThere) < configuration.maximumAllocationsPerAddress else {
            return refuse(request, session, .allocationQuotaReached, to: client, at: now)
        }
        open(request, session, wishes, from: client, at: now)
    }

    /// How many of a user's places are taken once this request is granted. A port that is held for a token is one, or
    /// whoever gives allocations back and goes on reserving would have all ports that are held.
    private func places(for request: STUNMessage, of login: Login, at now: Instant) -> Int {
        let name = login.quotaName
        let held = reservations.values.count { $0.login.quotaName == name && now < $0.until }
        let taken = allocationsOfUser[name, default: 0] + held
        if request.reservesNext { return taken + 2 }
        // Who comes with the token has the place already.
        let isHeld = request.reservationToken.flatMap { reservations[$0] }.map { $0.login == login && now < $0.until }
        return isHeld == true ? taken : taken + 1
    }

    private struct Refusal: Error {
        let code: STUNErrorCode
    }

    /// Which addresses are asked for. §7.2, in its order.
    private func wishes(of request: STUNMessage) throws(Refusal) -> [Allocation.Wish] {
        let transport = request.turnValue { if case .requestedTransport(let value) = $0 { value } else { nil } }
        let family = request.turnValue { if case .requestedAddressFamily(let value) = $0 { value } else { nil } }
        let additional = request.turnValue { if case .additionalAddressFamily(let value) = $0 { value } else { nil } }
        let reserves = request.turnValue { if case .evenPort(let value) = $0 { value } else { nil } }
        guard let transport else { throw Refusal(code: .badRequest) }
        guard transport == TURNAttribute.udp else { throw Refusal(code: .unsupportedTransport) }
        if request.reservationToken != nil, reserves != nil || family != nil || additional != nil {
            throw Refusal(code: .badRequest)
        }
        if let additional {
            guard additional == .ipv6, family == nil, reserves != true else { throw Refusal(code: .badRequest) }
        }
        let families: [TURNAddressFamily]
        if additional != nil {
            families = [.ipv4, .ipv6]
        } else {
            // A token holds a port of its own family.
            let token = request.reservationToken.flatMap { reservations[$0] }
            families = [token?.family ?? family ?? .ipv4]
            guard ports[families[0]] != nil else { throw Refusal(code: .addressFamilyNotSupported) }
        }
        return families.map {
            Allocation.Wish(family: $0, needsEvenPort: reserves != nil, attemptsLeft: Self.attempts)
        }
    }

    /// Takes ports and has their sockets opened.
    private mutating func open(
        _ request: STUNMessage, _ session: Session, _ wishes: [Allocation.Wish], from client: TURNClientPath,
        at now: Instant
    ) {
        var reserved: Reservation?
        if let token = request.reservationToken {
            // Whose token it is matters: they could be guessed.
            guard let found = reservations[token], found.login == session.login, now < found.until else {
                return refuse(request, session, .insufficientCapacity, to: client, at: now)
            }
            reservations[token] = nil
            reserved = found
        }
        var token: UInt64?
        if request.reservesNext {
            guard reservations.count < configuration.maximumReservations else {
                return refuse(request, session, .insufficientCapacity, to: client, at: now)
            }
            token = random.next()
        }
        let lifetime = lifetime(for: request)
        let opening = Allocation.Opening(
            request: request, session: session, wishes: wishes, token: token)
        let slot = add(
            Allocation(
                client: client, transactionID: request.transactionID, login: session.login, password: session.password,
                opening: opening, until: now + lifetime,
                bucket: TokenBucket(perSecond: configuration.bytesPerSecond, burst: configuration.burst, at: now)))
        for wish in wishes {
            if let reserved {
                // The pool has held it since; only its socket is opened now.
                openSocket(slot, wish.family, port: reserved.port)
            } else {
                openNext(slot, wish.family, reservingFor: token, at: now)
            }
        }
        settle(slot, at: now)
    }

    /// Takes another port for this family, or gives the address up.
    private mutating func openNext(
        _ slot: Int, _ family: TURNAddressFamily, reservingFor token: UInt64?, at now: Instant
    ) {
        changeOpening(slot) { opening in
            for index in opening.wishes.indices where opening.wishes[index].family == family {
                opening.wishes[index].attemptsLeft -= 1
            }
        }
        guard let wish = opening(slot)?.wishes.first(where: { $0.family == family }) else { return }
        guard ports[family] != nil else { return giveUp(slot, family, .addressFamilyNotSupported) }
        let port =
            wish.attemptsLeft < 0
            ? nil
            : wish.needsEvenPort
                ? ports[family]?.takeEven(withNext: token != nil, using: &random)
                : ports[family]?.take(using: &random)
        guard let port else { return giveUp(slot, family, .insufficientCapacity) }
        if let token, let session = opening(slot)?.session {
            let until = now + configuration.reservationLifetime
            reservations[token] = Reservation(
                port: port + 1, family: family, login: session.login, until: until)
            wake(at: until)
        }
        openSocket(slot, family, port: port)
    }

    private mutating func openSocket(_ slot: Int, _ family: TURNAddressFamily, port: UInt16) {
        guard let address = configuration.relayAddress(of: family) else { return }
        let id = TURNRelayID(slot: slot, generation: slots[slot].generation, family: family)
        let announced = TransportAddress(address.announced, port: port)
        slots[slot].allocation?.relays.append(Allocation.Relay(id: id, announced: announced))
        put(.open(id, TransportAddress(address.local, port: port)))
    }

    private mutating func giveUp(_ slot: Int, _ family: TURNAddressFamily, _ error: STUNErrorCode) {
        changeOpening(slot) { opening in
            opening.wishes.removeAll { $0.family == family }
            opening.failures.append((family, error))
        }
    }

    private func opening(_ slot: Int) -> Allocation.Opening? {
        guard case .opening(let opening)? = slots[slot].allocation?.phase else { return nil }
        return opening
    }

    private mutating func changeOpening(_ slot: Int, _ change: (inout Allocation.Opening) -> Void) {
        guard var opening = opening(slot) else { return }
        change(&opening)
        slots[slot].allocation?.phase = .opening(opening)
    }

    // MARK: From the owner

    /// The socket of a relayed address is there.
    public mutating func relayOpened(_ id: TURNRelayID, at now: Instant) {
        guard let slot = slot(of: id, at: now), opening(slot) != nil,
            let relay = slots[slot].allocation?.relay(for: id.family)
        else { return }
        relayOfAddress[relay.announced] = id
        changeOpening(slot) { opening in
            for index in opening.wishes.indices where opening.wishes[index].family == id.family {
                opening.wishes[index].isOpen = true
            }
        }
        settle(slot, at: now)
    }

    /// It could not be opened: another program has the port, or the system has no more.
    public mutating func relayFailed(_ id: TURNRelayID, at now: Instant) {
        guard let slot = slot(of: id, at: now), let opening = opening(slot),
            let relay = slots[slot].allocation?.relay(for: id.family)
        else { return }
        slots[slot].allocation?.relays.removeAll { $0.id == id }
        let port = relay.announced.port
        if let token = opening.token, let reservation = reservations.removeValue(forKey: token) {
            ports[reservation.family]?.giveBack(reservation.port)
        }
        if opening.request.reservationToken != nil {
            giveUp(slot, id.family, .insufficientCapacity)
        } else {
            openNext(slot, id.family, reservingFor: opening.token, at: now)
        }
        // Only now: or the same port could have been taken again.
        ports[id.family]?.giveBack(port)
        settle(slot, at: now)
    }

    /// Answers when every address is there or given up.
    private mutating func settle(_ slot: Int, at now: Instant) {
        guard let opening = opening(slot), opening.wishes.allSatisfy(\.isOpen),
            let client = slots[slot].allocation?.client
        else { return }
        let failures = opening.failures
        guard !opening.wishes.isEmpty else {
            remove(slot)
            return refuse(
                opening.request, opening.session, failures.first?.1 ?? .insufficientCapacity, to: client, at: now)
        }
        slots[slot].allocation?.phase = .active
        count { $0.allocationsMade += 1 }
        confirm(opening.request, opening.session, slot, opening.token, failures, at: now)
    }

    private mutating func confirm(
        _ request: STUNMessage, _ session: Session, _ slot: Int, _ token: UInt64?,
        _ failures: [(TURNAddressFamily, STUNErrorCode)], at now: Instant
    ) {
        guard let allocation = slots[slot].allocation else { return }
        var attributes = allocation.relays.map { STUNAttribute.turn(.xorRelayedAddress($0.announced)) }
        let left = (allocation.until - now).nanoseconds / 1_000_000_000
        attributes.append(.turn(.lifetime(UInt32(clamping: left))))
        attributes.append(.xorMappedAddress(allocation.client.remote))
        if let token { attributes.append(.turn(.reservationToken(token))) }
        for (family, error) in failures { attributes.append(.turn(.addressErrorCode(family, error))) }
        succeed(request, session, attributes, to: allocation.client, at: now)
    }
}

extension STUNMessage {
    fileprivate var reservationToken: UInt64? {
        turnValue { if case .reservationToken(let value) = $0 { value } else { nil } }
    }

    /// EVEN-PORT that has the port after it held. Of several attributes the first one counts (RFC 8489 §14).
    fileprivate var reservesNext: Bool {
        turnValue { if case .evenPort(let value) = $0 { value } else { nil } } == true
    }
}
