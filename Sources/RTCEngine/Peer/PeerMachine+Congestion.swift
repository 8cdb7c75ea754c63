import RTCWire

/// How fast packets leave: between the streams, the pacer and what the peer tells of their arrival.
extension PeerMachine {
    // MARK: Packets out

    /// Leaves in the queue what may be sent now.
    ///
    /// - Parameter canSend: without a way to the peer nothing waits for it: what is in the queue is dropped there.
    mutating func pacePackets(canSend: Bool, at now: Instant) {
        guard canSend, secure.isProtected else { return dropPaced(from: nil) }
        if congestion.mayProbe { congestion.canPad = canPad }
        congestion.pace(&packets, at: now)
        while fillProbe(at: now) { congestion.release(into: &packets, at: now) }
    }

    /// Queues what a probe lacks; false when it lacks nothing, or nothing can be had.
    private mutating func fillProbe(at now: Instant) -> Bool {
        let wish = congestion.paddingWanted(at: now)
        guard wish.bytes > 0 else { return false }
        let before = packets.count
        let made = pad(wish.bytes, probe: wish.probe, at: now)
        congestion.padded(made, packets: packets.count - before, at: now)
        return made > 0
    }

    /// Whether a stream that flows negotiated retransmissions.
    private var canPad: Bool {
        for index in senders.entries.indices where senders.entries[index].value?.phase == .flowing {
            if senders.entries[index].value?.stream.canPad == true { return true }
        }
        for index in layerSenders.entries.indices {
            for place in layerSenders.entries[index].value?.indices ?? 0..<0
            where layerSenders.entries[index].value?[place].phase == .flowing {
                if layerSenders.entries[index].value?[place].stream.canPad == true { return true }
            }
        }
        return false
    }

    /// Queues padding of the first stream that has some to give, of layers the last: the one with most to repeat.
    ///
    /// - Returns: bytes queued; 0 when no stream that flows negotiated retransmissions.
    private mutating func pad(_ wanted: Int, probe: Int32, at now: Instant) -> Int {
        for id in senders.ids where senders[id]?.phase == .flowing {
            let made = senders[id]?.stream.pad(wanted, probe: probe, into: &packets, at: now) ?? 0
            if made > 0 { return made }
        }
        for id in layerSenders.ids {
            for place in (layerSenders[id]?.indices ?? 0..<0).reversed()
            where layerSenders[id]?[place].phase == .flowing {
                let made = layerSenders[id]?[place].stream.pad(wanted, probe: probe, into: &packets, at: now) ?? 0
                if made > 0 { return made }
            }
        }
        return 0
    }

    /// Forgets packets that wait: those of these sources, or all.
    mutating func dropPaced(from ssrcs: [UInt32]?) {
        congestion.forget(ssrcs) { packets.recycle($0) }
    }

    // MARK: News from the peer

    mutating func receiveCongestion(_ packet: RTCPPacket, at now: Instant) {
        switch packet {
        case .transportFeedback(let feedback):
            feedbackTracker.receive(feedback)
            congestion.receive(feedbackTracker.lastResults, at: now)
        case .receiverEstimatedBitrate(let estimate):
            // draft-alvestrand-rmcat-remb-03 §2.2 lists the streams that share it; ours all take the one path.
            guard estimate.ssrcs.contains(where: { source($0) != nil }) else { return }
            congestion.receive(estimate, at: now)
        case .senderReport(let report): receiveBlocks(report.blocks, at: now)
        case .receiverReport(let report): receiveBlocks(report.blocks, at: now)
        case .sourceDescription, .goodbye, .nack, .pictureLossIndication, .fullIntraRequest:
            return
        }
    }

    private mutating func receiveBlocks(_ blocks: [ReportBlock], at now: Instant) {
        for block in blocks {
            guard let source = source(block.ssrc) else { continue }
            congestion.receive(block, roundTrip: source.roundTrip, at: now)
        }
    }

    /// What is known of a source of ours; nil for others'. Of a transceiver with layers the layer: its one stream, that
    /// of a peer without simulcast, has the first one's SSRC.
    private mutating func source(_ ssrc: UInt32) -> SendStream.SourceStanding? {
        for index in layerSenders.entries.indices {
            for place in layerSenders.entries[index].value?.indices ?? 0..<0 {
                if let source = layerSenders.entries[index].value?[place].stream.standing(of: ssrc) { return source }
            }
        }
        for index in senders.entries.indices {
            if let source = senders.entries[index].value?.stream.standing(of: ssrc) { return source }
        }
        return nil
    }

    // MARK: Time

    mutating func tickCongestion(at now: Instant) {
        congestion.tick(at: now)
        tellTargetBitrate(at: now)
    }

    // MARK: Encoders

    /// In bits a second; nil while the peer has said nothing that it could be known from.
    var availableOutgoingBitrate: Double? {
        congestion.isKnown ? congestion.target.value : nil
    }

    /// What the path is thought to carry, once the peer's answers and the first probes have said it, or losses and
    /// delays say that it is full; nil before.
    package mutating func settledBitrate(at now: Instant) -> Bitrate? {
        congestion.isSettled(at: now) ? congestion.target : nil
    }

    /// What a sender wants of the bitrate. Nothing is refused: limits are wishes.
    public mutating func setBitrateLimits(
        _ limits: SenderBitrateLimits, of id: TransceiverID, at now: Instant
    ) throws(PeerError) {
        guard connectionState != .closed else { throw .closed }
        guard negotiator.transceiver(id) != nil else { throw .unknownTransceiver }
        bitrateLimits[id] = limits
        congestion.wanted = BitrateAllocator.wanted(by: activeLimits.map(\.limits))
        congestion.tellAgain()
        tellTargetBitrate(at: now)
    }

    /// Tells what the path would have to carry for more to be sent, by whoever forwards layers that others encode: a
    /// further layer. From time to time it is probed for. Nil when no more would be of use. To be told again and again.
    public mutating func setProbeGoal(_ goal: Bitrate?, at now: Instant) {
        guard connectionState != .closed else { return }
        congestion.setGoal(goal, at: now)
        if congestion.mayProbe { sendPackets(at: now) }
    }

    private var activeLimits: [(id: TransceiverID, limits: SenderBitrateLimits)] {
        senders.ids.compactMap { id in
            guard let format = sendingFormat(of: id) else { return nil }
            return (id, bitrateLimits[id] ?? (format.isVideo ? .video : .audio))
        }
    }

    mutating func tellTargetBitrate(at now: Instant) {
        guard let available = congestion.takeNews(at: now) else { return }
        let active = activeLimits
        congestion.wanted = BitrateAllocator.wanted(by: active.map(\.limits))
        let shares = BitrateAllocator.divide(available, among: active.map(\.limits))
        let target = TargetBitrate(
            available: available,
            shares: zip(active, shares).map { TargetBitrate.Share(transceiver: $0.id, bitrate: $1) })
        targetBitrate = target
        events.append(.targetBitrateChanged(target))
    }
}
