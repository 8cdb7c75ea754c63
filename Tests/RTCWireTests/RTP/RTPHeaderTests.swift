import RTCWire
import Testing

/// RTP's header (RFC 3550 §5.1) and its extensions (RFC 8285), from bytes laid out by hand after the RFCs' figures.
@Suite struct RTPHeaderTests {
    private func parse(_ bytes: [UInt8]) throws -> RTPHeader { try RTPHeader(parsing: bytes.span.bytes) }

    private func failure(_ bytes: [UInt8]) -> RTPHeaderError? {
        do throws(RTPHeaderError) {
            _ = try RTPHeader(parsing: bytes.span.bytes)
            return nil
        } catch {
            return error
        }
    }

    /// V=2, no padding, no extension, no sources; M=1, type 96, number 0x1234.
    private static let plain: [UInt8] = [
        0x80, 0xe0, 0x12, 0x34, 0x01, 0x02, 0x03, 0x04, 0xaa, 0xbb, 0xcc, 0xdd,
    ]

    @Test func `the fields of the fixed header`() throws {
        let header = try parse(Self.plain + [1, 2, 3])
        #expect(header.marker)
        #expect(header.payloadType == 96)
        #expect(header.sequenceNumber == 0x1234)
        #expect(header.timestamp == 0x0102_0304)
        #expect(header.ssrc == 0xaabb_ccdd)
        #expect(header.payloadRange == 12..<15)
        #expect(header.extensionProfile == nil)
    }

    @Test func `sources, extension and padding surround the payload`() throws {
        var bytes = Self.plain
        // P, X, two sources.
        bytes[0] = 0xb2
        bytes += [0, 0, 0, 7, 0, 0, 0, 8]
        bytes += [0xbe, 0xde, 0, 1, 0x10, 0xff, 0, 0]
        bytes += [9, 9, 0, 0, 3]
        let header = try parse(bytes)
        #expect(header.contributingSourceCount == 2)
        let sources = (0..<3).map { header.contributingSource($0, of: bytes.span.bytes) }
        #expect(sources == [7, 8, nil])
        #expect(header.extensionProfile == 0xbede)
        #expect(header.extensionRange == 24..<28)
        #expect(header.payloadRange == 28..<30)
        #expect(header.paddingCount == 3)
    }

    @Test func `what is not RTP is refused with its reason`() {
        var version = Self.plain
        version[0] = 0x40
        #expect(failure(version) == .unsupportedVersion(1))
        #expect(failure(Array(Self.plain.dropLast())) == .tooShort)
        var sources = Self.plain
        sources[0] = 0x81
        #expect(failure(sources) == .tooShort)
        var withExtension = Self.plain
        withExtension[0] = 0x90
        #expect(failure(withExtension + [0xbe, 0xde, 0, 2, 0, 0, 0, 0]) == .truncatedExtension)
        var padded = Self.plain
        padded[0] = 0xa0
        #expect(failure(padded + [0]) == .invalidPadding)
        #expect(failure(padded + [2]) == .invalidPadding)
        #expect(failure(padded) == .invalidPadding)
        #expect(failure(padded + [1]) == nil)
    }

    @Test func `a protected packet's padding is not looked at`() throws {
        var bytes = Self.plain
        bytes[0] = 0xa0
        bytes += [1, 2, 200]
        let header = try RTPHeader(parsingProtected: bytes.span.bytes)
        #expect(header.payloadRange == 12..<15)
    }

    @Test func `one-byte elements, with padding between them`() throws {
        var bytes = Self.plain
        bytes[0] = 0x90
        // RFC 8285 §4.2: "ID, length - 1"; zeros are padding; 15 stops the processing.
        bytes += [0xbe, 0xde, 0, 4]
        bytes += [0x10, 0xaa, 0, 0, 0x32, 1, 2, 3, 0x41, 0xbe, 0xef, 0xf0, 0x50, 1, 0, 0]
        let header = try parse(bytes)
        var iterator = HeaderExtensionIterator(header)
        var found: [HeaderExtensionElement] = []
        while let element = iterator.next(in: bytes.span.bytes) { found.append(element) }
        #expect(
            found == [
                HeaderExtensionElement(id: 1, range: 17..<18), HeaderExtensionElement(id: 3, range: 21..<24),
                HeaderExtensionElement(id: 4, range: 25..<27),
            ])
        let level = header.audioLevel(1, in: bytes.span.bytes)
        #expect(level == AudioLevel(isVoice: true, level: 42))
        let time = header.absoluteSendTime(3, in: bytes.span.bytes)
        #expect(time?.value == 0x01_0203)
        let sequence = header.transportSequence(4, in: bytes.span.bytes)
        #expect(sequence == 0xbeef)
        let absent = header.transportSequence(5, in: bytes.span.bytes)
        #expect(absent == nil)
    }

    @Test func `two-byte elements, an empty one among them`() throws {
        var bytes = Self.plain
        bytes[0] = 0x90
        bytes += [0x10, 0x03, 0, 3, 20, 0, 0, 200, 3]
        bytes += Array("mid".utf8) + [21, 9, 1, 2]
        let header = try parse(bytes + [0, 0])
        let text = header.text(200, in: bytes.span.bytes)
        #expect(text == "mid")
        let empty = header.extensionElement(20, in: bytes.span.bytes)
        #expect(empty == 18..<18)
        // Its length reaches past the end of the block.
        let damaged = header.extensionElement(21, in: bytes.span.bytes)
        #expect(damaged == nil)
    }

    @Test func `what was written reads the same, for many seeds`() throws {
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededGenerator(seed)
            let written = RTPHeader(
                marker: random.bool(), payloadType: random.byte() & 0x7f, sequenceNumber: random.number(),
                timestamp: random.number(), ssrc: random.number())
            let elements = (0..<Int(random.byte() % 6)).map { index in
                let isShort = seed % 2 == 0
                let length = isShort ? Int(random.byte() % 16) + 1 : Int(random.byte())
                return (id: UInt8(isShort ? index + 1 : index + 100), data: random.bytes(length))
            }
            let form = HeaderExtensionWriter.form(for: elements.map { ($0.id, $0.data.count) })
            #expect(form == (seed % 2 == 0 || elements.isEmpty ? .oneByte : .twoByte))
            var bytes: [UInt8] = []
            let room = elements.reduce(RTPHeader.fixedSize + HeaderExtensionWriter.blockOverhead) {
                $0 + HeaderExtensionWriter.elementOverhead + $1.data.count
            }
            bytes.append(addingCapacity: room) { out in
                written.write(into: &out)
                let writer = HeaderExtensionWriter(form: form, in: &out)
                for element in elements {
                    let offset = writer.begin(element.id, length: element.data.count, in: &out)
                    let count = out.count
                    #expect(offset == count)
                    out.append(contentsOf: element.data.span.bytes)
                }
                writer.finish(in: &out)
            }
            let payload = random.bytes(Int(random.byte()))
            bytes += payload

            let read = try parse(bytes)
            #expect(read.marker == written.marker)
            #expect(read.payloadType == written.payloadType)
            #expect(read.sequenceNumber == written.sequenceNumber)
            #expect(read.timestamp == written.timestamp)
            #expect(read.ssrc == written.ssrc)
            #expect(Array(bytes[read.payloadRange]) == payload)
            #expect((read.extensionProfile == nil) == elements.isEmpty)
            for element in elements {
                let range = read.extensionElement(element.id, in: bytes.span.bytes)
                #expect(range.map { Array(bytes[$0]) } == element.data)
            }
            // Every prefix is refused or parses; none traps.
            for count in 0..<bytes.count { walk(Array(bytes.prefix(count))) }
            for _ in 0..<20 {
                var damaged = bytes
                damaged[Int(random.number() as UInt32) % min(damaged.count, 24)] = random.byte()
                walk(damaged)
            }
        }
    }

    private func walk(_ bytes: [UInt8]) {
        guard let header = try? RTPHeader(parsing: bytes.span.bytes) else { return }
        #expect(header.payloadRange.upperBound <= bytes.count)
        var iterator = HeaderExtensionIterator(header)
        while let element = iterator.next(in: bytes.span.bytes) {
            #expect(element.range.upperBound <= header.extensionRange.upperBound)
        }
    }

    @Test func `RTP and RTCP are told apart by the second byte`() {
        // RFC 5761 §4: SR is 200, an RTP packet with the marker and type 96 has 224.
        let answers = ([[0x80, 200], [0x80, 192], [0x80, 223], [0x80, 224], [0x80, 96], [0x80]] as [[UInt8]])
            .map { RTPMultiplexing.isRTCP($0.span.bytes) }
        #expect(answers == [true, true, true, false, false, false])
    }
}
