import RTCEngine
import Testing

@testable import SFUCore

/// Layers of which next to nothing comes, beside lower ones.
@Suite struct StarvedLayersTests {
    /// What comes of two layers at 30 pictures a second, the upper one's first.
    private struct Film {
        var bitrates = LayerBitrates()
        var time = Interval.zero
        let start = Instant.zero + .seconds(Int64(100))

        var live: UInt8 { bitrates.live }
        var now: Instant { start + time }

        mutating func picture(of layer: Int, bytes: Int = 1_250) {
            bitrates.receive(bytes: bytes, spatial: layer, temporal: 0, endsPicture: true, at: now)
        }

        /// So many pictures of the lower layer, and one for each so many of the upper one; 0 for none.
        ///
        /// - Returns: which layers were taken for live.
        @discardableResult
        mutating func run(
            _ pictures: Int, upper each: Int, lower isThere: Bool = true, apart: Interval = .milliseconds(33)
        ) -> Set<UInt8> {
            var seen: Set<UInt8> = []
            for number in 0..<pictures {
                if each > 0, number % each == 0 { picture(of: 1) }
                if isThere { picture(of: 0) }
                seen.insert(live)
                time = time + apart
            }
            return seen
        }

        /// Nothing comes, and the room ticks.
        mutating func pause(_ milliseconds: Int) {
            for _ in 0..<milliseconds / 50 {
                time = time + .milliseconds(50)
                bitrates.advance(to: now)
            }
        }
    }

    @Test func `a layer of which a picture comes now and then, beside others, is left until it has enough`() {
        var film = Film()
        #expect(film.run(60, upper: 1) == [0b11])
        #expect(film.run(60, upper: 4) == [0b11])
        film.run(45, upper: 30)
        #expect(film.live == 0b01)
        #expect(film.run(150, upper: 30) == [0b01], "each may be a key frame that the lower one was asked for")
        #expect(film.run(60, upper: 4) == [0b01])
        film.run(30, upper: 1)
        #expect(film.live == 0b11)
    }

    @Test func `nothing is said of layers that all have few`() {
        var film = Film()
        film.run(60, upper: 1)
        #expect(film.run(30, upper: 3, apart: .milliseconds(333)) == [0b11])
    }

    @Test func `a layer that the publisher was told to leave out and then to send is there with its first picture`() {
        var film = Film()
        film.run(60, upper: 1)
        film.run(90, upper: 0)
        #expect(film.live == 0b01)
        film.bitrates.wantedAnew()
        // It takes a publisher more than a second to begin.
        #expect(film.run(40, upper: 0) == [0b01])
        #expect(film.run(60, upper: 1) == [0b11])
    }

    @Test func `after a pause of all nobody is held to have missed what the others had a moment before`() {
        var film = Film()
        film.run(60, upper: 1)
        film.pause(2_000)
        // The lower one is back three hundred milliseconds before the upper one.
        #expect(film.run(9, upper: 0) == [0b11])
        #expect(film.run(60, upper: 1) == [0b11])
        // Five pictures a second are enough beside thirty, and so they are when the first of a second are missing.
        #expect(film.run(90, upper: 6) == [0b11])
        film.pause(600)
        #expect(film.run(90, upper: 6) == [0b11])
    }

    @Test func `a pause of all does not bring a starved layer back`() {
        var film = Film()
        film.run(60, upper: 1)
        film.run(90, upper: 60)
        #expect(film.live == 0b01)
        film.pause(1_200)
        #expect(film.live == 0b01)
        #expect(film.run(60, upper: 60) == [0b01])
    }

    @Test func `a layer that comes again is measured anew, for what it cost while it was starved is no measure`() {
        var film = Film()
        film.run(60, upper: 1)
        #expect(film.bitrates.isMeasured(spatial: 1, at: film.now))
        film.run(120, upper: 36)
        #expect(film.live == 0b01)
        while film.live == 0b01 { film.run(1, upper: 1) }
        #expect(!film.bitrates.isMeasured(spatial: 1, at: film.now))
        film.run(35, upper: 1)
        #expect(film.bitrates.isMeasured(spatial: 1, at: film.now))
    }

    @Test func `when the lower layers end, the starved one is what there is`() {
        var film = Film()
        film.run(60, upper: 1)
        film.run(60, upper: 60)
        film.run(90, upper: 15, lower: false)
        #expect(film.live == 0b10)
    }
}
