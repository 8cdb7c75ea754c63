import LiveKitProtocol
import RTCEngine
import RTCWire
import Testing

@testable import LiveKitClient

@Suite struct FrameCryptorTests {
    private let keys = KeyProvider(sharedKey: "password")

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0, radix: 16).count == 1 ? "0\(String($0, radix: 16))" : String($0, radix: 16) }.joined()
    }

    private func frame(_ payload: [UInt8], _ format: PayloadFormat, isKeyFrame: Bool = true) -> EncodedFrame {
        EncodedFrame(payload: payload, timestamp: 7, isKeyFrame: isKeyFrame, format: format)
    }

    private func open(_ frame: EncodedFrame, of identity: ParticipantIdentity = "ann", trailer: [UInt8] = [])
        -> [UInt8]?
    {
        FrameCryptor.open(frame, of: identity, with: keys, serverTrailer: trailer)?.payload
    }

    /// The first is of libwebrtc's own tests for LiveKit.
    @Test func `keys are those that LiveKit's SDKs make of the same password`() {
        let first = PasswordKey.derive(Array(0..<16), salt: Array(0..<8), iterations: 100_000, length: 16)
        #expect(first.map(Self.hex) == "a658cd52efbacadfecdfe0a0dc574ec3")
        #expect(keys.currentKey(of: "ann").map { Self.hex($0.key) } == "421890b1557504a8ea1a90c253b419e4")
    }

    /// Case 2 of McGrew's and Viega's submission of GCM.
    @Test func `the cipher is AES-128-GCM`() throws {
        let (key, nonce, plain) = (
            [UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 12), [UInt8](repeating: 0, count: 16)
        )
        let sealed = try #require(AES128GCM.seal(plain[...], clear: [], nonce: nonce, key: key))
        #expect(Self.hex(sealed) == "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf")
        #expect(AES128GCM.open(sealed[...], clear: [], nonce: nonce, key: key) == plain)
        #expect(AES128GCM.open(sealed[...], clear: [1], nonce: nonce, key: key) == nil)
        let nothing = try #require(AES128GCM.seal([], clear: [1, 2], nonce: nonce, key: key))
        #expect(nothing.count == 16 && AES128GCM.open(nothing[...], clear: [1, 2], nonce: nonce, key: key) == [])
    }

    @Test(arguments: [
        (PayloadFormat.opus, 0 as UInt8, 1), (.pcmu, 0, 1), (.vp8, 0, 10), (.vp8, 1, 3), (.vp9, 0x82, 0),
    ])
    func `what servers and packetizers look at stays readable, and all comes back`(
        _ format: PayloadFormat, _ first: UInt8, _ clear: Int
    ) throws {
        let payload = [first] + (1..<100).map { UInt8($0) }
        let sealed = try #require(FrameCryptor.seal(frame(payload, format), by: "ann", with: keys))
        #expect(sealed.payload.count == payload.count + 16 + 12 + 2)
        #expect(sealed.payload.prefix(clear) == payload.prefix(clear))
        #expect(sealed.payload[clear..<100] != payload[clear...])
        #expect(sealed.payload.suffix(2) == [12, 0])
        #expect(sealed.timestamp == 7)
        #expect(open(sealed) == payload)
    }

    @Test func `whatever is changed is not opened`() throws {
        let sealed = try #require(FrameCryptor.seal(frame(Array(0..<40), .vp8), by: "ann", with: keys))
        for place in sealed.payload.indices {
            var changed = sealed
            changed.payload[place] ^= 0x40
            #expect(open(changed) == nil, "\(place)")
        }
        for count in 0..<sealed.payload.count {
            var cut = sealed
            cut.payload = Array(sealed.payload.prefix(count))
            // Of nothing, nothing is left.
            #expect(open(cut) == (count == 0 ? [] : nil))
        }
    }

    @Test func `no frame has another's nonce`() throws {
        let nonces = try (0..<1_000).map { _ in
            let sealed = try #require(FrameCryptor.seal(frame([1, 2], .opus), by: "ann", with: keys))
            return Array(sealed.payload.suffix(14).prefix(12))
        }
        #expect(Set(nonces).count == 1_000)
    }

    @Test func `each has the key that was set for them, or all the same, under the index that is said`() throws {
        let ann = KeyProvider()
        #expect(FrameCryptor.seal(frame([1, 2], .opus), by: "ann", with: ann) == nil, "without a key nothing goes out")
        ann.setKey("hers", for: "ann", index: 3)
        ann.setCurrentKeyIndex(3)
        let sealed = try #require(FrameCryptor.seal(frame([1, 2, 3], .opus), by: "ann", with: ann))
        #expect(sealed.payload.last == 3)
        #expect(open(sealed) == nil)
        keys.setSharedKey("hers", index: 3)
        #expect(open(sealed) == [1, 2, 3])
        keys.setKey("another", for: "ann", index: 3)
        #expect(open(sealed) == nil)
        #expect(open(sealed, of: "bob") == [1, 2, 3])
        // Who has one of their own has no other, under any index.
        let shared = try #require(FrameCryptor.seal(frame([1, 2, 3], .opus), by: "bob", with: keys))
        #expect(shared.payload.last == 0 && open(shared, of: "bob") == [1, 2, 3] && open(shared) == nil)
    }

    @Test func `what the server makes itself is passed over, and nothing of nothing`() throws {
        let trailer = [UInt8](repeating: 9, count: 18)
        let made = frame([0xf8, 0xff, 0xfe] + trailer, .opus)
        #expect(open(made, trailer: trailer) == nil)
        #expect(open(frame([], .opus)) == [])
        #expect(FrameCryptor.seal(frame([], .opus), by: "ann", with: keys)?.payload == [])
    }

    // H.264

    private static let parameters: [UInt8] = [0, 0, 0, 1, 0x67, 1, 2, 3, 0, 0, 0, 1, 0x68, 4]
    private static let slice: [UInt8] = [0, 0, 0, 1, 0x65, 0x88] + (0..<60).map { UInt8($0 + 1) }

    @Test func `of H.264 all up to the first slice is readable, and nothing behind it looks like a start code`() throws
    {
        let nonce = [UInt8](repeating: 7, count: 12)
        let key = try #require(keys.currentKey(of: "ann")).key
        // What becomes nothing but zeros when it is encrypted.
        let zeros = [UInt8](repeating: 0, count: 60)
        let stream = try #require(AES128GCM.seal(zeros[...], clear: [], nonce: nonce, key: key)).dropLast(16)
        let beginning: [UInt8] = Self.parameters + [0, 0, 0, 1, 0x65, 0x88]
        let picture = beginning + stream
        let sealed = try #require(FrameCryptor.seal(frame(picture, .h264), by: "ann", with: keys, nonce: nonce))
        #expect(sealed.payload.prefix(beginning.count) == beginning[...])
        let body = sealed.payload[beginning.count...]
        #expect(body.prefix(6) == [0, 0, 3, 0, 0, 3])
        // Native SDKs read what is behind the tag before they take escapes out.
        #expect(body.suffix(14) == (nonce + [12, 0])[...])
        #expect(open(sealed) == picture)
    }

    /// The index of the first key is a zero, as the last byte of a unit never is.
    @Test(arguments: [80, 5_000]) func `what is encrypted of H.264 comes through packets as it was`(length: Int) throws
    {
        let picture = Self.parameters + Self.slice + [UInt8](repeating: 7, count: length)
        let sealed = try #require(FrameCryptor.seal(frame(picture, .h264), by: "ann", with: keys))
        #expect(try through(sealed) == sealed.payload)
        #expect(open(sealed) == picture)
    }

    private func through(_ frame: EncodedFrame) throws -> [UInt8] {
        var packetizer = Packetizer(format: frame.format, maximumPayloadSize: 1_000)
        var list = PayloadList()
        packetizer.packetize(frame.payload.span.bytes, isSealed: frame.isSealed, into: &list)
        var depacketizer = Depacketizer(format: frame.format)
        var whole: [UInt8] = []
        for place in 0..<list.count {
            let payload = list.bytes.span.bytes.extracting(list.range(place))
            #expect(depacketizer.append(payload, to: &whole))
        }
        return whole
    }

    @Test(arguments: [[0x10], [0x10, 0, 0, 0x9d, 1, 0x2a, 0x40, 1, 0xf0], [0x11, 0]])
    func `a picture that ends within its header is not sent, for nobody could open it`(payload: [UInt8]) {
        #expect(FrameCryptor.seal(frame(payload, .vp8), by: "ann", with: keys) == nil)
    }

    @Test func `a sound of one byte, as in silence, is sent and opened`() throws {
        let sealed = try #require(FrameCryptor.seal(frame([0x78], .opus), by: "ann", with: keys))
        #expect(open(sealed) == [0x78])
    }

    @Test func `remarks are left out, so that the readable part is short`() {
        let remark: [UInt8] = [0, 0, 0, 1, 6, 5] + [UInt8](repeating: 0xaa, count: 600)
        let delimiter: [UInt8] = [0, 0, 0, 1, 9, 0xf0]
        #expect(H264Frame.sealable(delimiter + Self.parameters + remark + Self.slice) == Self.parameters + Self.slice)
        // Start codes have four bytes, and nothing is between units, as receivers write them.
        let loose: [UInt8] = [0, 0, 1, 0x67, 1, 0, 0, 0, 0, 0, 1, 0x65, 2, 3]
        #expect(H264Frame.sealable(loose) == [0, 0, 0, 1, 0x67, 1, 0, 0, 0, 1, 0x65, 2, 3])
        // What follows the first slice is encrypted with it.
        #expect(H264Frame.sealable(Self.slice + Self.slice) == Self.slice + Self.slice)
    }

    @Test(
        arguments: [
            [], [1, 2, 3], [0, 0, 0, 1, 0x67, 1, 2], [0, 0, 0, 1, 0x62, 1, 2, 3], [0, 0, 0, 1, 0x74, 1, 2, 3],
            [0, 0, 0, 1, 0x65], [0, 0, 0, 1, 0x65, 1],
            [0, 0, 0, 1, 0x67] + [UInt8](repeating: 1, count: 250) + [0, 0, 0, 1, 0x65, 1, 2, 3],
        ] as [[UInt8]])
    func `a picture of which nothing would be encrypted, or which nobody could open, does not go out`(
        _ picture: [UInt8]
    ) {
        #expect(H264Frame.sealable(picture) == nil)
        #expect(picture.isEmpty || FrameCryptor.seal(frame(picture, .h264), by: "ann", with: keys) == nil)
    }

    @Test func `escapes go in and out`() {
        let bytes: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0]
        let escaped = H264Frame.escaped(bytes)
        #expect(escaped == [0, 0, 3, 0, 0, 3, 0, 1, 0, 0, 3, 2, 0, 0, 3, 3, 0, 0, 4, 0, 0])
        #expect(H264Frame.unescaped(escaped[...]) == bytes)
    }

    @Test func `pictures go on at a key frame when some could not be opened, and it is asked for`() async throws {
        let opener = TrackOpener(keys, of: "ann", serverTrailer: [])
        let other = KeyProvider(sharedKey: "another")
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (listener, another) = (opener.listener { ask.yield() }, opener.listener {})
        func sealed(_ isKeyFrame: Bool, with keys: KeyProvider) throws -> EncodedFrame {
            let payload = [isKeyFrame ? 0 : 1] + [UInt8](repeating: 1, count: 40)
            return try #require(FrameCryptor.seal(frame(payload, .vp8, isKeyFrame: isKeyFrame), by: "ann", with: keys))
        }
        #expect(try listener(sealed(true, with: keys)) != nil)
        #expect(try listener(sealed(false, with: keys)) != nil)
        #expect(try listener(sealed(false, with: other)) == nil)
        #expect(try listener(sealed(false, with: keys)) == nil)
        for await _ in asked { break }
        // Each listener has its own.
        #expect(try another(sealed(false, with: keys)) != nil)
        #expect(try listener(sealed(false, with: keys)) == nil)
        #expect(try listener(sealed(true, with: keys)) != nil)
        #expect(try listener(sealed(false, with: keys)) != nil)
    }
}
