internal import Foundation
internal import SwiftProtobuf

/// Answers in JSON as LiveKit's server writes them: with the fields that have their default value, which SwiftProtobuf
/// leaves out (`EmitUnpopulated` of Go's protojson). A reader of JSON has no .proto file to know them by.
struct TwirpJSON {
    private enum Value {
        case text, number, flag, list, object
        /// JSON has them as texts, for a number of JavaScript's is too small.
        case wideNumber
        /// A message that is not there.
        case nothing
        case name(String)

        var json: Any {
            switch self {
            case .text: ""
            case .number: 0
            case .flag: false
            case .list: [Any]()
            case .object: [String: Any]()
            case .wideNumber: "0"
            case .nothing: NSNull()
            case .name(let name): name
            }
        }
    }

    private let values: [String: Value]
    /// Of fields that hold messages, one or a list of them.
    private let messages: [String: TwirpJSON]

    private init(_ values: [String: Value], _ messages: [String: TwirpJSON] = [:]) {
        self.values = values
        self.messages = messages
    }

    static func bytes(_ message: some SwiftProtobuf.Message) throws -> [UInt8] {
        var options = JSONEncodingOptions()
        options.preserveProtoFieldNames = true
        let bytes: [UInt8] = try message.jsonUTF8Bytes(options: options)
        guard let defaults = of(type(of: message).protoMessageName),
            let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        else { return bytes }
        let complete = defaults.completed(object)
        return Array(try JSONSerialization.data(withJSONObject: complete, options: .withoutEscapingSlashes))
    }

    private func completed(_ object: [String: Any]) -> [String: Any] {
        var complete = object.merging(values.mapValues(\.json)) { given, _ in given }
        for (name, defaults) in messages {
            if let message = complete[name] as? [String: Any] {
                complete[name] = defaults.completed(message)
            } else if let list = complete[name] as? [[String: Any]] {
                complete[name] = list.map { defaults.completed($0) }
            }
        }
        return complete
    }

    // MARK: The messages that services answer with

    /// Nil for those without fields.
    private static func of(_ name: String) -> TwirpJSON? {
        switch name {
        case "livekit.Room": room
        case "livekit.ParticipantInfo": participant
        case "livekit.ListRoomsResponse": TwirpJSON(["rooms": .list], ["rooms": room])
        case "livekit.ListParticipantsResponse":
            TwirpJSON(["participants": .list], ["participants": participant])
        case "livekit.MuteRoomTrackResponse": TwirpJSON(["track": .nothing], ["track": track])
        case "livekit.PerformRpcResponse": TwirpJSON(["payload": .text])
        case "livekit.EgressInfo": egress
        case "livekit.ListEgressResponse":
            TwirpJSON(["items": .list, "next_page_token": .nothing], ["items": egress])
        case "livekit.AgentDispatch": agentDispatch
        case "livekit.ListAgentDispatchResponse":
            TwirpJSON(["agent_dispatches": .list], ["agent_dispatches": agentDispatch])
        default: nil
        }
    }

    /// Of a choice of fields only the one that was made is there.
    private static let egress = TwirpJSON(
        [
            "egress_id": .text, "room_id": .text, "room_name": .text, "source_type": .name("EGRESS_SOURCE_TYPE_WEB"),
            "status": .name("EGRESS_STARTING"), "started_at": .wideNumber, "ended_at": .wideNumber,
            "updated_at": .wideNumber, "stream_results": .list, "file_results": .list, "segment_results": .list,
            "image_results": .list, "error": .text, "error_code": .number, "details": .text,
            "manifest_location": .text, "backup_storage_used": .flag, "retry_count": .number,
        ], ["file_results": file, "file": file, "track": trackEgress, "egress": roomEgress])

    private static let file = TwirpJSON([
        "filename": .text, "started_at": .wideNumber, "ended_at": .wideNumber, "duration": .wideNumber,
        "size": .wideNumber, "location": .text,
    ])

    private static let trackEgress = TwirpJSON(
        ["room_name": .text, "track_id": .text, "webhooks": .list],
        ["file": TwirpJSON(["filepath": .text, "disable_manifest": .flag])])

    private static let roomEgress = TwirpJSON(
        ["room_name": .text, "outputs": .list, "storage": .nothing, "webhooks": .list],
        [
            "template": TwirpJSON([
                "layout": .text, "audio_only": .flag, "video_only": .flag, "custom_base_url": .text,
            ]),
            "outputs": TwirpJSON(
                ["storage": .nothing],
                [
                    "file": TwirpJSON([
                        "file_type": .name("DEFAULT_FILETYPE"), "filepath": .text, "disable_manifest": .flag,
                    ])
                ]),
        ])

    private static let agentDispatch = TwirpJSON(
        [
            "id": .text, "agent_name": .text, "room": .text, "metadata": .text, "state": .nothing,
            "restart_policy": .name("JRP_ON_FAILURE"), "deployment": .text, "attributes": .object,
        ],
        ["state": TwirpJSON(["jobs": .list, "created_at": .wideNumber, "deleted_at": .wideNumber], ["jobs": job])])

    /// A participant is there only where there is one: the field is `optional`.
    private static let job = TwirpJSON(
        [
            "id": .text, "type": .name("JT_ROOM"), "room": .nothing, "namespace": .text, "metadata": .text,
            "agent_name": .text, "state": .nothing, "dispatch_id": .text, "enable_recording": .flag,
            "deployment": .text, "attributes": .object, "enable_redaction": .flag,
        ],
        [
            "room": room, "participant": participant,
            "state": TwirpJSON([
                "status": .name("JS_PENDING"), "error": .text, "started_at": .wideNumber, "ended_at": .wideNumber,
                "updated_at": .wideNumber, "participant_identity": .text, "worker_id": .text, "agent_id": .text,
                "reason": .name("JSR_UNSPECIFIED"),
            ]),
        ])

    private static let room = TwirpJSON(
        [
            "sid": .text, "name": .text, "empty_timeout": .number, "max_participants": .number,
            "creation_time": .wideNumber, "turn_password": .text, "enabled_codecs": .list, "metadata": .text,
            "num_participants": .number, "active_recording": .flag, "num_publishers": .number, "version": .nothing,
            "departure_timeout": .number, "creation_time_ms": .wideNumber,
        ], ["enabled_codecs": TwirpJSON(["mime": .text, "fmtp_line": .text])])

    private static let participant = TwirpJSON(
        [
            "sid": .text, "identity": .text, "state": .name("JOINING"), "tracks": .list, "metadata": .text,
            "joined_at": .wideNumber, "name": .text, "version": .number, "permission": .nothing, "region": .text,
            "is_publisher": .flag, "kind": .name("STANDARD"), "attributes": .object,
            "disconnect_reason": .name("UNKNOWN_REASON"), "joined_at_ms": .wideNumber, "kind_details": .list,
            "data_tracks": .list, "client_protocol": .number, "capabilities": .list,
        ], ["tracks": track, "permission": permission])

    private static let permission = TwirpJSON([
        "can_subscribe": .flag, "can_publish": .flag, "can_publish_data": .flag, "hidden": .flag, "recorder": .flag,
        "can_publish_sources": .list, "can_update_metadata": .flag, "agent": .flag, "can_subscribe_metrics": .flag,
        "can_manage_agent_session": .flag,
    ])

    private static let track = TwirpJSON(
        [
            "sid": .text, "type": .name("AUDIO"), "name": .text, "muted": .flag, "width": .number, "height": .number,
            "simulcast": .flag, "disable_dtx": .flag, "source": .name("UNKNOWN"), "layers": .list, "mime_type": .text,
            "mid": .text, "codecs": .list, "stereo": .flag, "disable_red": .flag, "encryption": .name("NONE"),
            "stream": .text, "version": .nothing, "audio_features": .list,
            "backup_codec_policy": .name("PREFER_REGRESSION"), "packet_trailer_features": .list,
        ], ["layers": layer, "codecs": codec])

    private static let codec = TwirpJSON(
        [
            "mime_type": .text, "mid": .text, "cid": .text, "layers": .list, "video_layer_mode": .name("MODE_UNUSED"),
            "sdp_cid": .text,
        ], ["layers": layer])

    private static let layer = TwirpJSON([
        "quality": .name("LOW"), "width": .number, "height": .number, "bitrate": .number, "ssrc": .number,
        "spatial_layer": .number, "rid": .text, "repair_ssrc": .number,
    ])
}
