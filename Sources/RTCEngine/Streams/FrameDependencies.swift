import RTCWire

/// Says of each packet which frame it belongs to, and of each frame that it refers to the one before (AV1 RTP
/// specification, appendix A): what a stream of one layer needs.
///
/// What a frame really refers to only its encoder knows. Where there are temporal layers inside, the one before is more
/// than a decoder needs, and never less.
struct FrameDependencies: Sendable {
    /// Bytes of data on a key frame's first packet, which brings the structure; the others have three.
    static let maximumSize = 9

    private static let structure = DependencyStructure.singleLayer()
    private var frameNumber: UInt16 = 0
    /// The receiver has been told the structure. Before that nothing can be said about a frame.
    private var isStructureKnown = false
    private var isKeyFrame = false

    /// A frame follows. Frames before the first key frame are not described.
    mutating func begin(isKeyFrame: Bool) {
        self.isKeyFrame = isKeyFrame
        isStructureKnown = isStructureKnown || isKeyFrame
        frameNumber &+= 1
    }

    /// The receiver knows nothing any more.
    mutating func forget() { isStructureKnown = false }

    /// Appends the element for a packet of the frame.
    func write(
        _ id: UInt8, isFirst: Bool, isLast: Bool, with writer: HeaderExtensionWriter,
        into packet: inout OutputSpan<UInt8>
    ) {
        guard isStructureKnown else { return }
        guard isFirst, isKeyFrame else {
            // §A.8.3: a template that says everything needs no more than the mandatory fields.
            guard writer.begin(id, length: 3, in: &packet) != nil else { return }
            packet.append((isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0) | (isKeyFrame ? 0 : 1))
            packet.append(uint16: frameNumber)
            return
        }
        var data: [UInt8] = []
        let descriptor = DependencyDescriptor(
            startsFrame: true, endsFrame: isLast, frameNumber: frameNumber, indications: [.switching],
            chainDifferences: [0], structure: Self.structure)
        guard descriptor.write(Self.structure, into: &data),
            writer.begin(id, length: data.count, in: &packet) != nil
        else { return }
        packet.append(contentsOf: data.span.bytes)
    }
}
