import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore

/// The codecs of a room. Telephone events are not among them: nothing of them is forwarded.
enum MediaCodecs {
    static let audio: [CodecParameters] = [opus, .redundantOpus, .pcmu, .pcma]
    static let video: [CodecParameters] = [.vp8, .h264, .vp9, .av1, .anyLevelH265]

    /// What is lost of it is asked for, also of clients that do not offer to send it again, as by LiveKit's server.
    static let opus: CodecParameters = {
        var opus = CodecParameters.repairedOpus
        opus.unofferedFeedback = ["nack"]
        return opus
    }()

    static func all(_ kind: MediaKind) -> [CodecParameters] {
        switch kind {
        case .audio: audio
        case .video: video
        }
    }
}

/// Connections come into being.
extension RoomMachine {
    var negotiation: NegotiatorConfiguration {
        var negotiation = NegotiatorConfiguration(
            fingerprint: transport.security.localFingerprint, audioCodecs: MediaCodecs.audio,
            videoCodecs: MediaCodecs.video, isICELite: true, maximumTransceivers: configuration.limits.transceivers)
        negotiation.receivesSimulcast = true
        // As FFmpeg's WHIP has it. Who publishes is who offers.
        negotiation.takesBaseline = true
        // Who may say how a picture is to be turned (3GPP TS 26.114 §7.4.5) does not turn it, and Firefox, players and
        // files show it as it came. Where nobody takes that, cameras turn their pictures themselves.
        negotiation.headerExtensions.removeAll { $0.uri == HeaderExtensionURI.videoOrientation }
        negotiation.dataChannels.maximumRemoteChannels = configuration.limits.dataChannels
        // Browsers throw where a page sends more; whoever sends it all the same loses the message alone.
        negotiation.dataChannels.announcedMessageSize = configuration.limits.dataMessageBytes
        negotiation.dataChannels.isOfferedFirst = true
        negotiation.dataChannels.maximumRemoteNames = 4 << 10
        // Of many peers: SDKs have three channels, whose messages at once take less, also where they are interleaved.
        negotiation.dataChannels.receiveBuffer = 2 << 20
        return negotiation
    }

    func makeConnection(_ role: Connection.Role, for participant: Participant, at now: Instant) -> Connection {
        var ice = transport.ice
        ice.isLite = true
        ice.checksBack = true
        // Who has messages is told to find a new path. Without them nobody could be, and some players are silent for
        // long.
        if !participant.mode.isExchange { ice.consentTimeout = min(ice.consentTimeout, Self.consentTimeout) }
        var configuration = PeerMachineConfiguration(
            ice: ice, negotiation: negotiation, wallClockOffset: transport.wallClockOffset,
            congestion: transport.congestion)
        configuration.unit = .packets
        // Recorders sit beside the server, and what they do not get at first is never in the file.
        if participant.claims.participantKind == .egress {
            configuration.congestion.startBitrate = configuration.congestion.maximumBitrate
        }
        var machine = PeerMachine(configuration: configuration, security: transport.security, random: random.split())
        if !participant.prefersTCP || transport.tcpHosts.isEmpty {
            for host in transport.udpHosts { machine.addLocalHost(host, at: now) }
        }
        for host in transport.tcpHosts { machine.addTCPHost(host, .passive, at: now) }
        machine.localHostsComplete(at: now)
        let id = media.add(
            machine, mayPause: participant.mayPause,
            // A section that carries another track keeps the first one's id in browsers, which would be its name.
            reusesTransceivers: participant.quirks.reusesSections && !participant.playsInStep(self.configuration),
            // Players say nothing of themselves, and most are browsers.
            needsDescriptors: role == .player || participant.quirks.needsDescriptors,
            // And some are of Pion.
            needsPackets: role == .player || participant.quirks.needsPackets,
            takesTrailers: participant.capabilities.contains(.capPacketTrailer))
        let connection = Connection(id: id, role: role, of: participant)
        byPeer[id] = connection
        switch role {
        case .only, .player:
            participant.publisher = connection
            participant.subscriber = connection
        case .publisher: participant.publisher = connection
        case .subscriber: participant.subscriber = connection
        }
        return connection
    }

    /// The connection that the room sends on, in a client of two.
    func makeSubscriber(for participant: Participant, at now: Instant) {
        guard participant.mode == .dual, participant.subscriber == nil else { return }
        let connection = makeConnection(.subscriber, for: participant, at: now)
        for label in DataLabel.allCases {
            let channel = try? media.withMachine(of: connection.id) { machine throws(DataChannelError) in
                try machine.createDataChannel(label.rawValue, label.options, at: now)
            }
            connection.channels[label] = channel ?? nil
        }
        negotiate(connection)
    }

    /// The first offer of a client of one connection, as far as it can be judged before there is a connection.
    func judgeOffer(of arrival: Arrival) throws(JoinRefusal) -> SessionDescription? {
        var arrival = arrival
        try arrival.readOffer()
        guard let offer = arrival.offer else { return nil }
        do {
            var trial = Negotiator(configuration: negotiation, random: .seeded(0))
            _ = try trial.setRemote(.offer, offer)
            return offer
        } catch {
            throw .badOffer("\(error)")
        }
    }

    /// Tells the owner which username fragment is in a description of ours.
    ///
    /// - Returns: whether no description before had it: the client looks for paths.
    @discardableResult
    func tellFragment(of connection: Connection, in description: SessionDescription) -> Bool {
        let fragment = description.media.lazy.compactMap { $0.first(SDP.ICEUsernameFragment.self)?.value }.first
        guard let fragment, fragment != connection.fragment else { return false }
        connection.fragment = fragment
        put(.peerReachable(connection.id, usernameFragment: fragment))
        return true
    }

    /// A description cannot be applied: only a new session helps.
    func negotiationFailed(_ participant: Participant, at now: Instant) {
        remove(participant, because: .mediaFailure, action: .reconnect, at: now)
    }
}
