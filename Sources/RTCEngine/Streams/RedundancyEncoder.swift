import RTCWire

/// Puts the sound of the last packets beside that of the present one (RFC 2198), so that a receiver that lost them
/// needs no retransmission.
struct RedundancyEncoder: Sendable {
    private struct Sent: Sendable {
        var timestamp: UInt32
        var payload: [UInt8]
    }

    private var history: [Sent] = []
    private var redundant: [UInt8] = []

    /// Puts the list's only payload into a redundant one.
    ///
    /// - Parameters:
    ///   - payloadType: of the sound itself.
    ///   - depth: how many earlier packets go along, where they fit.
    ///   - limit: bytes of payload that a packet has room for.
    mutating func wrap(
        _ list: inout PayloadList, payloadType: UInt8, timestamp: UInt32, depth: Int, limit: Int
    ) {
        guard list.count == 1, depth > 0 else { return }
        let size = list.bytes.count
        // The newest are worth most, so they are asked first whether they fit.
        var room = limit - size - 1
        var first = history.count
        while first > 0, history.count - first < depth {
            let block = history[first - 1]
            let offset = timestamp &- block.timestamp
            room -= 4 + block.payload.count
            guard room >= 0, offset > 0, offset <= UInt32(RedundantAudio.maximumOffset),
                block.payload.count <= RedundantAudio.maximumBlockSize
            else { break }
            first -= 1
        }
        redundant.removeAll(keepingCapacity: true)
        for block in history[first...] {
            RedundantAudio.appendHeader(
                payloadType: payloadType, timestampOffset: UInt16(truncatingIfNeeded: timestamp &- block.timestamp),
                size: block.payload.count, to: &redundant)
        }
        RedundantAudio.appendHeader(payloadType: payloadType, to: &redundant)
        for block in history[first...] { redundant.append(contentsOf: block.payload) }
        remember(list.bytes, timestamp: timestamp, depth: depth)
        redundant.append(contentsOf: list.bytes)
        list.removeAll()
        list.bytes.append(contentsOf: redundant)
        list.endPayload()
    }

    private mutating func remember(_ payload: [UInt8], timestamp: UInt32, depth: Int) {
        // The oldest one's storage is used again.
        var storage = history.count >= depth ? history.removeFirst().payload : []
        storage.removeAll(keepingCapacity: true)
        storage.append(contentsOf: payload)
        history.append(Sent(timestamp: timestamp, payload: storage))
    }
}
