import RTCWire
import Testing

@Suite struct `Header extensions about frames` {
    private static let ids: HeaderExtensionIDs = {
        var ids = HeaderExtensionIDs(audioLevel: 1)
        ids.videoOrientation = 2
        ids.playoutDelay = 3
        ids.absoluteCaptureTime = 4
        ids.dependencyDescriptor = 5
        return ids
    }()

    private static let all: PacketMetadata = {
        var metadata = PacketMetadata()
        metadata.audioLevel = AudioLevel(isVoice: true, level: 42)
        metadata.orientation = VideoOrientation(isBackCamera: true, isFlipped: false, quarterTurns: 3)
        metadata.playoutDelay = PlayoutDelayLimits(minimum: 100, maximum: 40_950)
        metadata.captureTime = AbsoluteCaptureTime(time: NTPTimestamp(value: 0x0102_0304_0506_0708), clockOffset: -2)
        return metadata
    }()

    private func packet(_ form: HeaderExtensionForm, isLast: Bool) -> [UInt8] {
        var packet: [UInt8] = []
        packet.append(addingCapacity: 64) { out in
            RTPHeader(marker: false, payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3).write(into: &out)
            let writer = HeaderExtensionWriter(form: form, in: &out)
            Self.all.write(Self.ids, with: writer, isLastPacket: isLast, into: &out)
            writer.finish(in: &out)
        }
        return packet
    }

    private func read(_ packet: [UInt8]) throws -> (PacketMetadata, Range<Int>?) {
        var metadata = PacketMetadata()
        let header = try RTPHeader(parsing: packet.span.bytes)
        let descriptor = metadata.take(header, packet.span.bytes, Self.ids)
        return (metadata, descriptor)
    }

    @Test(arguments: [HeaderExtensionForm.oneByte, .twoByte])
    func `what a frame's last packet says is read as it was written`(form: HeaderExtensionForm) throws {
        #expect(try read(packet(form, isLast: true)).0 == Self.all)
        let earlier = try read(packet(form, isLast: false)).0
        #expect(earlier.orientation == nil)
        #expect(earlier.captureTime == nil)
        #expect(earlier.playoutDelay == Self.all.playoutDelay)
    }

    @Test func `the bytes are those of the documents`() {
        #expect(
            packet(.oneByte, isLast: true)[16...].map { $0 } == [
                0x10, 0xaa,  // RFC 6464 §3: voice, -42 dBov
                0x20, 0x0b,  // TS 26.114 §7.4.5: C and 270 degrees
                0x32, 0x00, 0xaf, 0xff,  // 10 and 4,095 units
                0x4f, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0,
            ])
    }

    @Test func `elements of a wrong length say nothing`() throws {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 64) { out in
            RTPHeader(marker: false, payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3).write(into: &out)
            let writer = HeaderExtensionWriter(form: .twoByte, in: &out)
            for (id, length) in [(UInt8(1), 0), (2, 0), (3, 2), (4, 9), (5, 0)] {
                _ = writer.begin(id, length: length, in: &out)
                out.append(repeating: 7, count: length)
            }
            writer.finish(in: &out)
        }
        let (metadata, descriptor) = try read(bytes)
        #expect(metadata == PacketMetadata())
        #expect(descriptor?.isEmpty == true)
    }
}

@Suite struct `Dependency descriptors` {
    /// Two spatial and two temporal layers, two targets, two chains: nothing is left at its default.
    private static let rich = DependencyStructure(
        firstTemplateID: 62, decodeTargetCount: 3,
        templates: [
            .init(
                spatialLayer: 0, temporalLayer: 0, indications: [.switching, .required, .switching],
                chainDifferences: [0, 0]),
            .init(
                spatialLayer: 0, temporalLayer: 0, indications: [.switching, .required, .switching],
                frameDifferences: [4], chainDifferences: [4, 3]),
            .init(
                spatialLayer: 0, temporalLayer: 1, indications: [.notPresent, .discardable, .notPresent],
                frameDifferences: [2, 1], chainDifferences: [2, 1]),
            .init(
                spatialLayer: 1, temporalLayer: 0, indications: [.notPresent, .notPresent, .switching],
                frameDifferences: [16, 1], chainDifferences: [1, 15]),
        ], chainCount: 2, targetChains: [0, 1, 1],
        resolutions: [.init(width: 640, height: 360), .init(width: 1_280, height: 720)])

    private func bytes(_ descriptor: DependencyDescriptor, _ known: DependencyStructure) -> [UInt8]? {
        var bytes: [UInt8] = []
        return descriptor.write(known, into: &bytes) ? bytes : nil
    }

    private func key(_ structure: DependencyStructure, number: UInt16 = 0) -> DependencyDescriptor {
        DependencyDescriptor(
            startsFrame: true, endsFrame: false, frameNumber: number, indications: structure.templates[0].indications,
            chainDifferences: structure.templates[0].chainDifferences, structure: structure,
            activeTargets: UInt32.max >> UInt32(32 - structure.decodeTargetCount))
    }

    @Test func `three bytes are enough once the structure is known`() throws {
        let structure = DependencyStructure.singleLayer(width: 320, height: 180)
        var reader = DependencyDescriptorReader()
        let first = try #require(bytes(key(structure, number: 7), structure))
        let read = reader.read(first)
        #expect(read == key(structure, number: 7))
        let next = DependencyDescriptor(
            startsFrame: true, endsFrame: true, frameNumber: 8, indications: [.switching], frameDifferences: [1],
            chainDifferences: [1])
        let short = try #require(bytes(next, structure))
        // start, end, template 1; the frame's number.
        #expect(short == [0xc1, 0x00, 0x08])
        let again = reader.read(short)
        #expect(again == next)
    }

    /// As libwebrtc writes the structure of one layer (`RtpDependencyDescriptorWriter`, L1T1): the vector of the
    /// appendix's syntax, made by hand.
    @Test func `a structure of one layer, bit by bit`() throws {
        // 1 0 000000 | number | 1 0000 | offset 000000 | targets 00000 | layers 00 11 | dtis 10 10 |
        // fdiffs 0, 1 0000 0 | chains 1 | protected by: nothing | chain fdiffs 0000 0001 | no sizes 0
        let text =
            "10000000" + "0000000000000101" + "10000" + "000000" + "00000" + "0011" + "1010" + "0" + "100000" + "1"
            + "00000001" + "0"
        var vector: [UInt8] = []
        for (index, bit) in text.enumerated() {
            if index % 8 == 0 { vector.append(0) }
            if bit == "1" { vector[index / 8] |= 0x80 >> UInt8(index % 8) }
        }
        var reader = DependencyDescriptorReader()
        let read = reader.read(vector)
        let descriptor = try #require(read)
        #expect(descriptor.structure == .singleLayer())
        #expect(descriptor.frameNumber == 5)
        #expect(reader.activeTargets == 1)
        #expect(bytes(descriptor, .singleLayer()) == vector)
    }

    @Test func `every field survives, and differs from its template where it has to`() throws {
        var reader = DependencyDescriptorReader()
        let first = try #require(bytes(key(Self.rich), Self.rich))
        let read = reader.read(first)
        #expect(read == key(Self.rich))
        var odd = DependencyDescriptor(
            startsFrame: false, endsFrame: true, frameNumber: 0xffff, spatialLayer: 1, temporalLayer: 0,
            indications: [.required, .discardable, .switching], frameDifferences: [1, 17, 4_096],
            chainDifferences: [200, 0], activeTargets: 0b101)
        let second = try #require(bytes(odd, Self.rich))
        let again = reader.read(second)
        #expect(again == odd)
        #expect(reader.activeTargets == 0b101)
        odd.spatialLayer = 3
        #expect(bytes(odd, Self.rich) == nil, "no template of this layer")
    }

    @Test func `nothing is understood without a structure, and a new one takes the old one's place`() throws {
        var reader = DependencyDescriptorReader()
        let early = reader.read([0xc1, 0x00, 0x08])
        #expect(early == nil)
        for structure in [Self.rich, .singleLayer()] {
            let data = try #require(bytes(key(structure), structure))
            let read = reader.read(data)
            #expect(read?.structure == structure)
            #expect(reader.structure == structure)
        }
        let unknown = reader.read([0xc5, 0x00, 0x08])
        #expect(unknown == nil, "template 5 of two")
    }

    @Test func `every prefix of a descriptor is refused and changes nothing`() throws {
        let data = try #require(bytes(key(Self.rich), Self.rich))
        for count in 0..<data.count {
            var reader = DependencyDescriptorReader()
            let read = reader.read(Array(data.prefix(count)))
            #expect(read == nil)
            #expect(reader.structure == nil)
        }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `random bytes are refused or read, and never trap`(seed: UInt64) {
        var random = TestBytes(seed: seed)
        var reader = DependencyDescriptorReader()
        for _ in 0..<50 {
            var data = random.any(random.next(below: 60))
            if data.count > 3, random.next(below: 2) == 0 { data[3] |= 0x80 }
            guard let read = reader.read(data), let structure = reader.structure else { continue }
            #expect(read.indications.count == structure.decodeTargetCount)
            #expect(read.chainDifferences.count == structure.chainCount)
        }
    }

    @Test func `identifiers keep their meaning while others are added, and not when one is given to another`() {
        let former = HeaderExtensionIDs(mid: 1, transportSequence: 3)
        var next = former
        next.absoluteSendTime = 2
        #expect(next.keepsMeaning(of: former) && former.keepsMeaning(of: former))
        #expect(!former.keepsMeaning(of: next))
        (next.absoluteSendTime, next.transportSequence) = (3, 2)
        #expect(!next.keepsMeaning(of: former))
    }
}

extension DependencyDescriptorReader {
    fileprivate mutating func read(_ data: [UInt8]) -> DependencyDescriptor? { read(data.span.bytes) }
}
