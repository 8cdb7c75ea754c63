import RTCWire
import Testing

@testable import SFUCore

/// Header extensions on their way through the server.
@Suite struct ForwardedExtensionsTests {
    private static let publisher: HeaderExtensionIDs = {
        var ids = HeaderExtensionIDs(mid: 1, audioLevel: 2, transportSequence: 3)
        ids.videoOrientation = 4
        ids.dependencyDescriptor = 5
        return ids
    }()

    /// Elements of what a subscriber gets, as identifier and data.
    private func forwarded(
        _ subscriber: HeaderExtensionIDs, isPadding: Bool = false, playoutDelay: PlayoutDelayLimits? = nil
    ) throws -> [[UInt8]] {
        var source: [UInt8] = []
        source.append(addingCapacity: 64) { packet in
            RTPHeader(marker: false, payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3).write(into: &packet)
            let writer = HeaderExtensionWriter(form: .oneByte, in: &packet)
            for element in [[1, 0x30], [2, 0x8a], [3, 0, 9], [4, 0x01], [5, 0xc0, 0, 7]] as [[UInt8]] {
                _ = writer.begin(element[0], length: element.count - 1, in: &packet)
                for byte in element.dropFirst() { packet.append(byte) }
            }
            writer.finish(in: &packet)
            packet.append(0xff)
        }

        var offsets = PictureOffsets()
        offsets.frameNumber = 2
        let out = OutgoingPacket(
            sequenceNumber: 9, timestamp: 8, marker: false, isPadding: isPadding, offsets: offsets)
        let carried = ForwardedExtensions(
            of: try RTPHeader(parsing: source.span.bytes), source.span.bytes, from: Self.publisher,
            playoutDelay: playoutDelay)
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 64) { packet in
            RTPHeader(marker: false, payloadType: 96, sequenceNumber: 9, timestamp: 8, ssrc: 4).write(into: &packet)
            let writer = HeaderExtensionWriter(form: .twoByte, in: &packet)
            carried.append(of: source.span.bytes, to: subscriber, out, with: writer, into: &packet)
            writer.finish(in: &packet)
        }
        let header = try RTPHeader(parsing: bytes.span.bytes)
        var elements = HeaderExtensionIterator(header)
        var found: [[UInt8]] = []
        while let element = elements.next(in: bytes.span.bytes) { found.append([element.id] + bytes[element.range]) }
        return found
    }

    @Test func `what speaks of the media goes on under the subscriber's identifiers, and the path's ends here`() throws
    {
        var subscriber = HeaderExtensionIDs(mid: 11, audioLevel: 12, transportSequence: 13)
        subscriber.videoOrientation = 14
        subscriber.dependencyDescriptor = 15
        #expect(try forwarded(subscriber) == [[12, 0x8a], [14, 0x01], [15, 0xc0, 0, 5]])
    }

    @Test func `pictures are held back as the room wants it, where that was negotiated`() throws {
        var subscriber = HeaderExtensionIDs(audioLevel: 7)
        let delay = PlayoutDelayLimits(minimum: 200, maximum: 1_000)
        #expect(try forwarded(subscriber, playoutDelay: delay) == [[7, 0x8a]])
        subscriber.playoutDelay = 8
        #expect(try forwarded(subscriber) == [[7, 0x8a]])
        // Twelve bits each, in hundredths of a second.
        #expect(try forwarded(subscriber, playoutDelay: delay) == [[7, 0x8a], [8, 0x01, 0x40, 0x64]])
        #expect(try forwarded(subscriber, isPadding: true, playoutDelay: delay) == [])
    }

    @Test func `what the subscriber did not negotiate is left out`() throws {
        #expect(try forwarded(HeaderExtensionIDs(audioLevel: 7)) == [[7, 0x8a]])
        #expect(try forwarded(HeaderExtensionIDs()) == [])
    }

    /// More would stop the server, so this is what a publisher can do worst: all elements that go on, and little else.
    @Test(arguments: [1, 16]) func `what goes out fits into the room that is made for it`(length: Int) throws {
        var ids = Self.publisher
        (ids.absoluteCaptureTime, ids.playoutDelay) = (6, 7)
        let media: [UInt8] = [2, 4, 5, 6, 7]
        var source: [UInt8] = []
        source.append(addingCapacity: 128) { packet in
            RTPHeader(marker: false, payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3).write(into: &packet)
            let writer = HeaderExtensionWriter(form: .oneByte, in: &packet)
            for id in media where writer.begin(id, length: length, in: &packet) != nil {
                packet.append(repeating: id, count: length)
            }
            writer.finish(in: &packet)
            packet.append(0xff)
        }
        let header = try RTPHeader(parsing: source.span.bytes)
        let carried = ForwardedExtensions(of: header, source.span.bytes, from: ids)
        let out = OutgoingPacket(
            sequenceNumber: 9, timestamp: 8, marker: false, isPadding: false, offsets: PictureOffsets())
        var bytes: [UInt8] = []
        var appended = 0
        // The block's own head is what the stream makes room for.
        let room = OutgoingPacket.room(for: source.span.bytes)
        bytes.append(addingCapacity: RTPHeader.fixedSize + HeaderExtensionWriter.blockOverhead + room) { packet in
            RTPHeader(marker: false, payloadType: 96, sequenceNumber: 9, timestamp: 8, ssrc: 4).write(into: &packet)
            let writer = HeaderExtensionWriter(form: .twoByte, in: &packet)
            let start = packet.count
            carried.append(of: source.span.bytes, to: ids, out, with: writer, into: &packet)
            appended = packet.count - start
            writer.finish(in: &packet)
            out.appendPayload(
                header.payload(of: source.span.bytes), of: PublishedPacket(sequence: 1, timestamp: 2), to: &packet)
        }
        #expect(appended == media.count * (2 + length))
        #expect(try RTPHeader(parsing: bytes.span.bytes).payloadRange.count == 1)
        #expect(appended + 1 <= room)
    }

    @Test func `padding says nothing of media`() throws {
        #expect(try forwarded(HeaderExtensionIDs(audioLevel: 7), isPadding: true) == [])
    }
}
