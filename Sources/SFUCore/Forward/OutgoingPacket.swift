import RTCWire

/// A packet as one subscriber gets it: what differs from the published one.
public struct OutgoingPacket: Sendable, Equatable {
    public var sequenceNumber: UInt16
    public var timestamp: UInt32
    public var marker: Bool
    /// Whether only padding is sent (RFC 3550 §5.1): the number was kept for a packet that is not for this subscriber,
    /// or the packet only announces the stream.
    public var isPadding: Bool
    public var offsets: PictureOffsets

    /// Bytes of padding that make a packet without payload (RFC 3550 §5.1: zeros, and the last one counts them).
    public static let paddingSize = 4

    /// The most bytes that the payload and the forwarded extensions of a published packet take when it is sent.
    public static func room(for packet: RawSpan) -> Int {
        packet.byteCount + ForwardedExtensions.growth
    }

    /// Appends the payload with the counters that this subscriber gets; or the padding.
    ///
    /// - Parameters:
    ///   - payload: of `packet`, as it was published.
    ///   - primary: what this subscriber calls the format inside redundancy (RFC 2198); nil if it is to have the
    ///     packet's own sound alone.
    public func appendPayload(
        _ payload: RawSpan, of packet: PublishedPacket, redundantAs primary: UInt8? = nil,
        to bytes: inout OutputSpan<UInt8>
    ) {
        if isPadding {
            Self.appendPadding(to: &bytes)
        } else if packet.primaryOffset > 0 {
            if let primary {
                RedundantAudio.append(payload, payloadType: primary, to: &bytes)
            } else {
                bytes.append(contentsOf: payload.extracting(droppingFirst: Int(packet.primaryOffset)))
            }
        } else {
            packet.video.numbers.append(payload, minus: offsets, to: &bytes)
        }
    }

    /// Appends a payload of nothing but padding.
    static func appendPadding(to bytes: inout OutputSpan<UInt8>) { bytes.append(uint32: UInt32(paddingSize)) }

    /// Appends the data of the published packet's dependency descriptor, with this subscriber's frame number.
    public func appendDependencyDescriptor(_ data: RawSpan, to bytes: inout OutputSpan<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: data)
        // AV1 RTP specification §A.8.2: the frame number follows the first byte.
        guard offsets.frameNumber != 0, let number = data.uint16(at: 1) else { return }
        bytes.set(uint16: number &- offsets.frameNumber, at: start + 1)
    }
}
