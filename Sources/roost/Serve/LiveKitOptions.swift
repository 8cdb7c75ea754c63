internal import ArgumentParser
internal import Foundation
internal import LiveKitProtocol
internal import LiveKitRecorder
internal import LiveKitServer
internal import Logging
internal import RTCNetwork
internal import RTCSecurity
internal import RTCWire
internal import SocketIO

/// `roost serve` as a server of LiveKit's protocol, for its client SDKs and services, and for the page.
struct LiveKitOptions: ParsableArguments {
    private static let defaults = (
        port: 7880, mediaPort: 7882, mediaTCPPort: 7881, workers: 1, recordings: 100, connections: 10_000,
        participants: 0
    )
    /// What LiveKit's own development server has; the secret is in every tutorial.
    private static let developmentKey = (id: "devkey", secret: "secret")

    @Option(
        help: ArgumentHelp(
            "Serve LiveKit's protocol to whoever has a token signed with this API key; may be repeated. Others on this "
                + "machine can read it in the list of processes: better in $ROOST_LIVEKIT_KEYS, with commas between.",
            valueName: "name:secret"))
    var livekitKey: [String] = []

    @Flag(help: "Serve LiveKit's protocol with its development key (devkey, secret); on loopback only.")
    var livekitDev = false

    @Flag(
        help: "Rooms for many in the page, on these ports for media: whoever reaches the page may join any of them.")
    var rooms = false

    @Option(
        help: ArgumentHelp(
            "How often a minute one address (IPv6: a /64) may ask for a token to a room of the page; 0 for as often as "
                + "it likes, as behind a proxy, whose address all have.", valueName: "number"))
    var roomsTokenRate = 120

    @Option(
        help: ArgumentHelp(
            "Have no rooms here: pass clients and services on to this cluster, as wss://host, whose API keys ours are. "
                + "Default: ROOST_LIVEKIT_URL of the environment.", valueName: "url"))
    var livekitUrl: String?

    @Option(
        help: ArgumentHelp(
            "Certificates (PEM) of authorities that the cluster's may be signed by, besides those that the system "
                + "knows.", valueName: "file"))
    var livekitCa: String?

    @Option(
        help: "The port for LiveKit alone, where its SDKs look; 0 takes a free one. The page's port has it as well.")
    var livekitPort = defaults.port

    @Option(help: ArgumentHelp("Post LiveKit's webhooks there; may be repeated.", valueName: "url"))
    var livekitWebhook: [String] = []

    @Option(
        help: ArgumentHelp(
            "Record tracks into this folder when services ask for it (LiveKit's egress).", valueName: "folder"))
    var livekitRecordings: String?

    @Option(help: "Tracks that are recorded at the same time, at most.")
    var livekitRecordingsLimit = defaults.recordings

    @Option(
        help: ArgumentHelp(
            "Send for an agent of this name (LiveKit Agents) in every room that names none itself; may be repeated. "
                + "Without it agents that have no name come there by themselves.", valueName: "name"))
    var livekitAgent: [String] = []

    @Flag(inversion: .prefixedNo, help: "Whether joining a room that does not exist makes it.")
    var livekitAutoCreate = true

    @Flag(help: "Services may switch somebody's sound and pictures on again that they have muted.")
    var livekitRemoteUnmute = false

    @Option(
        help: ArgumentHelp(
            "Peer connections on each thread for media, at most: clients have one or two, WHIP and WHEP one. Nobody is "
                + "let in beyond it.", valueName: "number"))
    var livekitMaxConnections = defaults.connections

    @Option(
        help: ArgumentHelp(
            "Participants in a room, at most, unless its token or CreateRoom says how many; 0 for as many as come.",
            valueName: "number"))
    var livekitMaxParticipants = defaults.participants

    @Option(help: "The UDP port for LiveKit's media; 0 takes a free one.")
    var mediaPort = defaults.mediaPort

    @Option(help: "The TCP port for media of networks that let no UDP through; 0 takes a free one.")
    var mediaTcpPort = defaults.mediaTCPPort

    @Flag(inversion: .prefixedNo, help: "Whether media comes in over TCP as well.")
    var mediaTcp = true

    @Option(
        help: ArgumentHelp(
            "The address of this machine for LiveKit's media; may be repeated. Clients are told the first of IPv4, and "
                + "all of IPv6. Default: those of --host.", valueName: "ip"))
    var mediaAddress: [String] = []

    @Option(
        help: ArgumentHelp(
            "The address under which the internet reaches this machine's media, if no interface has it; one of each "
                + "family.", valueName: "ip"))
    var mediaPublicAddress: [String] = []

    @Option(help: "Threads for media; each has a port of its own, counted up from the first. A room is on one.")
    var mediaWorkers = defaults.workers

    @Option(
        help: ArgumentHelp(
            "After being told to end, and after --shutdown-delay: how long, as 10s or 2m, to wait for people to leave "
                + "their rooms, while no new rooms are taken.", valueName: "time"))
    var drainTimeout = TimeSpan(.zero)

    func validate() throws {
        for (name, value) in [
            ("--livekit-port", livekitPort), ("--media-port", mediaPort), ("--media-tcp-port", mediaTcpPort),
        ] where !(0...65_535).contains(value) {
            throw ValidationError("\(name) takes a number from 0 to 65535.")
        }
        guard (1...64).contains(mediaWorkers) else {
            throw ValidationError("--media-workers takes a number from 1 to 64.")
        }
        guard mediaPort + mediaWorkers <= 65_536, mediaTcpPort + mediaWorkers <= 65_536 else {
            throw ValidationError("There are not enough ports above those for media for so many workers.")
        }
        guard !mediaTcp || mediaPort == 0 || mediaPort != mediaTcpPort else {
            throw ValidationError("--media-port and --media-tcp-port have to be different.")
        }
        for text in mediaAddress + mediaPublicAddress where IPAddress(text) == nil {
            throw ValidationError("--media-address and --media-public-address take IP addresses, not '\(text)'.")
        }
        for family in [false, true] where mediaPublicAddress.count(where: { IPAddress($0)?.isIPv6 == family }) > 1 {
            throw ValidationError("--media-public-address takes one address of each family.")
        }
        for text in livekitKey where text.split(separator: ":", maxSplits: 1).count != 2 {
            throw ValidationError("--livekit-key takes a name and a secret with a colon between.")
        }
        guard livekitRecordings?.isEmpty != true else {
            throw ValidationError("--livekit-recordings takes the name of a folder.")
        }
        guard (1...10_000).contains(livekitRecordingsLimit) else {
            throw ValidationError("--livekit-recordings-limit takes a number from 1 to 10000.")
        }
        guard (1...1_000_000).contains(livekitMaxConnections) else {
            throw ValidationError("--livekit-max-connections takes a number from 1 to 1000000.")
        }
        guard (0...1_000_000).contains(livekitMaxParticipants) else {
            throw ValidationError("--livekit-max-participants takes a number from 0 to 1000000.")
        }
        guard (0...100_000).contains(roomsTokenRate) else {
            throw ValidationError("--rooms-token-rate takes a number from 0 to 100000.")
        }
        if clusterURL != nil, let option = optionForMedia {
            throw ValidationError("\(option) is for rooms of our own: with --livekit-url there are none here.")
        }
        guard livekitCa == nil || clusterURL != nil else { throw ValidationError("--livekit-ca needs --livekit-url.") }
        for text in livekitWebhook where WebhookURL(text) == nil {
            throw ValidationError("--livekit-webhook takes an http or https URL, not '\(text)'.")
        }
    }

    /// The API keys, where options and environment go together.
    ///
    /// - Throws: `CommandError` where they do not.
    @discardableResult
    func checked(host: String) throws -> [APIKey] {
        let keys = try apiKeys(host: host)
        guard keys.isEmpty else { return keys }
        if clusterURL != nil {
            throw CommandError("--livekit-url needs the cluster's API key: --livekit-key or --livekit-dev.", status: 64)
        }
        if let option = optionForOthers {
            throw CommandError("\(option) needs --livekit-key or --livekit-dev.", status: 64)
        }
        if !rooms, let option = optionForMedia {
            throw CommandError("\(option) needs --livekit-key, --livekit-dev or --rooms.", status: 64)
        }
        return []
    }

    /// Starts it, if there is a key or the page is to have rooms.
    ///
    /// - Parameter heard: told of what happens in rooms; not to block.
    func start(
        host: String, iceServers: ICEServers, heard: (@Sendable (LiveKitWebhookEvent) -> Void)?, logger: Logger
    ) async throws -> LiveKitService? {
        var keys = try checked(host: host)
        let servesOthers = !keys.isEmpty
        if !servesOthers, rooms { keys = [try Self.keyOfThePage()] }
        guard let first = keys.first else { return nil }
        if let clusterURL {
            return try await startCluster(clusterURL, keys: keys, signingKey: first, heard: heard, logger: logger)
        }
        do {
            var media = MediaWorkerConfiguration(
                addresses: try addresses(host: host, among: try NetworkInterface.current()),
                security: try OpenSSLSecurity())
            // Those that were named stay.
            if mediaAddress.isEmpty, IPAddress(host)?.isUnspecified == true {
                media.follow = { [self] in (try? addresses(host: host, among: $0)) ?? [] }
            }
            media.port = UInt16(mediaPort)
            media.tcpPort = mediaTcp ? UInt16(mediaTcpPort) : nil
            media.maximumPeers = livekitMaxConnections
            var configuration = LiveKitServerConfiguration(
                keys: try APIKeys(keys), signingKey: first, media: media)
            configuration.workers = mediaWorkers
            configuration.createsRooms = livekitAutoCreate
            configuration.allowsRemoteUnmute = livekitRemoteUnmute
            configuration.maximumParticipants = livekitMaxParticipants
            configuration.agents = livekitAgent
            configuration.webhooks = livekitWebhook.compactMap(WebhookURL.init)
            configuration.heard = heard
            if let livekitRecordings {
                try RecordingFolder.prepare(livekitRecordings)
                var recordings = RecordingConfiguration(folder: livekitRecordings)
                recordings.limit = livekitRecordingsLimit
                configuration.recordings = recordings
            }
            configuration.iceServers = { request in
                iceServers.list(asked: request.header("Host")).map(Self.described)
            }
            let server = LiveKitServer(configuration, logger: logger)
            let ports = try await server.start()
            if let relay = iceServers.relay {
                await relay.reach(media.addresses.map { ($0.local, $0.announced) }, ports: ports.map(\.port))
                let moves = server.mediaMoves
                Task {
                    for await addresses in moves {
                        await relay.reach(addresses.map { ($0.local, $0.announced) }, ports: ports.map(\.port))
                    }
                }
            }
            return LiveKitService(
                .embedded(server, media: ports), pageKey: rooms ? first : nil,
                signingKey: first, servesOthers: servesOthers)
        } catch let error as CommandError {
            throw error
        } catch let error as MediaWorkerError {
            guard case .port(let transport, _, let reason) = error else { throw CommandError("\(error)") }
            if reason.isAddressInUse {
                let option = transport == "TCP" ? "--media-tcp-port" : "--media-port"
                throw CommandError("\(error) \(option) takes another one.")
            }
            throw CommandError(
                reason.isAddressMissing
                    ? "\(error) --media-address takes addresses of this machine, --media-public-address others."
                    : "\(error)")
        } catch {
            throw CommandError("\(error)")
        }
    }

    /// Whether there are rooms whose key nobody but this process knows.
    var hasKeyOfItsOwn: Bool {
        rooms && livekitKey.isEmpty && !livekitDev
            && (ProcessInfo.processInfo.environment["ROOST_LIVEKIT_KEYS"] ?? "").isEmpty
    }

    /// Not LIVEKIT_URL: that is where a program of LiveKit's finds its server, and it may well be this one.
    private var clusterURL: String? {
        if let livekitUrl { return livekitUrl }
        let found = ProcessInfo.processInfo.environment["ROOST_LIVEKIT_URL"] ?? ""
        return found.isEmpty ? nil : found
    }

    private func startCluster(
        _ url: String, keys: [APIKey], signingKey: APIKey, heard: (@Sendable (LiveKitWebhookEvent) -> Void)?,
        logger: Logger
    ) async throws -> LiveKitService {
        let configured: LiveKitClusterConfiguration
        do {
            let server = try RemoteServer(url: url, trustedAuthorities: livekitCa)
            configured = LiveKitClusterConfiguration(server: server, keys: try APIKeys(keys), signingKey: signingKey)
        } catch {
            throw CommandError("\(error)")
        }
        var configuration = configured
        configuration.webhooks = livekitWebhook.compactMap(WebhookURL.init)
        configuration.heard = heard
        let cluster = LiveKitCluster(configuration, logger: logger)
        await cluster.start()
        return LiveKitService(
            .cluster(cluster, url: configuration.server.description), pageKey: rooms ? signingKey : nil,
            signingKey: signingKey, servesOthers: true)
    }

    private static func described(_ server: ICEServer) -> LiveKitICEServer {
        var described = LiveKitICEServer()
        described.urls = server.urls
        described.username = server.username
        described.credential = server.credential
        return described
    }

    private func apiKeys(host: String) throws -> [APIKey] {
        var texts = livekitKey
        if let more = ProcessInfo.processInfo.environment["ROOST_LIVEKIT_KEYS"] {
            texts += more.split { $0 == "," || $0.isNewline }.map { $0.trimmingCharacters(in: .whitespaces) }
        }
        do {
            var keys: [APIKey] = []
            for text in texts {
                let parts = text.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                guard parts.count == 2 else {
                    throw CommandError(
                        "ROOST_LIVEKIT_KEYS has a name and a secret with a colon between, or several.", status: 64)
                }
                keys.append(try APIKey(parts[0], secret: parts[1]))
            }
            if livekitDev {
                // Whoever reaches a server with this key may do all with it.
                guard ["localhost", "::1"].contains(host) || IPAddress(host)?.isLoopback == true else {
                    throw CommandError("--livekit-dev needs --host 127.0.0.1: everybody knows its key.", status: 64)
                }
                let key = Self.developmentKey
                keys.append(try APIKey(key.id, secret: key.secret, allowsShortSecret: true))
            }
            return keys
        } catch let problem as APIKeyProblem {
            throw CommandError(problem.description)
        }
    }

    /// Made up at each start and told to nobody, so that there are rooms in the page without anything to configure.
    private static func keyOfThePage() throws -> APIKey {
        let secret = (0..<4).map { _ in CallRelay.randomText() }.joined()
        do {
            return try APIKey("page", secret: secret)
        } catch {
            throw CommandError(error.description)
        }
    }

    private func addresses(
        host: String, among interfaces: [NetworkInterface]
    ) throws -> [MediaWorkerConfiguration.Address] {
        var addresses = mediaAddress.compactMap { IPAddress($0) }
        if addresses.isEmpty {
            guard let ip = IPAddress(host == "localhost" ? "127.0.0.1" : host) else {
                throw CommandError("LiveKit's media needs an address in --host or --media-address, not \"\(host)\".")
            }
            addresses = MediaWorkerConfiguration.addresses(for: ip, among: interfaces)
        }
        let announced = mediaPublicAddress.compactMap { IPAddress($0) }
        for ip in announced where !addresses.contains(where: { $0.isIPv6 == ip.isIPv6 }) {
            throw CommandError("Media comes in on no address of the family of \(ip).")
        }
        // Behind a NAT that maps one to one there is one address of ours for the one that clients are told.
        for ip in announced {
            let ours = addresses.filter { $0.isIPv6 == ip.isIPv6 }
            let one = ours.first { $0 == ip } ?? ours.first
            addresses.removeAll { $0.isIPv6 == ip.isIPv6 && $0 != one }
        }
        return addresses.map { local in
            MediaWorkerConfiguration.Address(local: local, announced: announced.first { $0.isIPv6 == local.isIPv6 })
        }
    }

    /// An option that was given and has no effect without a key that others have.
    private var optionForOthers: String? {
        let defaults = LiveKitOptions.defaults
        let changed: [(String, Bool)] = [
            ("--livekit-port", livekitPort != defaults.port), ("--livekit-webhook", !livekitWebhook.isEmpty),
            ("--no-livekit-auto-create", !livekitAutoCreate), ("--livekit-remote-unmute", livekitRemoteUnmute),
            ("--livekit-agent", !livekitAgent.isEmpty), ("--livekit-recordings", livekitRecordings != nil),
            ("--livekit-recordings-limit", livekitRecordingsLimit != defaults.recordings),
        ]
        return changed.first { $0.1 }?.0
    }

    /// An option that was given and is for rooms of our own.
    private var optionForMedia: String? {
        let defaults = LiveKitOptions.defaults
        let changed: [(String, Bool)] = [
            ("--livekit-recordings", livekitRecordings != nil),
            ("--livekit-recordings-limit", livekitRecordingsLimit != defaults.recordings),
            ("--no-livekit-auto-create", !livekitAutoCreate), ("--livekit-remote-unmute", livekitRemoteUnmute),
            ("--livekit-agent", !livekitAgent.isEmpty), ("--media-port", mediaPort != defaults.mediaPort),
            ("--media-tcp-port", mediaTcpPort != defaults.mediaTCPPort), ("--no-media-tcp", !mediaTcp),
            ("--media-address", !mediaAddress.isEmpty), ("--media-public-address", !mediaPublicAddress.isEmpty),
            ("--media-workers", mediaWorkers != defaults.workers),
            ("--livekit-max-connections", livekitMaxConnections != defaults.connections),
            ("--livekit-max-participants", livekitMaxParticipants != defaults.participants),
            ("--drain-timeout", drainTimeout.duration > .zero),
        ]
        return changed.first { $0.1 }?.0
    }
}
