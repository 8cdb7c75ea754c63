internal import LiveKitProtocol
internal import RTCEngine

/// Cuts a data track's frames into packets.
struct DataTrackPacketizer {
    /// The largest packet with its header, in bytes, as LiveKit's SDKs have it.
    static let packetLimit = 16_000
    /// The most packets of one frame: receiving SDKs drop a frame of more.
    static let frameLimit = 128

    /// The track's number in its packets, which its publisher chooses.
    let handle: UInt16
    /// It goes on from frame to frame.
    private var sequenceNumber: UInt16 = 0
    private var frameNumber: UInt16 = 0
    private let firstTimestamp: UInt32
    private let begun: Instant

    /// - Parameter firstTimestamp: a random number, so that packets do not tell how long the track has been there.
    init(handle: UInt16, firstTimestamp: UInt32, at now: Instant) {
        self.handle = handle
        self.firstTimestamp = firstTimestamp
        begun = now
    }

    /// The packets of a frame. What belongs to the frame as a whole (`userTimestamp`) is in the first one.
    mutating func packets(of frame: DataTrackFrame, at now: Instant) throws(RoomError) -> [[UInt8]] {
        var packet = DataTrackPacket(handle: handle)
        packet.userTimestamp = frame.userTimestamp
        let firstLimit = Self.packetLimit - packet.bytes.count
        let laterLimit = Self.packetLimit - DataTrackPacket.headerLength
        let largest = firstLimit + (Self.frameLimit - 1) * laterLimit
        guard frame.payload.count <= largest else { throw .dataTooLarge(limit: largest) }
        packet.timestamp = timestamp(at: now)
        packet.frameNumber = frameNumber
        frameNumber &+= 1
        var packets: [[UInt8]] = []
        var rest = frame.payload[...]
        // An empty frame is one packet.
        repeat {
            packet.isFrameStart = packets.isEmpty
            packet.payload = rest.prefix(packets.isEmpty ? firstLimit : laterLimit)
            rest = rest.dropFirst(packet.payload.count)
            packet.isFrameEnd = rest.isEmpty
            packet.sequenceNumber = sequenceNumber
            sequenceNumber &+= 1
            packets.append(packet.bytes)
            packet.userTimestamp = nil
        } while !rest.isEmpty
        return packets
    }

    /// Counts at 90 kHz, from `firstTimestamp`.
    private func timestamp(at now: Instant) -> UInt32 {
        let ticks = (now - begun).nanoseconds / 1_000 * 9 / 100
        return firstTimestamp &+ UInt32(truncatingIfNeeded: ticks)
    }
}
