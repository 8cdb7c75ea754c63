public import RTCWire

/// The header extensions (RFC 8285) of a published packet that describe the media. They are forwarded to each
/// subscriber under the identifiers that it has negotiated. Those that concern the path from publisher to server (mid,
/// rid, transport-wide sequence numbers, absolute send time) are not forwarded.
///
/// Made once for a packet and used for every subscriber. The ranges are those of the packet's bytes.
public struct ForwardedExtensions: Sendable {
    private var audioLevel: Range<Int>?
    private var videoOrientation: Range<Int>?
    private var absoluteCaptureTime: Range<Int>?
    private var playoutDelay: Range<Int>?
    /// Sent to subscribers in place of the publisher's; nil to forward the publisher's.
    private var ownPlayoutDelay: PlayoutDelayLimits?
    private var dependencyDescriptor: Range<Int>?
    private var isEmpty = true

    /// - Parameters:
    ///   - header: of the published `packet`.
    ///   - publisher: the identifiers that were negotiated with its publisher.
    ///   - own: a playout delay to send in place of the packet's.
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

    /// By how many bytes a packet's extensions may grow: all in the two-byte form, and a playout delay that it did not
    /// have.
    static let growth = 5 * HeaderExtensionWriter.elementOverhead + PlayoutDelayLimits.size

    /// Whether an element is too long for the one-byte form (RFC 8285 §4.2).
    public var hasLongElements: Bool { (dependencyDescriptor?.count ?? 0) > 16 }

    /// Appends the elements that the subscriber has negotiated too. The caller begins and finishes the block.
    ///
    /// - Parameters:
    ///   - packet: the one that this was made of.
    ///   - out: the packet as the subscriber gets it.
    public func append(
        of packet: RawSpan, to subscriber: HeaderExtensionIDs, _ out: OutgoingPacket,
        with writer: HeaderExtensionWriter, into bytes: inout OutputSpan<UInt8>
    ) {
        // A padding packet has no media to describe.
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
