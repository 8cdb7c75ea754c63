import RTCWire
import Testing

@Suite struct `VP9 payloads` {
    /// A key frame of profile 0, 320 by 180: frame marker, sync code, BT.709, then the size.
    static let keyFrame: [UInt8] =
        [0x82, 0x49, 0x83, 0x42, 0x40, 0x13, 0xf0, 0x0b, 0x30] + [UInt8](repeating: 7, count: 3_000)
    static let interFrame: [UInt8] = [0x86, 0x00] + [UInt8](repeating: 9, count: 2_000)

    @Test func `a key frame tells its size, and what is none is refused`() throws {
        let header = try #require(VP9FrameHeader(Self.keyFrame))
        #expect(header.isKeyFrame)
        #expect(header.width == 320)
        #expect(header.height == 180)
        #expect(VP9FrameHeader(Self.interFrame)?.isKeyFrame == false)
        #expect(VP9FrameHeader([0x88])?.showsExistingFrame == true)
        #expect(VP9FrameHeader([0x02, 0x49, 0x83, 0x42]) == nil, "no frame marker")
        for count in 0..<9 { #expect(VP9FrameHeader(Array(Self.keyFrame.prefix(count))) == nil) }
    }

    @Test func `non-flexible mode: layers with their base index (RFC 9628 figure 2)`() throws {
        // I, P, L, B; 15 bits of picture id; T 1, U, S 2, D; TL0PICIDX.
        let payload: [UInt8] = [0xe8, 0x92, 0x34, 0x35, 0x99, 0xaa]
        let descriptor = try #require(VP9PayloadDescriptor(payload))
        #expect(descriptor.pictureID == 0x1234)
        #expect(descriptor.isInterPredicted)
        #expect(
            descriptor.layers
                == .init(temporal: 1, isSwitchingPoint: true, spatial: 2, usesLowerLayer: true, temporalBaseIndex: 0x99)
        )
        #expect(descriptor.startsLayerFrame)
        #expect(!descriptor.endsLayerFrame)
        #expect(descriptor.byteCount == 5)
        for count in 0..<5 { #expect(VP9PayloadDescriptor(Array(payload.prefix(count))) == nil) }
    }

    @Test func `flexible mode: up to three references (RFC 9628 figure 3)`() throws {
        // I, P, F, E; 7 bits of picture id; P_DIFF 1, 4 and 127.
        let descriptor = try #require(VP9PayloadDescriptor([0xd4, 0x05, 0x03, 0x09, 0xfe, 0x01]))
        #expect(descriptor.pictureID == 5)
        #expect(!descriptor.hasLongPictureID)
        #expect(descriptor.referenceDifferences == [1, 4, 127])
        #expect(descriptor.byteCount == 5)
        #expect(VP9PayloadDescriptor([0xd4, 0x05, 0x03, 0x09, 0xff, 0x03]) == nil, "a fourth reference")
        // In flexible mode layers have no base index.
        #expect(VP9PayloadDescriptor([0xb0, 0x05, 0x22])?.layers?.temporalBaseIndex == nil)
    }

    @Test func `a scalability structure: sizes and a group of pictures (RFC 9628 figure 4)`() throws {
        // V; two spatial layers, with sizes and two pictures: the first refers to none, the second 1 and 2 back.
        let payload: [UInt8] = [
            0x0a, 0x38, 0x01, 0x40, 0x00, 0xb4, 0x02, 0x80, 0x01, 0x68, 0x02, 0x00, 0x38, 0x01, 0x02, 0xff,
        ]
        let descriptor = try #require(VP9PayloadDescriptor(payload))
        let structure = try #require(descriptor.structure)
        #expect(structure.spatialLayerCount == 2)
        #expect(structure.resolutions == [.init(width: 320, height: 180), .init(width: 640, height: 360)])
        #expect(
            structure.pictures == [
                .init(temporalLayer: 0, isSwitchingPoint: false, referenceDifferences: []),
                .init(temporalLayer: 1, isSwitchingPoint: true, referenceDifferences: [1, 2]),
            ])
        #expect(descriptor.byteCount == 15)
        for count in 0..<15 { #expect(VP9PayloadDescriptor(Array(payload.prefix(count))) == nil) }
    }

    @Test func `every descriptor is written as it was read`() throws {
        let vectors: [[UInt8]] = [
            [0xe8, 0x92, 0x34, 0x35, 0x99], [0xd4, 0x05, 0x03, 0x09, 0xfe], [0x0d], [0x08], [0x89, 0x80, 0x01],
            [0x0a, 0x38, 0x01, 0x40, 0x00, 0xb4, 0x02, 0x80, 0x01, 0x68, 0x02, 0x00, 0x38, 0x01, 0x02],
            [0x0a, 0x00], [0xb0, 0x05, 0x22],
        ]
        for vector in vectors {
            var written: [UInt8] = []
            try #require(VP9PayloadDescriptor(vector)).write(into: &written)
            #expect(written == vector)
        }
    }

    @Test(arguments: [false, true])
    func `a picture comes out as it went in, with the next picture id`(isFlexible: Bool) throws {
        var packetizer = Packetizer(
            format: .vp9, maximumPayloadSize: 700, firstPictureID: 0x7fff, isFlexible: isFlexible)
        var depacketizer = Depacketizer(format: .vp9)
        for (id, frame) in [(UInt16(0x7fff), Self.keyFrame), (0, Self.interFrame), (1, [0x86])] {
            let payloads = payloads(of: frame, &packetizer)
            #expect(payloads.allSatisfy { $0.count <= 700 })
            var joined: [UInt8] = []
            for (index, payload) in payloads.enumerated() {
                let descriptor = try #require(VP9PayloadDescriptor(payload))
                #expect(descriptor.pictureID == id)
                #expect(descriptor.isFlexible == isFlexible)
                #expect(descriptor.referenceDifferences == (isFlexible && id != 0x7fff ? [1] : []))
                #expect((descriptor.structure != nil) == (index == 0 && id == 0x7fff))
                #expect(depacketizer.startsFrame(payload) == (index == 0))
                #expect(depacketizer.startsKeyFrame(payload) == (index == 0 && id == 0x7fff))
                #expect(depacketizer.append(payload, to: &joined))
            }
            #expect(depacketizer.isAtUnitBoundary)
            #expect(joined == frame)
        }
    }

    @Test(arguments: [true, false])
    func `of a picture that was encrypted nothing is read, not even what looks like a header`(isKeyFrame: Bool) throws {
        var packetizer = Packetizer(format: .vp9, maximumPayloadSize: 700, firstPictureID: 1)
        var depacketizer = Depacketizer(format: .vp9)
        var list = PayloadList()
        // It looks like the other kind.
        let sealed = isKeyFrame ? Self.interFrame : Self.keyFrame
        packetizer.packetize(sealed.span.bytes, isSealed: true, isKeyFrame: isKeyFrame, into: &list)
        var joined: [UInt8] = []
        for index in 0..<list.count {
            let payload = Array(list.bytes[list.range(index)])
            let descriptor = try #require(VP9PayloadDescriptor(payload))
            #expect(descriptor.isInterPredicted == !isKeyFrame && descriptor.structure == nil)
            #expect(depacketizer.startsKeyFrame(payload) == (isKeyFrame && index == 0))
            #expect(depacketizer.append(payload, to: &joined))
        }
        #expect(list.count > 1 && joined == sealed)
    }

    /// A payload of one layer: picture 5, S as said.
    private func layer(
        _ spatial: UInt8, begins: Bool, ends: Bool, isKey: Bool = false, picture: UInt16 = 5, _ data: [UInt8]
    ) -> [UInt8] {
        var descriptor = VP9PayloadDescriptor()
        descriptor.pictureID = picture
        descriptor.isInterPredicted = !isKey
        descriptor.layers = .init(
            temporal: 0, spatial: spatial, usesLowerLayer: spatial > 0, temporalBaseIndex: 0)
        descriptor.startsLayerFrame = begins
        descriptor.endsLayerFrame = ends
        var payload: [UInt8] = []
        descriptor.write(into: &payload)
        return payload + data
    }

    @Test func `the layers of a picture are joined, lowest first`() {
        var depacketizer = Depacketizer(format: .vp9)
        var frame: [UInt8] = []
        let payloads = [
            layer(0, begins: true, ends: false, isKey: true, [1]),
            layer(0, begins: false, ends: true, isKey: true, [2]),
            layer(1, begins: true, ends: true, isKey: true, [3]),
        ]
        #expect(payloads.map { depacketizer.startsFrame($0) } == [true, false, false])
        #expect(payloads.map { depacketizer.startsKeyFrame($0) } == [true, false, false])
        for payload in payloads { #expect(depacketizer.append(payload, to: &frame)) }
        // VP9 bitstream specification, Annex B: two frames, their sizes in one byte each.
        #expect(frame == [1, 2, 3, 0xc1, 2, 1, 0xc1])
        #expect(depacketizer.isAtUnitBoundary)
        // A third layer: the index is there once, at the end; what is refused leaves it.
        #expect(!depacketizer.append(layer(1, begins: true, ends: true, [9]), to: &frame))
        #expect(frame == [1, 2, 3, 0xc1, 2, 1, 0xc1])
        let large = [UInt8](repeating: 4, count: 300)
        #expect(depacketizer.append(layer(2, begins: true, ends: true, large), to: &frame))
        #expect(frame == [1, 2, 3] + large + [0xca, 2, 0, 1, 0, 0x2c, 1, 0xca])
        // The next picture begins from nothing.
        var next: [UInt8] = []
        #expect(depacketizer.append(layer(0, begins: true, ends: true, picture: 6, [5]), to: &next))
        #expect(next == [5])
    }

    @Test func `what an encoder has joined itself goes into the index of the picture`() throws {
        // A hidden frame and one that is shown.
        let joined: [UInt8] = [1, 1, 2, 0xc1, 2, 1, 0xc1]
        var depacketizer = Depacketizer(format: .vp9)
        var frame: [UInt8] = []
        #expect(depacketizer.append(layer(0, begins: true, ends: true, isKey: true, joined), to: &frame))
        #expect(frame == joined, "an only layer stays as it was made")
        #expect(depacketizer.append(layer(1, begins: true, ends: true, isKey: true, joined), to: &frame))
        #expect(frame == [1, 1, 2, 1, 1, 2, 0xc3, 2, 1, 2, 1, 0xc3])
        #expect(VP9Superframe(frame.span.bytes)?.sizes == [2, 1, 2, 1])
        // An index of wider sizes than these is taken away as it is.
        let wide: [UInt8] = [1, 1, 2, 0xc9, 2, 0, 1, 0, 0xc9]
        var another: [UInt8] = []
        #expect(depacketizer.append(layer(0, begins: true, ends: true, isKey: true, picture: 6, wide), to: &another))
        #expect(depacketizer.append(layer(1, begins: true, ends: true, isKey: true, picture: 6, wide), to: &another))
        #expect(another == [1, 1, 2, 1, 1, 2, 0xc3, 2, 1, 2, 1, 0xc3])
        // More frames than an index holds go without one.
        let many = [UInt8](repeating: 1, count: 7) + [0xc6] + [UInt8](repeating: 1, count: 7) + [0xc6]
        var crowded: [UInt8] = []
        for spatial: UInt8 in [0, 1] {
            #expect(depacketizer.append(layer(spatial, begins: true, ends: true, many), to: &crowded))
        }
        #expect(crowded == [UInt8](repeating: 1, count: 14))
    }

    @Test func `an index that is not about the bytes before it is none`() {
        func sizes(_ bytes: [UInt8]) -> [Int]? { VP9Superframe(bytes.span.bytes)?.sizes }
        #expect(sizes([1, 2, 3, 0xc1, 2, 1, 0xc1]) == [2, 1])
        #expect(sizes([1, 2, 0xd0, 2, 0, 0, 0xd0]) == [2])
        for bytes: [UInt8] in [
            [], [0xc1], [1, 2, 3, 0xc1, 2, 2, 0xc1], [1, 2, 3, 0xc1, 3, 0, 0xc1], [1, 2, 3, 0xc0, 2, 1, 0xc1],
            [1, 2, 3, 0x81, 2, 1, 0x81],
        ] {
            #expect(sizes(bytes) == nil)
        }
    }

    /// What libvpx made of the layers of a key picture of 1280 by 720 pixels: the beginning of each frame.
    private static let layers: [[UInt8]] = {
        let beginnings: [[UInt8]] = [
            [
                0x83, 0x49, 0x83, 0x42, 0x00, 0x13, 0xf0, 0x0b, 0x38, 0x27, 0xf8,
                0x16, 0x78, 0x18, 0xe0, 0x90, 0x70, 0x61, 0x28, 0x00, 0x0b, 0x80,
            ],
            [
                0x87, 0x02, 0x02, 0x00, 0x04, 0xfe, 0x02, 0xcf, 0x04, 0xff, 0x02,
                0xcf, 0x90, 0x51, 0xc1, 0x20, 0xe0, 0xc0, 0x80, 0x00, 0x1b, 0x40,
            ],
            [
                0x87, 0x04, 0x24, 0x00, 0x09, 0xfe, 0x05, 0x9e, 0x90,
                0x51, 0xc1, 0x20, 0xe0, 0xc0, 0x80, 0x00, 0x1d, 0x40,
            ],
        ]
        return beginnings.map { $0 + rest }
    }()
    private static let rest = [UInt8](repeating: 7, count: 120)

    private static func superframe(_ frames: [[UInt8]]) -> [UInt8] {
        var bytes = frames.flatMap { $0 }
        VP9Superframe(sizes: frames.map(\.count)).appendIndex(to: &bytes)
        return bytes
    }

    @Test func `a picture has the size of its highest layer, and tells it when it is sent`() throws {
        let picture = Self.superframe(Self.layers)
        let size = VP9Superframe.pictureSize(of: picture.span.bytes)
        #expect(size?.width == 1_280 && size?.height == 720)
        let only = VP9Superframe.pictureSize(of: Self.keyFrame.span.bytes)
        #expect(only?.width == 320 && only?.height == 180)
        #expect(VP9FrameHeader(Self.layers[1])?.width == 640)
        var packetizer = Packetizer(format: .vp9)
        let first = try #require(payloads(of: picture, &packetizer).first)
        #expect(VP9PayloadDescriptor(first)?.structure?.resolutions == [.init(width: 1_280, height: 720)])
    }

    @Test func `only the highest layer of a picture is shown, and nothing else is changed`() {
        let lowest: [UInt8] = [0x81] + Self.layers[0].dropFirst()
        // intra_only moves what follows it by a bit.
        let middle: [UInt8] =
            [0x85, 0x01, 0x01, 0x00, 0x02, 0x7f, 0x01, 0x67, 0x82, 0x7f, 0x81]
            + [0x67, 0xc8, 0x28, 0xe0, 0x90, 0x70, 0x60, 0x40, 0x00, 0x0d, 0xa0] + Self.rest
        let highest = Self.layers[2]
        let hidden = Self.superframe([lowest, middle, highest])
        var hiding = VP9LayerHiding()
        #expect(hiding.hide(Self.superframe(Self.layers)) == hidden)
        // One that has the size of the frame that it refers to, 640 by 360: how many tiles it may have goes by that.
        let second: [UInt8] =
            [0x87, 0x02, 0x02, 0x06, 0x09, 0xfe, 0x05, 0x9f, 0x20]
            + [0xa3, 0x82, 0x41, 0xc1, 0x81, 0x00, 0x00, 0x36, 0x80] + Self.rest
        let hiddenSecond: [UInt8] =
            [0x85, 0x01, 0x01, 0x03, 0x04, 0xff, 0x02, 0xcf, 0x90]
            + [0x51, 0xc1, 0x20, 0xe0, 0xc0, 0x80, 0x00, 0x1b, 0x40] + Self.rest
        #expect(hiding.hide(Self.superframe([second, highest])) == Self.superframe([hiddenSecond, highest]))
        // What is hidden already, of one layer only, unknown, or needed as shown by the next, stays.
        let delicate = Self.superframe([Self.layers[0], [0x86] + highest.dropFirst()])
        for picture in [hidden, Self.keyFrame, Self.superframe([[1], [2]]), delicate] {
            #expect(hiding.hide(picture) == picture)
        }
    }

    @Test func `payloads that do not continue the picture are refused`() {
        let first = layer(0, begins: true, ends: false, [1])
        let wrong: [[UInt8]] = [
            layer(0, begins: true, ends: false, [2]), layer(0, begins: false, ends: true, picture: 6, [2]),
            layer(1, begins: true, ends: true, [2]), layer(0, begins: false, ends: true, []),
        ]
        for payload in wrong {
            var depacketizer = Depacketizer(format: .vp9)
            var frame: [UInt8] = []
            #expect(depacketizer.append(first, to: &frame))
            #expect(!depacketizer.append(payload, to: &frame))
            #expect(frame == [1])
            #expect(!depacketizer.isAtUnitBoundary)
        }
        var depacketizer = Depacketizer(format: .vp9)
        var frame: [UInt8] = []
        #expect(!depacketizer.append(layer(0, begins: false, ends: true, [1]), to: &frame), "no beginning")
        #expect(depacketizer.append(layer(1, begins: true, ends: true, [1]), to: &frame))
        #expect(!depacketizer.append(layer(1, begins: true, ends: true, [1]), to: &frame), "the same layer again")
    }
}
