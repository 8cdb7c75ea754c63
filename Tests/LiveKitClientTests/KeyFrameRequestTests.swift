import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

@testable import LiveKitClient

/// What an encoder is told whose frames are handed in: when the next one has to be a key frame, and how much to make.
@Suite(.timeLimit(.minutes(1))) struct KeyFrameRequestTests {
    private let connection: PeerConnection

    init() throws {
        connection = PeerConnection(
            configuration: try PeerConnectionConfiguration(addresses: .only([try #require(IPAddress("127.0.0.1"))])))
    }

    private static func publication(_ kind: MediaKind, playing media: MediaSource? = nil) -> LocalTrackPublication {
        LocalTrackPublication(
            id: LocalTrackID(rawValue: 1), options: TrackPublishOptions(name: "film", source: .camera), kind: kind,
            playing: media.map { [$0] } ?? [], room: nil)
    }

    /// False when no more requests come.
    private static func isAsked(_ requests: inout AsyncStream<Void>.Iterator) async -> Bool {
        await requests.next() != nil
    }

    @Test func `an encoder hears of each connection, of who cannot decode, and that the picture is seen again`()
        async throws
    {
        let video = Self.publication(.video)
        var requests = video.keyFrameRequests.makeAsyncIterator()
        var asked: [Bool] = []
        for _ in 0..<2 {
            await video.use(try await connection.addTrack(.video).sender)
            asked.append(await Self.isAsked(&requests))
        }
        // Of those that nobody has taken there is one.
        for _ in 0..<3 { await video.keyFrameRequested() }
        asked.append(await Self.isAsked(&requests))
        await video.mutedChanged(true)
        await video.mutedChanged(false)
        asked.append(await Self.isAsked(&requests))
        #expect(asked == [true, true, true, true])
        // It was not muted; and of a muted one nobody sees anything.
        await video.mutedChanged(false)
        await video.mutedChanged(true)
        await video.keyFrameRequested()
        video.stop()
        let isAskedAgain = await Self.isAsked(&requests)
        #expect(!isAskedAgain)
        await connection.close()
    }

    @Test func `a track that nobody wants waits, and begins again with a key frame`() async throws {
        let video = Self.publication(.video)
        var requests = video.keyFrameRequests.makeAsyncIterator()
        await video.use(try await connection.addTrack(.video).sender)
        var asked = [await Self.isAsked(&requests)]
        await video.wantedChanged(nil)
        #expect(video.wantedQuality == nil)
        // Of these nobody would see anything.
        await video.keyFrameRequested()
        await video.mutedChanged(true)
        await video.wantedChanged(.high)
        #expect(video.wantedQuality == .high && video.isMuted)
        await video.mutedChanged(false)
        asked.append(await Self.isAsked(&requests))
        video.stop()
        asked.append(await Self.isAsked(&requests))
        #expect(asked == [true, true, false])
        await connection.close()
    }

    @Test func `of bitrates that nobody has taken the newest is kept, and they end with the track`() async {
        let video = Self.publication(.video)
        for kilobits in [300, 200] as [Int64] { video.targetBitrateChanged(.kilobits(kilobits)) }
        video.stop()
        var told: [Bitrate] = []
        for await bitrate in video.targetBitrates { told.append(bitrate) }
        #expect(told == [.kilobits(200)])
    }

    @Test func `of sound, and where a file is played, nobody is asked`() async throws {
        let frame = MediaTrack.Frame(
            payload: [0x10, 2, 0, 0x9d, 0x01, 0x2a, 64, 0, 64, 0], decodeTime: 0, duration: 3_000, isKeyFrame: true)
        let file = MediaSource(track: MediaTrack(format: .vp8, frames: [frame]))
        for publication in [Self.publication(.audio), Self.publication(.video, playing: file)] {
            await publication.use(try await connection.addTrack(publication.kind).sender)
            await publication.mutedChanged(true)
            await publication.mutedChanged(false)
            await publication.keyFrameRequested()
            if publication.kind == .video { publication.targetBitrateChanged(.kilobits(300)) }
            publication.stop()
            var bitrates = publication.targetBitrates.makeAsyncIterator()
            #expect(await bitrates.next() == nil)
            var requests = publication.keyFrameRequests.makeAsyncIterator()
            let isAsked = await Self.isAsked(&requests)
            #expect(!isAsked)
        }
        await connection.close()
    }
}
