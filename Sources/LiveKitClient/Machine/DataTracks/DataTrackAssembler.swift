internal import LiveKitProtocol

/// Makes frames of a data track's packets, which come in any order and of which some are lost. There is one unfinished
/// frame at a time: the next one takes its place.
struct DataTrackAssembler {
    /// Of a frame's packets, as in LiveKit's SDKs.
    static let packetLimit = 128
    /// Of their payloads: what an SDK can put into so many.
    static let byteLimit = packetLimit * 16_000

    /// A frame of several packets, of which some have come.
    private struct Partial {
        let frameNumber: UInt16
        var userTimestamp: UInt64?
        /// The sequence numbers that it begins and ends with.
        var first: UInt16?
        var last: UInt16?
        /// By sequence number. Copies: a slice would keep all of its packet, which is not counted.
        var payloads: [UInt16: [UInt8]] = [:]
        var byteCount = 0

        /// All of it has come, if nothing in it is missing.
        var isComplete: Bool {
            guard let first, let last else { return false }
            return payloads.count == Int(last &- first) + 1
        }

        /// Nil if there is a hole in it.
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

        /// Whether a packet is one of this frame's. Frames are numbered in 16 bits: another one of the number begins
        /// elsewhere.
        func has(_ packet: DataTrackPacket) -> Bool {
            guard packet.frameNumber == frameNumber else { return false }
            guard packet.isFrameStart, let first else { return true }
            return first == packet.sequenceNumber
        }
    }

    private var partial: Partial?

    /// The next packet; gives the frame that it completes.
    mutating func take(_ packet: DataTrackPacket) -> DataTrackFrame? {
        if packet.isFrameStart, packet.isFrameEnd {
            partial = nil
            return DataTrackFrame(payload: Array(packet.payload), userTimestamp: packet.userTimestamp)
        }
        var current = partial ?? Partial(frameNumber: packet.frameNumber)
        // Otherwise the packets are copied with each one that comes.
        partial = nil
        if !current.has(packet) {
            let distance = Int16(bitPattern: packet.frameNumber &- current.frameNumber)
            guard packet.isFrameStart || distance > 0 else {
                // Of a frame that was given up.
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
