internal import LiveKitProtocol
package import RTCEngine
internal import RTCWire

/// Encrypts frames between clients, as LiveKit's SDKs do, and opens them:
///
///     clear beginning | ciphertext | tag 16 | IV 12 | length of the IV | index of the key
///
/// The beginning is what servers look at to tell key frames, and packetizers to cut pictures. It is authenticated.
package enum FrameCryptor {
    /// Of what is behind the tag.
    private static let trailerLength = AES128GCM.nonceLength + 2

    /// The codecs that LiveKit's SDKs can do it with. Of AV1 they encrypt what packetizers have to read.
    static func canSeal(_ format: PayloadFormat) -> Bool {
        switch format {
        case .opus, .pcmu, .pcma, .vp8, .vp9, .h264: true
        case .h265, .av1: false
        }
    }

    /// Nil where there is no key, or nothing would be encrypted, which keeps the frame from going out.
    package static func seal(
        _ frame: EncodedFrame, by identity: ParticipantIdentity, with keys: KeyProvider,
        nonce: [UInt8] = makeNonce()
    ) -> EncodedFrame? {
        // Nothing to hide.
        guard !frame.payload.isEmpty else { return frame }
        guard let (key, index) = keys.currentKey(of: identity), canSeal(frame.format) else { return nil }
        var frame = frame
        if frame.format == .h264 {
            guard let picture = H264Frame.sealable(frame.payload) else { return nil }
            frame.payload = picture
        }
        let length = clearLength(of: frame.payload, frame.format)
        // A picture that ends within its own header is none, and whoever opens it would look for a whole one.
        guard length <= frame.payload.count else { return nil }
        let (clear, plain) = (frame.payload[..<length], frame.payload[length...])
        guard let sealed = AES128GCM.seal(plain, clear: clear, nonce: nonce, key: key) else { return nil }
        let body = sealed + nonce + [UInt8(AES128GCM.nonceLength), index]
        frame.payload = clear + (frame.format == .h264 ? H264Frame.escaped(body) : body)
        frame.isSealed = true
        return frame
    }

    /// Nil for what cannot be opened.
    ///
    /// - Parameter serverTrailer: what ends the frames that the server makes itself, which nobody encrypts.
    package static func open(
        _ frame: EncodedFrame, of identity: ParticipantIdentity, with keys: KeyProvider, serverTrailer: [UInt8]
    ) -> EncodedFrame? {
        guard !frame.payload.isEmpty else { return frame }
        // They say nothing that anybody would have to hear: black, and silence.
        if !serverTrailer.isEmpty, frame.payload.suffix(serverTrailer.count) == serverTrailer[...] { return nil }
        let length = clearLength(of: frame.payload, frame.format)
        guard length <= frame.payload.count else { return nil }
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
        frame.isSealed = false
        return frame
    }

    /// Random, and of bytes that need no escape where H.264 has them: native SDKs read it before they take those out.
    package static func makeNonce() -> [UInt8] {
        (0..<AES128GCM.nonceLength).map { _ in UInt8.random(in: 4...255) }
    }

    /// How much stays readable; more than there is of a picture that is cut off.
    static func clearLength(of payload: [UInt8], _ format: PayloadFormat) -> Int {
        switch format {
        case .opus, .pcmu, .pcma: 1
        // RFC 6386 §9.1: the frame tag, and of a key frame, which its first bit tells, the start code and the size.
        case .vp8: payload.first.map { $0 & 1 } == 0 ? 10 : 3
        case .vp9, .av1, .h265: 0
        case .h264: H264Frame.clearLength(of: payload)
        }
    }
}

/// Of access units in Annex B what matters to who encrypts them.
enum H264Frame {
    /// Receivers keep the length of the readable part in one byte.
    private static let longestClearPart = 255

    /// Up to the second byte of the first slice; all of what has none.
    static func clearLength(of frame: [UInt8]) -> Int {
        var units = AnnexBReader(frame.span.bytes)
        while let unit = units.next() {
            if isSlice(frame[unit.lowerBound]) { return unit.lowerBound + 2 }
        }
        return frame.count
    }

    /// The picture as receivers put it together again: without supplemental information and delimiters, which would
    /// make the readable part long, and without zeros between units. Nil for what has no slice of a kind that LiveKit's
    /// SDKs look for, or too much before it: nobody could open it, and everybody could read it.
    static func sealable(_ frame: [UInt8]) -> [UInt8]? {
        var kept: [UInt8] = []
        var clear: Int?
        var units = AnnexBReader(frame.span.bytes)
        while let unit = units.next() {
            let header = frame[unit.lowerBound]
            if clear == nil {
                guard isSlice(header) || isParameterSet(header) else { continue }
                if isSlice(header) { clear = kept.count + AnnexB.startCode.count + 2 }
            }
            kept += AnnexB.startCode + frame[unit]
        }
        guard let clear, clear <= longestClearPart, clear < kept.count else { return nil }
        return kept
    }

    /// ITU-T H.264 table 7-1.
    private static func isSlice(_ header: UInt8) -> Bool { [1, 5].contains(header & 0x1f) }
    private static func isParameterSet(_ header: UInt8) -> Bool { [7, 8].contains(header & 0x1f) }

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
