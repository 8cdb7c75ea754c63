internal import CDatagram
internal import RTCEngine
internal import RTCWire

/// The sockets and the clock of an `MDNSQuerier`. Lives on one loop, for one connection; its sockets are open while a
/// name is being looked up.
///
/// On each interface it asks from a port of its own, which makes the answer come to that port (RFC 6762 §6.7), and also
/// listens to the group: Chromium answers everybody, whoever asks.
final class MDNSResolver: SocketReader, TimerTarget {
    /// Told on the loop's thread; nil when nobody knows the name.
    typealias Answer = (_ name: String, _ address: IPAddress?) -> Void

    private var querier: MDNSQuerier
    private let interfaces: [NetworkInterface]
    private let loop: NetworkLoop
    private let answer: Answer
    private let timer = LoopTimer()
    private var senders: [(socket: UDPSocket, token: UInt64)] = []
    private var listeners: [(socket: UDPSocket, token: UInt64)] = []

    /// RFC 6762 §3.
    static let port: UInt16 = 5353
    static let group4 = TransportAddress(.v4(0xe000_00fb), port: port)
    static let group6 = TransportAddress(.v6(0xff02_0000_0000_0000, 0xfb), port: port)
    /// Interfaces that are asked on, and names looked up for one connection.
    private static let interfaceLimit = 8
    private static let nameLimit = 32

    /// - Parameter interfaces: where to ask: those that candidates are gathered on.
    init(on loop: NetworkLoop, interfaces: [NetworkInterface], _ answer: @escaping Answer) {
        self.loop = loop
        self.interfaces = Array(interfaces.prefix(Self.interfaceLimit))
        self.answer = answer
        self.querier = MDNSQuerier(limit: Self.nameLimit, random: .system)
        timer.target = self
    }

    deinit { close() }

    /// Looks a name up; answers later, or at once.
    func resolve(_ name: String) {
        if querier.isIdle { open() }
        querier.ask(name, at: NetworkLoop.now)
        flush()
    }

    /// Nothing is answered any more.
    func close() {
        loop.forget((senders + listeners).map(\.token))
        for socket in senders + listeners { socket.socket.close() }
        senders = []
        listeners = []
    }

    private func open() {
        for interface in interfaces {
            add(interface.openMDNSSender, to: \.senders)
            // Without one, as where the port is somebody's alone, answers to the group are not heard; that is all.
            add(interface.openMDNSListener, to: \.listeners)
        }
    }

    private func add(
        _ open: () throws(SystemError) -> UDPSocket,
        to list: ReferenceWritableKeyPath<MDNSResolver, [(socket: UDPSocket, token: UInt64)]>
    ) {
        // An interface without multicast is no place to ask; there may be others.
        guard let socket = try? open(), let token = try? loop.add(socket, reader: self) else { return }
        self[keyPath: list].append((socket, token))
    }

    private func flush() {
        while let output = querier.pollOutput() {
            switch output {
            case .send(let bytes): send(bytes)
            case .resolved(let name, let address): answer(name, address)
            case .unknown(let name): answer(name, nil)
            }
        }
        if let wake = querier.nextWake {
            loop.schedule(timer, at: wake)
        } else {
            close()
        }
    }

    private func send(_ bytes: [UInt8]) {
        for sender in senders {
            var batch = SendBatch()
            batch.append(bytes, to: sender.socket.address.ip.isIPv6 ? Self.group6 : Self.group4)
            batch.flush(on: sender.socket)
        }
    }

    func socketReadable(_ token: UInt64, _ batch: inout ReceiveBatch) {
        guard let socket = (senders + listeners).first(where: { $0.token == token })?.socket else { return }
        _ = batch.receive(from: socket) { datagram, sender in
            // RFC 6762 §6: answers come from port 5353, and others are to be ignored.
            guard sender.port == Self.port else { return }
            querier.receive(datagram.span.bytes)
        }
        flush()
    }

    func timerFired(at now: Instant) {
        querier.tick(at: now)
        flush()
    }
}

extension NetworkInterface {
    fileprivate func openMDNSSender() throws(SystemError) -> UDPSocket {
        var local = TransportAddress(address, port: 0).cAddress
        let descriptor = cdatagram_open_mdns_sender(&local, name)
        guard descriptor >= 0 else { throw SystemError("bind", negated: descriptor) }
        return UDPSocket(adopting: descriptor, address: TransportAddress(address, port: local.port))
    }

    func openMDNSListener() throws(SystemError) -> UDPSocket {
        var local = TransportAddress(address, port: 0).cAddress
        let descriptor = cdatagram_open_mdns_listener(&local, name)
        guard descriptor >= 0 else { throw SystemError("bind", negated: descriptor) }
        let group = address.isIPv6 ? MDNSResolver.group6 : MDNSResolver.group4
        return UDPSocket(adopting: descriptor, address: group)
    }
}
