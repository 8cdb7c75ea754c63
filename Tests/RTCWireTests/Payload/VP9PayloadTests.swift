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
        #expect(frame == [1, 2, 3])
        #expect(depacketizer.isAtUnitBoundary)
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
