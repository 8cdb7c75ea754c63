import RTCEngine
import RTCWire
import Testing

@testable import MediaFiles

@Suite struct `Ogg and IVF files with traps` {
    private func ogg(_ bytes: [UInt8]) throws -> MediaTrack {
        try #require(try MediaFile(reading: bytes, name: "trap.ogg").audio)
    }

    @Test func `streams that are chained follow each other`() throws {
        let one = try TestMedia.bytes("webRtcTestVideo.ogg")
        let frames = try TestMedia.track("webRtcTestVideo.ogg").frames
        let read = try ogg(one + one)
        #expect(read.frames.map(\.payload) == (frames + frames).map(\.payload))
        #expect(read.frames.map(\.decodeTime) == (0..<1_002).map { $0 * 960 })
    }

    @Test func `a chain goes on behind a stream that was cut off`() throws {
        let one = try TestMedia.bytes("webRtcTestVideo.ogg")
        let read = try ogg(Array(one.prefix(one.count / 2)) + one)
        #expect(read.frames.count > 700)
        #expect(
            read.frames.suffix(501).map(\.payload) == (try TestMedia.track("webRtcTestVideo.ogg")).frames.map(\.payload)
        )
        #expect(zip(read.frames, read.frames.dropFirst()).allSatisfy { $1.decodeTime - $0.decodeTime == 960 })
    }

    /// A page of one packet of less than 255 bytes (RFC 3533 §6).
    private static func page(
        _ packet: [UInt8], flags: UInt8 = 0, position: UInt64 = 0, serial: UInt32, sequence: UInt32
    ) -> [UInt8] {
        var page = Array("OggS".utf8) + [0, flags]
        page.append(littleEndian64: position)
        page.append(littleEndian32: serial)
        page.append(littleEndian32: sequence)
        let checksumOffset = page.count
        page.append(littleEndian32: 0)
        page += [1, UInt8(packet.count)] + packet
        var checksum = OggChecksum()
        checksum.update(page.span.bytes)
        page.set(uint32: checksum.value.byteSwapped, at: checksumOffset)
        return page
    }

    /// Two packets, of which the second ends where the file says.
    private static func stream(_ serial: UInt32, endingAt position: UInt64) -> [UInt8] {
        let packet: [UInt8] = [0xf8, 0xff, 0xfe]
        return page(RecordedOpus.head, flags: 2, serial: serial, sequence: 0)
            + page(Array("OpusTags".utf8), serial: serial, sequence: 1)
            + page(packet, position: 960, serial: serial, sequence: 2)
            + page(packet, flags: 4, position: position, serial: serial, sequence: 3)
    }

    @Test(arguments: [2, 403, 9_000])
    func `streams of a chain that claim months each are refused`(count: UInt32) throws {
        let longest = UInt64(MediaClock.limit - 1)
        #expect(try ogg(Self.stream(0, endingAt: longest)).frames.count == 2)
        let bytes = (0..<count).flatMap { Self.stream($0, endingAt: longest) }
        #expect(throws: MediaFileError.malformed(.ogg, detail: "a packet's time is out of range")) { try ogg(bytes) }
    }

    @Test(.timeLimit(.minutes(20)))
    func `capture patterns without end cost no hours`() throws {
        let head = try TestMedia.bytes("webRtcTestVideo.ogg").prefix(200)
        var bytes = Array(head)
        // Each claims to be a page of 65,025 bytes.
        for _ in 0..<200_000 {
            bytes += Array("OggS".utf8) + [0] + [UInt8](repeating: 0, count: 21) + [255] + [255, 255, 255]
        }
        #expect(throws: MediaFileError.malformed(.ogg, detail: "it is full of pages with a wrong checksum")) {
            try OggOpusReader.read(bytes)
        }
    }

    @Test func `an IVF whose clock stands still is refused`() throws {
        var bytes = try TestMedia.bytes("webRtcTestVideo.ivf")
        bytes.replaceSubrange(20..<24, with: [0, 0, 0, 0])
        let error = try #require(throws: MediaFileError.self) { try MediaFile(reading: bytes, name: "trap.ivf") }
        #expect(
            error.description
                == "The IVF data cannot be sent in a call: its times would have more than 1,000 frames sent each second."
        )
    }

    @Test func `the last frame of an IVF with a fine clock lasts as long as the others`() throws {
        let video = try TestMedia.track("webRtcTestVideo.ivf")
        let (bytes, _) = try record(video: video, audio: nil, container: .ivf)
        let read = try #require(try MediaFile(reading: bytes, name: "call.ivf").video)
        #expect(read.duration == .seconds(10))
    }

    @Test func `what an IVF header says about lengths is not believed`() throws {
        let whole = try TestMedia.bytes("webRtcTestVideo.ivf")
        var bytes = whole
        bytes.replaceSubrange(24..<28, with: [0xff, 0xff, 0xff, 0xff])
        #expect(try MediaFile(reading: bytes, name: "trap.ivf").video?.frames.count == 300)
        bytes = whole
        bytes.replaceSubrange(6..<8, with: [0xff, 0xff])
        _ = try? MediaFile(reading: bytes, name: "trap.ivf")
        bytes = whole
        // The second frame claims all that there is and more.
        let second = 32 + 12 + Int(bytes.span.bytes.littleEndian32(at: 32) ?? 0)
        bytes.replaceSubrange(second..<second + 4, with: [0xff, 0xff, 0xff, 0x7f])
        #expect(try MediaFile(reading: bytes, name: "trap.ivf").video?.frames.count == 1)
    }
}
