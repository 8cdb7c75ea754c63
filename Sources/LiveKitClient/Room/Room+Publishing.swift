public import MediaFiles
public import RTCEngine
internal import RTCNetwork
public import RTCWire
internal import Synchronization

/// What we publish, and whom it is for.
extension Room {
    /// Publishes a track of frames that are handed in by `LocalTrackPublication.send`; back when the server knows of
    /// it. While the connection is made anew, that is when it is there again. Cancelling the task takes the track back.
    ///
    /// - Parameters:
    ///   - format: of all frames that will be sent.
    ///   - options: what the others are told of the track.
    /// - Throws: `notConnected` outside of a room; `invalidLayers`; `notEncryptable` when encryption is on and frames
    ///   of this format cannot be encrypted (AV1, H.265, layers of VP9); `requestRefused`, such as `notAllowed`;
    ///   `timedOut` when the server has not answered in 10 seconds; `media` when the peer connection does not send the
    ///   format; `disconnected`, or the error that ended the connection, when the room is lost meanwhile; `cancelled`
    ///   when the task is.
    public func publish(
        _ format: PayloadFormat, options: TrackPublishOptions
    ) async throws(RoomError) -> LocalTrackPublication {
        try await publish(format, options, playing: [], beside: nil)
    }

    /// Publishes a file's track, which is played at its speed, again and again or once.
    ///
    /// - Parameters:
    ///   - picture: for a file's sound, the publication of its picture. A request for a key frame, and unmuting, make
    ///     the picture jump ahead in the file; the sound follows.
    ///   - roundLength: the least length of one round of a loop. With that of the longest track, tracks of one file
    ///     stay in step although their lengths differ.
    ///   - options: what the others are told of the track; a file's width and height take the place of those in it.
    /// - Throws: as `publish(_:options:)`.
    public func publish(
        playing track: MediaTrack, beside picture: LocalTrackPublication? = nil, ending: MediaSource.Ending = .loop,
        roundLength: Interval? = nil, options: TrackPublishOptions
    ) async throws(RoomError) -> LocalTrackPublication {
        var options = options
        options.layers = []
        if track.format.isVideo { (options.width, options.height) = (track.width, track.height) }
        return try await publish(
            track.format, options, playing: [MediaSource(track: track, ending: ending, roundLength: roundLength)],
            beside: picture)
    }

    /// Publishes files that hold one picture in several sizes, as layers of one track (simulcast). Their key frames are
    /// to lie at the same times: a request for one makes all of them jump.
    ///
    /// - Parameters:
    ///   - layers: two or three, of one format; the smallest is `VideoQuality.low`, the next `medium`.
    ///   - roundLength: as in `publish(playing:beside:ending:roundLength:options:)`.
    ///   - options: what the others are told of the track; `layers` are those of the files.
    /// - Throws: as `publish(_:options:)`.
    public func publish(
        layers: [MediaTrack], ending: MediaSource.Ending = .loop, roundLength: Interval? = nil,
        options: TrackPublishOptions
    ) async throws(RoomError) -> LocalTrackPublication {
        let files = layers.sorted { $0.width * $0.height < $1.width * $1.height }
        guard let format = files.first?.format, files.allSatisfy({ $0.format == format }),
            (2...VideoQuality.allCases.count).contains(files.count)
        else { throw .invalidLayers }
        var options = options
        options.layers = zip(VideoQuality.allCases, files).map { quality, file in
            VideoLayer(quality: quality, width: file.width, height: file.height)
        }
        let length = roundLength ?? files.map(\.duration).max()
        return try await publish(
            format, options, playing: files.map { MediaSource(track: $0, ending: ending, roundLength: length) },
            beside: nil)
    }

    /// - Parameter media: what is played; of layers one for each, from the smallest on.
    private func publish(
        _ format: PayloadFormat, _ options: TrackPublishOptions, playing media: [MediaSource],
        beside picture: LocalTrackPublication?
    ) async throws(RoomError) -> LocalTrackPublication {
        lastTrack += 1
        let id = LocalTrackID(rawValue: lastTrack)
        let publication = LocalTrackPublication(
            id: id, options: options, kind: format.isVideo ? .video : .audio, playing: media, picture: picture,
            room: self, seal: seal())
        publications[id] = publication
        do throws(RoomError) {
            let done = try await request { machine, request, _ in
                machine.publish(id, format, options, request: request)
            }
            if case .published(let sid) = done { publication.published(as: sid) }
        } catch {
            if error == .cancelled { machine.unpublish(id, at: NetworkLoop.now) }
            publications[id] = nil
            publication.stop()
            await apply()
            throw error
        }
        return publication
    }

    /// What is done to the frames that we send; nil where nothing is.
    private func seal() -> (@Sendable (EncodedFrame) -> EncodedFrame?)? {
        guard let keys = options.encryption else { return nil }
        return { [ownIdentity] frame in
            FrameCryptor.seal(frame, by: ownIdentity.value.withLock { $0 }, with: keys)
        }
    }

    func unpublish(_ publication: LocalTrackPublication) async {
        machine.unpublish(publication.id, at: NetworkLoop.now)
        publications[publication.id] = nil
        publication.stop()
        await apply()
    }

    func setMuted(_ publication: LocalTrackPublication, _ isMuted: Bool) async {
        machine.setMuted(publication.id, isMuted)
        await mutedChanged(publication, isMuted)
        await apply()
    }

    func mutedChanged(_ publication: LocalTrackPublication, _ isMuted: Bool) async {
        await publication.mutedChanged(isMuted)
        await takeSoundAlong(publication)
    }

    func wantedChanged(_ id: LocalTrackID, _ quality: VideoQuality?) async {
        guard let publication = publications[id] else { return }
        await publication.wantedChanged(quality)
        await takeSoundAlong(publication)
    }

    func told(_ news: EncoderNews, _ id: LocalTrackID) async {
        guard let publication = publications[id] else { return }
        switch news {
        case .keyFrameRequested:
            await publication.keyFrameRequested()
            await takeSoundAlong(publication)
        case .targetBitrateChanged(let bitrate): publication.targetBitrateChanged(bitrate)
        }
    }

    private func takeSoundAlong(_ picture: LocalTrackPublication) async {
        for sound in publications.values where sound.picture === picture { await sound.followPicture() }
    }

    /// Says who may subscribe to our tracks, to those that are published later as well: the participants that are
    /// named, or everybody with nil, which is how it begins. Outside of a room it is kept for the next one, also where
    /// `connect` fails; leaving forgets it.
    public func setTrackSubscriptionPermissions(allowing identities: [ParticipantIdentity]?) async {
        machine.setTrackPermissions(allowing: identities)
        await apply()
    }
}
