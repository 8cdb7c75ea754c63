import RTCWire
import Testing

@Suite struct `Codec inspection` {
    /// From x264, constrained baseline, 640x360 (Media/webRtcTestVideo.mp4).
    private let baseline: [UInt8] = [
        0x67, 0x42, 0xc0, 0x1e, 0xd8, 0x90, 0x28, 0x0b, 0xfe, 0x59, 0xa8, 0x10, 0x10, 0x0a, 0x00, 0x00,
        0x03, 0x00, 0x02, 0x00, 0x00, 0x03, 0x00, 0x78, 0x1e, 0x2c, 0x5c, 0x4c,
    ]
    /// From x264, high profile, 1920x1080 interlaced off, cropped by eight rows.
    private let high: [UInt8] = [
        0x67, 0x64, 0x00, 0x28, 0xac, 0xd9, 0x40, 0x78, 0x02, 0x27, 0xe5, 0xc0, 0x44, 0x00, 0x00, 0x03,
        0x00, 0x04, 0x00, 0x00, 0x03, 0x00, 0xc8, 0x3c, 0x60, 0xc6, 0x58,
    ]

    @Test func `a baseline parameter set gives size and profile`() throws {
        let parameters = try #require(H264SequenceParameterSet(baseline))
        #expect(parameters.width == 640)
        #expect(parameters.height == 360)
        #expect(parameters.profileLevelID == "42c01e")
    }

    @Test func `a high-profile parameter set gives the cropped size`() throws {
        let parameters = try #require(H264SequenceParameterSet(high))
        #expect(parameters.width == 1_920)
        #expect(parameters.height == 1_080)
        #expect(parameters.profileLevelID == "640028")
    }

    @Test func `every prefix of a parameter set is refused or read`() {
        for set in [baseline, high] {
            for count in 0...set.count { _ = H264SequenceParameterSet(Array(set.prefix(count))) }
            #expect(H264SequenceParameterSet(Array(set.prefix(6))) == nil)
        }
    }

    @Test func `a configuration record comes out as it went in, and cut off it is refused`() throws {
        let configuration = AVCConfiguration(
            sequenceParameterSets: [baseline], pictureParameterSets: [[0x68, 0xce, 0x3c, 0x80]])
        var record: [UInt8] = []
        configuration.write(into: &record)
        #expect(AVCConfiguration(record) == configuration)
        for count in 0..<record.count { #expect(AVCConfiguration(Array(record.prefix(count))) == nil) }
        #expect(AVCConfiguration(annexB: configuration.annexB) == configuration)
    }

    /// What FFmpeg writes of x265's parameter sets, Main profile, 320x180 (Media/webRtcTestVideo-h265.mp4).
    private let hevc: [UInt8] = [
        0x01, 0x01, 0x60, 0x00, 0x00, 0x00, 0x90, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3c, 0xf0, 0x00, 0xfc, 0xfd, 0xf8,
        0xf8, 0x00, 0x00, 0x0f, 0x03, 0xa0, 0x00, 0x01, 0x00, 0x18, 0x40, 0x01, 0x0c, 0x01, 0xff, 0xff, 0x01, 0x60,
        0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03, 0x00, 0x3c, 0x92, 0x80, 0x90, 0xa1, 0x00,
        0x01, 0x00, 0x2b, 0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00,
        0x03, 0x00, 0x3c, 0xa0, 0x0a, 0x08, 0x0b, 0x9f, 0x79, 0x64, 0xa9, 0x24, 0xca, 0xe6, 0xa0, 0x40, 0x40, 0x20,
        0x80, 0x00, 0x00, 0x03, 0x00, 0x80, 0x00, 0x00, 0x0f, 0x04, 0xa2, 0x00, 0x01, 0x00, 0x07, 0x44, 0x01, 0xc1,
        0x72, 0xb4, 0x62, 0x40,
    ]

    @Test func `a parameter set of H265 gives the cropped size, profile and level`() throws {
        let configuration = try #require(HEVCConfiguration(hevc))
        let unit = try #require(configuration.sequenceParameterSets.first)
        let parameters = try #require(H265SequenceParameterSet(unit))
        // Coded in blocks of eight: 184 rows, of which four are cut off.
        #expect(parameters.width == 320 && parameters.height == 180)
        #expect(parameters.id == 0 && parameters.profile == 1 && parameters.profileTierLevel.last == 60)
        #expect(parameters.chromaFormat == 1 && parameters.lumaDepth == 0 && parameters.chromaDepth == 0)
        #expect(parameters.temporalLayers == 1 && parameters.isTemporallyNested)
        for count in 0..<24 { #expect(H265SequenceParameterSet(Array(unit.prefix(count))) == nil) }
        #expect(H265SequenceParameterSet(configuration.videoParameterSets[0]) == nil)
    }

    @Test func `what lower temporal layers say of themselves is passed over (H265 7_3_3)`() throws {
        // Three layers: profile and level of the first, the level of the second; then id 2, 4:2:0, 64 by 32 pixels.
        var bits = "0000" + "010" + "1"
        bits += String(repeating: "00000001", count: 12)
        bits += "11" + "01" + String(repeating: "00", count: 6)
        bits += String(repeating: "10101010", count: 11) + "00000001" + "00000001"
        bits += "011" + "010" + "0000001000001" + "00000100001" + "0" + "010" + "011" + "1"
        let padded = bits + String(repeating: "0", count: (8 - bits.count % 8) % 8)
        var unit: [UInt8] = [0x42, 0x01]
        for start in stride(from: 0, to: padded.count, by: 8) {
            unit.append(try #require(UInt8(padded.dropFirst(start).prefix(8), radix: 2)))
        }
        let parameters = try #require(H265SequenceParameterSet(unit))
        #expect(parameters.id == 2 && parameters.temporalLayers == 3 && parameters.isTemporallyNested)
        #expect(parameters.width == 64 && parameters.height == 32)
        #expect(parameters.lumaDepth == 1 && parameters.chromaDepth == 2)
    }

    @Test func `a record of H265 comes out as it went in, and cut off it is refused`() throws {
        let configuration = try #require(HEVCConfiguration(hevc))
        var record: [UInt8] = []
        #expect(configuration.write(into: &record, isComplete: true))
        #expect(record == hevc)
        for count in 0..<record.count { #expect(HEVCConfiguration(Array(record.prefix(count))) == nil) }
        // Of parameter sets that the samples bring as well, no array is complete.
        var open: [UInt8] = []
        #expect(configuration.write(into: &open, isComplete: false))
        #expect(open.count == record.count)
        #expect(zip(open, record).filter { $0 != $1 }.map { $0.0 } == [0x20, 0x21, 0x22])
        var empty = configuration
        empty.sequenceParameterSets = []
        #expect(!empty.write(into: &record, isComplete: true) && record == hevc)
    }

    @Test func `AVCC and Annex B turn into each other`() {
        let frame: [UInt8] = [0, 0, 0, 1, 0x67, 1, 2, 0, 0, 0, 1, 0x65, 3]
        var sample: [UInt8] = []
        AnnexB.appendAVCC(frame, to: &sample)
        #expect(sample == [0, 0, 0, 3, 0x67, 1, 2, 0, 0, 0, 2, 0x65, 3])
        var back: [UInt8] = []
        #expect(AnnexB.append(avcc: sample, lengthSize: 4, to: &back))
        #expect(back == frame)
        #expect(!AnnexB.append(avcc: [0, 5, 1], lengthSize: 2, to: &back))
        #expect(back == frame, "a broken sample leaves no trace")
    }

    @Test func `a VP8 key frame gives its size`() throws {
        let frame: [UInt8] = [0xb0, 0xcf, 0x00, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0x68, 0x41]
        let header = try #require(VP8FrameHeader(frame))
        #expect(header.isKeyFrame)
        #expect(header.isShown)
        #expect(header.width == 640)
        #expect(header.height == 360, "the upper two bits are a scale")
        #expect(VP8FrameHeader([0x31, 0, 0])?.isKeyFrame == false)
        #expect(VP8FrameHeader([0xb0, 0, 0, 1, 2, 3, 0, 0, 0, 0]) == nil, "no start code")
    }

    @Test(
        arguments: [
            ([0x00], 480), ([0x18], 2_880), ([0x60], 480), ([0x78], 960), ([0x80], 120), ([0xf8], 960),
            ([0xf9, 1], 1_920),
            ([0xfa, 1], 1_920), ([0xfb, 3], 2_880), ([0x1b, 2], 5_760),
        ] as [([UInt8], Int)])
    func `an Opus packet tells its length`(packet: [UInt8], samples: Int) {
        #expect(OpusPacket(packet)?.samples == samples)
    }

    @Test(arguments: [[], [0xfb], [0xfb, 0], [0x1b, 3]] as [[UInt8]])
    func `an Opus packet without a sensible length is refused`(packet: [UInt8]) {
        #expect(OpusPacket(packet) == nil)
    }

    @Test func `a VP8 descriptor is read with all its options, and cut off it is refused`() throws {
        let full: [UInt8] = [0xb3, 0xf0, 0x81, 0x02, 0x03, 0x60]
        let descriptor = try #require(VP8PayloadDescriptor(full))
        #expect(descriptor.pictureID == 0x0102)
        #expect(descriptor.temporalBaseIndex == 3)
        #expect(descriptor.temporalLayer == 1)
        #expect(descriptor.isDiscardable)
        #expect(descriptor.partitionIndex == 3)
        #expect(!descriptor.startsFrame)
        #expect(descriptor.byteCount == 6)
        for count in 0..<full.count { #expect(VP8PayloadDescriptor(Array(full.prefix(count))) == nil) }
        #expect(VP8PayloadDescriptor([0x90, 0x80, 0x11])?.pictureID == 0x11)
        #expect(VP8PayloadDescriptor([0x10])?.byteCount == 1)
    }

    @Test func `payloads of two pictures do not join`() {
        var depacketizer = Depacketizer(format: .vp8)
        var frame: [UInt8] = []
        #expect(!depacketizer.append([0x80, 0x80, 0x80, 1, 5], to: &frame), "begins in the middle")
        #expect(depacketizer.append([0x90, 0x80, 0x80, 1, 5], to: &frame))
        #expect(!depacketizer.append([0x80, 0x80, 0x80, 2, 6], to: &frame))
        #expect(!depacketizer.append([0x90, 0x80, 0x80, 1, 6], to: &frame), "a second start")
        #expect(!depacketizer.append([0x80, 0x80, 0x80, 1], to: &frame), "no content")
        #expect(frame == [5])
    }
}
