import RTCEngine

@testable import RTCSecurity

/// Two associations and the wire between them, in memory.
final class DTLSPair {
    enum Side {
        case client, server
        var other: Side { self == .client ? .server : .client }
    }

    let client: any DTLSPort
    let server: any DTLSPort
    /// What each side told, without its datagrams.
    private(set) var events: [Side: [DTLSOutput]] = [.client: [], .server: []]
    /// What becomes of the datagrams that `side` sends at once: in this order, all of them, if nobody says otherwise.
    var wire: (_ side: Side, _ datagrams: [[UInt8]]) -> [[UInt8]] = { _, datagrams in datagrams }
    private(set) var datagramsSent: [Side: [[UInt8]]] = [.client: [], .server: []]

    private let clientFingerprint: Fingerprint
    private let serverFingerprint: Fingerprint

    /// Any two associations; `fingerprint` is of the certificate that both use.
    init(client: any DTLSPort, server: any DTLSPort, fingerprint: Fingerprint) {
        self.client = client
        self.server = server
        clientFingerprint = fingerprint
        serverFingerprint = fingerprint
    }

    init(client clientSecurity: OpenSSLSecurity, server serverSecurity: OpenSSLSecurity) {
        client = clientSecurity.makeDTLS()
        server = serverSecurity.makeDTLS()
        clientFingerprint = clientSecurity.localFingerprint
        serverFingerprint = serverSecurity.localFingerprint
    }

    convenience init(
        clientProfiles: [SRTPProfile] = SRTPPair.browserProfiles,
        serverProfiles: [SRTPProfile] = SRTPPair.browserProfiles, mtu: Int = DTLSAssociation.defaultMTU
    ) throws {
        try self.init(
            client: OpenSSLSecurity(profiles: clientProfiles, mtu: mtu),
            server: OpenSSLSecurity(profiles: serverProfiles, mtu: mtu))
    }

    /// Starts both ends, each with the other's fingerprint unless told another.
    func start(
        clientExpects: [Fingerprint]? = nil, serverExpects: [Fingerprint]? = nil, needsSRTP: Bool = true,
        at now: Instant = .zero
    ) {
        server.start(
            role: .server, remoteFingerprints: serverExpects ?? [clientFingerprint], needsSRTP: needsSRTP, at: now)
        client.start(
            role: .client, remoteFingerprints: clientExpects ?? [serverFingerprint], needsSRTP: needsSRTP, at: now)
    }

    /// Carries datagrams until both sides are silent.
    func run(at now: Instant = .zero) {
        while deliver(from: .client, at: now) || deliver(from: .server, at: now) {}
    }

    /// Takes what `side` has to say and gives its datagrams to the other; false when there were none.
    @discardableResult
    func deliver(from side: Side, at now: Instant = .zero) -> Bool {
        let datagrams = drain(side)
        for datagram in wire(side, datagrams) { port(side.other).receive(datagram.span.bytes, at: now) }
        return !datagrams.isEmpty
    }

    /// Takes what `side` has to say; its datagrams are the caller's.
    func drain(_ side: Side) -> [[UInt8]] {
        var datagrams: [[UInt8]] = []
        while let output = port(side).pollOutput() {
            switch output {
            case .send(let datagram): datagrams.append(datagram)
            case .connected, .applicationData, .closed: events[side, default: []].append(output)
            }
        }
        datagramsSent[side, default: []] += datagrams
        return datagrams
    }

    func send(_ message: [UInt8], from side: Side) {
        port(side).send(applicationData: message.span.bytes, at: .zero)
    }

    func port(_ side: Side) -> any DTLSPort { side == .client ? client : server }

    func keys(_ side: Side) -> SRTPKeyingMaterial? {
        for case .connected(let keys) in events[side, default: []] { return keys }
        return nil
    }

    func closeReason(_ side: Side) -> DTLSCloseReason? {
        for case .closed(let reason) in events[side, default: []] { return reason }
        return nil
    }

    func messages(_ side: Side) -> [[UInt8]] {
        events[side, default: []].compactMap { if case .applicationData(let data) = $0 { data } else { nil } }
    }

    var isConnected: Bool { keys(.client) != nil && keys(.server) != nil }
}

extension SRTPPair {
    static let browserProfiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80]
}
