internal import RTCEngine
internal import RTCNetwork

/// Data tracks: frames of bytes that come whole or not at all, for what is new again the next moment.
extension Room {
    /// Publishes a data track, which others may subscribe to; back when the server knows of it.
    ///
    /// - Parameter name: up to 256 bytes on Roost and on LiveKit's server; each track of ours has another one.
    /// - Throws: `requestRefused` where we may not publish data, or have the name already; `timedOut` where the server
    ///   does not know data tracks.
    public func publishDataTrack(name: String) async throws(RoomError) -> LocalDataTrack {
        guard let handle = machine.dataPublishing.nextHandle() else {
            throw .requestRefused(.limitExceeded, message: "")
        }
        let track = LocalDataTrack(name: name, handle: handle, room: self)
        dataPublications[handle] = track
        do throws(RoomError) {
            _ = try await request { machine, request, now in
                machine.publishDataTrack(name, handle: handle, request: request, at: now)
            }
        } catch {
            if error == .cancelled { await unpublish(track) }
            // Handles begin anew with a room: by now another track may have it.
            if dataPublications[handle] === track { dataPublications[handle] = nil }
            throw error
        }
        return track
    }

    /// Subscribes to a data track, whatever `ConnectOptions.autoSubscribe` says; returns when its frames can come. The
    /// stream has the frames from now on, and ends with the track. It goes on over reconnects of ours, and of the
    /// publisher: when the publisher's session was lost, it has ten seconds to publish the track again. A publisher
    /// that leaves ends the track at once; LiveKit's SDKs do so before they start a new session. When the last stream
    /// of a track is released, we unsubscribe from the track.
    ///
    /// - Parameter bufferSize: how many frames wait for a slow reader; beyond that the oldest is dropped.
    /// - Throws: `dataTrackEnded` when it is not published any more, `dataTrackEncrypted` when it cannot be read here,
    ///   `requestRefused` when its publisher does not let us have it, `timedOut` when the server does not answer,
    ///   `notConnected` outside of a room, `notEncryptable` where what is not encrypted is not taken.
    public func subscribe(
        to track: RemoteDataTrack, bufferSize: Int = 16
    ) async throws(RoomError) -> AsyncStream<DataTrackFrame> {
        guard machine.isInRoom else { throw .notConnected }
        guard let id = machine.dataSubscribing.id(of: track) else { throw .dataTrackEnded }
        lastDataStream += 1
        let number = lastDataStream
        let (frames, stream) = AsyncStream.makeStream(
            of: DataTrackFrame.self, bufferingPolicy: .bufferingNewest(max(bufferSize, 1)))
        stream.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.dataStreamEnded(number, of: id) }
        }
        // Before the server is asked: whoever has asked keeps the subscription.
        dataStreams[id, default: [:]][number] = stream
        do throws(RoomError) {
            _ = try await request { machine, request, now in
                machine.subscribe(to: track, request: request, at: now)
            }
        } catch {
            stream.finish()
            throw error
        }
        return frames
    }

    private func dataStreamEnded(_ number: Int, of id: RemoteDataTrackID) async {
        // One that we have ended is gone already.
        guard dataStreams[id]?.removeValue(forKey: number) != nil, dataStreams[id]?.isEmpty == true else { return }
        dataStreams[id] = nil
        machine.unsubscribe(from: id)
        await apply()
    }

    func push(_ frame: DataTrackFrame, on track: LocalDataTrack) async throws(RoomError) {
        // Another room may have another track under the handle.
        guard dataPublications[track.handle] === track else { throw .dataTrackEnded }
        try machine.push(frame, on: track.handle, at: NetworkLoop.now)
        await apply()
    }

    func unpublish(_ track: LocalDataTrack) async {
        guard dataPublications[track.handle] === track else { return }
        machine.unpublishDataTrack(track.handle)
        dataPublications[track.handle] = nil
        track.changed(to: nil)
        await apply()
    }
}
