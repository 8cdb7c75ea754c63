import RTCEngine
import RTCWire

/// The applications' frames.
extension CallSimulation {
    /// A track with a source of frames, which the next negotiation tells the peer.
    @discardableResult
    mutating func addTrack(_ kind: MediaKind, to side: Side) -> TransceiverID? {
        let id = attempt(side) { machine, _ in try machine.addTrack(kind, streamIDs: ["stream"]) }
        if let id { attachSource(kind, to: id, of: side) }
        return id
    }

    /// What the side sends there comes from other sources from the next answer on.
    mutating func renewSources(of id: TransceiverID, _ side: Side) {
        attempt(side) { machine, _ in try machine.renewSources(of: id) }
        let theirs = self[side.other].machine.transceivers.map(\.id)
        for other in theirs { peers[side.other.rawValue].judges[other]?.awaitsNewSource = true }
    }

    /// Frames are made from now on, whether they can be sent or not.
    mutating func attachSource(_ kind: MediaKind, to id: TransceiverID, of side: Side) {
        // The media clocks are those of 15 pictures and 50 packets of sound a second.
        let interval: Interval =
            switch kind {
            case .video: .microseconds(66_667)
            case .audio: .milliseconds(20) * Int64(audioStride)
            }
        peers[side.rawValue].sources[id] = CallSource(kind: kind, interval: interval)
        agenda.schedule(.frame(side, id), at: now)
    }

    mutating func makeFrame(_ side: Side, _ id: TransceiverID) {
        let index = side.rawValue
        guard var source = peers[index].sources[id] else { return }
        if sabotage == .sendsMediaAtOnce, self[side].sentBesidesSTUN == 0, let base = self[side.other].bases.first {
            sendStrayMedia(side, to: base)
        }
        if sabotage == .sendsToStranger, self[side].connectedAt != nil {
            sendStrayMedia(side, to: endpoint("192.0.2.99", 9))
        }
        if let format = self[side].machine.sendingFormat(of: id), let mid = mid(of: id, side) {
            let frame = CountedFrame(
                side: index, mid: mid, number: source.number, isKeyFrame: source.wantsKeyFrame || !format.isVideo,
                format: format)
            // Before: the frame may bring about the next request.
            source.wantsKeyFrame = false
            peers[index].sources[id] = source
            if attempt(side, { machine, now in try machine.send(frame.encoded, on: id, at: now) }) != nil {
                source.accepted += 1
            }
            source.wantsKeyFrame = peers[index].sources[id]?.wantsKeyFrame ?? true
        } else {
            source.refused += 1
        }
        source.number += source.kind == .audio ? audioStride : 1
        peers[index].sources[id] = source
        guard self[side].machine.connectionState != .closed else { return }
        agenda.schedule(.frame(side, id), at: now + source.interval)
    }

    /// The number that names a transceiver's section on both sides.
    func mid(of id: TransceiverID, _ side: Side) -> Int? {
        self[side].machine.transceivers.first { $0.id == id }?.mid.flatMap { Int($0) }
    }

    mutating func judge(_ frame: EncodedFrame, _ side: Side, _ id: TransceiverID) {
        guard let mid = mid(of: id, side) else {
            return invariants.note("a frame of no section came", side, at: now)
        }
        for frame in sabotaged(frame, count: self[side].judges[id]?.count ?? 0) {
            let now = now
            let complaint = peers[side.rawValue].judges[id, default: FrameJudge()].judge(
                frame, from: side.other.rawValue, mid: mid, at: now)
            if let complaint { invariants.note(complaint, side, at: now) }
        }
        let number = self[side].judges[id]?.numbers.last ?? -1
        note("\(side) frame \(number) on \(id.rawValue)")
    }

    /// What has come out of the only, or first, transceiver of a kind.
    func judge(_ kind: MediaKind, at side: Side) -> FrameJudge {
        for transceiver in self[side].machine.transceivers where transceiver.kind == kind {
            if let judge = self[side].judges[transceiver.id] { return judge }
        }
        return FrameJudge()
    }

    /// The only, or first, transceiver of a kind.
    func transceiver(_ kind: MediaKind, of side: Side) -> TransceiverID? {
        self[side].machine.transceivers.first { $0.kind == kind }?.id
    }

    // MARK: Sabotage

    private func sabotaged(_ frame: EncodedFrame, count: Int) -> [EncodedFrame] {
        switch sabotage {
        case .none, .sendsMediaAtOnce, .sendsToStranger, .talksAfterTheEnd, .tellsAfterTheEnd, .keepsTimer:
            return [frame]
        case .losesFrame: return (CountedFrame(frame)?.number ?? 0) % 10 == 8 && !frame.isKeyFrame ? [] : [frame]
        case .repeatsFrame: return count == 3 ? [frame, frame] : [frame]
        case .damagesFrame:
            guard count == 3 else { return [frame] }
            var damaged = frame
            damaged.payload[damaged.payload.count / 2] ^= 1
            return [damaged]
        }
    }

    /// A packet that looks like media, from a driver that does not ask.
    mutating func sendStrayMedia(_ side: Side, to remote: TransportAddress) {
        guard let base = self[side].bases.first else { return }
        send(Transmit(bytes: [0x80, 96] + [UInt8](repeating: 1, count: 20), from: base, to: remote), side)
    }
}
