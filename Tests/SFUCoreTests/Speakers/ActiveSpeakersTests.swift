import RTCEngine
import RTCWire
import Testing

@testable import SFUCore

/// Who speaks, by the levels on their packets.
@Suite struct ActiveSpeakersTests {
    private struct Room {
        var speakers = ActiveSpeakers()
        var now = Instant.zero + .seconds(Int64(10))

        init() {
            var changes: [ActiveSpeakers.Change] = []
            speakers.tick(at: now, changes: &changes)
        }

        /// 400 ms pass, twenty packets of each track: the first ones at a level, the rest silent.
        mutating func interval(_ tracks: [Int: (level: UInt8, packets: Int)]) -> [String] {
            for (track, sound) in tracks {
                for packet in 0..<20 {
                    let level = packet < sound.packets ? sound.level : 127
                    speakers.observe(AudioLevel(isVoice: true, level: level), of: track, duration: .milliseconds(20))
                }
            }
            now += .milliseconds(400)
            return tick()
        }

        mutating func tick() -> [String] {
            var changes: [ActiveSpeakers.Change] = []
            speakers.tick(at: now, changes: &changes)
            return changes.map { "\($0.track): \($0.level)" + ($0.isActive ? "" : " silent") }
        }
    }

    @Test func `who is loud for two fifths of the time speaks, and who ceases is told once`() {
        var room = Room()
        let ann = room.speakers.add()
        #expect(room.interval([ann: (20, 7)]) == [])
        // 10^(−20/20) of which 8 of 20 packets, and of that two thirds: 0.0267, rounded up to an eighth.
        #expect(room.interval([ann: (20, 8)]) == ["0: 0.125"])
        #expect(room.interval([ann: (20, 8)]) == [])
        #expect(room.interval([ann: (20, 0)]) == ["0: 0.0 silent"])
        #expect(room.interval([ann: (20, 0)]) == [])
        #expect(room.speakers.speakers.isEmpty)
    }

    @Test func `−35 dBov is just loud enough`() {
        var room = Room()
        let (ann, bob) = (room.speakers.add(), room.speakers.add())
        #expect(room.interval([ann: (35, 20), bob: (36, 20)]) == ["0: 0.125"])
    }

    @Test func `levels are smoothed upwards, told in eighths, loudest first`() {
        var room = Room()
        let (ann, bob) = (room.speakers.add(), room.speakers.add())
        // An amplitude of 1 and of 0.32: two thirds of it, eight ninths, and so on.
        #expect(room.interval([ann: (10, 20), bob: (0, 20)]) == ["1: 0.75", "0: 0.25"])
        #expect(room.interval([ann: (10, 20), bob: (0, 20)]) == ["1: 1.0", "0: 0.375"])
        #expect(room.speakers.speakers.map(\.track) == [bob, ann])
        // It falls as slowly while the speaker goes on speaking.
        #expect(room.interval([ann: (10, 20), bob: (20, 20)]) == ["1: 0.375"])
    }

    @Test func `a sender that claims hours in a packet counts for one interval`() {
        var room = Room()
        let ann = room.speakers.add()
        room.speakers.observe(AudioLevel(isVoice: true, level: 0), of: ann, duration: .seconds(Int64(3_600)))
        room.now += .milliseconds(400)
        #expect(room.tick() == ["0: 0.75"])
        room.now += .milliseconds(400)
        #expect(room.tick() == ["0: 0.0 silent"])
    }

    @Test func `who is muted or leaves is silent at the next interval, and the index is used again after it`() {
        var room = Room()
        let (ann, bob) = (room.speakers.add(), room.speakers.add())
        #expect(room.interval([ann: (0, 20), bob: (0, 20)]) == ["0: 0.75", "1: 0.75"])
        for track in [ann, bob] {
            for _ in 0..<20 {
                room.speakers.observe(AudioLevel(isVoice: true, level: 0), of: track, duration: .milliseconds(20))
            }
        }
        room.speakers.muted(ann)
        room.speakers.remove(bob)
        #expect(room.speakers.add() == 2)
        room.now += .milliseconds(400)
        #expect(room.tick() == ["0: 0.0 silent", "1: 0.0 silent"])
        #expect(room.speakers.add() == bob)
        #expect(room.interval([bob: (0, 20)]) == ["1: 0.75"])
    }

    @Test func `a late tick does not make up for those that were missed`() {
        var room = Room()
        _ = room.speakers.add()
        room.now += .seconds(Int64(10))
        #expect(room.tick() == [])
        #expect(room.speakers.nextWake == room.now + .milliseconds(400))
    }

    @Test(arguments: [300, 900] as [Int64])
    func `who speaks is not told to be silent after a tick that is late`(milliseconds: Int64) {
        var room = Room()
        let ann = room.speakers.add()
        room.now += .milliseconds(milliseconds)
        #expect(room.interval([ann: (10, 20)]) == ["0: 0.25"])
        // The next one is as long after it, in which there is something to hear.
        #expect(room.tick() == [])
        room.now += .milliseconds(400 - milliseconds % 400)
        #expect(room.tick() == [])
        room.now += .milliseconds(milliseconds % 400)
        #expect(room.interval([ann: (10, 20)]) == ["0: 0.375"])
    }
}
