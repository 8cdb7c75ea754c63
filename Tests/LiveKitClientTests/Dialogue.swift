import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf

@testable import LiveKitClient

/// A machine, and what was said: `> …` to the server, `! …` to the peer connections and sockets, `* …` to the user.
/// Time stands still unless a test lets it pass.
final class Dialogue {
    var machine: RoomClientMachine
    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    /// Of data packets that were sent, in order.
    private(set) var packets: [LiveKitDataPacket] = []
    private(set) var requests: [LiveKitSignalRequest.OneOf_Message] = []
    private(set) var paths: [SignalPath] = []
    private var lastRequest: UInt64 = 0

    init(
        autoSubscribe: Bool = true, attributes: [String: String] = [:],
        _ change: (inout RoomClientMachine.Options) -> Void = { _ in }
    ) {
        var options = RoomClientMachine.Options()
        options.autoSubscribe = autoSubscribe
        options.attributes = attributes
        change(&options)
        machine = RoomClientMachine(options: options, random: .seeded(1))
    }

    func request() -> RequestID {
        lastRequest += 1
        return RequestID(rawValue: lastRequest)
    }

    /// What came out since the last time.
    func said() -> [String] {
        var lines: [String] = []
        while let output = machine.pollOutput() { lines.append(line(output)) }
        return lines
    }

    func server(_ response: LiveKitSignalResponse.OneOf_Message) -> [String] {
        machine.receive(response, at: now)
        return said()
    }

    func media(_ fact: MediaFact) -> [String] {
        machine.mediaChanged(fact, at: now)
        return said()
    }

    /// The WebSocket is open.
    func signalOpened() -> [String] {
        machine.signalOpened(at: now)
        return said()
    }

    func signalLost(_ error: RoomError = .unreachable("gone")) -> [String] {
        machine.signalLost(error, at: now)
        return said()
    }

    /// Lets time pass, as a clock does that wakes the machine when it asks for it.
    func pass(_ interval: Interval) -> [String] {
        var lines: [String] = []
        let end = now + interval
        var turns = 0
        while let wake = machine.nextWake, wake <= end, turns < 10_000 {
            turns += 1
            now = max(now, wake)
            machine.tick(at: now)
            lines += said()
        }
        now = end
        // A machine that wants to be woken again and again at one instant keeps a processor busy for nothing.
        if turns == 10_000 { lines.append("no end of wakes") }
        return lines
    }

    // MARK: Usual beginnings

    static func info(
        _ identity: String, sid: String? = nil, version: UInt32 = 1, tracks: [LiveKitTrackInfo] = [],
        _ change: (inout LiveKitParticipantInfo) -> Void = { _ in }
    ) -> LiveKitParticipantInfo {
        var info = LiveKitParticipantInfo.with {
            $0.sid = sid ?? "PA_\(identity)"
            $0.identity = identity
            $0.state = .active
            $0.version = version
            $0.tracks = tracks
        }
        change(&info)
        return info
    }

    static func track(_ sid: String, _ name: String, muted: Bool = false) -> LiveKitTrackInfo {
        .with {
            $0.sid = sid
            $0.name = name
            $0.type = .video
            $0.source = .camera
            $0.mimeType = "video/VP8"
            $0.muted = muted
        }
    }

    static func join(
        _ others: [LiveKitParticipantInfo] = [], sid: String = "PA_me",
        _ change: (inout LiveKitJoinResponse) -> Void = { _ in }
    ) -> LiveKitSignalResponse.OneOf_Message {
        var join = LiveKitJoinResponse.with {
            $0.room = .with {
                $0.sid = "RM_1"
                $0.name = "lounge"
            }
            $0.participant = info("me", sid: sid)
            $0.otherParticipants = others
            $0.subscriberPrimary = true
            $0.pingInterval = 5
            $0.pingTimeout = 15
        }
        change(&join)
        return .join(join)
    }

    static func update(_ participants: LiveKitParticipantInfo...) -> LiveKitSignalResponse.OneOf_Message {
        .update(.with { $0.participants = participants })
    }

    /// In the room, with media.
    static func connected(
        _ others: [LiveKitParticipantInfo] = [], autoSubscribe: Bool = true,
        _ change: (inout RoomClientMachine.Options) -> Void = { _ in }
    ) -> Dialogue {
        let dialogue = Dialogue(autoSubscribe: autoSubscribe, change)
        let request = dialogue.request()
        dialogue.machine.connect(token: "token", request: request, at: dialogue.now)
        _ = dialogue.server(join(others))
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        _ = dialogue.media(.channelOpen(.reliable))
        _ = dialogue.media(.channelOpen(.lossy, id: 2))
        return dialogue
    }

    /// With a track of ours that the server knows.
    func publish(_ sid: String = "TR_mine", layers: [VideoLayer] = []) {
        let request = request()
        var options = TrackPublishOptions(name: "film", source: .camera)
        options.layers = layers
        machine.publish(LocalTrackID(rawValue: 1), .vp8, options, request: request)
        _ = media(.trackAdded(LocalTrackID(rawValue: 1), cid: "c1"))
        _ = server(
            .trackPublished(
                .with {
                    $0.cid = "c1"
                    $0.track = Self.track(sid, "film")
                }))
        _ = media(.offerMade(id: machine.negotiation.lastOfferID, sdp: "offer"))
        _ = server(.answer(.with { $0.sdp = "answer" }))
        _ = media(.answerTaken)
        _ = media(.stateChanged(.publisher, .connected))
    }

    /// A message of somebody's.
    func hears(
        from identity: String, _ label: DataLabel = .reliable, sequence: UInt32 = 0,
        _ fill: (inout LiveKitDataPacket) -> Void
    ) -> [String] {
        var packet = LiveKitDataPacket()
        packet.participantIdentity = identity
        packet.participantSid = "PA_\(identity)"
        packet.sequence = sequence
        fill(&packet)
        guard let bytes: [UInt8] = try? packet.serializedBytes() else { return ["not encodable"] }
        return media(.message(label, bytes))
    }

    // MARK: Lines

    private func line(_ output: RoomClientMachine.Output) -> String {
        switch output {
        case .openSignal(let path):
            paths.append(path)
            let query = path.query.filter { ["reconnect", "sid"].contains($0.name) }.map { "\($0.name)=\($0.value)" }
            return (["! open", path.path] + query).joined(separator: " ")
        case .closeSignal: return "! close"
        case .send(let request):
            requests.append(request)
            return "> " + text(request)
        case .openMedia: return "! media"
        case .closeMedia: return "! no media"
        case .media(let command): return "! " + text(command)
        case .sendFrame(let packets):
            let parsed = packets.compactMap { DataTrackPacket(parsing: $0) }
            guard let handle = parsed.first?.handle, parsed.count == packets.count else { return "> nonsense" }
            return "> frame on \(handle): \(parsed.map { "\($0.payload.count)" }.joined(separator: " + ")) bytes"
        case .sendData(let label, let bytes):
            guard let packet = try? LiveKitDataPacket(serializedBytes: bytes) else { return "> nonsense" }
            packets.append(packet)
            return "> \(label.rawValue) \(text(packet))"
        case .tell(let event): return "* " + text(event)
        case .wanted(let id, let quality): return "! \(id.rawValue) \(quality.map { "up to \($0)" } ?? "waits")"
        case .subscribed(let sid): return "* subscribed \(sid)"
        case .unsubscribed(let sid): return "* unsubscribed \(sid)"
        case .localDataTrack(let handle, let sid): return "* \(handle) is \(sid?.rawValue ?? "over")"
        case .dataFrame(let id, let frame): return "* frame \(frame.payload) of \(id.rawValue)"
        case .endDataStreams(let id): return "* no more frames of \(id.rawValue)"
        case .streamBegan(let id, let header):
            return "* \(header.isText ? "text" : "bytes") \(id.rawValue) on \(header.topic)"
                + " from \(header.sender?.rawValue ?? "the server")\(header.isPacked ? ", packed" : "")"
        case .streamWentOn(let id, let chunk):
            return "* \(id.rawValue): \(String(validating: chunk, as: UTF8.self) ?? "\(chunk.count) bytes")"
        case .streamEnded(let id, .success(let attributes)):
            return "* \(id.rawValue) is over" + (attributes.isEmpty ? "" : " \(attributes)")
        case .streamEnded(let id, .failure(let error)): return "* \(id.rawValue) breaks off: \(error)"
        case .invoke(let call): return "* called \(call.method)(\(call.payload)) by \(call.caller)"
        case .abandon(let requestID): return "! abandon \(requestID)"
        case .complete(let request, .success(.published(let sid))): return "= \(request.rawValue) \(sid)"
        case .complete(let request, .success(.done)): return "= \(request.rawValue) done"
        case .complete(let request, .failure(let error)): return "= \(request.rawValue) failed: \(error)"
        case .completeCall(let request, .success(let payload)): return "= \(request.rawValue) \(payload)"
        case .completeCall(let request, .failure(let error)): return "= \(request.rawValue) failed: \(error)"
        }
    }

    private func text(_ request: LiveKitSignalRequest.OneOf_Message) -> String {
        switch request {
        case .offer(let offer): "offer #\(offer.id)"
        case .answer(let answer): "answer #\(answer.id)"
        case .trickle(let trickle): "trickle \(trickle.target)"
        case .addTrack(let track): "add_track \(track.cid) \(track.name)"
        case .mute(let mute): "\(mute.muted ? "mute" : "unmute") \(mute.sid)"
        case .subscription(let update):
            "\(update.subscribe ? "subscribe" : "unsubscribe") \(update.trackSids.joined(separator: " "))"
        case .trackSetting(let setting): "track_setting \(setting.disabled ? "off" : "\(setting.quality)")"
        case .leave(let leave): "leave \(leave.reason)"
        case .publishDataTrackRequest(let track): "publish_data_track \(track.pubHandle) \(track.name)"
        case .unpublishDataTrackRequest(let track): "unpublish_data_track \(track.pubHandle)"
        case .updateDataSubscription(let update):
            update.updates.map { "\($0.subscribe ? "subscribe" : "unsubscribe") \($0.trackSid)" }
                .joined(separator: ", ")
        case .syncState: "sync_state"
        case .subscriptionPermission: "subscription_permission"
        case .updateMetadata(let update): "update_metadata #\(update.requestID) \(update.name)"
        case .ping: "ping"
        case .pingReq: "ping_req"
        default: "\(request)"
        }
    }

    private func text(_ command: MediaCommand) -> String {
        switch command {
        case .makeOffer(let id, let iceRestart): "offer #\(id)\(iceRestart ? " restart" : "")"
        case .takeAnswer: "take answer"
        case .takeOffer(let id, _): "take offer #\(id)"
        case .addCandidate(let target, _): "candidate for \(target)"
        case .useServers(let servers): "servers \(servers.flatMap(\.urls)) of \(servers.map(\.username))"
        case .addTrack(let id, let format, let layers):
            (["add \(format) as \(id.rawValue)"] + layers.map(\.rid)).joined(separator: " ")
        case .removeTrack(let id): "remove \(id.rawValue)"
        }
    }

    private func text(_ packet: LiveKitDataPacket) -> String {
        let to =
            packet.destinationIdentities.isEmpty ? "" : " to \(packet.destinationIdentities.joined(separator: " "))"
        switch packet.value {
        case .user(let user)?: return "\"\(String(decoding: user.payload, as: UTF8.self))\"\(to)"
        case .rpcRequest(let call)?: return "call \(call.method)(\(call.payload))\(to)"
        case .rpcAck?: return "ack\(to)"
        case .rpcResponse(let response)?:
            if case .error(let error)? = response.value { return "error \(error.code)\(to)" }
            return "answer \(response.payload)\(to)"
        case .streamHeader(let header)?: return "stream on \(header.topic)\(text(inline: header))\(to)"
        case .streamChunk(let chunk)?: return "chunk \(chunk.chunkIndex) of \(chunk.content.count) bytes\(to)"
        case .streamTrailer(let trailer)?:
            return "end\(trailer.reason.isEmpty ? "" : " (\(trailer.reason))")\(to)"
        default: return "another"
        }
    }

    private func text(inline header: LiveKitDataStream.Header) -> String {
        guard header.hasInlineContent else { return header.compression == .none ? "" : ", packed" }
        guard header.compression == .none else { return ", all of it, packed" }
        return ": \(String(decoding: header.inlineContent, as: UTF8.self))"
    }

    private func text(_ event: RoomEvent) -> String {
        switch event {
        case .disconnected(let reason): "over \(reason.rawValue)"
        case .participantConnected(let who): "connected \(who.identity)"
        case .participantDisconnected(let who): "disconnected \(who.identity)"
        case .trackPublished(let track, let who): "published \(track.sid) of \(who.identity)"
        case .trackUnpublished(let track, let who): "unpublished \(track.sid) of \(who.identity)"
        case .trackMuted(let track, _): "muted \(track.sid)"
        case .trackUnmuted(let track, _): "unmuted \(track.sid)"
        case .localTrackPublished(let sid, _): "published \(sid)"
        case .localTrackMuted(let sid, let isMuted): "\(isMuted ? "muted" : "unmuted") \(sid)"
        case .localTrackWanted(let sid, let quality): "\(sid) is taken \(quality.map { "up to \($0)" } ?? "by nobody")"
        case .localTrackUnpublished(let sid): "unpublished \(sid)"
        case .dataReceived(let data):
            "\"\(String(decoding: data.payload, as: UTF8.self))\" from \(data.sender?.rawValue ?? "the server")"
        case .dataTrackPublished(let track): "data \(track.sid) \(track.name) of \(track.publisher)"
        case .dataTrackUnpublished(let track): "no data \(track.sid)"
        case .activeSpeakersChanged(let speakers): "speaking \(speakers.map(\.identity.rawValue))"
        case .participantNameChanged(_, let name): "name \(name)"
        default: "\(event)"
        }
    }
}
