/// Joins the RTP payloads of a frame into what a decoder takes. One value for one RTP stream.
public struct Depacketizer: Sendable {
    /// A frame that would grow past this, in bytes, is refused as malformed: the network may not make us hold more.
    public static let maximumFrameSize = 8 << 20

    /// What the payloads are.
    public let format: PayloadFormat

    private enum Machine: Sendable {
        case h264(H264Depacketizer)
        case vp8(VP8Depacketizer)
        case opus
    }

    private var machine: Machine

    public init(format: PayloadFormat) {
        self.format = format
        self.machine = Self.makeMachine(format)
    }

    private static func makeMachine(_ format: PayloadFormat) -> Machine {
        switch format {
        case .h264: .h264(H264Depacketizer())
        case .vp8: .vp8(VP8Depacketizer())
        case .opus: .opus
        }
    }

    /// Whether this payload can be the first one of its frame. For H.264 several payloads of one frame can say so
    /// (parameter sets, then the first slice): the first is the oldest of those with the frame's timestamp. False
    /// for a payload that does not parse.
    public func startsFrame(_ payload: RawSpan) -> Bool {
        switch format {
        case .h264: H264Depacketizer.startsFrame(payload)
        case .vp8: VP8Depacketizer.startsFrame(payload)
        case .opus: payload.byteCount > 0
        }
    }

    /// Whether this payload marks its frame as a key frame: for VP8 the first payload, by the P bit; for H.264 one
    /// that holds or begins a sequence parameter set or an IDR slice. An H.264 frame that opens with a lone access
    /// unit delimiter says so only in a later payload, so ask for each. False for a payload that does not parse.
    public func startsKeyFrame(_ payload: RawSpan) -> Bool {
        switch format {
        case .h264: H264Depacketizer.startsKeyFrame(payload)
        case .vp8: VP8Depacketizer.startsKeyFrame(payload)
        case .opus: payload.byteCount > 0
        }
    }

    /// Appends the content of the frame's next payload. An empty `frame` begins a new one. Payloads come in order,
    /// without a hole.
    /// - Returns: false when the payload is malformed or does not continue the frame; `frame` is then as it was,
    ///   and should be thrown away.
    public mutating func append(_ payload: RawSpan, to frame: inout [UInt8]) -> Bool {
        switch machine {
        case .h264(var h264):
            let isFine = h264.append(payload, to: &frame)
            machine = .h264(h264)
            return isFine
        case .vp8(var vp8):
            let isFine = vp8.append(payload, to: &frame)
            machine = .vp8(vp8)
            return isFine
        case .opus:
            // RFC 7587 §4.2: one packet is the whole frame.
            guard frame.isEmpty, payload.byteCount > 0 else { return false }
            frame.append(contentsOf: payload)
            return true
        }
    }

    /// Whether what was appended so far ends cleanly: false inside a fragmented H.264 unit. Ask after the payload
    /// with the RTP marker.
    public var isAtUnitBoundary: Bool {
        switch machine {
        case .h264(let h264): h264.isAtUnitBoundary
        case .vp8, .opus: true
        }
    }

    /// Forgets a frame that was begun. `append` does so itself when it is given an empty frame.
    public mutating func reset() { machine = Self.makeMachine(format) }
}

extension PayloadFormat {
    /// Whether a decoder can begin at this coded frame: H.264 with an IDR slice, VP8 with its key-frame bit, any
    /// Opus packet.
    public func isKeyFrame(_ frame: RawSpan) -> Bool {
        switch self {
        case .h264:
            var units = AnnexBReader(frame)
            while let range = units.next() {
                if let header = frame.byte(at: range.lowerBound), H264NALType(header: header) == .idrSlice {
                    return true
                }
            }
            return false
        case .vp8: return VP8FrameHeader(frame)?.isKeyFrame ?? false
        case .opus: return frame.byteCount > 0
        }
    }
}
