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

    @Test func `a source that has passed a key frame which another one jumped to goes on with it from the next`() {
        // Thirty frames a second, a key frame each second.
        let second = MediaTrack(
            format: .vp8,
            frames: (0..<300).map {
                MediaTrack.Frame(payload: [0], decodeTime: $0 * 3_000, duration: 3_000, isKeyFrame: $0 % 30 == 0)
            })
        var (early, late) = (MediaSource(track: second), MediaSource(track: second))
        for _ in 0..<29 { _ = early.next() }
        for _ in 0..<31 { _ = late.next() }
        early.skipToKeyFrame()
        late.skipToKeyFrame()
        #expect((early.position, late.position) == (30, 60))
        early.keepUp(lead: late.lead)
        #expect(early.position == 60 && early.lead > late.lead)
        // As far as they can be.
        late.keepUp(lead: early.lead)
        #expect(late.position == 60)
        // Around the end, where there is one key frame only.
        var alone = MediaSource(
            track: MediaTrack(
                format: .vp8,
                frames: (0..<60).map {
                    MediaTrack.Frame(payload: [0], decodeTime: $0 * 3_000, duration: 3_000, isKeyFrame: $0 == 0)
                }))
        alone.keepUp(lead: .seconds(Int64(2)))
        #expect(alone.position == 0 && alone.lead == .seconds(Int64(2)))
    }

    @Test func `at a key frame a request changes nothing`() {
        var source = MediaSource(track: track)
        let did = source.skipToKeyFrame()
        #expect(did)
        #expect(source.position == 0)
    }

    /// Five packets of 100 ticks of 48,000, while the picture has 1,000 ticks of 90,000.
    private let sound = MediaTrack(
        format: .opus,
        frames: (0..<5).map {
            MediaTrack.Frame(payload: [UInt8($0)], decodeTime: $0 * 100, duration: 100, isKeyFrame: true)
        })

    @Test func `tracks of different length begin every round together`() {
        // 500 of 48,000 a second are 10.4 ms, 1,000 of 90,000 are 11.1 ms.
        let length = max(track.duration, sound.duration)
        var picture = MediaSource(track: track, roundLength: length)
        var voice = MediaSource(track: sound, roundLength: length)
        for _ in 0..<10_000 { for _ in track.frames { _ = picture.next() } }
        for _ in 0..<10_000 { for _ in sound.frames { _ = voice.next() } }
        #expect(picture.position == 0 && voice.position == 0)
        let (seen, heard) = (picture.nextDue ?? .zero, voice.nextDue ?? .zero)
        // No more than the rounding of one round to whole ticks, ten thousand times: a third of a tick each.
        #expect(abs((seen - heard).nanoseconds) < 10_000 * 21_000 / 2)
        #expect(seen.milliseconds > 111_000)
    }

    @Test func `sound follows its picture to a key frame`() {
        let length = max(track.duration, sound.duration)
        var picture = MediaSource(track: track, roundLength: length)
        var voice = MediaSource(track: sound, roundLength: length)
        _ = picture.next()
        _ = voice.next()
        let due = voice.nextDue
        picture.skipToKeyFrame()
        // From frame 1 to frame 4: 300 ticks of 90,000, 160 of 48,000.
        #expect(picture.lead == Interval(nanoseconds: 300 * 1_000_000_000 / 90_000))
        voice.follow(lead: picture.lead)
        #expect(voice.position == 2)
        #expect(voice.nextDue == due)
        let packet = voice.next()
        #expect(packet?.timestamp == 100)
        // Over the end, many times: never more than a packet apart.
        for _ in 0..<1_000 {
            _ = picture.next()
            picture.skipToKeyFrame()
            voice.follow(lead: picture.lead)
            let apart = (picture.lead - voice.lead).nanoseconds
            #expect((-12_000...2_095_000).contains(apart))
        }
    }

    @Test func `a track that begins behind another one of its file does so in every round`() {
        var late = sound
        for index in late.frames.indices { late.frames[index].decodeTime += 4_800 }
        let length = max(track.duration, late.duration)
        var picture = MediaSource(track: track, roundLength: length)
        var voice = MediaSource(track: late, roundLength: length)
        #expect(picture.nextDue == .zero && voice.nextDue == .milliseconds(100))
        #expect(!voice.hasBegun)
        for _ in track.frames { _ = picture.next() }
        for _ in late.frames { _ = voice.next() }
        #expect(voice.hasBegun)
        // 100 ms, and 500 ticks of sound.
        #expect(picture.nextDue?.milliseconds.rounded() == 110)
        #expect(voice.nextDue?.milliseconds.rounded() == 210)
    }

    @Test func `sound that is led to before its beginning waits for it`() {
        var late = sound
        for index in late.frames.indices { late.frames[index].decodeTime += 4_800 }
        var voice = MediaSource(track: late, roundLength: .milliseconds(200))
        _ = voice.next()
        // From 102 ms, where the second packet is due, over the end of the round to 52 ms: 48 ms until the first one.
        voice.follow(lead: .milliseconds(150))
        #expect(voice.position == 0 && voice.lead == .milliseconds(150))
        #expect(voice.nextDue?.milliseconds.rounded() == 150)
    }

    @Test func `sound that has not begun comes as much sooner as its picture has jumped`() {
        // 20 ms each, the first of them after 100.
        let late = MediaTrack(
            format: .opus,
            frames: (0..<10).map {
                MediaTrack.Frame(
                    payload: [UInt8($0)], decodeTime: 4_800 + $0 * 960, duration: 960, isKeyFrame: true)
            })
        var voice = MediaSource(track: late, ending: .stop)
        voice.follow(lead: .milliseconds(40))
        #expect(voice.nextDue == .milliseconds(60) && voice.position == 0 && voice.lead == .milliseconds(40))
        // At the file's beginning the third packet, of 140 ms, is beside the picture of 150.
        voice.follow(lead: .milliseconds(150))
        #expect(voice.nextDue == .zero && voice.position == 2 && voice.lead == .milliseconds(140))
        let packet = voice.next()
        #expect(packet?.timestamp == 0)
    }

    @Test func `sound that has ended waits for the next round`() {
        var voice = MediaSource(track: sound, roundLength: .milliseconds(20))
        voice.follow(lead: .milliseconds(15))
        #expect(voice.position == 0)
        #expect(voice.nextDue == .milliseconds(5))
        #expect(voice.lead == .milliseconds(15))
        var once = MediaSource(track: sound, ending: .stop)
        once.follow(lead: .milliseconds(15))
        #expect(once.nextDue == nil)
    }

    @Test func `frames are due when their time has come`() {
        var source = MediaSource(track: track)
        _ = source.next()
        #expect(source.nextDue == Interval(nanoseconds: 100 * 1_000_000_000 / 90_000))
    }
}
