internal import ArgumentParser
internal import CallSignaling
internal import ChatServer
internal import ClientKit
internal import ClientRTC
internal import Foundation
internal import LiveKitProtocol
internal import LiveKitServer
internal import Logging
internal import RTCNetwork
internal import RTCWire
internal import SocketIO
internal import TURNServer

/// `roost serve`: signaling, the page, health and metrics, and the echo peer.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the server.",
        discussion: """
            Serves the web page, /health and /metrics, and Socket.IO signaling for call rooms, on both ports. An echo \
            peer waits in room 1 as callee, so that you can try a call alone. With --rooms many meet in the page. With an \
            API key it is a server for LiveKit's SDKs as well. Ctrl-C ends it.
            """
    )

    /// Read before the options are: `Settings`.
    @Option(
        help: ArgumentHelp(
            "Settings that neither options nor the environment (ROOST_PORT is --port) say: 'port = 8080' on lines.",
            valueName: "file"))
    var config: String?

    @Option(help: "The address to listen on.")
    var host = "0.0.0.0"

    @Option(help: "The port of the page; 0 takes a free one.")
    var port = 8080

    @Option(help: "The port for signaling alone, where clients of the seed's server look; 0 takes a free one.")
    var signalingPort = 3000

    @Option(
        help: ArgumentHelp(
            "The web page's folder. Default: Web in $ROOST_HOME, beside the program or above it, in /usr/share/roost.",
            valueName: "folder"))
    var web: String?

    @Option(help: ArgumentHelp("Let web pages of this origin connect, or of any ('*'); may be repeated."))
    var allowOrigin: [String] = []

    @Option(help: ArgumentHelp("A certificate chain (PEM), to serve HTTPS.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The certificate's private key (PEM).", valueName: "file"))
    var tlsKey: String?

    @Option(parsing: .unconditional, help: "The room in which the echo peer waits.")
    var echoRoom = 1

    @Flag(inversion: .prefixedNo, help: "Whether an echo peer waits in a room.")
    var echo = true

    @Option(
        help: ArgumentHelp(
            "Use only this address of this machine for the echo peer's media; may be repeated.", valueName: "ip"))
    var address: [String] = []

    @OptionGroup(title: "TURN")
    var turn: TURNOptions

    @OptionGroup(title: "LiveKit")
    var livekit: LiveKitOptions

    @OptionGroup(title: "Chat")
    var chat: ChatOptions

    @OptionGroup(title: "Mail")
    var mail: MailOptions
    @OptionGroup(title: "Push notifications")
    var push: PushOptions
    @OptionGroup(title: "Files of the chat")
    var files: FileOptions
    @OptionGroup(title: "Several servers that are one")
    var nodes: NodeOptions

    enum LogLevel: String, ExpressibleByArgument, CaseIterable {
        case debug, info, notice, warning, error
    }

    @Option(help: "How much to log.")
    var logLevel = LogLevel.notice

    @OptionGroup
    var operation: OperationOptions

    @Flag(help: "Print one JSON object when the server listens, instead of sentences.")
    var json = false

    func validate() throws {
        if chat.data == nil, mail.smtp != nil { throw ValidationError("--smtp needs --data: letters are chat's.") }
        if (tlsCertificate == nil) != (tlsKey == nil) {
            throw ValidationError("--tls-certificate and --tls-key belong together.")
        }
        if push.apnsKey != nil, chat.data == nil {
            throw ValidationError("--apns-key needs --data: what is pushed is of the chat.")
        }
        if nodes.redis != nil {
            guard chat.database != nil else {
                throw ValidationError("--redis is for several servers of one --database: a file is one server's.")
            }
            guard !livekit.hasKeyOfItsOwn else {
                throw ValidationError(
                    "--rooms with --redis needs --livekit-key, the same for all servers: they let each other's people in."
                )
            }
        }
        for (name, value) in [("--port", port), ("--signaling-port", signalingPort)] where !(0...65_535).contains(value)
        {
            throw ValidationError("\(name) takes a number from 0 to 65535.")
        }
        guard CallRoomID(echoRoom) != nil else {
            throw ValidationError("--echo-room takes a whole number of at most 53 bits.")
        }
        for origin in allowOrigin where origin != "*" && !origin.contains("://") {
            throw ValidationError(
                "--allow-origin takes '*' or an origin such as https://chat.example, not '\(origin)'.")
        }
    }

    func run() async throws {
        do {
            try await serve()
        } catch let error as CommandError {
            Console.fail(error.description)
            throw ExitCode(error.status)
        }
    }

    /// Each connection and each relayed address is a file, and 1,024 are the usual limit that may be raised. Not beyond
    /// what the memory of a small machine bears, since nothing else bounds connections that say nothing.
    private func raiseFileLimit() {
        #if canImport(Glibc)
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let files = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        _ = setrlimit(files, &limit)
    }

    private func serve() async throws {
        raiseFileLimit()
        operation.beginLog()
        let (interrupts, renewals) = signals()
        let page = try pageFolder()
        let media = echo && CallFiles.hasTestMedia ? try CallFiles.load(video: nil, audio: nil, codec: nil) : nil
        let iceServers = try await turn.start(host: host, certificate: tlsCertificate, key: tlsKey)
        var logger = Logger(label: "roost")
        logger.logLevel = Logger.Level(rawValue: logLevel.rawValue) ?? .notice
        // For the chat's calls, in the order in which it happens; nobody would take it out without a chat.
        let (happenings, happening) = AsyncStream.makeStream(of: LiveKitWebhookEvent.self)
        let sfu = try await startRooms(iceServers, telling: happening, logger: logger)
        let served = try await openChat(over: sfu, relay: iceServers.relay, logger: logger)
        let hearing = Task { [server = served?.server] in for await event in happenings { await server?.take(event) } }
        let readiness = Readiness(chat: served?.server)
        let server = makeServer(
            page: page, iceServers: iceServers, livekit: sfu, chat: served?.server, readiness: readiness, logger: logger
        )
        let parts = ServedParts(server: server, chat: served, livekit: sfu, relay: iceServers.relay)
        let rooms = CallRoomServer(server: server)
        let (ports, sample) = try await listen(parts)
        var echoPeer: EchoPeer?
        if let media { echoPeer = try await makeEchoPeer(rooms, media) }
        await echoPeer?.start()
        announce(
            page: ports.page, signaling: ports.signaling, hasPage: page != nil, hasEchoPeer: echoPeer != nil,
            iceServers: iceServers, livekit: sfu, hasChat: served != nil, sample: sample)
        let watch = server.certificate.map { CertificateWatch($0, relay: iceServers.relay?.service, logger: logger) }
        let watching = watch.map { watch in Task { await watch.run(whenAsked: renewals) } }
        for await _ in interrupts { break }
        readiness.goesDown()
        await letPeopleLeave(sfu)
        watching?.cancel()
        await echoPeer?.stop()
        await parts.goDown()
        happening.finish()
        if !(await parts.finish(hearing: hearing)) {
            logger.warning("the server ends before all is written and told that should have been")
        }
        await iceServers.relay?.service.stop()
        withExtendedLifetime(interrupts) {}
    }

    /// What asks this process to end, and where it has a certificate, when it is asked (SIGHUP) to read that anew.
    private func signals() -> (interrupts: AsyncStream<Int32>, renewals: AsyncStream<Void>) {
        let (renewals, renew) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        var hangUp: (@Sendable () -> Void)?
        if tlsCertificate != nil { hangUp = { renew.yield() } }
        return (Interrupts.stream(hangUp: hangUp), renewals)
    }

    /// The rooms of LiveKit's protocol, where they are wanted; the relay ends where they cannot be had.
    private func startRooms(
        _ iceServers: ICEServers, telling happening: AsyncStream<LiveKitWebhookEvent>.Continuation, logger: Logger
    ) async throws -> LiveKitService? {
        var heard: (@Sendable (LiveKitWebhookEvent) -> Void)?
        if chat.data != nil { heard = { event in happening.yield(event) } }
        do {
            return try await livekit.start(host: host, iceServers: iceServers, heard: heard, logger: logger)
        } catch {
            await iceServers.relay?.service.stop()
            throw error
        }
    }

    /// The chat, where it is wanted; what was started before it ends where it cannot be had.
    private func openChat(
        over sfu: LiveKitService?, relay: CallRelay?, logger: Logger
    ) async throws -> ServedChat? {
        do {
            return try await ServedChat.open(
                chat, mail, push: try push.configuration(), files: files, nodes: nodes,
                origins: allowOrigin, isSecure: tlsCertificate != nil, rooms: sfu.map(CallsInRooms.init),
                logger: logger)
        } catch {
            await sfu?.stop()
            await relay?.service.stop()
            throw error
        }
    }

    /// Takes the ports, and begins the chat once it has them all; whatever runs ends where one cannot be had.
    private func listen(
        _ parts: ServedParts
    ) async throws -> (ports: (page: Int, signaling: Int), sample: SampleWorkspace?) {
        do {
            let page = try await bind(parts.server, port, "--port")
            parts.chat?.listens(on: url("http", page))
            let isSame = signalingPort == port && port != 0
            let signaling = isSame ? page : try await bind(parts.server, signalingPort, "--signaling-port")
            if let sfu = parts.livekit, sfu.servesOthers {
                // A port that there is already goes on showing the page.
                let wanted = livekit.livekitPort
                if wanted == 0 || wanted != port && wanted != signalingPort {
                    sfu.port = try await bind(parts.server, wanted, "--livekit-port")
                }
            }
            // Not before: whoever finds a port taken has ended nobody's calls, and made nothing.
            let sample = try await parts.chat?.begin(makesSample: chat.sample)
            return ((page, signaling), sample)
        } catch {
            await parts.abandon()
            throw CommandError("\(error)")
        }
    }

    /// Says that it goes down, and gives those who are here the time that the options leave them.
    private func letPeopleLeave(_ rooms: LiveKitService?) async {
        if !json { Console.say("Going down.") }
        if operation.shutdownDelay.duration > .zero { try? await Task.sleep(for: operation.shutdownDelay.duration) }
        if let rooms { await drain(rooms) }
    }

    private func bind(_ server: SocketIOServer, _ port: Int, _ option: String) async throws -> Int {
        do {
            return try await server.bind(host: host, port: port)
        } catch {
            switch error {
            case .cannotListen(_, _, .portTaken), .cannotListen(_, _, .needsRoot):
                throw CommandError("\(error) \(option) takes another one.")
            case .cannotListen(_, _, .unknownHost), .cannotListen(_, _, .addressNotHere):
                throw CommandError("--host: \(error)")
            case .cannotListen, .cannotUseTLSFile, .shutDown: throw CommandError("\(error)")
            }
        }
    }

    /// Waits for those who are in rooms, once nobody is sent here any more.
    private func drain(_ rooms: LiveKitService) async {
        let time = livekit.drainTimeout.duration
        guard time > .zero else { return }
        if !json { Console.say("Rooms end as people leave them; after \(time.text) at the latest.") }
        let left = await rooms.drain(within: time)
        if left > 0, !json { Console.say("\(left) in rooms are sent away.") }
    }

    /// Where the page is; nil when it is nowhere, which is said but no error: signaling works without.
    private func pageFolder() throws -> URL? {
        guard let web else { return ProjectFiles.locate("Web") }
        let folder = URL(filePath: web, directoryHint: .isDirectory)
        guard FileManager.default.isReadableFile(atPath: folder.appending(path: "index.html").path) else {
            throw CommandError("There is no web page in \(web): index.html is missing or cannot be read.")
        }
        return folder
    }

    private func makeServer(
        page folder: URL?, iceServers: ICEServers, livekit: LiveKitService?, chat: ChatServer?, readiness: Readiness,
        logger: Logger
    ) -> SocketIOServer {
        var configuration = SocketIOServerConfiguration()
        if allowOrigin.contains("*") {
            configuration.origins = .any
        } else if !allowOrigin.isEmpty {
            configuration.origins = .these(Set(allowOrigin))
        }
        if let tlsCertificate, let tlsKey {
            configuration.tls = .init(certificateChainFile: tlsCertificate, privateKeyFile: tlsKey)
        }
        let statistics = StatisticsSource()
        let metrics: @Sendable () async -> String = {
            let own = statistics.read().map(Metrics.text) ?? ""
            let others = (iceServers.relay.map { Metrics.text($0.service.statistics) } ?? "") + (livekit?.metrics ?? "")
            let push = chat?.pushStatistics.map { Metrics.text($0) } ?? ""
            let certificate = statistics.certificate.map { Metrics.text($0) } ?? ""
            return own + others + push + certificate + (await chat?.metrics() ?? "")
        }
        let rate = self.livekit.roomsTokenRate
        let roomToken = RoomTokenRoute(
            key: livekit?.pageKey, origins: configuration.origins,
            gate: rate > 0 ? AddressGate(perMinute: rate) : nil)
        let routes = WebRoutes(
            page: folder.map(StaticFiles.init), metrics: metrics, readiness: readiness,
            iceServers: ICEServersRoute(iceServers: iceServers),
            roomToken: roomToken)
        var sockets = livekit == nil ? [] : LiveKitServer.webSocketPaths
        if chat != nil { sockets.insert(ChatServer.socketPath) }
        configuration.fallback = { [sockets] request in
            if sockets.contains(request.path) { return .upgradeRequired }
            if let answer = await chat?.answer(request) { return answer }
            if let answer = await livekit?.answer(request) { return answer }
            return await routes.answer(request)
        }
        configuration.webSockets = { request in
            if let answer = await chat?.webSocket(request) { return answer }
            return await livekit?.webSocket(request)
        }
        configuration.fallbackBodyLimitOf = { request in
            request.path == RoomTokenRoute.path
                ? RoomTokenRoute.bodyLimit : chat?.bodyLimit(of: request) ?? livekit?.bodyLimit(of: request)
        }
        configuration.bodyTooLarge = { chat?.tooLarge($0) ?? livekit?.tooLarge($0) }
        let server = SocketIOServer(configuration: configuration, logger: logger)
        statistics.follow(server)
        return server
    }

    @MainActor
    private func makeEchoPeer(_ rooms: CallRoomServer, _ media: CallMedia) throws -> EchoPeer {
        let configuration: PeerConnectionConfiguration
        do {
            configuration = try PeerConnectionConfiguration(addresses: try PeerAddresses.parse(address))
        } catch let error as PeerConnectionError {
            throw CommandError("\(error)")
        }
        return EchoPeer(
            rooms: rooms, room: echoRoom, media: CallMedia(video: media.video, sound: .echo),
            configuration: configuration)
    }

    private func announce(
        page: Int, signaling: Int, hasPage: Bool, hasEchoPeer: Bool, iceServers: ICEServers, livekit: LiveKitService?,
        hasChat: Bool, sample: SampleWorkspace?
    ) {
        if json {
            var fields: [String: JSONField] = [
                "event": .text("listening"), "port": .number(Double(page)),
                "signaling_port": .number(Double(signaling)),
            ]
            fields["turn_port"] = iceServers.relay.map { .number(Double($0.ports.port)) }
            fields["turn_tls_port"] = iceServers.relay?.ports.tlsPort.map { .number(Double($0)) }
            if let livekit {
                if livekit.servesOthers { fields["livekit_port"] = .number(Double(livekit.port ?? page)) }
                switch livekit.rooms {
                case .embedded(_, let media):
                    fields["media_port"] = media.first.map { .number(Double($0.port)) }
                    fields["media_tcp_port"] = media.first?.tcpPort.map { .number(Double($0)) }
                case .cluster(_, let url): fields["livekit_url"] = .text(url)
                }
            }
            for person in sample?.people ?? [] { fields["sample_\(person.username)"] = .text(person.password) }
            Console.say(JSONField.object(fields).json)
        } else {
            var lines = ["Roost is serving."]
            lines.append(
                hasPage
                    ? "  Open       \(url("http", page))"
                    : "  The web page's files were not found (--web names their folder); there is signaling only.")
            lines.append(
                "  Signaling  \(url("http", signaling))  (Socket.IO; also under /socket.io on port \(page))")
            lines.append("  Watch      \(url("http", page))/health and /metrics")
            switch iceServers {
            case .none: break
            case .ours(let relay): lines.append("  Relay      " + text(relay))
            case .others(let urls, _):
                lines.append("  Relay      \(urls.joined(separator: ", "))  (not of this server)")
            }
            if let livekit {
                if livekit.pageKey != nil, hasPage {
                    lines.append(
                        "  Rooms      \(url("http", page))/rooms.html  (for whoever reaches this page)")
                }
                if livekit.servesOthers { lines.append("  LiveKit    " + text(livekit, page: page)) }
                lines.append("  Media      " + mediaText(livekit))
            }
            if hasChat { lines += text(ofChat: sample, page: page) }
            if hasEchoPeer {
                lines.append("An echo peer waits in room \(echoRoom): call it as caller to try everything alone.")
            }
            if echo, !hasEchoPeer {
                lines.append(
                    "There is no echo peer: its film (Media) was not found in $ROOST_HOME or beside the program.")
            }
            lines.append("Ctrl-C ends it.")
            Console.say(lines.joined(separator: "\n"))
        }
    }

    /// Where this server is reached from this machine.
    ///
    /// - Parameter scheme: without TLS.
    private func url(_ scheme: String, _ port: Int) -> String {
        let address = IPAddress(host)
        let name =
            switch address {
            case let ip? where ip.isUnspecified || ["127.0.0.1", "::1"].contains(host): "localhost"
            case let ip? where ip.isIPv6: "[\(host)]"
            default: host
            }
        return "\(scheme)\(tlsCertificate == nil ? "" : "s")://\(name):\(port)"
    }

    private func text(ofChat sample: SampleWorkspace?, page: Int) -> [String] {
        let address = "\(url("http", page))\(ChatServer.path)/…"
        var lines = ["  Chat       \(address)  (docs/openapi.yaml describes it)"]
        if let sample {
            lines.append("A sample workspace was made. These two can log in; it is said this once:")
            for person in sample.people { lines.append("  \(person.username)  password \(person.password)") }
        } else if self.chat.sample {
            lines.append(
                "No sample workspace was made: there are accounts already. `roost admin users list` names them,")
            lines.append("and `roost admin users reset-password NAME` lets somebody in who has lost the password.")
        }
        return lines
    }

    private func text(_ livekit: LiveKitService, page: Int) -> String {
        "\(url("ws", livekit.port ?? page))  (`roost token create` makes tokens)"
    }

    private func mediaText(_ livekit: LiveKitService) -> String {
        switch livekit.rooms {
        case .embedded(_, let media):
            let ports = media.map { "\($0.port)" }.joined(separator: ", ")
            let tcp = media.compactMap(\.tcpPort).map { "\($0)" }.joined(separator: ", ")
            return "of rooms on UDP \(ports)" + (tcp.isEmpty ? "" : " and TCP \(tcp)")
        case .cluster(_, let url): return "of rooms at \(url)"
        }
    }

    private func text(_ relay: CallRelay) -> String {
        let range = turn.turnRelayPorts.range
        let tls = relay.ports.tlsPort.map { ", TLS on \($0)" } ?? ""
        let addresses = relay.announced.map { "\($0)" }.joined(separator: " and ")
        return "turn: on port \(relay.ports.port) (UDP, TCP)\(tls); "
            + "from \(addresses), UDP ports \(range.lowerBound) to \(range.upperBound)"
    }
}
