import RTCEngine
import RTCWire
import Testing

@testable import MediaFiles

@Suite struct `The place of a packet in an Ogg` {
    private static func sample(_ number: Int, at time: Int64) -> RecordedSample {
        RecordedSample(
            kind: .audio, payload: [0xf8, UInt8(number >> 8), UInt8(number & 255)], time: time, duration: 960,
            isKeyFrame: true)
    }

    /// Where each packet is that is no silence.
    private static func places(_ samples: [RecordedSample]) throws -> [Int: Int64] {
        var writer = OggOpusWriter()
        var changes = writer.begin()
        for sample in samples { changes += writer.write([sample]) }
        changes += writer.finish(duration: .zero)
        var bytes: [UInt8] = []
        for case .append(let more) in changes { bytes += more }
        var places: [Int: Int64] = [:]
        for frame in try OggOpusReader.read(bytes).frames where frame.payload != OpusPacket.silence {
            places[Int(frame.payload[1]) << 8 | Int(frame.payload[2])] = frame.decodeTime
        }
        return places
    }

    @Test func `more sound than there is time for leaves nothing behind it late`() throws {
        // Two seconds, all at one time, and then one after the other.
        let burst = (0..<100).map { Self.sample($0, at: Int64($0)) }
        let rest = (100..<300).map { Self.sample($0, at: Int64($0 - 99) * 960) }
        let places = try Self.places(burst + rest)
        #expect(places[0] == 0 && places[50] == 50 * 960)
        #expect(places[99] == nil)
        for number in 200..<300 {
            let place = try #require(places[number])
            #expect(abs(place - Int64(number - 99) * 960) <= 960)
        }
    }

    @Test func `a second at once is kept whole`() throws {
        let burst = (0..<50).map { Self.sample($0, at: Int64($0)) }
        let rest = (50..<150).map { Self.sample($0, at: Int64($0 - 49) * 960) }
        #expect(try Self.places(burst + rest).count == 150)
    }
}
