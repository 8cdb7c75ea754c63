internal import RTCWire

extension PeerMachine {
    /// Everything known now, with W3C's names and identifiers that stay the same from call to call.
    public func stats(at now: Instant) -> StatsReport {
        var report = StatsReport()
        for id in senders.ids {
            for layer in layerSenders[id] ?? [] {
                var stats = layer.stream.stats(at: now)
                stats.mid = negotiator.transceiver(id)?.mid
                report.add(.outboundRTP(stats))
                if let remote = layer.stream.remoteStats(at: now) { report.add(.remoteInboundRTP(remote)) }
            }
            guard layerSenders[id] == nil, let sender = senders[id]?.stream else { continue }
            let transceiver = negotiator.transceiver(id)
            var stats = sender.stats(at: now)
            stats.mid = transceiver?.mid
            if let codec = transceiver?.sendParameters?.codec { stats.codecID = add(codec, to: &report, at: now) }
            report.add(.outboundRTP(stats))
            if let remote = sender.remoteStats(at: now) { report.add(.remoteInboundRTP(remote)) }
        }
        for receiver in receivers.values {
            guard let stream = receiver.stream else { continue }
            var stats = stream.stats(at: now)
            stats.mid = receiver.parameters.mid
            if let type = stream.payloadType,
                let codec = receiver.parameters.codecs.first(where: { $0.payloadType == type })
            {
                stats.codecID = add(codec, to: &report, at: now)
            }
            report.add(.inboundRTP(stats))
            if let remote = stream.remoteStats(at: now) { report.add(.remoteOutboundRTP(remote)) }
        }
        for id in simulcasts.ids {
            for stream in simulcasts[id]?.layers.compactMap(\.stream) ?? [] {
                var stats = stream.stats(at: now)
                stats.mid = receivers[id]?.parameters.mid
                report.add(.inboundRTP(stats))
                if let remote = stream.remoteStats(at: now) { report.add(.remoteOutboundRTP(remote)) }
            }
        }
        addTransport(to: &report, at: now)
        data.addStats(to: &report, transportID: "T0", at: now)
        return report
    }

    private func add(_ codec: CodecParameters, to report: inout StatsReport, at now: Instant) -> String {
        let kind = codec.payloadFormat.map { $0.isVideo ? "video" : "audio" } ?? "application"
        let stats = CodecStats(
            id: "CT_\(codec.payloadType)", timestamp: now, payloadType: codec.payloadType,
            mimeType: "\(kind)/\(codec.name)", clockRate: codec.clockRate,
            channels: kind == "audio" ? codec.channels : nil, sdpFmtpLine: codec.parameters.text)
        report.add(.codec(stats))
        return stats.id
    }

    private func addTransport(to report: inout StatsReport, at now: Instant) {
        var transport = TransportStats(id: "T0", timestamp: now)
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
        let ice = ice.statistics
        let selected = self.ice.selectedPair
        for pair in ice.pairs {
            let local = add(pair.localCandidate, .local, to: &report, at: now)
            let remote = add(pair.remoteCandidate, .remote, to: &report, at: now)
            var stats = CandidatePairStats(
                id: "CP_\(local)_\(remote)", timestamp: now, localCandidateID: local, remoteCandidateID: remote,
                state: pair.state.rawValue)
            stats.nominated = pair.isNominated
            stats.currentRoundTripTime = pair.currentRoundTripTime?.seconds
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
                stats.availableOutgoingBitrate = availableOutgoingBitrate
            }
            report.add(.candidatePair(stats))
        }
        report.add(.transport(transport))
    }

    private func add(
        _ candidate: ICECandidate, _ side: CandidateStats.Side, to report: inout StatsReport, at now: Instant
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
        report.add(
            .candidate(
                CandidateStats(
                    id: id, timestamp: now, side: side, candidateType: candidate.type.rawValue,
                    transportProtocol: candidate.transport.rawValue, priority: candidate.priority, address: address,
                    port: port)))
        return id
    }
}

extension SRTPProfile {
    /// IANA's name, as W3C's `srtpCipher` has it.
    var name: String {
        switch self {
        case .aeadAES128GCM: "AEAD_AES_128_GCM"
        case .aeadAES256GCM: "AEAD_AES_256_GCM"
        case .aes128CMHMACSHA1_80: "AES_CM_128_HMAC_SHA1_80"
        }
    }
}
