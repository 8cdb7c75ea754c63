public import RTCWire

/// The header extensions (RFC 8285) of a published packet that speak of the media and not of the path: they go from the
/// publisher to each subscriber, under the identifiers that each of them negotiated. Those of the path (mid, rid,
/// transport-wide numbers, absolute send time) end at the server.
///
/// Made once for a packet, and looked at for every subscriber. The places are in the packet's bytes.
public struct ForwardedExtensions: Sendable {
    private var audioLevel: Range<Int>?
    private var videoOrientation: Range<Int>?
    private var absoluteCaptureTime: Range<Int>?
    private var playoutDelay: Range<Int>?
    /// What subscribers are asked for in the place of that.
    private var ownPlayoutDelay: PlayoutDelayLimits?
    private var dependencyDescriptor: Range<Int>?
    private var isEmpty = true

    /// - Parameters:
    ///   - header: of the published `packet`.
    ///   - publisher: what was negotiated with who sent it.
    ///   - own: what subscribers are asked for, whatever the packet says of it.
    public init(
        of header: RTPHeader, _ packet: RawSpan, from publisher: HeaderExtensionIDs,
        playoutDelay own: PlayoutDelayLimits? = nil
    ) {
        if let own {
            ownPlayoutDelay = own
            isEmpty = false
        }
        guard header.extensionProfile != nil else { return }
        var elements = HeaderExtensionIterator(header)
        while let element = elements.next(in: packet) {
            switch element.id {
            case publisher.audioLevel: audioLevel = element.range
            case publisher.videoOrientation: videoOrientation = element.range
            case publisher.absoluteCaptureTime: absoluteCaptureTime = element.range
            case publisher.playoutDelay: playoutDelay = element.range
            case publisher.dependencyDescriptor: dependencyDescriptor = element.range
            default: continue
            }
            isEmpty = false
        }
    }

    /// Bytes by which a packet's elements may become longer on their way: each in the two-byte form, and one that it
    /// did not have.
    static let growth = 5 * HeaderExtensionWriter.elementOverhead + PlayoutDelayLimits.size

    /// One has more bytes than the one-byte form holds (RFC 8285 §4.2).
    public var hasLongElements: Bool { (dependencyDescriptor?.count ?? 0) > 16 }

    /// Appends what both negotiated to a block that the caller has begun and will finish.
    ///
    /// - Parameters:
    ///   - packet: the one that this was made of.
    ///   - out: what the subscriber's packet differs by.
    public func append(
        of packet: RawSpan, to subscriber: HeaderExtensionIDs, _ out: OutgoingPacket,
        with writer: HeaderExtensionWriter, into bytes: inout OutputSpan<UInt8>
    ) {
        // A packet that only fills a place says nothing of media.
        guard !isEmpty, !out.isPadding else { return }
        func append(_ range: Range<Int>?, as id: UInt8?) {
            guard let range, let id, writer.begin(id, length: range.count, in: &bytes) != nil else { return }
            bytes.append(contentsOf: packet.extracting(range))
        }
        append(audioLevel, as: subscriber.audioLevel)
        append(videoOrientation, as: subscriber.videoOrientation)
        append(absoluteCaptureTime, as: subscriber.absoluteCaptureTime)
        if let ownPlayoutDelay {
            ownPlayoutDelay.append(as: subscriber.playoutDelay, with: writer, into: &bytes)
        } else {
            append(playoutDelay, as: subscriber.playoutDelay)
        }
        if let range = dependencyDescriptor, let id = subscriber.dependencyDescriptor,
            writer.begin(id, length: range.count, in: &bytes) != nil
        {
            out.appendDependencyDescriptor(packet.extracting(range), to: &bytes)
        }
    }
}
