import RTCEngine
import RTCWire

/// Ready-made places for two people to call each other from.
extension CallSimulation {
    static let leftBase = endpoint("192.0.2.1", 4_000)
    static let rightBase = endpoint("198.51.100.1", 5_000)
    static let turnServer = endpoint("203.0.113.100", 3_478)
    static let stunServer = endpoint("203.0.113.200", 3_478)

    /// What a test may say about a call between two hosts.
    struct Options {
        var seed: UInt64 = 1
        var conditions = LinkConditions.access
        var profile = SRTPProfile.aeadAES128GCM
        var video = [CodecParameters.vp8, .h264]
        /// Retransmissions have a stream of their own (RFC 4588).
        var usesRTX = true
        /// Whose handshake shows another certificate than was promised.
        var impostor: Side?
        var answeringRole = DTLSRole.client
        /// Behind which NAT each side is; nil: none.
        var nats: (NATKind?, NATKind?) = (nil, nil)
        var ice = ICEConfiguration()
        /// Whose agent is lite.
        var liteSide: Side?
        /// Where somebody is behind a NAT, both have a STUN server.
        var stun = true
        /// Both have a TURN server.
        var turn = false
        var turnPassword = "secret"
        var policies = (ICETransportPolicy.all, ICETransportPolicy.all)

        fileprivate func adjust(_ negotiation: inout NegotiatorConfiguration) {
            negotiation.videoCodecs = video
            negotiation.answeringDTLSRole = answeringRole
            guard !usesRTX else { return }
            for index in negotiation.videoCodecs.indices { negotiation.videoCodecs[index].rtxPayloadType = nil }
        }
    }

    init(_ adjust: (inout Options) -> Void = { _ in }) {
        var options = Options()
        adjust(&options)
        var network = VirtualNetwork(seed: options.seed &+ 77)
        var ice = options.ice
        if options.stun, options.nats.0 != nil || options.nats.1 != nil {
            network.addSTUNServer(at: Self.stunServer)
            ice.stunServers = [Self.stunServer]
        }
        if options.turn { network.turnServers = [VirtualTURNServer(at: Self.turnServer)] }
        let servers = [
            TURNServer(
                address: Self.turnServer, transport: .udp, host: "turn.example.org", username: "user",
                password: options.turnPassword, url: "turn:turn.example.org")
        ]
        func seat(_ side: Side, _ nat: NATKind?) -> Seat {
            let isLeft = side == .left
            let base: TransportAddress
            let host: HostID
            if let nat {
                let id = network.addNAT(nat, publicAddress: isLeft ? "203.0.113.1" : "203.0.113.2")
                base = endpoint(isLeft ? "10.0.0.2" : "10.1.0.2", 4_000)
                host = network.addHost(
                    [isLeft ? "10.0.0.2" : "10.1.0.2"], behind: id, uplink: options.conditions,
                    downlink: options.conditions)
            } else {
                base = isLeft ? Self.leftBase : Self.rightBase
                host = network.addHost(
                    // The second one is for who moves in mid-call.
                    isLeft ? ["192.0.2.1", "192.0.2.77"] : ["198.51.100.1", "198.51.100.77"],
                    uplink: options.conditions,
                    downlink: options.conditions)
            }
            var ice = ice
            ice.isLite = options.liteSide == side
            ice.transportPolicy = isLeft ? options.policies.0 : options.policies.1
            return Seat(
                host: host, bases: [base], turn: options.turn ? servers : [],
                security: ScriptedSecurityProvider(
                    seed: options.seed &* 2 &+ UInt64(side.rawValue), profile: options.profile,
                    isImpostor: options.impostor == side),
                negotiation: options.adjust, ice: ice)
        }
        let seats = (seat(.left, options.nats.0), seat(.right, options.nats.1))
        self.init(network: network, seats: seats, seed: options.seed)
    }

    /// Left calls right with these kinds of media, which right answers with the same.
    mutating func begin(_ kinds: [MediaKind] = [.audio, .video], answersWith: [MediaKind]? = nil) {
        for kind in kinds { addTrack(kind, to: .left) }
        peers[Side.right.rawValue].bringsAlong = answersWith ?? kinds
        offer(.left)
    }

    var bothConnected: Bool { Side.allCases.allSatisfy { self[$0].machine.connectionState == .connected } }

    /// Changes the line of one side, in both directions.
    mutating func setConditions(_ conditions: LinkConditions, of side: Side) {
        network.setUplink(conditions, of: self[side].host)
        network.setDownlink(conditions, of: self[side].host)
    }
}
