internal import Foundation
internal import RTCNetwork
internal import RTCSecurity
internal import RTCWire
internal import TURNServer

/// The relay, as the options have it.
extension TURNOptions {
    /// What clients are to be told of; the relay of this process is started, if it is wanted.
    func start(host: String, certificate: String?, key: String?) async throws -> ICEServers {
        if let turnUsername, let turnPassword {
            return .others(turnUrl, .fixed(username: turnUsername, password: turnPassword))
        }
        if !turnUrl.isEmpty {
            guard let secret = try sharedSecret() else { throw CommandError("--turn-url needs a secret.") }
            return .others(turnUrl, .secret(secret))
        }
        guard turn else { return .none }
        return .ours(try await startRelay(host: host, certificate: certificate, key: key))
    }

    private func startRelay(host: String, certificate: String?, key: String?) async throws -> CallRelay {
        do {
            guard let ip = IPAddress(host == "localhost" ? "127.0.0.1" : host) else {
                throw CommandError("--turn needs an address in --host, not the name \"\(host)\".")
            }
            let addresses = try TURNServiceConfiguration.addresses(for: ip)
            let secret = try sharedSecret() ?? CallRelay.randomText()
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
        } catch TURNServiceError.port(let address, let error) where error.code == EADDRINUSE {
            let option = address.port == UInt16(turnPort) ? "--turn-port" : "--turn-tls-port"
            throw CommandError(
                "Port \(address.port) on \(address.ip) is taken by another program. \(option) takes another one.")
        } catch {
            throw CommandError("\(error)")
        }
    }

    /// Nil where none was said.
    private func sharedSecret() throws(CommandError) -> String? {
        let found = ProcessInfo.processInfo.environment["ROOST_TURN_SECRET"] ?? ""
        var secret = turnSecret ?? (found.isEmpty ? nil : found)
        if let turnSecretFile {
            guard let text = try? String(contentsOfFile: turnSecretFile, encoding: .utf8) else {
                throw CommandError("The file of --turn-secret-file, \(turnSecretFile), cannot be read.")
            }
            secret = text.trimmingCharacters(in: .newlines)
        }
        guard secret?.isEmpty != true else { throw CommandError("The secret of TURN is empty.") }
        return secret
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
