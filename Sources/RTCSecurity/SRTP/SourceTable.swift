import RTCEngine

/// What one direction remembers of each sender: the highest index and which ones below it were used.
///
/// A packet is first given a `Ticket`, and only a packet that was then authenticated (or sealed) is `commit`ted: a
/// forger can neither move an index nor make the table grow.
///
/// Not copyable, because a copy for each packet, made to read it, would count references to its arrays.
struct SourceTable: ~Copyable {
    /// A packet's place in its sender's sequence, before it is known to be genuine.
    struct Ticket {
        fileprivate var slot: Int?
        fileprivate let ssrc: UInt32
        /// For SRTP rollover counter and sequence number, 48 bits; for SRTCP its own 31-bit index.
        let index: UInt64
    }

    /// How many senders of a peer's are kept: it cannot make us keep more. The one that was heard least recently makes
    /// room for a new one. If it comes again, it is a new one itself, whose rollover counter is guessed to be zero:
    /// when it is not, it is not understood any more. Between two packets of it the peer has used a thousand others.
    static let receivedLimit = 1_024
    /// Sources of ours that were forgotten and are refused all the same, the last ones.
    private static let endedLimit = 64
    /// How far behind the newest a packet may be (RFC 3711 §3.3.2 asks for 64 at least). Wide, because a packet
    /// repeated without RFC 4588 comes late by the round trip at the full rate of video.
    static let replayWindow: UInt64 = 64 * UInt64(ringWords - 1)

    private static let ringWords = 16

    private struct Source {
        var ssrc: UInt32
        var highest: UInt64
        /// The number of the last packet of it, among all.
        var last: UInt64
    }

    /// How many packets one master key may protect (RFC 3711 §9.2).
    private let keyLifetime: UInt64
    private var packets: UInt64 = 0
    private var sources: [Source] = []
    /// One ring of `ringWords` a source, as RFC 6479 has it: index i is bit i % 64 of word (i / 64) % `ringWords`.
    private var rings: [UInt64] = []
    private var slots: [UInt32: Int] = [:]
    /// The slot used last: packets come in runs of one sender.
    private var recent: Int?
    /// How many sources are kept; nil for ours, which end by `forget`.
    private let limit: Int?
    private var ended: [UInt32] = []
    /// Above the indices of all sources that were forgotten.
    private var freshIndex: UInt64 = 0

    /// - Parameters:
    ///   - keyLifetime: 2^48 for SRTP, 2^31 for SRTCP.
    ///   - limit: how many sources are kept; nil where the owner says which of them have ended.
    init(keyLifetime: UInt64, limit: Int? = nil) {
        self.keyLifetime = keyLifetime
        self.limit = limit
    }

    /// How many senders are kept now.
    var count: Int { sources.count }

    /// Guesses the rollover counter of an RTP packet (RFC 3711 §3.3.1) and refuses one that was seen.
    func ticket(ssrc: UInt32, sequenceNumber: UInt16) throws(SRTPError) -> Ticket {
        guard let slot = slot(of: ssrc) else {
            // Its indices would begin anew, and with them its keystream (RFC 3711 §9.1).
            guard !ended.contains(ssrc) else { throw .replayed }
            return try newcomer(ssrc, index: UInt64(sequenceNumber))
        }
        let index = try Self.index(of: sequenceNumber, after: sources[slot].highest)
        return try ticket(slot, ssrc, index: index)
    }

    /// For a packet that names its index.
    func ticket(ssrc: UInt32, index: UInt64) throws(SRTPError) -> Ticket {
        guard let slot = slot(of: ssrc) else { return try newcomer(ssrc, index: index) }
        return try ticket(slot, ssrc, index: index)
    }

    /// The index of the next packet that we send (RFC 3711 §3.4: one more each time). A source begins at zero, or above
    /// those that were forgotten: if it is one of them, no index comes twice.
    func nextTicket(ssrc: UInt32) throws(SRTPError) -> Ticket {
        guard let slot = slot(of: ssrc) else { return try newcomer(ssrc, index: freshIndex) }
        return try ticket(slot, ssrc, index: sources[slot].highest + 1)
    }

    /// The index of a packet that was sent, and not so long ago that it is forgotten; nil for any other.
    func usedIndex(ssrc: UInt32, sequenceNumber: UInt16) -> UInt64? {
        guard let slot = slot(of: ssrc), let index = try? Self.index(of: sequenceNumber, after: sources[slot].highest),
            index <= sources[slot].highest, sources[slot].highest - index < Self.replayWindow,
            rings[Self.word(of: index, in: slot)] & Self.bit(of: index) != 0
        else { return nil }
        return index
    }

    /// Records a packet that proved genuine.
    mutating func commit(_ ticket: Ticket) {
        packets += 1
        let slot = ticket.slot ?? admit(ticket)
        recent = slot
        let highest = sources[slot].highest
        if ticket.index > highest {
            // The words that the ring uses again between the newest index so far and this one.
            let stale = min(ticket.index >> 6 - highest >> 6, UInt64(Self.ringWords))
            for step in 0..<stale { rings[Self.word(of: ticket.index - step << 6, in: slot)] = 0 }
        }
        rings[Self.word(of: ticket.index, in: slot)] |= Self.bit(of: ticket.index)
        sources[slot] = Source(ssrc: ticket.ssrc, highest: max(highest, ticket.index), last: packets)
    }

    /// - Returns: the new source's slot.
    private mutating func admit(_ ticket: Ticket) -> Int {
        if let limit, sources.count >= limit { remove(leastRecent) }
        let slot = sources.count
        sources.append(Source(ssrc: ticket.ssrc, highest: ticket.index, last: packets))
        rings.append(contentsOf: repeatElement(0, count: Self.ringWords))
        slots[ticket.ssrc] = slot
        return slot
    }

    /// A source of ours has ended, and nothing will be sent for it again.
    mutating func forget(_ ssrc: UInt32) {
        guard let slot = slot(of: ssrc) else { return }
        freshIndex = max(freshIndex, sources[slot].highest + 1)
        if ended.count == Self.endedLimit { ended.removeFirst() }
        ended.append(ssrc)
        remove(slot)
    }

    /// Of the first source; a receiver of packets has few.
    func prefetch() {
        sources.withUnsafeBytes { if let start = $0.baseAddress { Prefetch.bytes(start - 32, lines: 1) } }
        rings.withUnsafeBytes { if let start = $0.baseAddress { Prefetch.bytes(start - 32, lines: 3) } }
    }

    // MARK: Parts

    private func slot(of ssrc: UInt32) -> Int? {
        // Of a few senders each is found sooner than by hashing.
        guard sources.count > 8 else {
            for slot in 0..<sources.count where sources[slot].ssrc == ssrc { return slot }
            return nil
        }
        if let recent, sources[recent].ssrc == ssrc { return recent }
        return slots[ssrc]
    }

    private var leastRecent: Int {
        var found = 0
        for slot in 1..<max(sources.count, 1) where sources[slot].last < sources[found].last { found = slot }
        return found
    }

    /// The last slot takes the place of this one.
    private mutating func remove(_ slot: Int) {
        recent = nil
        slots[sources[slot].ssrc] = nil
        let last = sources.count - 1
        if slot < last {
            sources[slot] = sources[last]
            slots[sources[slot].ssrc] = slot
            for word in 0..<Self.ringWords {
                rings[slot * Self.ringWords + word] = rings[last * Self.ringWords + word]
            }
        }
        sources.removeLast()
        rings.removeLast(Self.ringWords)
    }

    private func newcomer(_ ssrc: UInt32, index: UInt64) throws(SRTPError) -> Ticket {
        guard packets < keyLifetime, index < keyLifetime else { throw .keyExhausted }
        return Ticket(slot: nil, ssrc: ssrc, index: index)
    }

    private func ticket(_ slot: Int, _ ssrc: UInt32, index: UInt64) throws(SRTPError) -> Ticket {
        guard packets < keyLifetime, index < keyLifetime else { throw .keyExhausted }
        let highest = sources[slot].highest
        if index <= highest {
            // RFC 3711 §3.3.2
            guard highest - index < Self.replayWindow,
                rings[Self.word(of: index, in: slot)] & Self.bit(of: index) == 0
            else { throw .replayed }
        }
        return Ticket(slot: slot, ssrc: ssrc, index: index)
    }

    /// RFC 3711 Appendix A: of the three rollover counters around the newest packet's, the one that brings
    /// `sequenceNumber` nearest to it.
    static func index(of sequenceNumber: UInt16, after highest: UInt64) throws(SRTPError) -> UInt64 {
        let rollover = highest >> 16
        let newest = Int(highest & 0xffff)
        let sequence = Int(sequenceNumber)
        if newest < 32_768, sequence - newest > 32_768 {
            // Before the first packet of all: too old to be anything.
            guard rollover > 0 else { throw .replayed }
            return (rollover - 1) << 16 | UInt64(sequence)
        }
        if newest >= 32_768, newest - 32_768 > sequence {
            return (rollover + 1) << 16 | UInt64(sequence)
        }
        return rollover << 16 | UInt64(sequence)
    }

    private static func word(of index: UInt64, in slot: Int) -> Int {
        slot * ringWords + Int(index >> 6 % UInt64(ringWords))
    }

    private static func bit(of index: UInt64) -> UInt64 {
        1 << (index % 64)
    }
}
