import RTCWire

/// What a packet's header extensions say, until its frame is put together.
struct PacketAbout: Sendable {
    var metadata = PacketMetadata()
    /// The dependency descriptor of a frame's first packet: it is read in the order of frames, for it may bring the
    /// structure that those after it refer to.
    var descriptor: [UInt8] = []
}

extension ReceiveStream {
    func about(_ header: RTPHeader, _ packet: RawSpan) -> PacketAbout {
        var about = PacketAbout()
        guard let range = about.metadata.take(header, packet, configuration.extensions),
            // The first bit marks a frame's first packet.
            (packet.byte(at: range.lowerBound) ?? 0) & 0x80 != 0, !range.isEmpty
        else { return about }
        about.descriptor.append(contentsOf: packet.extracting(range))
        return about
    }
}
