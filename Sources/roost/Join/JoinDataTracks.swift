internal import Foundation
internal import LiveKitClient

/// Commands on data tracks. Their frames are bytes, which are in base64 in a line of JSON.
extension JoinRunner {
    func publishDataTrack(_ command: JoinCommand) async throws {
        let name = try command.needed(\.name, "name")
        let track = try await room.publishDataTrack(name: name)
        dataTracks.append(track)
        output.say(
            "local_data_track_published", "The data track \(name) is published.",
            ["track": .text(track.sid.rawValue), "name": .text(name)])
    }

    func push(_ command: JoinCommand) async throws {
        let text = try command.needed(\.payload, "payload")
        guard let payload = Data(base64Encoded: text) else { throw CommandError("\"payload\" is not in base64") }
        let frame = DataTrackFrame(payload: [UInt8](payload), userTimestamp: command.timestamp)
        try await dataTrack(command).push(frame)
    }

    func unpublishDataTrack(_ command: JoinCommand) async throws {
        let track = try dataTrack(command)
        dataTracks.removeAll { $0 === track }
        await track.unpublish()
    }

    private func dataTrack(_ command: JoinCommand) throws -> LocalDataTrack {
        let name = try command.needed(\.name, "name")
        guard let track = dataTracks.last(where: { $0.name == name }) else {
            throw CommandError("we publish no data track \(name)")
        }
        return track
    }

    /// Prints its frames, or no more of them. The server may take its time: whoever reads waits for it.
    func subscribeDataTrack(_ command: JoinCommand) async throws {
        let name = try command.needed(\.track, "track")
        let tracks = await room.remoteParticipants.values.flatMap(\.dataTracks)
        guard let track = tracks.first(where: { $0.sid.rawValue == name || $0.name == name }) else {
            throw CommandError("nobody publishes a data track \(name)")
        }
        // Who reads no more lets go of the stream.
        dataReaders.removeValue(forKey: track.id)?.cancel()
        guard command.wanted ?? true else { return }
        dataReaders[track.id] = Task { await read(track, command) }
    }

    private func read(_ track: RemoteDataTrack, _ command: JoinCommand) async {
        do throws(RoomError) {
            let frames = try await room.subscribe(to: track)
            guard !Task.isCancelled else { return }
            output.say(
                "data_track_subscribed", "Reading the data track \(track.name) of \(track.publisher).",
                JoinLine.fields(track))
            for await frame in frames {
                let line = JoinLine(frame, of: track)
                output.say(line.event, line.sentence, line.fields)
            }
            guard !Task.isCancelled else { return }
            output.say("data_track_ended", "The data track \(track.name) is over.", JoinLine.fields(track))
        } catch {
            if !Task.isCancelled { failed(command, error) }
        }
    }
}

extension JoinLine {
    fileprivate init(_ frame: DataTrackFrame, of track: RemoteDataTrack) {
        var fields = Self.fields(track)
        fields["payload"] = .text(Data(frame.payload).base64EncodedString())
        // As text, for readers of JSON that know numbers of 53 bits.
        if let timestamp = frame.userTimestamp { fields["timestamp"] = .text(String(timestamp)) }
        self.init("data_frame", "\(track.publisher) on \(track.name): \(frame.payload.count) bytes", fields)
    }
}
