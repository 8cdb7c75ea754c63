internal import LiveKitProtocol
internal import RTCEngine

/// Makes packets of a data track's frames.
struct DataTrackPacketizer {
    /// Of a packet with its header, in bytes: as long as LiveKit's SDKs make them.
    static let packetLimit = 16_000
    /// Of a frame: SDKs that receive give up one of more.
    static let frameLimit = 128

    /// The publisher's number of the track.
    let handle: UInt16
    /// Counted over all frames.
    private var sequenceNumber: UInt16 = 0
    private var frameNumber: UInt16 = 0
    private let firstTimestamp: UInt32
    private let begun: Instant

    /// - Parameter firstTimestamp: from anywhere, so that the time of day cannot be read from packets.
    init(handle: UInt16, firstTimestamp: UInt32, at now: Instant) {
        self.handle = handle
        self.firstTimestamp = firstTimestamp
        begun = now
    }

    /// A frame as it goes on the channel. What is said of all of it is in its first packet.
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
        // A frame of nothing is a packet too.
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

    /// On the clock of 90 kHz.
    private func timestamp(at now: Instant) -> UInt32 {
        let ticks = (now - begun).nanoseconds / 1_000 * 9 / 100
        return firstTimestamp &+ UInt32(truncatingIfNeeded: ticks)
    }
}
