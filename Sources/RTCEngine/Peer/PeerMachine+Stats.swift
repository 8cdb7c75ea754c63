internal import RTCWire

extension PeerMachine {
    /// Everything known now, with W3C's names and identifiers that stay the same from call to call.
    public func stats(at now: Instant) -> StatsReport {
        var report = streamStats(at: now)
        addTransport(to: &report, at: now)
        data.addStats(to: &report, transportID: Self.transportID, at: now)
        var connection = PeerConnectionStats(id: "P", timestamp: now)
        connection.dataChannelsOpened = data.totals.opened
        // §8.9: one that never opened has not closed.
        let open = data.channels.values.count { $0.state == .open }
        connection.dataChannelsClosed = data.totals.opened - UInt64(open)
        report.add(.peerConnection(connection))
        return report
    }

    /// Of `stats` what is known of media: for whoever asks often, since certificates and candidates take time.
    public func streamStats(at now: Instant) -> StatsReport {
        var report = StatsReport()
        for id in senders.ids { addSender(id, to: &report, at: now) }
        for id in layerSenders.ids where senders[id] == nil { addSender(id, to: &report, at: now) }
        for id in receivers.ids {
            guard let stream = receivers[id]?.stream else { continue }
            add(stream, of: id, to: &report, at: now)
        }
        for id in simulcasts.ids {
            for stream in simulcasts[id]?.layers.compactMap(\.stream) ?? [] {
                add(stream, of: id, to: &report, at: now)
            }
        }
        return report
    }

    /// There is one: everything is bundled.
    private static let transportID = "T0"

    private func addSender(_ id: TransceiverID, to report: inout StatsReport, at now: Instant) {
        let transceiver = negotiator.transceiver(id)
        let layers = layerSenders[id] ?? []
        let single = layers.isEmpty ? senders[id].map { [$0] } ?? [] : []
        var sourceID: String?
        if let transceiver, !(layers.isEmpty && single.isEmpty) {
            let source = MediaSourceStats(
                id: "S\(id.rawValue)", timestamp: now, trackIdentifier: transceiver.trackID,
                kind: transceiver.kind.rawValue)
            report.add(.mediaSource(source))
            sourceID = source.id
        }
        let codecID = (transceiver?.sendParameters?.codec).map { add($0, "CO", to: &report, at: now) }
        for (place, sender) in (layers + single).enumerated() {
            var stats = sender.stream.stats(at: now)
            stats.mid = transceiver?.mid
            stats.codecID = codecID
            stats.transportID = Self.transportID
            stats.mediaSourceID = sourceID
            stats.encodingIndex = layers.isEmpty ? nil : UInt64(place)
            let encodings = transceiver?.encodings ?? []
            // A stream without a name is the first layer's.
            let encoding = stats.rid == nil ? encodings.first : encodings.first { $0.rid == stats.rid }
            switch sender.phase {
            case .held: stats.isActive = false
            case .awaitingKeyFrame, .flowing: stats.isActive = encoding?.isActive ?? true
            }
            if stats.isActive, layers.isEmpty { stats.targetBitrate = targetBitrate?[id]?.value }
            report.add(.outboundRTP(stats))
            guard var remote = sender.stream.remoteStats() else { continue }
            remote.codecID = codecID
            remote.transportID = Self.transportID
            report.add(.remoteInboundRTP(remote))
        }
    }

    private func add(
        _ stream: borrowing ReceiveStream, of id: TransceiverID, to report: inout StatsReport, at now: Instant
    ) {
        let parameters = receivers[id]?.parameters
        let codec = stream.payloadType.flatMap { type in parameters?.codecs.first { $0.payloadType == type } }
        let codecID = codec.map { add($0, "CI", to: &report, at: now) }
        var stats = stream.stats(at: now)
        stats.mid = parameters?.mid
        stats.trackIdentifier = negotiator.transceiver(id)?.remoteTrackID
        stats.codecID = codecID
        stats.transportID = Self.transportID
        report.add(.inboundRTP(stats))
        guard var remote = stream.remoteStats() else { return }
        remote.codecID = codecID
        remote.transportID = Self.transportID
        report.add(.remoteOutboundRTP(remote))
    }

    /// - Parameter prefix: of the identifier. What a payload type stands for is each side's own, so the two directions
    ///   have an entry each (W3C webrtc-stats: RTCCodecStats).
    private func add(
        _ codec: CodecParameters, _ prefix: String, to report: inout StatsReport, at now: Instant
    ) -> String {
        let parameters = codec.parameters.text
        let kind = codec.payloadFormat.map { $0.isVideo ? "video" : "audio" } ?? "application"
        var stats = CodecStats(
            id: "\(prefix)_\(codec.payloadType)", timestamp: now, payloadType: codec.payloadType,
            mimeType: "\(kind)/\(codec.name)", clockRate: codec.clockRate,
            channels: kind == "audio" ? codec.channels : nil, sdpFmtpLine: parameters.isEmpty ? nil : parameters)
        stats.transportID = Self.transportID
        report.add(.codec(stats))
        return stats.id
    }

    private func addTransport(to report: inout StatsReport, at now: Instant) {
        var transport = TransportStats(id: Self.transportID, timestamp: now)
        transport.packetsSent = counters.packetsSent
        transport.packetsReceived = counters.packetsReceived
        transport.bytesSent = counters.bytesSent
        transport.bytesReceived = counters.bytesReceived
        transport.packetsDropped = counters.dropped
        transport.srtpFailures = counters.unprotectFailures
        transport.dtlsState = secure.state.rawValue
        transport.iceState = ice.connectionState.rawValue
        transport.srtpCipher = secure.profile?.name
        transport.selectedCandidatePairChanges = counters.selectedPairChanges
        if negotiator.transport.iceRole != nil { transport.iceRole = ice.role.statistic }
        transport.iceLocalUsernameFragment = ice.localParameters.usernameFragment
        if let role = secure.role { transport.dtlsRole = role.statistic }
        addHandshake(to: &transport, and: &report, at: now)
        let ice = ice.statistics
        let selected = self.ice.selectedPair
        // The one in use comes last: a pair of the same addresses that is being looked at has its identifier.
        for pair in ice.pairs + (ice.pairBeforeRestart.map { [$0] } ?? []) {
            let isPresent = pair != ice.pairBeforeRestart
            let local = add(pair.localCandidate, .local, isPresent: isPresent, to: &report, at: now)
            let remote = add(pair.remoteCandidate, .remote, isPresent: isPresent, to: &report, at: now)
            var stats = CandidatePairStats(
                id: "CP_\(local)_\(remote)", timestamp: now, localCandidateID: local, remoteCandidateID: remote,
                state: pair.state.rawValue)
            stats.nominated = pair.isNominated
            stats.currentRoundTripTime = pair.currentRoundTripTime?.seconds
            stats.transportID = transport.id
            if let path = paths[pair.route] {
                stats.packetsSent = path.packetsSent
                stats.bytesSent = path.bytesSent
                stats.packetsReceived = path.packetsReceived
                stats.bytesReceived = path.bytesReceived
                stats.lastPacketSentTimestamp = path.lastSentAt
                stats.lastPacketReceivedTimestamp = path.lastReceivedAt
            }
            if let selected, pair.localCandidate == selected.localCandidate,
                pair.remoteCandidate == selected.remoteCandidate
            {
                transport.selectedCandidatePairID = stats.id
                stats.currentRoundTripTime = ice.currentRoundTripTime?.seconds
                stats.totalRoundTripTime = ice.totalRoundTripTime.seconds
                stats.requestsSent = UInt64(ice.requestsSent)
                stats.requestsReceived = UInt64(ice.requestsReceived)
                stats.responsesSent = UInt64(ice.responsesSent)
                stats.responsesReceived = UInt64(ice.responsesReceived)
                stats.consentRequestsSent = UInt64(ice.consentRequestsSent)
                stats.availableOutgoingBitrate = availableOutgoingBitrate
            }
            report.add(.candidatePair(stats))
        }
        report.add(.transport(transport))
    }

    /// - Parameter isPresent: of the present generation, whose credential a candidate need not name.
    private func add(
        _ candidate: ICECandidate, _ side: CandidateStats.Side, isPresent: Bool, to report: inout StatsReport,
        at now: Instant
    ) -> String {
        let prefix = side == .local ? "L" : "R"
        var address: String?
        var port: UInt16 = 0
        switch candidate.address {
        case .ip(let ip):
            // W3C webrtc-stats §8.13: an address that only a check has told is not ours to show.
            address = candidate.type == .peerReflexive ? nil : "\(ip.ip)"
            port = ip.port
        case .mdns(_, let mdnsPort): port = mdnsPort
        }
        let id = "\(prefix)_\(candidate.type.rawValue)_\(candidate.foundation)_\(candidate.priority)_\(port)"
        var stats = CandidateStats(
            id: id, timestamp: now, side: side, candidateType: candidate.type.rawValue,
            transportProtocol: candidate.transport.rawValue, priority: candidate.priority, address: address, port: port)
        stats.transportID = Self.transportID
        stats.foundation = candidate.foundation
        stats.tcpType = candidate.tcpType?.rawValue
        // RFC 8829 §3.5.2 lets a base be hidden behind the unspecified address: then there is none to show.
        if let related = candidate.relatedAddress, related.port != 0 {
            stats.relatedAddress = "\(related.ip)"
            stats.relatedPort = related.port
        }
        switch side {
        case .local:
            let present = isPresent ? ice.localParameters.usernameFragment : nil
            stats.usernameFragment = candidate.usernameFragment ?? present
            if case .ip(let relayed) = candidate.address, let server = relays.server(of: relayed) {
                stats.relayProtocol = server.transport.statistic
                stats.url = server.url
            }
        case .remote:
            let present = isPresent ? negotiator.transport.remoteICE?.parameters.usernameFragment : nil
            stats.usernameFragment = candidate.usernameFragment ?? present
        }
        report.add(.candidate(stats))
        return id
    }
}

extension TURNServer.Transport {
    /// W3C's `RTCIceServerTransportProtocol`.
    fileprivate var statistic: String {
        switch self {
        case .udp: "udp"
        case .tcp: "tcp"
        case .tls: "tls"
        }
    }
}

extension SRTPProfile {
    /// IANA's name, as W3C's `srtpCipher` has it.
    var name: String {
        switch self {
        case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
        case .aeadAES256GCM: "SRTP_AEAD_AES_256_GCM"
        case .aes128CMHMACSHA1_80: "SRTP_AES128_CM_HMAC_SHA1_80"
        }
    }
}
