import RTCEngine
import RTCWire

/// A TURN server in memory for UDP (RFC 8656): one user, a nonce that grows old, permissions and channels. It counts
/// what it relays.
struct VirtualTURNServer {
    private struct Allocation {
        let client: TransportAddress
        let relayed: TransportAddress
        var permissions: [IPAddress: Instant] = [:]
        var channels: [UInt16: TransportAddress] = [:]
        var until: Instant
    }

    let address: TransportAddress
    var lifetime = Interval.seconds(Int64(600))
    /// How long a nonce is good for.
    var nonceLifetime = Interval.seconds(Int64(400))
    /// As after a power cut: what comes is lost.
    var isDown = false
    private(set) var bytesRelayed = 0
    /// Requests that were refused with each number.
    private(set) var errors: [UInt16: Int] = [:]
    private(set) var allocated = 0
    private(set) var released = 0
    /// What went from relayed addresses to peers and back since it was last asked for, without what a client's line
    /// puts around it.
    private var carried: [VirtualDatagram] = []
    private var allocations: [Allocation] = []
    private var nextPort: UInt16 = 50_000

    private static let key = STUNIntegrityKey.sha1(
        HMACSHA1(key: STUNLongTermCredential(username: "user", realm: "roost", password: "secret").key(.md5)))

    init(at address: TransportAddress) { self.address = address }

    func owns(_ destination: TransportAddress) -> Bool { destination.ip == address.ip }

    /// What leaves because of a datagram that has come.
    mutating func receive(_ datagram: VirtualDatagram, at now: Instant) -> [VirtualDatagram] {
        guard !isDown else { return [] }
        allocations.removeAll { $0.until <= now }
        guard datagram.destination == address else { return fromPeer(datagram, at: now) }
        let bytes = datagram.bytes.span.bytes
        if let header = ChannelDataHeader(bytes) {
            guard let index = allocation(of: datagram.source), datagram.bytes.count >= 4 + Int(header.length),
                let peer = allocations[index].channels[header.number]
            else { return [] }
            return relay(Array(datagram.bytes[4..<4 + Int(header.length)]), to: peer, index, at: now)
        }
        guard let message = try? STUNMessage(parsing: bytes) else { return [] }
        if message.kind == .indication, message.method == .send {
            guard let index = allocation(of: datagram.source), let peer = message.peerAddress,
                let data = message.relayedData
            else { return [] }
            return relay(data, to: peer, index, at: now)
        }
        guard message.kind == .request else { return [] }
        let response = answer(message, datagram, at: now)
        return [VirtualDatagram(source: address, destination: datagram.source, bytes: response)]
    }

    private func allocation(of client: TransportAddress) -> Int? { allocations.firstIndex { $0.client == client } }

    private mutating func relay(
        _ data: [UInt8], to peer: TransportAddress, _ index: Int, at now: Instant
    ) -> [VirtualDatagram] {
        guard let until = allocations[index].permissions[peer.ip], now < until else { return [] }
        bytesRelayed += data.count
        let datagram = VirtualDatagram(source: allocations[index].relayed, destination: peer, bytes: data)
        carried.append(datagram)
        // To another allocation of its own it does not go over a line.
        return owns(peer) ? fromPeer(datagram, at: now) : [datagram]
    }

    private mutating func fromPeer(_ datagram: VirtualDatagram, at now: Instant) -> [VirtualDatagram] {
        guard let allocation = allocations.first(where: { $0.relayed == datagram.destination }),
            let until = allocation.permissions[datagram.source.ip], now < until
        else { return [] }
        bytesRelayed += datagram.bytes.count
        // From another allocation it has been noted on its way out.
        if !owns(datagram.source) { carried.append(datagram) }
        var bytes: [UInt8] = []
        if let number = allocation.channels.first(where: { $0.value == datagram.source })?.key {
            bytes.append(
                uint32: ChannelDataHeader(number: number, length: UInt16(datagram.bytes.count)).word)
            bytes += datagram.bytes
        } else {
            bytes = STUNMessage(
                .indication, .data, transactionID: STUNTransactionID(high: 0, low: UInt64(bytesRelayed)),
                attributes: [.turn(.xorPeerAddress(datagram.source)), .turn(.data(datagram.bytes))]
            ).encoded(signedWith: nil, fingerprint: false)
        }
        return [VirtualDatagram(source: address, destination: allocation.client, bytes: bytes)]
    }

    mutating func takeCarried() -> [VirtualDatagram] {
        defer { carried.removeAll() }
        return carried
    }

    // MARK: Requests

    private mutating func answer(_ request: STUNMessage, _ datagram: VirtualDatagram, at now: Instant) -> [UInt8] {
        let nonce = Array("nonce \(now.nanoseconds / nonceLifetime.nanoseconds)".utf8)
        guard request.integrityOffset != nil else { return refuse(request, .unauthenticated, nonce) }
        guard request.isAuthentic(in: datagram.bytes.span.bytes, key: Self.key) else {
            return refuse(request, .unauthenticated, nonce)
        }
        guard request.attributes.contains(.nonce(nonce)) else { return refuse(request, .staleNonce, nonce) }
        if request.method == .allocate { return allocate(request, datagram.source, at: now) }
        guard let index = allocation(of: datagram.source) else { return refuse(request, .allocationMismatch, nil) }
        switch request.method {
        case .refresh:
            guard request.lifetime != 0 else {
                allocations.remove(at: index)
                released += 1
                return confirm(request, [.turn(.lifetime(0))])
            }
            allocations[index].until = now + lifetime
            return confirm(request, [.turn(.lifetime(UInt32(lifetime.seconds)))])
        case .createPermission:
            guard let peer = request.peerAddress else { break }
            allocations[index].permissions[peer.ip] = now + .seconds(Int64(300))
            return confirm(request, [])
        case .channelBind:
            let number = request.turnValue { if case .channelNumber(let value) = $0 { value } else { nil } }
            guard let number, let peer = request.peerAddress else { break }
            allocations[index].channels[number] = peer
            allocations[index].permissions[peer.ip] = now + .seconds(Int64(300))
            return confirm(request, [])
        default: break
        }
        return refuse(request, .badRequest, nil)
    }

    private mutating func allocate(_ request: STUNMessage, _ client: TransportAddress, at now: Instant) -> [UInt8] {
        guard allocation(of: client) == nil else { return refuse(request, .allocationMismatch, nil) }
        nextPort += 1
        allocated += 1
        let relayed = TransportAddress(address.ip, port: nextPort)
        allocations.append(Allocation(client: client, relayed: relayed, until: now + lifetime))
        return confirm(
            request,
            [.turn(.xorRelayedAddress(relayed)), .turn(.lifetime(UInt32(lifetime.seconds))), .xorMappedAddress(client)])
    }

    private func confirm(_ request: STUNMessage, _ attributes: [STUNAttribute]) -> [UInt8] {
        STUNMessage(.success, request.method, transactionID: request.transactionID, attributes: attributes)
            .encoded(signedWith: Self.key, fingerprint: false)
    }

    private mutating func refuse(_ request: STUNMessage, _ error: STUNErrorCode, _ nonce: [UInt8]?) -> [UInt8] {
        errors[error.code, default: 0] += 1
        var attributes: [STUNAttribute] = [.errorCode(error)]
        if let nonce { attributes += [.realm("roost"), .nonce(nonce)] }
        return STUNMessage(.error, request.method, transactionID: request.transactionID, attributes: attributes)
            .encoded(signedWith: nil, fingerprint: false)
    }
}
