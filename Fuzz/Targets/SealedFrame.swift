import LiveKitClient
import RTCEngine
import RTCWire

private let keys = KeyProvider(sharedKey: "of fuzzers")

/// A frame of a codec that the first byte names: opened as it is; and encrypted, where it comes back as it was, and is
/// refused with any of its bytes changed.
func fuzzSealedFrame(_ bytes: RawSpan) {
    guard bytes.byteCount > 2, let choice = bytes.byte(at: 0), let place = bytes.byte(at: 1) else { return }
    let formats: [PayloadFormat] = [.opus, .vp8, .h264, .vp9, .pcmu]
    let format = formats[Int(choice) % formats.count]
    let payload = bytes.extracting(droppingFirst: 2).withUnsafeBytes { [UInt8]($0) }
    let frame = EncodedFrame(payload: payload, timestamp: 0, isKeyFrame: false, format: format)
    let opened = FrameCryptor.open(frame, of: "ann", with: keys, serverTrailer: [1, 2, 3, 4])
    precondition(opened == nil, "nobody guesses what is authenticated")

    guard var sealed = FrameCryptor.seal(frame, by: "ann", with: keys) else { return }
    precondition(sealed.isSealed)
    guard let again = FrameCryptor.open(sealed, of: "bob", with: keys, serverTrailer: []) else {
        fatalError("what is encrypted can be opened with the same password")
    }
    // Of H.264 only what is needed is encrypted, and that once and for all.
    if format != .h264 { precondition(again.payload == payload) }
    guard let twice = FrameCryptor.seal(again, by: "ann", with: keys),
        let thrice = FrameCryptor.open(twice, of: "ann", with: keys, serverTrailer: [])
    else { fatalError("what was opened can be encrypted") }
    precondition(thrice.payload == again.payload)

    sealed.payload[(Int(place) << 3 | Int(choice) >> 5) % sealed.payload.count] ^= 1 << (choice >> 4 & 7)
    precondition(FrameCryptor.open(sealed, of: "ann", with: keys, serverTrailer: []) == nil)
}
