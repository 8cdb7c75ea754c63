import RTCWire
import SFUModels
import Testing

@testable import SFUCore

/// What is read of one packet.
@Suite struct VideoDescriptorTests {
    private func read(
        _ format: PayloadFormat, marker: Bool = false, _ payload: [UInt8]
    ) -> VideoDescriptor? {
        var parser = VideoDescriptorParser(format: format)
        return read(&parser, marker: marker, payload)
    }

    private func read(
        _ parser: inout VideoDescriptorParser, marker: Bool = false, descriptor: [UInt8]? = nil, _ payload: [UInt8]
    ) -> VideoDescriptor? {
        let bytes = Packet.rtp(1, timestamp: 0, marker: marker, descriptor: descriptor, payload)
        guard let header = try? RTPHeader(parsing: bytes.span.bytes) else { return nil }
        return parser.read(header, bytes.span.bytes, at: 1, dependencyDescriptor: Packet.descriptorID)
    }

    // MARK: VP8

    @Test func `VP8: every field of the descriptor, and where the numbers stand (RFC 7741 4_2)`() throws {
        // X and S; I, L, T and K; 15 bits of picture id, TL0PICIDX, TID 2 with Y and KEYIDX 5; a frame that is no key
        // frame.
        let video = try #require(read(.vp8, marker: true, [0x90, 0xf0, 0x81, 0x02, 0x30, 0xa5, 0x01, 0xff]))
        #expect(video.scheme == .vp8)
        #expect(video.traits == [.startsFrame, .endsFrame, .switchingPoint])
        #expect(video.temporalLayer == 2)
        #expect(video.numbers.pictureID == 0x102)
        #expect(video.numbers.hasLongPictureID)
        #expect(video.numbers.pictureIDPlace == 2)
        #expect(video.numbers.temporalBase == 0x30)
        #expect(video.numbers.temporalBasePlace == 4)
        #expect(video.numbers.keyIndex == 5)
        #expect(video.numbers.keyIndexPlace == 5)
    }

    @Test func `VP8: a key frame, only in the payload that starts it`() {
        #expect(read(.vp8, [0x10, 0x00])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(read(.vp8, [0x00, 0x00])?.traits == [])
        // A later partition starts, not the frame.
        #expect(read(.vp8, [0x11, 0x00])?.traits == [])
        #expect(read(.vp8, [0x10, 0x01])?.traits == [.startsFrame])
    }

    @Test func `VP8: T without K says no key index, and K without T no layer`() {
        let layers = read(.vp8, [0x90, 0x20, 0x60, 0x01])
        #expect(layers?.temporalLayer == 1)
        #expect(layers?.traits == [.startsFrame, .switchingPoint])
        #expect(layers?.numbers.keyIndexPlace == 0)
        let keys = read(.vp8, [0x90, 0x10, 0x67, 0x01])
        #expect(keys?.temporalLayer == 0)
        #expect(keys?.traits == [.startsFrame])
        #expect(keys?.numbers.keyIndex == 7)
        #expect(keys?.numbers.keyIndexPlace == 2)
    }

    @Test func `VP8: offsets are taken from the numbers, and nothing else is touched`() throws {
        let payload: [UInt8] = [0x90, 0xf0, 0x80, 0x01, 0x00, 0xa1, 0x01, 0xff]
        let numbers = try #require(read(.vp8, payload)).numbers
        var offsets = PictureOffsets()
        (offsets.pictureID, offsets.temporalBase, offsets.keyIndex) = (3, 2, 4)
        func written(_ numbers: PictureNumbers, _ payload: [UInt8]) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(addingCapacity: payload.count + 1) {
                $0.append(9)
                numbers.append(payload.span.bytes, minus: offsets, to: &$0)
            }
            return bytes
        }
        #expect(written(numbers, payload) == [9, 0x90, 0xf0, 0xff, 0xfe, 0xfe, 0xbd, 0x01, 0xff])
        // A picture id of seven bits stays one.
        let short: [UInt8] = [0x90, 0x80, 0x01, 0x01]
        #expect(written(try #require(read(.vp8, short)).numbers, short) == [9, 0x90, 0x80, 0x7e, 0x01])
    }

    @Test func `what is cut off is refused`() {
        for length in 0..<6 {
            #expect(read(.vp8, Array([0x90, 0xf0, 0x81, 0x02, 0x30, 0xa5].prefix(length))) == nil)
        }
        #expect(read(.vp9, [0xa8, 0x81]) == nil)
        #expect(read(.h264, []) == nil)
        #expect(read(.h265, []) == nil)
        #expect(read(.av1, []) == nil)
        #expect(read(.opus, [1, 2, 3]) == nil)
    }

    // MARK: VP9

    @Test func `VP9 without flexible mode: layers, P, D, U, Z and TL0PICIDX (RFC 9628 4_2)`() throws {
        // I, P, L, B and Z; 7 bits of picture id; TID 1 with U, SID 2 with D; TL0PICIDX.
        let video = try #require(read(.vp9, [0xe9, 0x11, 0x35, 0x44, 0xff]))
        #expect(video.scheme == .vp9)
        #expect(
            video.traits == [.startsFrame, .interPredicted, .switchingPoint, .usesLowerLayer, .unusedByHigherLayers])
        #expect(video.temporalLayer == 1)
        #expect(video.spatialLayer == 2)
        #expect(video.numbers.pictureID == 0x11)
        #expect(!video.numbers.hasLongPictureID)
        #expect(video.numbers.temporalBase == 0x44)
        #expect(video.numbers.temporalBasePlace == 3)
    }

    @Test func `VP9 in flexible mode has no TL0PICIDX, and its key picture starts in the lowest layer`() throws {
        // I, L, F, B and E; 15 bits of picture id.
        let key = try #require(read(.vp9, [0xbc, 0x81, 0x02, 0x00, 0xff]))
        #expect(key.traits == [.startsFrame, .endsFrame, .startsKeyFrame])
        #expect(key.numbers.pictureID == 0x102)
        #expect(key.numbers.temporalBasePlace == 0)
        let upper = try #require(read(.vp9, [0xbc, 0x81, 0x02, 0x03, 0xff]))
        #expect(upper.traits == [.startsFrame, .endsFrame, .usesLowerLayer])
        #expect(upper.spatialLayer == 1)
    }

    // MARK: H.264

    @Test func `H264: a key frame starts with its parameter set, alone, in an aggregate or fragmented`() {
        #expect(read(.h264, [0x67, 1])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(read(.h264, [0x78, 0, 2, 0x67, 1, 0, 2, 0x68, 1])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(read(.h264, [0x7c, 0x87, 1])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(read(.h264, [0x7c, 0x07, 1])?.traits == [])
        // A slice whose first macroblock is the picture's first.
        #expect(read(.h264, marker: true, [0x41, 0x80])?.traits == [.startsFrame, .endsFrame])
        #expect(read(.h264, [0x41, 0x40])?.traits == [])
    }

    @Test func `H264: a picture without parameter sets is a key frame only while none were in the stream`() {
        var parser = VideoDescriptorParser(format: .h264)
        #expect(read(&parser, [0x65, 0x80])?.startsKeyFrame == true)
        #expect(read(&parser, [0x67, 1])?.startsKeyFrame == true)
        #expect(read(&parser, [0x65, 0x80])?.startsKeyFrame == false)
    }

    // MARK: H.265

    @Test func `H265: a key frame starts with its first parameter set, alone, in an aggregate or fragmented`() {
        #expect(read(.h265, [0x40, 1, 2])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(
            read(.h265, [0x60, 1, 0, 3, 0x40, 1, 2, 0, 3, 0x42, 1, 2])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(read(.h265, [0x62, 1, 0xa0, 2])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(read(.h265, [0x62, 1, 0x20, 2])?.traits == [])
        // A slice segment that is its picture's first, and one that is not.
        #expect(read(.h265, marker: true, [0x02, 1, 0x80])?.traits == [.startsFrame, .endsFrame])
        #expect(read(.h265, [0x02, 1, 0x40])?.traits == [])
    }

    @Test func `H265: a picture without parameter sets is a key frame only while none were in the stream`() {
        var parser = VideoDescriptorParser(format: .h265)
        #expect(read(&parser, [0x26, 1, 0x80])?.startsKeyFrame == true)
        #expect(read(&parser, [0x40, 1, 2])?.startsKeyFrame == true)
        // The others that follow belong to the key frame that has begun.
        #expect(read(&parser, [0x42, 1, 2])?.startsKeyFrame == false)
        #expect(read(&parser, [0x26, 1, 0x80])?.startsKeyFrame == false)
    }

    // MARK: AV1 and dependency descriptors

    @Test func `AV1: N starts a sequence, Z continues a frame`() {
        #expect(read(.av1, [0x18, 1, 2])?.traits == [.startsFrame, .startsKeyFrame])
        #expect(read(.av1, marker: true, [0x90, 1, 2])?.traits == [.endsFrame])
        #expect(read(.av1, [0x10, 1, 2])?.traits == [.startsFrame])
    }

    @Test func `a dependency descriptor tells the layers, whatever the payload says`() throws {
        let structure = ModelPublisher.structure
        var parser = VideoDescriptorParser(format: .av1)
        var key = DependencyDescriptor(
            startsFrame: true, endsFrame: false, frameNumber: 500,
            indications: Array(repeating: .switching, count: 9), chainDifferences: [0, 0, 0], structure: structure)
        var data: [UInt8] = []
        // Without the structure nothing can be understood.
        key.structure = nil
        #expect(key.write(structure, into: &data))
        #expect(read(&parser, descriptor: data, [0x10, 1])?.scheme == VideoDescriptor.Scheme.none)
        key.structure = structure
        data = []
        #expect(key.write(structure, into: &data))
        let first = try #require(read(&parser, descriptor: data, [0x10, 1]))
        #expect(first.scheme == .dependency)
        #expect(first.traits == [.startsFrame, .startsKeyFrame, .bringsStructure])
        #expect(first.dependency.frameNumber == 500)
        #expect(first.dependency.activeTargets == 0x1ff)
        #expect(first.dependency.indication(8) == .switching)

        var delta = DependencyDescriptor(
            startsFrame: true, endsFrame: true, frameNumber: 504, spatialLayer: 1, temporalLayer: 2,
            indications: [
                .notPresent, .notPresent, .notPresent, .notPresent, .notPresent, .discardable, .notPresent, .notPresent,
                .required,
            ], frameDifferences: [1, 17, 300], chainDifferences: [4, 3, 200], activeTargets: 0x3f)
        data = []
        #expect(delta.write(structure, into: &data))
        let second = try #require(read(&parser, marker: true, descriptor: data, [0x10, 1]))
        #expect(second.traits == [.startsFrame, .endsFrame])
        #expect(second.spatialLayer == 1)
        #expect(second.temporalLayer == 2)
        #expect(second.dependency.indication(5) == .discardable)
        #expect(second.dependency.indication(8) == .required)
        #expect(second.dependency.indication(4) == .notPresent)
        #expect(second.dependency.differences == [1, 17, 300, 0, 0, 0, 0, 0])
        #expect(second.dependency.chainDifferences == [4, 3, 200, 0, 0, 0, 0, 0])
        #expect(second.dependency.activeTargets == 0x3f)
        // Three bytes say all there is in the template, and the mask stays.
        delta.activeTargets = nil
        let template = structure.templates[5]
        delta.indications = template.indications
        delta.frameDifferences = []
        delta.chainDifferences = template.chainDifferences
        data = []
        #expect(delta.write(structure, into: &data))
        #expect(data.count == 3)
        let third = try #require(read(&parser, descriptor: data, [0x10, 1]))
        #expect(third.dependency.activeTargets == 0x3f)
        #expect(third.dependency.indication(5) == .required)
        // Cut off: the payload alone counts.
        #expect(read(&parser, descriptor: [0x85, 1, 2, 0x20], [0x10, 1])?.scheme == VideoDescriptor.Scheme.none)
    }

    @Test func `decode targets have the highest layers of the frames in them, and their chains`() {
        let table = DependencyTable(ModelPublisher.structure)
        #expect((0..<9).map { table.spatialLayer(of: $0) } == [0, 0, 0, 1, 1, 1, 2, 2, 2])
        #expect((0..<9).map { table.temporalLayer(of: $0) } == [0, 1, 2, 0, 1, 2, 0, 1, 2])
        #expect((0..<9).map { table.chain(of: $0) } == [0, 0, 0, 1, 1, 1, 2, 2, 2])
    }

    @Test func `what a subscriber gets of a descriptor is its own frame number`() {
        var offsets = PictureOffsets()
        offsets.frameNumber = 10
        let out = OutgoingPacket(sequenceNumber: 0, timestamp: 0, marker: false, isPadding: false, offsets: offsets)
        var bytes: [UInt8] = []
        let data: [UInt8] = [0x85, 0x00, 0x05, 0x20]
        bytes.append(addingCapacity: 5) {
            $0.append(7)
            out.appendDependencyDescriptor(data.span.bytes, to: &$0)
        }
        #expect(bytes == [7, 0x85, 0xff, 0xfb, 0x20])
    }
}
