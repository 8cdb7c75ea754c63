/// The RTP payloads of one frame, end to end in one buffer. A sender keeps one list and reuses it, so that
/// cutting a frame into packets allocates nothing once the buffers have grown.
public struct PayloadList: Sendable, Equatable {
    /// All payloads, one after the other.
    public var bytes: [UInt8]
    /// Where each payload ends in `bytes`, ascending.
    public var ends: [Int]

    public init() {
        bytes = []
        ends = []
    }

    /// How many payloads there are.
    public var count: Int { ends.count }

    public var isEmpty: Bool { ends.isEmpty }

    /// Forgets the payloads; the storage stays unless told otherwise.
    public mutating func removeAll(keepingCapacity: Bool = true) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        ends.removeAll(keepingCapacity: keepingCapacity)
    }

    /// Where payload `index` lies in `bytes`; an empty range when there is no such payload.
    public func range(_ index: Int) -> Range<Int> {
        guard ends.indices.contains(index) else { return 0..<0 }
        return (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// Payload `index` as a view, without copying; empty when there is no such payload.
    public subscript(index: Int) -> RawSpan {
        @_lifetime(borrow self)
        get { bytes.span.bytes.extracting(range(index)) }
    }

    /// Ends the payload whose bytes were appended to `bytes` since the last call.
    public mutating func endPayload() { ends.append(bytes.count) }
}
