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

    var isInterleaved = false
    /// What is held, with an allowance for what holding it takes.
    private(set) var held = 0
    private let maximumMessageSize: Int
    private var streams: [UInt16: SCTPInboundStream] = [:]
    /// Streams with unordered fragments, which a FORWARD TSN does not name.
    private var unorderedStreams: Set<UInt16> = []
    private(set) var delivered = FIFO<SCTPReceivedMessage>()

    init(maximumMessageSize: Int) { self.maximumMessageSize = maximumMessageSize }

    mutating func popDelivered() -> SCTPReceivedMessage? { delivered.popFirst() }

    /// A fragment whose TSN has not come before.
    mutating func insert(_ header: SCTPDataHeader, _ payload: RawSpan) -> Insertion {
        if header.isUnordered { return insertUnordered(header, payload) }
        let id = header.stream
        var stream = streams[id] ?? SCTPInboundStream()
        let distance = stream.distance(to: header.message, isInterleaved: isInterleaved)
        // Given up by the peer, and late.
        guard distance >= 0 else { return .taken }
        if distance == 0, header.isFirst, header.isLast, stream.ordered.first?.number != header.message {
            // The common case: nothing to keep.
            guard payload.byteCount <= maximumMessageSize else { return .tooLarge }
            deliver(payload.withUnsafeBytes { [UInt8]($0) }, header.payloadProtocol, on: id)
            stream.advanceOrder(past: header.message, isInterleaved: isInterleaved)
            streams[id] = nil
            deliverReady(&stream, id)
            streams[id] = stream
            return .taken
        }
        // Taken out, so that the lists below are not copied.
        streams[id] = nil
        defer { streams[id] = stream }
        let place = stream.place(of: header.message, isInterleaved: isInterleaved)
        if !place.isPresent {
            stream.ordered.insert(.init(number: header.message, content: .fragments(.init())), at: place.index)
            held += SCTPInboundStream.Waiting.overhead
        }
        let number = isInterleaved ? header.fragment : header.tsn
        switch insert(number, header, payload, into: &stream.ordered[place.index]) {
        case .stored, .contradictory: return .taken
        case .complete:
            if place.index == 0 { deliverReady(&stream, id) }
            return .taken
        case .tooLarge: return .tooLarge
        case .tooMany: return .noRoom
        }
    }

    private mutating func insertUnordered(_ header: SCTPDataHeader, _ payload: RawSpan) -> Insertion {
        let id = header.stream
        if header.isFirst, header.isLast {
            guard payload.byteCount <= maximumMessageSize else { return .tooLarge }
            deliver(payload.withUnsafeBytes { [UInt8]($0) }, header.payloadProtocol, on: id)
            return .taken
        }
        var stream = streams[id] ?? SCTPInboundStream()
        streams[id] = nil
        defer { streams[id] = stream }
        // DATA: the number says nothing (RFC 9260 §3.3.1), the TSNs tell messages apart.
        let message = isInterleaved ? header.message : 0
        let place = stream.placeUnordered(of: message)
        if !place.isPresent {
            stream.unordered.insert(.init(number: message, content: .fragments(.init())), at: place.index)
            held += SCTPInboundStream.Waiting.overhead
            unorderedStreams.insert(id)
        }
        let number = isInterleaved ? header.fragment : header.tsn
        let result = insert(number, header, payload, into: &stream.unordered[place.index])
        switch result {
        case .complete(let bytes, let payloadProtocol):
            deliver(bytes, payloadProtocol, on: id)
            removeUnordered(at: place.index, of: &stream, id)
            return .taken
        case .stored, .contradictory: return .taken
        case .tooLarge: return .tooLarge
        case .tooMany: return .noRoom
        }
    }

    /// Puts a fragment into a message that waits; an ordered message that became whole stays there.
    private mutating func insert(
        _ number: UInt32, _ header: SCTPDataHeader, _ payload: RawSpan, into waiting: inout SCTPInboundStream.Waiting
    ) -> SCTPFragments.Insertion {
        guard case .fragments(var fragments) = waiting.content else { return .contradictory }
        let before = fragments.cost
        // Given back below; until then nobody else may hold it, or it would be copied.
        waiting.content = .whole([], payloadProtocol: 0)
        let result = fragments.insert(number, header, payload, maximumSize: maximumMessageSize)
        held += fragments.cost - before
        if case .complete(let bytes, let payloadProtocol) = result, !header.isUnordered {
            waiting.content = .whole(bytes, payloadProtocol: payloadProtocol)
            held += bytes.count
        } else {
            waiting.content = .fragments(fragments)
        }
        return result
    }

    /// An entry of unordered fragments goes when it is empty.
    private mutating func removeUnordered(at index: Int, of stream: inout SCTPInboundStream, _ id: UInt16) {
        guard case .fragments(let fragments) = stream.unordered[index].content, fragments.isEmpty else { return }
        stream.unordered.remove(at: index)
        held -= SCTPInboundStream.Waiting.overhead
        if stream.unordered.isEmpty { unorderedStreams.remove(id) }
    }

    private mutating func deliver(_ bytes: [UInt8], _ payloadProtocol: UInt32, on id: UInt16) {
        delivered.append(SCTPReceivedMessage(stream: id, payloadProtocol: payloadProtocol, bytes: bytes))
    }

    /// Delivers the ordered messages whose turn has come.
    private mutating func deliverReady(_ stream: inout SCTPInboundStream, _ id: UInt16) {
        var ready = 0
        while ready < stream.ordered.count, stream.ordered[ready].number == stream.nextOrdered,
            case .whole(let bytes, let payloadProtocol) = stream.ordered[ready].content
        {
            held -= stream.ordered[ready].cost
            deliver(bytes, payloadProtocol, on: id)
            stream.advanceOrder(past: stream.nextOrdered, isInterleaved: isInterleaved)
            ready += 1
        }
        if ready > 0 { stream.ordered.removeFirst(ready) }
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
                skipUnordered(upTo: skip.message, &stream, skip.stream)
            } else {
                skipOrdered(upTo: skip.message, &stream, skip.stream)
            }
            streams[skip.stream] = stream
        }
        guard !isInterleaved else { return }
        for id in unorderedStreams {
            guard var stream = streams[id], let waiting = stream.unordered.first,
                case .fragments(var fragments) = waiting.content
            else { continue }
            streams[id] = nil
            held -= fragments.cost
            fragments.discard(upTo: chunk.cumulativeTSN)
            held += fragments.cost
            stream.unordered[0].content = .fragments(fragments)
            removeUnordered(at: 0, of: &stream, id)
            streams[id] = stream
        }
    }

    private mutating func skipOrdered(upTo number: UInt32, _ stream: inout SCTPInboundStream, _ id: UInt16) {
        guard stream.distance(to: number, isInterleaved: isInterleaved) >= 0 else { return }
        let place = stream.place(of: number, isInterleaved: isInterleaved)
        let skipped = place.index + (place.isPresent ? 1 : 0)
        for waiting in stream.ordered[..<skipped] {
            held -= waiting.cost
            if case .whole(let bytes, let payloadProtocol) = waiting.content { deliver(bytes, payloadProtocol, on: id) }
        }
        stream.ordered.removeFirst(skipped)
        stream.advanceOrder(past: number, isInterleaved: isInterleaved)
        deliverReady(&stream, id)
    }

    private mutating func skipUnordered(upTo number: UInt32, _ stream: inout SCTPInboundStream, _ id: UInt16) {
        stream.unordered.removeAll { waiting in
            guard !SerialNumber.isNewer(waiting.number, than: number) else { return false }
            held -= waiting.cost
            return true
        }
        if stream.unordered.isEmpty { unorderedStreams.remove(id) }
    }

    /// RFC 6525 §5.2.2 E4: the next message of these streams has the number 0. All streams when none is named. Returns
    /// those about which something was known.
    mutating func reset(_ ids: [UInt16]) -> [UInt16] {
        let named = ids.isEmpty ? Array(streams.keys).sorted() : ids
        for id in named {
            guard let stream = streams.removeValue(forKey: id) else { continue }
            for waiting in stream.ordered + stream.unordered { held -= waiting.cost }
            unorderedStreams.remove(id)
        }
        return named
    }
}
