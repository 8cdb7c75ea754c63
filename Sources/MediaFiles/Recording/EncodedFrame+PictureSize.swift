public import RTCEngine
import RTCWire

extension EncodedFrame {
    /// In pixels, as a key frame tells it; nil for other frames, for sound, and where it is not understood.
    public var pictureSize: (width: Int, height: Int)? {
        guard isKeyFrame else { return nil }
        if let codec = IVFCodec(format: format) { return codec.size(ofKeyFrame: payload) }
        guard format == .h264 else { return nil }
        var sets = H264ParameterSets()
        sets.receive(frame: payload)
        guard let first = sets.first, let parameters = H264SequenceParameterSet(first.span.bytes) else { return nil }
        return (parameters.width, parameters.height)
    }
}
