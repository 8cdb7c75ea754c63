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

    @Test func `what is too early for a second of sound is left out until the rest is where it belongs`() throws {
        // Less than a second at once: nothing makes up for that.
        let burst = (0..<40).map { Self.sample($0, at: Int64($0)) }
        let rest = (40..<200).map { Self.sample($0, at: Int64($0 - 39) * 960) }
        let places = try Self.places(burst + rest)
        // A second of it is taken; then 780 ms are missing, and no more.
        #expect((0..<56).allSatisfy { places[$0] == Int64($0) * 960 })
        #expect(places.count == 200 - 39)
        for number in 95..<200 { #expect(places[number] == Int64(number - 39) * 960) }
    }

    @Test(arguments: [3, 10, 25, 45])
    func `packets that come all at once, again and again, are all kept`(count: Int) throws {
        // So many at one time, and then none until their time is over.
        let samples = (0..<600).map { Self.sample($0, at: Int64($0 / count * count) * 960 + Int64($0 % count)) }
        let places = try Self.places(samples)
        for number in 0..<600 { #expect(places[number] == Int64(number) * 960) }
    }

    @Test func `a little too early is no reason to leave anything out, however long`() throws {
        let burst = (0..<5).map { Self.sample($0, at: Int64($0)) }
        let rest = (5..<500).map { Self.sample($0, at: Int64($0 - 4) * 960) }
        #expect(try Self.places(burst + rest).count == 500)
    }

    /// What a recording has of packets that were sent every 20 ms, by their numbers: where each is, in samples.
    private static func recorded(_ arrivals: [Int64]) throws -> [Int: Int64] {
        var recorder = try Recorder(video: nil, audio: .opus)
        for (number, arrival) in arrivals.enumerated() {
            recorder.receive(
                EncodedFrame(
                    payload: [0xf8, UInt8(number >> 8), UInt8(number & 255)], timestamp: UInt32(number) * 960,
                    isKeyFrame: true, format: .opus),
                at: Instant(nanoseconds: arrival * 1_000_000))
        }
        recorder.finish()
        var bytes: [UInt8] = []
        while let change = recorder.pollOutput() {
            if case .append(let more) = change { bytes += more }
        }
        var places: [Int: Int64] = [:]
        for frame in try OggOpusReader.read(bytes).frames where frame.payload != OpusPacket.silence {
            places[Int(frame.payload[1]) << 8 | Int(frame.payload[2])] = frame.decodeTime
        }
        return places
    }

    @Test(arguments: [5_500, 8_000, 12_000] as [Int64])
    func `sound behind a stall of some seconds is late for some seconds, and then no more`(stall: Int64) throws {
        let end = 20_000 + stall
        let places = try Self.recorded(
            (0..<3_000).map { number in
                let sent = Int64(number) * 20
                return (20_000..<end).contains(sent) ? end : sent
            })
        // Before it, and from ten seconds after it on, nothing is missing, and all is where it came.
        for number in Array(0..<1_000) + Array(Int(end / 20) + 500..<3_000) {
            let place = try #require(places[number])
            #expect(abs(place - Int64(number) * 960) <= 960)
        }
    }

    @Test(arguments: [100, 400, 900] as [Int64])
    func `of packets that a network delays now and then none is left out`(delay: Int64) throws {
        var last: Int64 = 0
        let arrivals = (0..<3_000).map { number -> Int64 in
            // Each second one comes late, and those behind it with it.
            last = max(last, Int64(number) * 20 + (number % 50 == 7 ? delay : 0))
            return last
        }
        let places = try Self.recorded(arrivals)
        for number in 0..<3_000 { #expect(places[number] == Int64(number) * 960) }
    }
}
