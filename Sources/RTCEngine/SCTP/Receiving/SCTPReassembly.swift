internal import RTCWire

/// Joins fragments to messages and brings ordered ones in order (RFC 9260 §6.5, §6.6, §6.9; RFC 8260 §2.2).
struct SCTPReassembly: Sendable {
    enum Insertion: Sendable {
        /// Stored, delivered, or known to be of no use: to be acknowledged.
        case taken
        /// To be acknowledged as little as if it had been lost.
        case noRoom
        /// RFC 8841 §6.1: larger than we told the peer.
        case tooLarge
    }

    /// The most that a fragment costs beyond its bytes.
    static let overhead = SCTPFragments.overhead + SCTPWaitingMessage.overhead

    var isInterleaved = false
    /// What is held, with an allowance for what holding it takes.
    private(set) var held = 0
    private let maximumMessageSize: Int
    private var streams: [UInt16: SCTPInboundStream] = [:]
    /// What the peer had named last as given up before a reset, of the streams of which it is not known to be over.
    private var skippedBeforeReset: [UInt16: SCTPSkipBeforeReset] = [:]
    /// Of the streams of which such a message was named once more, and messages behind it wait. Lowest first, so that
    /// nothing is looked at before its turn; also some of which is known meanwhile.
    private var doubtful = Heap<SCTPDoubtfulSkip>()
    /// Fragments of unordered messages in DATA, of all streams by TSN: the number of such a message says nothing
    /// (RFC 9260 §3.3.1), and a FORWARD TSN does not name its stream.
    private var unordered = SCTPFragments()
    private(set) var delivered = FIFO<SCTPReceivedMessage>()

    init(maximumMessageSize: Int) { self.maximumMessageSize = maximumMessageSize }

    mutating func popDelivered() -> SCTPReceivedMessage? { delivered.popFirst() }

    /// A fragment whose TSN has not come before.
    mutating func insert(_ header: SCTPDataHeader, _ payload: RawSpan) -> Insertion {
        header.isUnordered ? insertUnordered(header, payload) : insertOrdered(header, payload)
    }

    private mutating func insertOrdered(_ header: SCTPDataHeader, _ payload: RawSpan) -> Insertion {
        let id = header.stream
        if !skippedBeforeReset.isEmpty { noteBehindReset(header) }
        var stream = streams[id] ?? SCTPInboundStream()
        // Given up by the peer, and late.
        guard let place = stream.place(of: header.message, isInterleaved: isInterleaved) else { return .taken }
        // Taken out, so that what it holds is not copied.
        streams[id] = nil
        defer { streams[id] = stream }
        let isNext = place == stream.nextOrdered
        if isNext, header.isFirst, header.isLast, !stream.ordered.contains(place) {
            // The common case: nothing to keep.
            guard payload.byteCount <= maximumMessageSize else { return .tooLarge }
            deliver(payload.withUnsafeBytes { [UInt8]($0) }, header.payloadProtocol, on: id)
            stream.advanceOrder(past: place)
            deliverReady(&stream, id)
            return .taken
        }
        let known = stream.ordered.take(place)
        var message = known ?? SCTPWaitingMessage()
        let result = insert(isInterleaved ? header.fragment : header.tsn, header, payload, into: &message)
        if case .complete = result, isNext {
            if known != nil { held -= SCTPWaitingMessage.overhead }
            deliverWhole(message, id)
            stream.advanceOrder(past: place)
            deliverReady(&stream, id)
            return .taken
        }
        keep(message, at: place, isKnown: known != nil, in: &stream.ordered)
        return answer(result)
    }

    private mutating func insertUnordered(_ header: SCTPDataHeader, _ payload: RawSpan) -> Insertion {
        let id = header.stream
        if header.isFirst, header.isLast {
            guard payload.byteCount <= maximumMessageSize else { return .tooLarge }
            deliver(payload.withUnsafeBytes { [UInt8]($0) }, header.payloadProtocol, on: id)
            return .taken
        }
        guard isInterleaved else {
            held -= unordered.cost
            defer { held += unordered.cost }
            let result = unordered.insert(header.tsn, header, payload, maximumSize: maximumMessageSize)
            if case .complete(let bytes, let payloadProtocol) = result { deliver(bytes, payloadProtocol, on: id) }
            return answer(result)
        }
        var stream = streams[id] ?? SCTPInboundStream()
        streams[id] = nil
        defer { streams[id] = stream }
        let place = stream.unorderedPlace(of: header.message)
        let known = stream.unordered.take(place)
        var message = known ?? SCTPWaitingMessage()
        let result = insert(header.fragment, header, payload, into: &message)
        if case .complete = result {
            if known != nil { held -= SCTPWaitingMessage.overhead }
            deliverWhole(message, id)
        } else {
            keep(message, at: place, isKnown: known != nil, in: &stream.unordered)
        }
        return answer(result)
    }

    /// Puts a fragment into a message that waits, and counts what that costs.
    private mutating func insert(
        _ number: UInt32, _ header: SCTPDataHeader, _ payload: RawSpan, into message: inout SCTPWaitingMessage
    ) -> SCTPFragments.Insertion {
        guard case .fragments(var fragments) = message.content else { return .contradictory }
        let before = fragments.cost
        // Given back below; until then nobody else may hold it, or it would be copied.
        message.content = .whole([], payloadProtocol: 0)
        let result = fragments.insert(number, header, payload, maximumSize: maximumMessageSize)
        held += fragments.cost - before
        if case .complete(let bytes, let payloadProtocol) = result {
            message.content = .whole(bytes, payloadProtocol: payloadProtocol)
            held += bytes.count
        } else {
            message.content = .fragments(fragments)
        }
        return result
    }

    private mutating func keep(
        _ message: SCTPWaitingMessage, at place: Int, isKnown: Bool, in messages: inout SCTPWaitingMessages
    ) {
        if isKnown { return messages.putBack(message, at: place) }
        messages.add(message, at: place)
        held += SCTPWaitingMessage.overhead
    }

    private func answer(_ result: SCTPFragments.Insertion) -> Insertion {
        switch result {
        case .stored, .complete, .contradictory: .taken
        case .tooLarge: .tooLarge
        case .tooMany: .noRoom
        }
    }

    private mutating func deliver(_ bytes: [UInt8], _ payloadProtocol: UInt32, on id: UInt16) {
        delivered.append(SCTPReceivedMessage(stream: id, payloadProtocol: payloadProtocol, bytes: bytes))
    }

    /// Delivers a message that is not kept any more, if it is whole.
    private mutating func deliverWhole(_ message: SCTPWaitingMessage, _ id: UInt16) {
        held -= message.cost - SCTPWaitingMessage.overhead
        if case .whole(let bytes, let payloadProtocol) = message.content { deliver(bytes, payloadProtocol, on: id) }
    }

    /// Delivers the ordered messages whose turn has come.
    private mutating func deliverReady(_ stream: inout SCTPInboundStream, _ id: UInt16) {
        while let message = stream.ordered.popFirst(upTo: stream.nextOrdered) {
            guard case .whole = message.content else {
                return stream.ordered.add(message, at: stream.nextOrdered)
            }
            held -= SCTPWaitingMessage.overhead
            deliverWhole(message, id)
            stream.advanceOrder(past: stream.nextOrdered)
        }
    }
}

// What the peer gives up, and begins anew.
extension SCTPReassembly {
    /// RFC 3758 §3.6, RFC 8260 §2.3: what is whole is delivered, the rest forgotten.
    mutating func forward(_ chunk: SCTPForwardTSN) {
        for skip in chunk.skipped {
            guard var stream = streams[skip.stream] ?? (skip.isUnordered ? nil : SCTPInboundStream()) else { continue }
            streams[skip.stream] = nil
            if skip.isUnordered {
                let limit = stream.unorderedPlace(of: skip.message)
                while let message = stream.unordered.popFirst(upTo: limit) { held -= message.cost }
            } else {
                stream.lastSkipped = skip.message
                if !isDoubtful(skip) { skipOrdered(upTo: skip.message, &stream, skip.stream) }
            }
            streams[skip.stream] = stream
        }
        held -= unordered.cost
        unordered.discard(upTo: chunk.cumulativeTSN)
        held += unordered.cost
    }

    private mutating func skipOrdered(upTo number: UInt32, _ stream: inout SCTPInboundStream, _ id: UInt16) {
        guard let limit = stream.limit(ofSkip: number, isInterleaved: isInterleaved) else { return }
        while let message = stream.ordered.popFirst(upTo: limit) {
            held -= SCTPWaitingMessage.overhead
            deliverWhole(message, id)
        }
        stream.advanceOrder(past: limit)
        deliverReady(&stream, id)
    }

    /// RFC 6525 §5.2.2 E4: the next message of these streams has the number 0. All streams when none is named.
    mutating func reset(_ ids: [UInt16]) {
        let named = ids.isEmpty ? Array(unordered.streams.union(streams.keys)) : ids
        held -= unordered.cost
        unordered.discard(streams: named)
        held += unordered.cost
        for id in named {
            guard let stream = streams.removeValue(forKey: id) else { continue }
            skippedBeforeReset[id] = stream.lastSkipped.map { SCTPSkipBeforeReset(message: $0) }
            held -= stream.ordered.cost + stream.unordered.cost
        }
    }
}

/// What the peer had named last as given up before it reset a stream.
private struct SCTPSkipBeforeReset: Sendable {
    /// As it is on the wire.
    let message: UInt32
    /// It was named since, of whichever of the two streams.
    var isNamedAgain = false
    /// The first TSN that has come of the messages behind it, of the stream as it is now.
    var firstBehind: UInt32?
}

/// Where a stream's first message behind such a one is.
private struct SCTPDoubtfulSkip: Comparable, Sendable {
    let firstBehind: UInt32
    let stream: UInt16

    static func < (one: SCTPDoubtfulSkip, other: SCTPDoubtfulSkip) -> Bool {
        SerialNumber.isNewer(other.firstBehind, than: one.firstBehind)
    }
}

// A FORWARD TSN names what was given up since the last acknowledgement that the peer has heard (RFC 3758 §3.5 C4). One
// that names, after a reset, the same number as the last one before it therefore says either of two things: the old
// stream's message once more, since our acknowledgement is under way, or that of the stream as it is now, whose
// messages up to there were given up as well. Its TSN does not tell them apart, as that may be another stream's. What
// comes does: a message up to that number shows that those are still to come. If everything before a message behind it
// is accounted for (messages of a stream are sent in their order), they never will.
extension SCTPReassembly {
    private mutating func isDoubtful(_ skip: SCTPForwardTSN.Skipped) -> Bool {
        guard var before = skippedBeforeReset[skip.stream] else { return false }
        guard before.message == skip.message else {
            // The stream as it is now has got on.
            skippedBeforeReset[skip.stream] = nil
            return false
        }
        guard !before.isNamedAgain else { return true }
        before.isNamedAgain = true
        skippedBeforeReset[skip.stream] = before
        if let first = before.firstBehind {
            doubtful.insert(SCTPDoubtfulSkip(firstBehind: first, stream: skip.stream))
        }
        return true
    }

    /// An ordered fragment has come.
    private mutating func noteBehindReset(_ header: SCTPDataHeader) {
        guard var before = skippedBeforeReset[header.stream] else { return }
        guard header.message > before.message else {
            skippedBeforeReset[header.stream] = nil
            return
        }
        if let first = before.firstBehind, !SerialNumber.isNewer(first, than: header.tsn) { return }
        before.firstBehind = header.tsn
        skippedBeforeReset[header.stream] = before
        if before.isNamedAgain {
            doubtful.insert(SCTPDoubtfulSkip(firstBehind: header.tsn, stream: header.stream))
        }
    }

    /// Skips what was in doubt, where everything up to this TSN has come or was given up.
    mutating func settleSkips(upTo cumulativeTSN: UInt32) {
        while let next = doubtful.lowest, !SerialNumber.isNewer(next.firstBehind, than: cumulativeTSN) {
            doubtful.removeLowest()
            // No two chunks have a TSN, so that another one says that this is known meanwhile.
            guard let before = skippedBeforeReset[next.stream], before.isNamedAgain,
                before.firstBehind == next.firstBehind, var stream = streams.removeValue(forKey: next.stream)
            else { continue }
            skippedBeforeReset[next.stream] = nil
            skipOrdered(upTo: before.message, &stream, next.stream)
            streams[next.stream] = stream
        }
    }
}
