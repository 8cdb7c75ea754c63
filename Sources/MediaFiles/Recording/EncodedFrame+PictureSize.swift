public import RTCEngine
import RTCWire

extension EncodedFrame {
    /// In pixels, as a key frame tells it; nil for other frames, for sound, and where it is not understood.
    public var pictureSize: (width: Int, height: Int)? {
        guard isKeyFrame else { return nil }
        if let codec = IVFCodec(format: format) { return codec.size(ofKeyFrame: payload) }
        guard let codec = NALCodec(format) else { return nil }
        var sets = ParameterSets(codec)
        sets.receive(frame: payload)
        return sets.first.flatMap(codec.pictureSize)
    }
}
