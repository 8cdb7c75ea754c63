internal import ArgumentParser
internal import ClientKit
internal import RTCEngine
internal import RTCNetwork
internal import RTCSecurity

/// What `roost call` and `roost watch` are both told: which room, as whom, over which network.
struct RoomOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "The room's number.")
    var room: Int

    @Option(name: .customLong("as"), help: "Your name in the room.")
    var username: String

    @Option(help: "The signaling server.")
    var server = "http://localhost:3000"

    @Option(help: ArgumentHelp("A folder for recordings of what is received.", valueName: "folder"))
    var record: String?

    @Option(help: ArgumentHelp("End it after this long, as 10s or 2m. Default: no limit.", valueName: "time"))
    var duration: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Use only this address of this machine for media; may be repeated. Default: all but loopback.",
            valueName: "ip"))
    var address: [String] = []

    @Option(help: ArgumentHelp("A STUN server, as stun:host:port; may be repeated.", valueName: "url"))
    var stun: [String] = []

    @Option(
        help: ArgumentHelp(
            "A TURN or STUN server, as turn:host:port, turn:host?transport=tcp or turns:host; may be repeated.",
            valueName: "url"))
    var iceServer: [String] = []

    @Option(help: ArgumentHelp("The user name for TURN servers.", valueName: "name"))
    var iceUser: String?

    @Option(help: ArgumentHelp("The password for TURN servers.", valueName: "password"))
    var iceCredential: String?

    @Flag(help: "Send and receive through TURN servers only: the peer learns no address of this machine.")
    var relayOnly = false

    @Flag(
        help: """
            Ask TURN servers for a ticket with which the call goes on when this machine gets another address. For servers \
            that give one, as coturn with --mobility.
            """)
    var iceMobility = false

    @Option(help: ArgumentHelp("Accept only this SRTP profile: gcm, gcm-256 or cm.", valueName: "profile"))
    var srtp: SRTPChoice?

    @Flag(help: "Print events and statistics as one JSON object a line.")
    var json = false

    func validate() throws {
        guard CallRoomID(room) != nil else {
            throw ValidationError("--room takes a whole number of at most 53 bits.")
        }
        guard !iceServer.isEmpty || (iceUser == nil && iceCredential == nil) else {
            throw ValidationError("--ice-user and --ice-credential are about --ice-server.")
        }
        guard duration.map({ $0.duration > .zero }) ?? true else {
            throw ValidationError("--duration takes a time of more than nothing, such as 10s.")
        }
        guard !relayOnly || iceServer.contains(where: { $0.hasPrefix("turn") }) else {
            throw ValidationError(
                "--relay-only needs a TURN server: --ice-server turn:…, with --ice-user and --ice-credential.")
        }
    }

    /// How media travels.
    func configuration(videoCodecs: [CodecParameters] = [.h264, .vp8]) throws -> PeerConnectionConfiguration {
        do {
            let servers = PeerConnectionConfiguration.ICEServer(
                urls: stun + iceServer, username: iceUser, credential: iceCredential)
            try servers.check()
            var configuration = try PeerConnectionConfiguration(
                iceServers: servers.urls.isEmpty ? [] : [servers], addresses: try PeerAddresses.parse(address),
                videoCodecs: videoCodecs, security: srtp?.security())
            if relayOnly { configuration.iceTransportPolicy = .relay }
            configuration.ice.turn.mobility = iceMobility
            return configuration
        } catch let error as PeerConnectionError {
            throw CommandError("\(error)")
        }
    }
}
