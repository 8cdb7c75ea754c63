internal import ArgumentParser
internal import Foundation
internal import RTCNetwork
internal import RTCSecurity
internal import RTCWire
internal import TURNServer

/// `roost serve --turn`: the relay for people whose networks let no other path through.
struct TURNOptions: ParsableArguments {
    @Flag(help: "Relay media for people whose networks let no other path through (TURN).")
    var turn = false

    private static let defaults = (
        port: 3478, tlsPort: 5349, relayPorts: 49_152...65_535 as ClosedRange<UInt16>, bandwidth: 20_000,
        allocations: 1_000
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

    @Option(help: ArgumentHelp("The UDP ports that are relayed from.", valueName: "first-last"))
    var turnRelayPorts = PortRange(defaults.relayPorts)

    @Option(
        help: ArgumentHelp(
            "The name under which clients find TURN. Default: the one under which they found the page.",
            valueName: "host"))
    var turnHost: String?

    @Option(
        help: ArgumentHelp(
            "What time-limited credentials are signed with, if other services issue them too; better in "
                + "$ROOST_TURN_SECRET. Default: made up at each start.", valueName: "text"))
    var turnSecret: String?

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

    /// Starts it, if it is wanted.
    func start(host: String, certificate: String?, key: String?) async throws -> CallRelay? {
        guard turn else { return nil }
        do {
            guard let ip = IPAddress(host == "localhost" ? "127.0.0.1" : host) else {
                throw CommandError("--turn needs an address in --host, not the name \"\(host)\".")
            }
            let addresses = try TURNServiceConfiguration.addresses(for: ip)
            let secret =
                turnSecret ?? ProcessInfo.processInfo.environment["ROOST_TURN_SECRET"] ?? CallRelay.randomText()
            guard !secret.isEmpty else { throw CommandError("The secret of TURN is empty.") }
            var server = TURNServerConfiguration(
                relayAddresses: try relayAddresses(among: addresses), accounts: accounts(secret))
            server.relayPorts = turnRelayPorts.range
            server.policy = policy
            server.bytesPerSecond = turnBandwidth * 125
            server.burst = server.bytesPerSecond
            server.maximumAllocations = turnAllocations
            var configuration = TURNServiceConfiguration(server: server, addresses: addresses)
            configuration.port = UInt16(turnPort)
            configuration.tlsPort = UInt16(turnTlsPort)
            if let certificate, let key {
                configuration.identity = try TLSIdentity(certificateChain: certificate, privateKey: key)
            }
            let service = TURNService(configuration)
            let ports = try await service.start()
            let announced = server.relayAddresses.map(\.announced)
            return CallRelay(service: service, ports: ports, secret: secret, host: turnHost, announced: announced)
        } catch let error as CommandError {
            throw error
        } catch {
            throw CommandError("\(error)")
        }
    }

    /// An option that was given and has no effect without `--turn`.
    private var unusedOption: String? {
        let defaults = TURNOptions.defaults
        let changed: [(String, Bool)] = [
            ("--turn-port", turnPort != defaults.port), ("--turn-tls-port", turnTlsPort != defaults.tlsPort),
            ("--turn-public-address", !turnPublicAddress.isEmpty),
            ("--turn-relay-ports", turnRelayPorts.range != defaults.relayPorts), ("--turn-host", turnHost != nil),
            ("--turn-secret", turnSecret != nil), ("--turn-user", !turnUser.isEmpty),
            ("--turn-allow-private-peers", turnAllowPrivatePeers), ("--turn-allow-peer", !turnAllowPeer.isEmpty),
            ("--turn-deny-peer", !turnDenyPeer.isEmpty),
            ("--turn-insecurely-allow-peer", !turnInsecurelyAllowPeer.isEmpty),
            ("--turn-bandwidth", turnBandwidth != defaults.bandwidth),
            ("--turn-allocations", turnAllocations != defaults.allocations),
        ]
        return changed.first { $0.1 }?.0
    }

    private var policy: PeerPolicy {
        var policy = PeerPolicy()
        policy.allowsPrivateRanges = turnAllowPrivatePeers
        policy.allowed = turnAllowPeer.map(\.prefix)
        policy.denied = turnDenyPeer.map(\.prefix)
        policy.insecurelyAllowed = turnInsecurelyAllowPeer.map(\.prefix)
        return policy
    }

    private func accounts(_ secret: String) -> TURNAccounts {
        var users: [String: String] = [:]
        for user in turnUser {
            let parts = user.split(separator: ":", maxSplits: 1)
            users[String(parts[0])] = String(parts[1])
        }
        return TURNAccounts(users: users, secrets: [secret])
    }

    /// One of each family: the first that others can reach, announced as the public one where a NAT stands in front.
    private func relayAddresses(
        among addresses: [IPAddress]
    ) throws(CommandError) -> [TURNServerConfiguration.RelayAddress] {
        let publicAddresses = turnPublicAddress.compactMap { IPAddress($0) }
        var relays: [TURNServerConfiguration.RelayAddress] = []
        for isIPv6 in [false, true] {
            let ours = addresses.filter { $0.isIPv6 == isIPv6 }
            let announced = publicAddresses.first { $0.isIPv6 == isIPv6 }
            let reachable = ours.first { !$0.isLoopback && !$0.isLinkLocal } ?? ours.first
            guard let local = ours.first(where: { $0 == announced }) ?? reachable else {
                if let announced { throw CommandError("TURN listens on no address of the family of \(announced).") }
                continue
            }
            relays.append(TURNServerConfiguration.RelayAddress(local: local, announced: announced))
        }
        return relays
    }
}

/// `49152-65535`.
struct PortRange: ExpressibleByArgument {
    let range: ClosedRange<UInt16>

    init(_ range: ClosedRange<UInt16>) { self.range = range }

    init?(argument: String) {
        let parts = argument.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = UInt16(parts[0]), let last = UInt16(parts[1]), first > 0, first <= last
        else {
            return nil
        }
        range = first...last
    }

    var defaultValueDescription: String { "\(range.lowerBound)-\(range.upperBound)" }
}

/// `10.0.0.0/8`, or one address.
struct PeerRange: ExpressibleByArgument {
    let prefix: IPPrefix

    init?(argument: String) {
        guard let prefix = IPPrefix(argument) else { return nil }
        self.prefix = prefix
    }
}
