import MediaFiles
import RTCEngine
import RTCWire
import Testing

@Suite struct `Playing a file` {
    /// Ten frames of 100 ticks, key frames at 0, 4 and 8.
    private let track = MediaTrack(
        format: .vp8,
        frames: (0..<10).map {
            MediaTrack.Frame(payload: [UInt8($0)], decodeTime: $0 * 100, duration: 100, isKeyFrame: $0 % 4 == 0)
        })

    @Test func `timestamps continue through the loop`() {
        var source = MediaSource(track: track)
        let frames = (0..<25).compactMap { _ in source.next() }
        #expect(frames.map(\.timestamp) == (0..<25).map { $0 * 100 })
        #expect(frames.map { Int($0.payload[0]) } == (0..<25).map { $0 % 10 })
    }

    @Test func `a source that stops has an end`() {
        var source = MediaSource(track: track, ending: .stop)
        for _ in 0..<10 { #expect(source.next() != nil) }
        let given0 = source.next()
        #expect(given0 == nil)
        #expect(source.nextDue == nil)
    }

    @Test func `a key-frame request jumps ahead and time goes on`() throws {
        var source = MediaSource(track: track)
        _ = source.next()
        let due = source.nextDue
        let did = source.skipToKeyFrame()
        #expect(did)
        #expect(source.nextDue == due)
        let given = source.next()
        let frame = try #require(given)
        #expect(frame.payload == [4])
        #expect(frame.isKeyFrame)
        #expect(frame.timestamp == 100)
    }

    @Test func `behind the last key frame the next one is the first`() throws {
        var source = MediaSource(track: track)
        for _ in 0..<9 { _ = source.next() }
        let did = source.skipToKeyFrame()
        #expect(did)
        let given1 = source.next()
        #expect(given1?.payload == [0])

        var stopping = MediaSource(track: track, ending: .stop)
        for _ in 0..<9 { _ = stopping.next() }
        let didStop = stopping.skipToKeyFrame()
        #expect(!didStop)
        let given2 = stopping.next()
        #expect(given2?.payload == [9])
    }

    @Test func `at a key frame a request changes nothing`() {
        var source = MediaSource(track: track)
        let did = source.skipToKeyFrame()
        #expect(did)
        #expect(source.position == 0)
    }

    @Test func `seeking goes to the key frame before`() {
        var source = MediaSource(track: track)
        source.seek(to: .seconds(600.0 / 90_000))
        #expect(source.position == 4)
    }

    @Test func `frames are due when their time has come`() {
        var source = MediaSource(track: track)
        _ = source.next()
        #expect(source.nextDue == Interval(nanoseconds: 100 * 1_000_000_000 / 90_000))
    }
}
