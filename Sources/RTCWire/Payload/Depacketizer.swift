/// Joins the RTP payloads of a frame into what a decoder takes. One value for one RTP stream.
public struct Depacketizer: Sendable {
    /// A frame that would grow past this, in bytes, is refused as malformed: the network may not make us hold more.
    public static let maximumFrameSize = 8 << 20

    /// What the payloads are.
    public let format: PayloadFormat

    private enum Machine: Sendable {
        case h264(H264Depacketizer)
        case vp8(VP8Depacketizer)
        case vp9(VP9Depacketizer)
        case av1(AV1Depacketizer)
        case h265(H265Depacketizer)
        /// Opus and G.711: one packet is one frame.
        case whole
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
        case .vp9: .vp9(VP9Depacketizer())
        case .av1: .av1(AV1Depacketizer())
        case .h265: .h265(H265Depacketizer())
        case .opus, .pcmu, .pcma: .whole
        }
    }

    /// Whether this payload can be the first one of its frame. For H.264, H.265 and AV1 several payloads of one frame
    /// can say so (parameter sets, then the first slice): the first is the oldest of those with the frame's timestamp.
    /// False for a payload that does not parse.
    public func startsFrame(_ payload: RawSpan) -> Bool {
        switch format {
        case .h264: H264Depacketizer.startsFrame(payload)
        case .vp8: VP8Depacketizer.startsFrame(payload)
        case .vp9: VP9Depacketizer.startsFrame(payload)
        case .av1: AV1Depacketizer.startsFrame(payload)
        case .h265: H265Depacketizer.startsFrame(payload)
        case .opus, .pcmu, .pcma: payload.byteCount > 0
        }
    }

    /// Whether this payload marks its frame as a key frame: for VP8 and VP9 the first payload, by the P bit; for AV1
    /// the first, by the N bit; for H.264 and H.265 one that holds or begins a parameter set or a slice of such a
    /// picture. A frame that opens with a lone access unit delimiter says so only in a later payload, so ask for each.
    /// False for a payload that does not parse.
    public func startsKeyFrame(_ payload: RawSpan) -> Bool {
        switch format {
        case .h264: H264Depacketizer.startsKeyFrame(payload)
        case .vp8: VP8Depacketizer.startsKeyFrame(payload)
        case .vp9: VP9Depacketizer.startsKeyFrame(payload)
        case .av1: AV1Depacketizer.startsKeyFrame(payload)
        case .h265: H265Depacketizer.startsKeyFrame(payload)
        case .opus, .pcmu, .pcma: payload.byteCount > 0
        }
    }

    /// Whether a payload that starts a frame proves that no packet of the same frame came before it.
    public func isCertainFrameStart(_ payload: RawSpan) -> Bool {
        switch format {
        // VP8 says so in its descriptor; a packet of sound is a frame.
        case .vp8, .opus, .pcmu, .pcma: true
        case .vp9: VP9Depacketizer.isCertainFrameStart(payload)
        // Only a sequence's first packet tells.
        case .av1: AV1Depacketizer.startsKeyFrame(payload)
        case .h265: H265Depacketizer.isCertainFrameStart(payload)
        case .h264: H264Depacketizer.isCertainFrameStart(payload)
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
        case .vp9(var vp9):
            let isFine = vp9.append(payload, to: &frame)
            machine = .vp9(vp9)
            return isFine
        case .av1(var av1):
            let isFine = av1.append(payload, to: &frame)
            machine = .av1(av1)
            return isFine
        case .h265(var h265):
            let isFine = h265.append(payload, to: &frame)
            machine = .h265(h265)
            return isFine
        case .whole:
            // RFC 7587 §4.2: one packet is the whole frame.
            guard frame.isEmpty, payload.byteCount > 0 else { return false }
            frame.append(contentsOf: payload)
            return true
        }
    }

    /// Whether what was appended so far ends cleanly: false inside a fragmented unit. Ask after the payload
    /// with the RTP marker.
    public var isAtUnitBoundary: Bool {
        switch machine {
        case .h264(let h264): h264.isAtUnitBoundary
        case .vp9(let vp9): vp9.isAtUnitBoundary
        case .av1(let av1): av1.isAtUnitBoundary
        case .h265(let h265): h265.isAtUnitBoundary
        case .vp8, .whole: true
        }
    }

    /// Forgets a frame that was begun. `append` does so itself when it is given an empty frame.
    public mutating func reset() { machine = Self.makeMachine(format) }
}

extension PayloadFormat {
    /// Whether a decoder can begin at this coded frame: H.264 with an IDR slice, H.265 with a random access picture,
    /// VP8 and VP9 with the key-frame bit, AV1 with a sequence header and a key frame, any packet of sound.
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
        case .vp9: return VP9FrameHeader(frame)?.isKeyFrame ?? false
        case .av1: return AV1TemporalUnit.isKeyFrame(frame)
        case .h265: return H265Depacketizer.isKeyFrame(frame)
        case .opus, .pcmu, .pcma: return frame.byteCount > 0
        }
    }
}
