import MediaFiles
import RTCEngine
import RTCNetwork
import RTCWire
import Testing

@testable import LiveKitClient

/// A file's picture and its sound, each a publication with a player of its own.
@Suite(.timeLimit(.minutes(1))) struct `A file that is published` {
    /// A key frame every ten seconds, the first of them after ten.
    private static let picture = MediaTrack(
        format: .vp8,
        frames: (0..<1_200).map {
            MediaTrack.Frame(
                payload: [0x10, 2, 0, 0x9d, 0x01, 0x2a, 64, 0, 64, 0], decodeTime: $0 * 3_000, duration: 3_000,
                isKeyFrame: $0 % 300 == 299)
        })
    private static let voice = MediaTrack(
        format: .opus,
        frames: (0..<2_000).map {
            MediaTrack.Frame(payload: [0xf8], decodeTime: $0 * 960, duration: 960, isKeyFrame: true)
        })

    private let connection: PeerConnection
    private let room = Room()
    private let video: LocalTrackPublication
    private let audio: LocalTrackPublication

    init() async throws {
        connection = PeerConnection(
            configuration: try PeerConnectionConfiguration(addresses: .only([try #require(IPAddress("127.0.0.1"))])))
        func publication(
            _ id: UInt32, _ kind: MediaKind, _ source: TrackSource, _ track: MediaTrack, beside: LocalTrackPublication?
        ) -> LocalTrackPublication {
            LocalTrackPublication(
                id: LocalTrackID(rawValue: id), options: TrackPublishOptions(name: "film", source: source), kind: kind,
                playing: [MediaSource(track: track)], picture: beside, room: nil)
        }
        video = publication(1, .video, .camera, Self.picture, beside: nil)
        audio = publication(2, .audio, .microphone, Self.voice, beside: video)
        await video.use(try await connection.addTrack(.video).sender)
        await room.know([video, audio])
    }

    /// Ends what is played, too.
    private func expectSoundBesidePicture() async throws {
        let (pictures, sounds) = (try #require(video.player), try #require(audio.player))
        let (picture, sound) = (await pictures.lead, await sounds.lead)
        #expect(picture > .seconds(Int64(5)))
        // To the packet of sound.
        #expect(sound <= picture && sound > picture - .milliseconds(20))
        video.stop()
        audio.stop()
        await connection.close()
    }

    @Test func `has its sound beside the picture that somebody asked a key frame of`() async throws {
        await audio.use(try await connection.addTrack(.audio).sender)
        await room.told(.keyFrameRequested, video.id)
        try await expectSoundBesidePicture()
    }

    @Test func `has its sound beside the picture that is seen again`() async throws {
        await audio.use(try await connection.addTrack(.audio).sender)
        await room.mutedChanged(video, true)
        await room.mutedChanged(video, false)
        try await expectSoundBesidePicture()
    }

    @Test func `has its sound in step with the picture from the first packet on, however much later it is published`()
        async throws
    {
        await audio.use(try await connection.addTrack(.audio).sender)
        let (pictures, sounds) = (try #require(video.player), try #require(audio.player))
        let (origin, same) = (await pictures.origin, await sounds.origin)
        #expect(origin != nil && same == origin)
        video.stop()
        audio.stop()
        await connection.close()
    }

    @Test func `that begins with silence is not silent for longer when the connection is made anew`() async throws {
        var late = Self.voice
        for index in late.frames.indices { late.frames[index].decodeTime += 48_000 * 60 }
        let publication = LocalTrackPublication(
            id: LocalTrackID(rawValue: 3), options: TrackPublishOptions(name: "speech", source: .microphone),
            kind: .audio, playing: [MediaSource(track: late)], room: nil)
        await publication.use(try await connection.addTrack(.audio).sender)
        let origin = await publication.player?.origin
        await publication.use(try await connection.addTrack(.audio).sender)
        let next = await publication.player?.origin
        #expect(origin != nil && next == origin)
        video.stop()
        publication.stop()
        await connection.close()
    }

    @Test func `has its sound at once when the connection is made anew, also where its picture has ended by then`()
        async throws
    {
        func publication(
            _ id: UInt32, _ source: TrackSource, _ kind: MediaKind, played media: MediaSource,
            beside picture: LocalTrackPublication? = nil
        ) -> LocalTrackPublication {
            LocalTrackPublication(
                id: LocalTrackID(rawValue: id), options: TrackPublishOptions(name: "film", source: source), kind: kind,
                playing: [media], picture: picture, room: nil)
        }
        var (pictures, sounds) = (
            MediaSource(track: Self.picture, ending: .stop), MediaSource(track: Self.voice, ending: .stop)
        )
        while pictures.next() != nil {}
        for _ in 0..<1_500 { _ = sounds.next() }
        let played = try #require(sounds.nextDue)
        let picture = publication(3, .camera, .video, played: pictures)
        let sound = publication(4, .microphone, .audio, played: sounds, beside: picture)
        await picture.use(try await connection.addTrack(.video).sender)
        await sound.use(try await connection.addTrack(.audio).sender)
        let began = try #require(await sound.player?.origin)
        #expect(began + played.duration <= ContinuousClock.now)
        for publication in [video, picture, sound] { publication.stop() }
        await connection.close()
    }

    /// A key frame at the beginning and every ten seconds.
    private static let sized = MediaTrack(
        format: .vp8,
        frames: (0..<1_200).map {
            MediaTrack.Frame(
                payload: [0x10, 2, 0, 0x9d, 0x01, 0x2a, 64, 0, 64, 0], decodeTime: $0 * 3_000, duration: 3_000,
                isKeyFrame: $0 % 300 == 0)
        })

    @Test func `in sizes: one that is wanted anew is sent from a key frame on, however lately there was one`()
        async throws
    {
        var options = TrackPublishOptions(name: "film", source: .camera)
        options.layers = [.low, .high].map { VideoLayer(quality: $0, width: 64, height: 64) }
        let film = LocalTrackPublication(
            id: LocalTrackID(rawValue: 3), options: options, kind: .video,
            playing: [MediaSource(track: Self.sized), MediaSource(track: Self.sized)], room: nil)
        let encodings = ["h", "q"].map { SendEncoding(rid: $0) }
        await film.use(
            try await connection.addTransceiver(.video, direction: .sendonly, sendEncodings: encodings).sender)
        await film.wantedChanged(.low)
        for player in film.players { while await !player.source.hasBegun { await Task.yield() } }
        await film.wantedChanged(.high)
        for player in film.players { #expect(await player.lead > .seconds(Int64(5))) }
        video.stop()
        film.stop()
        await connection.close()
    }

    @Test func `has its sound beside the picture that was there before it`() async throws {
        await room.told(.keyFrameRequested, video.id)
        await audio.use(try await connection.addTrack(.audio).sender)
        try await expectSoundBesidePicture()
    }
}

extension Room {
    fileprivate func know(_ publications: [LocalTrackPublication]) {
        for publication in publications { self.publications[publication.id] = publication }
    }
}
