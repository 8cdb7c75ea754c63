import RTCWire

/// Payloads, each after a byte with its length; a descriptor that is read is written the same; and the same bytes as a
/// frame that is packed and unpacked.
func fuzzVP9(_ bytes: RawSpan) {
    var depacketizer = Depacketizer(format: .vp9)
    var frame: [UInt8] = []
    var reader = ByteReader(bytes)
    while let size = reader.readUInt8(), let payload = reader.readSpan(min(Int(size), reader.remaining)) {
        _ = depacketizer.startsFrame(payload)
        _ = depacketizer.startsKeyFrame(payload)
        _ = depacketizer.isCertainFrameStart(payload)
        let before = frame.count
        if !depacketizer.append(payload, to: &frame) {
            precondition(frame.count == before, "a refused payload leaves no trace")
        }
        guard let descriptor = VP9PayloadDescriptor(payload) else { continue }
        var written: [UInt8] = []
        descriptor.write(into: &written)
        // Reserved bits of the structure are not kept, but its length is.
        precondition(written.count == descriptor.byteCount)
        let again = VP9PayloadDescriptor(written.span.bytes)
        precondition(again == descriptor)
    }
    var index: [UInt8] = []
    VP9Superframe(sizes: [Int](repeating: 1 << 24, count: VP9Superframe.maximumFrames)).appendIndex(to: &index)
    precondition(frame.count <= bytes.byteCount + index.count)

    _ = VP9FrameHeader(bytes)
    fuzzVP9Layers(bytes)
    var packetizer = Packetizer(format: .vp9, maximumPayloadSize: 20, firstPictureID: 0x7fff)
    var list = PayloadList()
    packetizer.packetize(bytes, into: &list)
    var joined: [UInt8] = []
    for index in 0..<list.count {
        let isFine = depacketizer.append(list[index], to: &joined)
        precondition(isFine, "what we send can be read")
    }
    precondition(joined == bytes.withUnsafeBytes { [UInt8]($0) }, "a round trip changes nothing")
}

/// The same bytes as two layers of a picture: hidden or not, there are two frames that can be read.
private func fuzzVP9Layers(_ bytes: RawSpan) {
    let half = bytes.byteCount / 2
    guard half > 0 else { return }
    var picture = bytes.withUnsafeBytes { [UInt8]($0) }
    VP9Superframe(sizes: [half, bytes.byteCount - half]).appendIndex(to: &picture)
    _ = VP9Superframe.pictureSize(of: picture.span.bytes)
    var hiding = VP9LayerHiding()
    let once = hiding.hide(picture)
    precondition(VP9Superframe(once.span.bytes)?.sizes.count == 2)
    precondition(once.count <= picture.count + 3, "a bit more, and what the index needs for it")
    var again = VP9LayerHiding()
    precondition(again.hide(once) == once, "what is hidden stays as it is")
}
