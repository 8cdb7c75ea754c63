internal import LiveKitProtocol
internal import RTCEngine
internal import RTCWire

/// Encrypts frames between clients, as LiveKit's SDKs do, and opens them:
///
///     clear beginning | ciphertext | tag 16 | IV 12 | length of the IV | index of the key
///
/// The beginning is what servers look at to tell key frames, and packetizers to cut pictures. It is authenticated.
enum FrameCryptor {
    /// Of what is behind the tag.
    private static let trailerLength = AES128GCM.nonceLength + 2

    /// The codecs that LiveKit's SDKs can do it with. Of AV1 they encrypt what packetizers have to read.
    static func canSeal(_ format: PayloadFormat) -> Bool {
        switch format {
        case .opus, .pcmu, .pcma, .vp8, .vp9, .h264: true
        case .h265, .av1: false
        }
    }

    /// Nil where there is no key, which keeps the frame from going out.
    static func seal(_ frame: EncodedFrame, by identity: ParticipantIdentity, with keys: KeyProvider) -> EncodedFrame? {
        // Nothing to hide.
        guard !frame.payload.isEmpty else { return frame }
        guard let (key, index) = keys.currentKey(of: identity), canSeal(frame.format) else { return nil }
        var frame = frame
        if frame.format == .h264 { frame.payload = H264Frame.withoutRemarks(frame.payload) }
        let length = clearLength(of: frame.payload, frame.format, isKeyFrame: frame.isKeyFrame)
        let (clear, plain) = (frame.payload[..<length], frame.payload[length...])
        let nonce = makeNonce()
        guard let sealed = AES128GCM.seal(plain, clear: clear, nonce: nonce, key: key) else { return nil }
        let body = sealed + nonce + [UInt8(AES128GCM.nonceLength), index]
        frame.payload = clear + (frame.format == .h264 ? H264Frame.escaped(body) : body)
        return frame
    }

    /// Nil for what cannot be opened.
    ///
    /// - Parameter serverTrailer: what ends the frames that the server makes itself, which nobody encrypts.
    static func open(
        _ frame: EncodedFrame, of identity: ParticipantIdentity, with keys: KeyProvider, serverTrailer: [UInt8]
    ) -> EncodedFrame? {
        guard !frame.payload.isEmpty else { return frame }
        // They say nothing that anybody would have to hear: black, and silence.
        if !serverTrailer.isEmpty, frame.payload.suffix(serverTrailer.count) == serverTrailer[...] { return nil }
        let length = clearLength(of: frame.payload, frame.format, isKeyFrame: frame.isKeyFrame)
        let clear = frame.payload[..<length]
        var body = frame.payload[length...]
        if frame.format == .h264 { body = H264Frame.unescaped(body)[...] }
        guard body.count >= trailerLength + AES128GCM.tagLength, let index = body.last,
            body[body.endIndex - 2] == UInt8(AES128GCM.nonceLength), let key = keys.key(of: identity, at: index)
        else { return nil }
        let nonce = Array(body.suffix(trailerLength).prefix(AES128GCM.nonceLength))
        let sealed = body.dropLast(trailerLength)
        guard let plain = AES128GCM.open(sealed, clear: clear, nonce: nonce, key: key) else { return nil }
        var frame = frame
        frame.payload = clear + plain
        return frame
    }

    /// Random, and of bytes that need no escape where H.264 has them: native SDKs read it before they take those out.
    private static func makeNonce() -> [UInt8] {
        (0..<AES128GCM.nonceLength).map { _ in UInt8.random(in: 4...255) }
    }

    /// How much stays readable.
    static func clearLength(of payload: [UInt8], _ format: PayloadFormat, isKeyFrame: Bool) -> Int {
        let length =
            switch format {
            case .opus, .pcmu, .pcma: 1
            // RFC 6386 §9.1: the frame tag, and of a key frame the start code and the size.
            case .vp8: isKeyFrame ? 10 : 3
            case .vp9, .av1, .h265: 0
            case .h264: H264Frame.clearLength(of: payload)
            }
        return min(length, payload.count)
    }
}

/// Of access units in Annex B what matters to who encrypts them.
enum H264Frame {
    /// Up to the second byte of the first slice (ITU-T H.264 table 7-1: types 1 and 5); all of what has none.
    static func clearLength(of frame: [UInt8]) -> Int {
        for start in starts(of: frame) where frame.indices.contains(start) {
            let type = frame[start] & 0x1f
            if type == 1 || type == 5 { return start + 2 }
        }
        return frame.count
    }

    /// Without supplemental information and delimiters (types 6 and 9): receivers keep the length of the clear part in
    /// one byte.
    static func withoutRemarks(_ frame: [UInt8]) -> [UInt8] {
        let starts = starts(of: frame)
        var kept: [UInt8] = []
        for (place, start) in starts.enumerated() {
            var end = place + 1 < starts.count ? starts[place + 1] - 3 : frame.count
            // The next one's start code may have four bytes.
            if place + 1 < starts.count, end > start, frame[end - 1] == 0 { end -= 1 }
            guard start < end, ![6, 9].contains(frame[start] & 0x1f) else { continue }
            kept += [0, 0, 0, 1] + frame[start..<end]
        }
        return kept.isEmpty ? frame : kept
    }

    /// Where units begin, behind their start codes.
    private static func starts(of frame: [UInt8]) -> [Int] {
        var starts: [Int] = []
        var zeros = 0
        for (place, byte) in frame.enumerated() {
            if byte == 1, zeros >= 2 { starts.append(place + 1) }
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return starts
    }

    /// With emulation prevention (ITU-T H.264 §7.4.1): nothing in it looks like a start code.
    static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(bytes.count + 16)
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte <= 3 {
                escaped.append(3)
                zeros = 0
            }
            escaped.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return escaped
    }

    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            plain.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return plain
    }
}
