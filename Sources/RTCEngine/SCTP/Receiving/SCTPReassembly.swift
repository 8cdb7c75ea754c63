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
    /// What the peer had named last as given up before a reset, of the streams on which nothing has come since.
    private var skippedBeforeReset: [UInt16: UInt32] = [:]
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
        var stream = streams[id] ?? begin(id)
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

    private mutating func begin(_ id: UInt16) -> SCTPInboundStream {
        skippedBeforeReset[id] = nil
        return SCTPInboundStream()
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
            // A peer that has not heard our last acknowledgement names what it gave up before the reset once more: of
            // the stream as it is now that would be messages that are still to come.
            if streams[skip.stream] == nil, skippedBeforeReset[skip.stream] == skip.message { continue }
            guard var stream = streams[skip.stream] ?? (skip.isUnordered ? nil : begin(skip.stream)) else { continue }
            streams[skip.stream] = nil
            if skip.isUnordered {
                let limit = stream.unorderedPlace(of: skip.message)
                while let message = stream.unordered.popFirst(upTo: limit) { held -= message.cost }
            } else {
                stream.lastSkipped = skip.message
                skipOrdered(upTo: skip.message, &stream, skip.stream)
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

    /// RFC 6525 §5.2.2 E4: the next message of these streams has the number 0. All streams when none is named. Returns
    /// those about which something was known.
    mutating func reset(_ ids: [UInt16]) -> [UInt16] {
        let named = ids.isEmpty ? unordered.streams.union(streams.keys).sorted() : ids
        held -= unordered.cost
        unordered.discard(streams: named)
        held += unordered.cost
        for id in named {
            guard let stream = streams.removeValue(forKey: id) else { continue }
            skippedBeforeReset[id] = stream.lastSkipped
            held -= stream.ordered.cost + stream.unordered.cost
        }
        return named
    }
}
