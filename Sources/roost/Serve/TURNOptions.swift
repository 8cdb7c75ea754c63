internal import ArgumentParser
internal import Foundation
internal import RTCNetwork
internal import RTCWire

/// `roost serve --turn`: the relay for people whose networks let no other path through; or `--turn-url`, which names
/// that of others.
struct TURNOptions: ParsableArguments {
    @Flag(help: "Relay media for people whose networks let no other path through (TURN).")
    var turn = false

    private static let defaults = (
        port: 3478, tlsPort: 5349, relayPorts: 49_152...65_535 as ClosedRange<UInt16>, bandwidth: 20_000,
        allocations: 4_000
    )

    @Option(help: "TURN's port, for UDP and TCP; 0 takes a free one.")
    var turnPort = defaults.port

    @Option(help: "TURN's port for TLS, if there is a certificate; 0 takes a free one.")
    var turnTlsPort = defaults.tlsPort

    @Option(
        help: ArgumentHelp(
            "The address under which the internet reaches this machine, if no interface has it; one of each family.",
            valueName: "ip"))
    var turnPublicAddress: [String] = []

    @Option(help: ArgumentHelp("The UDP ports that are relayed from, as 50000-50999.", valueName: "first-last"))
    var turnRelayPorts = PortRange(defaults.relayPorts)

    @Option(
        help: ArgumentHelp(
            "The name under which clients find TURN. Default: the one under which they found the page.",
            valueName: "host"))
    var turnHost: String?

    @Option(
        help: ArgumentHelp(
            "What time-limited credentials are signed with, if other services issue them too, or what the servers of "
                + "--turn-url know; better in $ROOST_TURN_SECRET or a file. Default: made up at each start of --turn.",
            valueName: "text"))
    var turnSecret: String?

    @Option(help: ArgumentHelp("A file with that secret alone in it.", valueName: "file"))
    var turnSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "Relay nothing here, and tell clients of another TURN server, as turn:host:port, turn:host?transport=tcp or "
                + "turns:host; may be repeated. It takes credentials as coturn's use-auth-secret does, with the secret "
                + "of --turn-secret, or a name and a password.", valueName: "url"))
    var turnUrl: [String] = []

    @Option(
        help: ArgumentHelp(
            "What all clients log in with at --turn-url, if it shares no secret with us; each of them learns it.",
            valueName: "name"))
    var turnUsername: String?

    @Option(help: ArgumentHelp("The password of that name; better in $ROOST_TURN_PASSWORD.", valueName: "text"))
    var turnPassword: String?

    @Option(
        help: ArgumentHelp(
            "Somebody who may always use TURN; may be repeated. Others on this machine can read it in the list of "
                + "processes.", valueName: "name:password"))
    var turnUser: [String] = []

    @Flag(help: "Let TURN reach private networks (10/8, 172.16/12, 192.168/16, fc00::/7 and their like).")
    var turnAllowPrivatePeers = false

    @Option(help: ArgumentHelp("A private range that TURN may reach; may be repeated.", valueName: "cidr"))
    var turnAllowPeer: [PeerRange] = []

    @Option(help: ArgumentHelp("A range that TURN may not reach; may be repeated.", valueName: "cidr"))
    var turnDenyPeer: [PeerRange] = []

    @Option(
        help: ArgumentHelp(
            "For tests on one machine: reach this range though it is loopback or reserved, with every service there.",
            valueName: "cidr"))
    var turnInsecurelyAllowPeer: [PeerRange] = []

    @Option(help: ArgumentHelp("What one relayed address carries at most.", valueName: "kbit/s"))
    var turnBandwidth = defaults.bandwidth

    @Option(help: "Relayed addresses at most.")
    var turnAllocations = defaults.allocations

    func validate() throws {
        if !turn, let option = unusedOption { throw ValidationError("\(option) needs --turn.") }
        try checkCredentials()
        if let turnHost, CallRelay.hostName(turnHost) != turnHost, IPAddress(turnHost)?.isIPv6 != true {
            throw ValidationError("--turn-host takes a name or an address without a port, not '\(turnHost)'.")
        }
        for family in [false, true] where turnPublicAddress.count(where: { IPAddress($0)?.isIPv6 == family }) > 1 {
            throw ValidationError("--turn-public-address takes one address of each family.")
        }
        for (name, value) in [("--turn-port", turnPort), ("--turn-tls-port", turnTlsPort)]
        where !(0...65_535).contains(value) {
            throw ValidationError("\(name) takes a number from 0 to 65535.")
        }
        for text in turnPublicAddress where IPAddress(text) == nil {
            throw ValidationError("--turn-public-address takes an IP address, not '\(text)'.")
        }
        for user in turnUser where user.split(separator: ":", maxSplits: 1).count != 2 {
            throw ValidationError("--turn-user takes a name and a password with a colon between.")
        }
        guard (1...10_000_000).contains(turnBandwidth) else {
            throw ValidationError("--turn-bandwidth takes a number of kilobits a second.")
        }
        guard (1...30_000).contains(turnAllocations) else {
            throw ValidationError("--turn-allocations takes a number from 1 to 30000.")
        }
    }

    /// A relay of ours or of others, with one kind of credential.
    private func checkCredentials() throws {
        guard !turn || turnUrl.isEmpty else {
            throw ValidationError("--turn relays here and --turn-url names others that relay: only one of them.")
        }
        guard turnSecret == nil || turnSecretFile == nil else {
            throw ValidationError("--turn-secret and --turn-secret-file are one secret: only one of them.")
        }
        for (name, isGiven) in [
            ("--turn-secret", turnSecret != nil), ("--turn-secret-file", turnSecretFile != nil),
        ] where isGiven && !turn && turnUrl.isEmpty {
            throw ValidationError("\(name) needs --turn or --turn-url.")
        }
        for (name, value) in [("--turn-username", turnUsername), ("--turn-password", turnPassword)] {
            guard let value else { continue }
            guard !turnUrl.isEmpty else { throw ValidationError("\(name) needs --turn-url.") }
            guard !value.isEmpty, value.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) else {
                throw ValidationError("\(name) takes letters, digits and signs of ASCII.")
            }
        }
        guard (turnUsername == nil) == (turnPassword == nil) else {
            throw ValidationError("--turn-username and --turn-password belong together.")
        }
        guard !turnUrl.isEmpty else { return }
        for url in turnUrl where !Self.isServer(url) {
            throw ValidationError(
                "--turn-url takes turn:host:port, turn:host:port?transport=tcp or turns:host:port, not '\(url)'.")
        }
        let hasSecret =
            turnSecret != nil || turnSecretFile != nil
            || ProcessInfo.processInfo.environment["ROOST_TURN_SECRET"]?.isEmpty == false
        guard hasSecret || turnUsername != nil else {
            throw ValidationError(
                "--turn-url needs what its server takes: --turn-secret or --turn-secret-file, or --turn-username with "
                    + "--turn-password.")
        }
        guard !hasSecret || turnUsername == nil else {
            throw ValidationError(
                "--turn-url takes a secret, or --turn-username with --turn-password: only one of them.")
        }
    }

    private static func isServer(_ url: String) -> Bool {
        // It is told in headers, between angle brackets (RFC 9725 §4.6).
        let isPlain = url.utf8.allSatisfy { (0x21..<0x7f).contains($0) && !"<>\"".utf8.contains($0) }
        guard isPlain, url.hasPrefix("turn:") || url.hasPrefix("turns:") else { return false }
        let server = PeerConnectionConfiguration.ICEServer(urls: [url], username: "", credential: "")
        return (try? server.check()) != nil
    }

    /// An option that was given and has no effect without `--turn`.
    private var unusedOption: String? {
        let defaults = TURNOptions.defaults
        let changed: [(String, Bool)] = [
            ("--turn-port", turnPort != defaults.port), ("--turn-tls-port", turnTlsPort != defaults.tlsPort),
            ("--turn-public-address", !turnPublicAddress.isEmpty),
            ("--turn-relay-ports", turnRelayPorts.range != defaults.relayPorts), ("--turn-host", turnHost != nil),
            ("--turn-user", !turnUser.isEmpty),
            ("--turn-allow-private-peers", turnAllowPrivatePeers), ("--turn-allow-peer", !turnAllowPeer.isEmpty),
            ("--turn-deny-peer", !turnDenyPeer.isEmpty),
            ("--turn-insecurely-allow-peer", !turnInsecurelyAllowPeer.isEmpty),
            ("--turn-bandwidth", turnBandwidth != defaults.bandwidth),
            ("--turn-allocations", turnAllocations != defaults.allocations),
        ]
        return changed.first { $0.1 }?.0
    }
}
