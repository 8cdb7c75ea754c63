internal import LiveKitProtocol
internal import SocketIO
internal import SwiftProtobuf

/// livekit.Egress, as far as nothing has to be encoded for it: a track into a file, or each track of a room.
extension LiveKitServer {
    /// `egressMethod` is the whole table.
    func egressMethod(_ call: TwirpCall) async throws(TwirpError) -> SocketIOHTTPResponse {
        try call.require(\.roomRecord)
        switch call.method {
        case "StartTrackEgress":
            return try call.response(try await start(call.argument(LiveKitTrackEgressRequest.self)))
        case "StartEgress": return try call.response(try await start(call.argument(LiveKitStartEgressRequest.self)))
        case "ListEgress": return try call.response(await recordingEgresses().list(call.argument()))
        case "StopEgress":
            let request: LiveKitStopEgressRequest = try call.argument()
            return try call.response(try await recordingEgresses().stop(request.egressID))
        case "StartRoomCompositeEgress", "StartWebEgress", "StartParticipantEgress", "StartTrackCompositeEgress":
            _ = try recordingEgresses()
            throw .nothingIsEncoded
        case "UpdateLayout", "UpdateStream":
            _ = try recordingEgresses()
            throw TwirpError(.unimplemented, "there is neither a layout nor a stream to change: tracks go into files")
        default:
            throw TwirpError(.badRoute, "no handler for path /twirp/livekit.Egress/\(call.method)")
        }
    }

    private func recordingEgresses() throws(TwirpError) -> Egresses {
        guard let egresses else {
            throw TwirpError(.failedPrecondition, "this server records nothing: --livekit-recordings names a folder")
        }
        return egresses
    }

    private func start(_ request: LiveKitTrackEgressRequest) async throws(TwirpError) -> LiveKitEgressInfo {
        let egresses = try recordingEgresses()
        guard case .file(let file)? = request.output else {
            throw TwirpError(.invalidArgument, "a track is recorded to a file here: set file, and no websocket_url")
        }
        guard file.output == nil else { throw .noUpload }
        guard request.webhooks.isEmpty else { throw .noWebhooks }
        return try await egresses.start(
            track: request.trackID, inRoom: request.roomName, template: try Self.checked(file.filepath))
    }

    private func start(_ request: LiveKitStartEgressRequest) async throws(TwirpError) -> LiveKitEgressInfo {
        let egresses = try recordingEgresses()
        guard case .template(let template)? = request.source, case .preset(.passthrough)? = request.encoding,
            template.layout.isEmpty, template.customBaseURL.isEmpty
        else { throw .nothingIsEncoded }
        guard request.outputs.count == 1, case .file(let file)? = request.outputs[0].config else {
            throw TwirpError(.invalidArgument, "a room is recorded to files here: give one output, a file")
        }
        guard file.fileType == .defaultFiletype else {
            throw TwirpError(.invalidArgument, "what kind of file it is follows from what the track is coded in")
        }
        guard !request.hasStorage, !request.outputs[0].hasStorage else { throw .noUpload }
        guard request.webhooks.isEmpty else { throw .noWebhooks }
        guard !(template.audioOnly && template.videoOnly) else {
            throw TwirpError(.invalidArgument, "audio_only and video_only leave nothing")
        }
        return try await egresses.start(
            room: request.roomName, sound: !template.videoOnly, pictures: !template.audioOnly,
            template: try Self.checked(file.filepath))
    }

    /// What a room's egress asks for that is being made.
    func automaticEgress(_ egress: LiveKitRoomEgress) throws(TwirpError) -> (egresses: Egresses, template: String) {
        let egresses = try recordingEgresses()
        guard !egress.hasRoom, !egress.hasParticipant else { throw .nothingIsEncoded }
        guard egress.hasTracks else { throw TwirpError(.invalidArgument, "the room's egress is empty") }
        guard egress.tracks.output == nil else { throw .noUpload }
        return (egresses, try Self.checked(egress.tracks.filepath))
    }

    /// A token may ask for the same, of the room that its bearer brings into being. What is asked for besides comes to
    /// nothing: whoever joins is not sent away for it.
    func recordAutomatically(room: String, as configuration: LiveKitRoomConfiguration?) async {
        guard let egresses, let tracks = configuration?.egress.tracks, configuration?.egress.hasTracks == true,
            tracks.output == nil, let template = try? Self.checked(tracks.filepath),
            let info = await worker(ofRoom: room)?.look(at: room)?.room
        else { return }
        await egresses.startAutomatic(room: info, template: template)
    }

    private static func checked(_ template: String) throws(TwirpError) -> String {
        let limit = 1_024
        guard template.utf8.count <= limit else {
            throw TwirpError(.invalidArgument, "the filepath is longer than \(limit) bytes")
        }
        return template
    }
}

extension TwirpError {
    fileprivate static let nothingIsEncoded = TwirpError(
        .unimplemented,
        "tracks are recorded as they are coded, and nothing is composed of them: StartTrackEgress records a track, "
            + "StartEgress with a template and the preset PASSTHROUGH each track of a room, and the egress.tracks of "
            + "CreateRoom each as it is published")
    fileprivate static let noUpload = TwirpError(
        .unimplemented, "recordings stay in the server's folder: there is no upload to a cloud's storage")
    fileprivate static let noWebhooks = TwirpError(
        .unimplemented, "an egress has no webhooks of its own: --livekit-webhook is told of all")
}
