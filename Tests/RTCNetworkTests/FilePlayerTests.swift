import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

/// When the frames of a file are due.
@Suite(.timeLimit(.minutes(1))) struct FilePlayerTests {
    /// A minute of packets of 20 ms, so many seconds behind the file's beginning.
    private static func sound(after seconds: Int64) -> MediaTrack {
        MediaTrack(
            format: .opus,
            frames: (0..<3_000).map {
                MediaTrack.Frame(
                    payload: [0xf8], decodeTime: seconds * 48_000 + $0 * 960, duration: 960, isKeyFrame: true)
            })
    }

    /// Plays until the first packet has been taken.
    /// - Parameter body: is done while it plays.
    /// - Returns: how many have been.
    private static func play(
        _ track: MediaTrack, at origin: ContinuousClock.Instant?, _ body: (FilePlayer) async -> Void = { _ in }
    ) async throws -> Int {
        let connection = PeerConnection(configuration: try ConnectedPair.configuration())
        let player = FilePlayer(
            playing: MediaSource(track: track, ending: .stop), on: try await connection.addTrack(.audio).sender)
        if let origin { await player.begin(at: origin) }
        let playing = Task { await player.run() }
        await body(player)
        try await until("the first packet has been taken") { await player.source.hasBegun }
        playing.cancel()
        let position = await player.source.position
        await connection.close()
        return position
    }

    @Test func `a track that begins at once does so, at its first packet`() async throws {
        let position = try await Self.play(Self.sound(after: 0), at: nil)
        #expect(position < 250)
    }

    @Test func `a track beside another one that has played for ten seconds begins ten seconds further on`()
        async throws
    {
        let position = try await Self.play(Self.sound(after: 0), at: ContinuousClock.now - .seconds(10))
        #expect((500..<750).contains(position))
    }

    @Test func `a track that begins late in its file waits for that, and no longer`() async throws {
        let began = ContinuousClock.now
        let position = try await Self.play(Self.sound(after: 60), at: began - .milliseconds(59_900))
        #expect(position < 250)
        let waited = ContinuousClock.now - began
        #expect(waited >= .milliseconds(100) && waited < .seconds(30))
    }

    @Test func `a late track whose picture jumps over its beginning is there at once`() async throws {
        let began = ContinuousClock.now
        // Half a minute has gone by, and the picture is at 70 seconds.
        let position = try await Self.play(Self.sound(after: 60), at: began - .seconds(30)) { player in
            await player.follow(lead: .seconds(Int64(40)))
        }
        #expect((500..<750).contains(position))
        let waited = ContinuousClock.now - began
        #expect(waited < .seconds(20))
    }
}
