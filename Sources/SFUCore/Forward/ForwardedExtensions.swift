public import RTCWire

/// The header extensions (RFC 8285) that speak of the media and not of the path: they go from the publisher to the
/// subscriber, under the identifiers that each of them negotiated. Those of the path (mid, rid, transport-wide numbers,
/// absolute send time) end at the server.
public enum ForwardedExtensions {
    /// Appends what both negotiated to a block that the caller has begun and will finish.
    ///
    /// - Parameters:
    ///   - header: of the published `packet`.
    ///   - out: what the subscriber's packet differs by.
    public static func append(
        of header: RTPHeader, _ packet: RawSpan, from publisher: HeaderExtensionIDs, to subscriber: HeaderExtensionIDs,
        _ out: OutgoingPacket, with writer: HeaderExtensionWriter, into bytes: inout [UInt8]
    ) {
        // A packet that only fills a place says nothing of media.
        guard header.extensionProfile != nil, !out.isPadding else { return }
        var elements = HeaderExtensionIterator(header)
        while let element = elements.next(in: packet) {
            guard let id = translated(element.id, publisher, subscriber),
                writer.begin(id, length: element.range.count, in: &bytes) != nil
            else { continue }
            let data = packet.extracting(element.range)
            if element.id == publisher.dependencyDescriptor {
                out.appendDependencyDescriptor(data, to: &bytes)
            } else {
                bytes.append(contentsOf: data)
            }
        }
    }

    private static func translated(
        _ id: UInt8, _ publisher: HeaderExtensionIDs, _ subscriber: HeaderExtensionIDs
    ) -> UInt8? {
        switch id {
        case publisher.audioLevel: subscriber.audioLevel
        case publisher.videoOrientation: subscriber.videoOrientation
        case publisher.absoluteCaptureTime: subscriber.absoluteCaptureTime
        case publisher.playoutDelay: subscriber.playoutDelay
        case publisher.dependencyDescriptor: subscriber.dependencyDescriptor
        default: nil
        }
    }
}
