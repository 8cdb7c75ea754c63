internal import RTCWire

/// Partial reliability of the sender (RFC 3758 §3.5).
extension SCTPFlight {
    /// A message that was given up.
    struct Abandoned: Sendable {
        let stream: UInt16
        /// Its last fragments were never sent, and must not be.
        let isUnfinished: Bool
        let header: SCTPDataHeader
    }

    /// Gives up the message of a lost chunk when its time or its number of retransmissions is used up.
    mutating func abandonIfGivenUp(_ index: Int, at now: Instant) -> Abandoned? {
        guard chunks[index].fate == .lost, chunks[index].isGivenUp(at: now) else { return nil }
        return abandonMessage(of: index)
    }

    /// Gives up a message of which the last fragments are still queued.
    mutating func abandonUnfinished(_ header: SCTPDataHeader, at now: Instant) {
        var index = chunks.count - 1
        while index >= 0, !belongs(index, to: header) { index -= 1 }
        // Without interleaving only the chunk that was sent last can be of that message.
        if index >= 0, !chunks[index].header.isLast { _ = abandonMessage(of: index) }
        appendEnd(of: header, at: now)
    }

    /// Marks every fragment, those that have come too (§3.5 A3).
    private mutating func abandonMessage(of index: Int) -> Abandoned {
        let header = chunks[index].header
        setFate(of: index, to: .abandoned)
        var reached = index
        var foundFirst = header.isFirst
        while !foundFirst, reached > 0 {
            reached -= 1
            guard belongs(reached, to: header) else { continue }
            setFate(of: reached, to: .abandoned)
            foundFirst = chunks[reached].header.isFirst
        }
        reached = index
        var foundLast = header.isLast
        while !foundLast, reached + 1 < chunks.count {
            reached += 1
            guard belongs(reached, to: header) else { continue }
            setFate(of: reached, to: .abandoned)
            foundLast = chunks[reached].header.isLast
        }
        return Abandoned(stream: header.stream, isUnfinished: !foundLast, header: header)
    }

    /// Without interleaving the fragments of a message stand side by side, and the numbers of unordered ones say
    /// nothing.
    private func belongs(_ index: Int, to header: SCTPDataHeader) -> Bool {
        guard header.isInterleaved else { return true }
        let other = chunks[index].header
        return other.stream == header.stream && other.isUnordered == header.isUnordered
            && other.message == header.message
    }

    /// A TSN for the end of a message that was given up before all of it was sent. Were every fragment that was sent
    /// acknowledged, nothing else would tell the peer that no more will come.
    mutating func appendEnd(of header: SCTPDataHeader, at now: Instant) {
        var end = header
        end.isFirst = false
        end.isLast = true
        append(
            SCTPSentChunk(
                header: end, message: [], range: 0..<0, expiry: nil, retransmissionsLeft: nil, fate: .abandoned,
                sentAt: now, sentBefore: nextTSN))
    }

    /// How many chunks at the front are abandoned: where Advanced.Peer.Ack.Point stands (§3.5 C1, C2).
    var leadingAbandoned: Int {
        var number = 0
        while number < chunks.count, chunks[number].fate == .abandoned { number += 1 }
        return number
    }

    /// The FORWARD TSN for what is abandoned at the front (§3.5 C4), with room for so many streams.
    func forwardTSN(isInterleaved: Bool, maximumStreams: Int) -> SCTPForwardTSN? {
        struct Key: Hashable {
            let stream: UInt16
            let isUnordered: Bool
        }
        var places: [Key: Int] = [:]
        var result = SCTPForwardTSN(isInterleaved: isInterleaved, cumulativeTSN: cumulative)
        for index in 0..<chunks.count {
            guard chunks[index].fate == .abandoned else { break }
            let header = chunks[index].header
            // RFC 3758 §3.2: unordered messages are not named; RFC 8260 §2.3.1 names both.
            if isInterleaved || !header.isUnordered {
                let key = Key(stream: header.stream, isUnordered: header.isUnordered)
                if let place = places[key] {
                    result.skipped[place].message = header.message
                } else {
                    guard result.skipped.count < maximumStreams else { break }
                    places[key] = result.skipped.count
                    result.skipped.append(
                        .init(stream: header.stream, isUnordered: header.isUnordered, message: header.message))
                }
            }
            result.cumulativeTSN = tsn(at: index)
        }
        return result.cumulativeTSN == cumulative ? nil : result
    }
}
