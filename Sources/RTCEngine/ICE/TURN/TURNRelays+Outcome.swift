internal import RTCWire

/// What an allocation wants done, and what becomes of it.
extension TURNRelays {
    mutating func drain(_ index: Int, at now: Instant) {
        while let output = relays[index].allocation.pollOutput() {
            switch output {
            case .send(let bytes): send(bytes, by: index)
            case .allocated(let grant): allocated(grant, index)
            case .redirected(let address, let domain): return redirect(index, to: address, domain, at: now)
            case .wantsAnotherPath: return anotherPath(index, at: now)
            case .ended(let failure): return ended(index, failure, at: now)
            }
        }
    }

    mutating func send(_ bytes: [UInt8], by index: Int) {
        switch relays[index].path {
        case .datagrams(let base): outputs.append(.send(bytes, from: base, to: relays[index].server.address))
        case .stream(let stream): outputs.append(.sendOnStream(bytes, stream))
        case .connecting: break
        }
    }

    mutating func allocated(_ grant: TURNAllocation.Grant, _ index: Int) {
        relays[index].hasAnswered = true
        let server = relays[index].server
        var base: TransportAddress?
        if case .datagrams(let address) = relays[index].path { base = address }
        for relayed in grant.relayed {
            outputs.append(
                .relayed(
                    ICERelay(
                        relayed: relayed, mapped: grant.mapped, server: server.address, transport: server.transport,
                        base: base)))
        }
    }

    /// RFC 8489 §10: each server once, so that two that name each other come to an end.
    mutating func redirect(_ index: Int, to address: TransportAddress, _ domain: String?, at now: Instant) {
        let reaches =
            switch relays[index].path {
            case .datagrams(let base): base.ip.canPair(with: address.ip)
            case .stream, .connecting: true
            }
        guard reaches, !relays[index].tried.contains(address), relays[index].tried.count <= Self.limit else {
            return ended(index, .redirectedTooOften, at: now)
        }
        relays[index].tried.append(address)
        relays[index].server.address = address
        if let domain { relays[index].server.host = domain }
        begin(anew: index, at: now)
    }

    /// A stream has another port each time it is opened. A socket has one: the server is asked to forget what it knows
    /// of it, and then asked again.
    mutating func anotherPath(_ index: Int, at now: Instant) {
        switch relays[index].path {
        case .datagrams:
            relays[index].allocation.allocateAfresh(at: now)
            drain(index, at: now)
        case .stream, .connecting:
            begin(anew: index, at: now)
        }
    }

    mutating func ended(_ index: Int, _ failure: TURNFailure, at now: Instant) {
        let lost = relays[index].allocation.grant?.relayed ?? []
        relays[index].hasEnded = true
        for relayed in lost { outputs.append(.lost(relayed)) }
        if relays[index].hasNewCredential, !isRetired(relays[index]) {
            relays[index].hasAnswered = false
            return begin(anew: index, at: now)
        }
        if !relays[index].hasAnswered || !lost.isEmpty {
            outputs.append(
                .failed(
                    ICEServerError(
                        url: relays[index].server.url, errorCode: failure.code, errorText: failure.description)))
        }
        relays[index].hasAnswered = true
        // What was there once may be there again, under another address: it serves the next restart.
        guard !lost.isEmpty, relays[index].renewals < Self.limit, !isRetired(relays[index]) else {
            return closeStream(of: index)
        }
        relays[index].renewals += 1
        begin(anew: index, at: now)
    }
}
