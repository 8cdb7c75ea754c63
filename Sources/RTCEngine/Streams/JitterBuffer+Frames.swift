import RTCWire

/// Finding complete frames, and deciding what to wait for.
extension JitterBuffer {
    /// What to do next with the oldest places.
    enum Step: Equatable {
        /// These places hold a whole frame, which begins at `head`.
        case frame(Range<Int64>)
        /// Places were let go; ask again. The number of packets that had not come.
        case skipped(Int)
        /// Nothing until another packet comes, or until this time.
        case wait(until: Instant?)
    }

    /// Decides about the oldest places at `now`. A `.frame` stays until `consume` is called.
    mutating func step(at now: Instant) -> Step {
        while head < end {
            switch mode {
            case .needsKeyFrame:
                guard let start = keyFrameStart() else { return .wait(until: nil) }
                mode = .decoding
                if start > head { return .skipped(dropAll(before: start)) }
            case .decoding:
                switch slots[place(head)].content {
                case .filler: dropHead()
                case .missing(let since): return wait(since: since, sequence: head, at: now)
                case .lost: return skip(head)
                case .packet: return frameAtHead(at: now)
                }
            }
        }
        return .wait(until: nil)
    }

    /// The frame that `step` returned has been taken.
    mutating func consume(_ frame: Range<Int64>) {
        while head < frame.upperBound, head < end { dropHead() }
        headFollowsFrame = true
    }

    /// The frame that `step` returned is no use: video needs a key frame from here on.
    mutating func reject(_ frame: Range<Int64>) {
        if slots[place(head)].format.isVideo { breakChain() }
        consume(frame)
    }

    // MARK: Frames

    private mutating func frameAtHead(at now: Instant) -> Step {
        let first = slots[place(head)]
        // One packet of sound is one frame.
        guard first.format.isVideo else { return .frame(head..<head + 1) }
        var sequence = head
        if let lookedAt, lookedAt.head == head { sequence = max(head, lookedAt.next) }
        defer { lookedAt = (head, sequence) }
        while sequence < end {
            let index = place(sequence)
            switch slots[index].content {
            case .filler: break
            case .missing(let since): return wait(since: since, sequence: sequence, at: now)
            case .lost: return skip(sequence)
            case .packet:
                // The marker ends a picture (RFC 6184 §5.1, RFC 7741 §4.1); where it is missing the next
                // picture's timestamp does.
                if slots[index].timestamp != first.timestamp {
                    // Of a VP8 picture that does not end like this the rest was never sent: a server has gone to
                    // another stream's key frame, in the midst of it.
                    if first.format == .vp8, slots[index].startsKeyFrame { return .skipped(dropAll(before: sequence)) }
                    return .frame(head..<sequence)
                }
                if slots[index].marker { return .frame(head..<sequence + 1) }
            }
            sequence += 1
        }
        return .wait(until: nil)
    }

    private mutating func wait(since: Instant, sequence: Int64, at now: Instant) -> Step {
        let deadline = since + (isVideo(at: sequence) ? limits.videoHold : limits.audioHold)
        return now >= deadline ? skip(sequence) : .wait(until: deadline)
    }

    /// The packet with this number is given up.
    private mutating func skip(_ sequence: Int64) -> Step {
        giveUp(sequence)
        if isVideo(at: sequence) {
            // What is held may belong to the key frame that is wanted: `keyFrameStart` decides.
            breakChain()
            return .skipped(dropAll(before: sequence + 1))
        }
        return .skipped(dropAll(before: sequence + 1))
    }

    /// Whether the stream around a place is video: as its neighbours that came are.
    private func isVideo(at sequence: Int64) -> Bool {
        var neighbour = sequence
        while neighbour < end {
            let slot = slots[place(neighbour)]
            if case .packet = slot.content { return slot.format.isVideo }
            neighbour += 1
        }
        if case .packet = slots[place(head)].content { return slots[place(head)].format.isVideo }
        // Nothing but padding has come since.
        return holdsVideo
    }

    // MARK: Key frames

    /// The first place from which a key frame can be decoded; nil when none is held. Each place is looked at once: it
    /// is the peer who decides how many packets claim to begin a key frame.
    private func keyFrameStart() -> Int64? {
        /// What is known at a place about the one before it.
        enum Before {
            case hole, frameEnd
            /// A packet of a frame with this timestamp, whose beginning is there if it is certain.
            case packet(timestamp: UInt32, start: Int64?)
        }
        var before = headFollowsFrame ? Before.frameEnd : .hole
        for sequence in head..<end {
            let slot = slots[place(sequence)]
            switch slot.content {
            case .filler: continue
            case .missing, .lost:
                before = .hole
                continue
            case .packet: break
            }
            var start: Int64?
            switch before {
            case .hole: start = nil
            case .packet(slot.timestamp, let begun): start = begun
            case .frameEnd, .packet: start = slot.startsFrame ? sequence : nil
            }
            if start == nil, slot.isCertainStart { start = sequence }
            if slot.startsKeyFrame, let start { return start }
            before = slot.marker ? .frameEnd : .packet(timestamp: slot.timestamp, start: start)
        }
        return nil
    }
}
