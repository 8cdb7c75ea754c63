internal import LiveKitProtocol

/// Makes frames from a data track's packets, which may come in any order or be lost. One frame at a time is put
/// together: when a packet of a later one comes, the unfinished one is given up.
struct DataTrackAssembler {
    /// The most packets of one frame, as in LiveKit's SDKs.
    static let packetLimit = 128
    /// The most bytes of one frame: what an SDK can put into so many packets.
    static let byteLimit = packetLimit * 16_000

    /// A frame of which some packets have come.
    private struct Partial {
        let frameNumber: UInt16
        var userTimestamp: UInt64?
        /// The sequence numbers of its first and its last packet, once those have come.
        var first: UInt16?
        var last: UInt16?
        /// By sequence number. They are copied: a slice would keep the whole packet in memory, of which `byteCount`
        /// counts only the payload.
        var payloads: [UInt16: [UInt8]] = [:]
        var byteCount = 0

        /// Whether as many packets have come as there are from the first to the last.
        var isComplete: Bool {
            guard let first, let last else { return false }
            return payloads.count == Int(last &- first) + 1
        }

        /// The frame; nil if packets between have not come.
        var frame: DataTrackFrame? {
            guard var next = first else { return nil }
            var payload: [UInt8] = []
            payload.reserveCapacity(byteCount)
            for _ in 0..<payloads.count {
                guard let piece = payloads[next] else { return nil }
                payload += piece
                next &+= 1
            }
            return DataTrackFrame(payload: payload, userTimestamp: userTimestamp)
        }

        mutating func add(_ packet: DataTrackPacket) {
            guard payloads[packet.sequenceNumber] == nil else { return }
            payloads[packet.sequenceNumber] = Array(packet.payload)
            byteCount += packet.payload.count
            if packet.isFrameStart {
                first = packet.sequenceNumber
                userTimestamp = packet.userTimestamp
            }
            if packet.isFrameEnd { last = packet.sequenceNumber }
        }

        /// Whether a packet belongs to this frame. Frame numbers have 16 bits and come again: another frame of the same
        /// number has another sequence number at its start.
        func has(_ packet: DataTrackPacket) -> Bool {
            guard packet.frameNumber == frameNumber else { return false }
            guard packet.isFrameStart, let first else { return true }
            return first == packet.sequenceNumber
        }
    }

    private var partial: Partial?

    /// Takes a packet, and gives the frame that it completes.
    mutating func take(_ packet: DataTrackPacket) -> DataTrackFrame? {
        if packet.isFrameStart, packet.isFrameEnd {
            partial = nil
            return DataTrackFrame(payload: Array(packet.payload), userTimestamp: packet.userTimestamp)
        }
        var current = partial ?? Partial(frameNumber: packet.frameNumber)
        // While `partial` held it too, each change of `current` would copy all payloads.
        partial = nil
        if !current.has(packet) {
            let distance = Int16(bitPattern: packet.frameNumber &- current.frameNumber)
            guard packet.isFrameStart || distance > 0 else {
                // The packet is of an earlier frame, which was given up.
                partial = current
                return nil
            }
            current = Partial(frameNumber: packet.frameNumber)
        }
        current.add(packet)
        guard current.payloads.count <= Self.packetLimit, current.byteCount <= Self.byteLimit else { return nil }
        guard !current.isComplete else { return current.frame }
        partial = current
        return nil
    }
}
