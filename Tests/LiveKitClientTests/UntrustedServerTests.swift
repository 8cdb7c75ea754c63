import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitClient

/// A server, and others in the room, that say anything at any time: what they could say, twice, too late, in another
/// order, damaged, while the room loses its connections and comes back, and while the user goes on with his work.
@Suite(.timeLimit(.minutes(5))) struct UntrustedServerTests {
    @Test(arguments: 0..<8)
    func `whatever a server says, requests are decided, and nothing is left when it is over`(part: UInt64) {
        for seed in part * 200..<(part + 1) * 200 {
            var session = Session(seed: seed)
            session.run(steps: 250)
            #expect(session.finish() == [], "seed \(seed)")
        }
    }

    /// What is shown above would be true of one who is never in the room.
    @Test func `most of that happens in the room`() {
        var (inRoom, streams, succeeded) = (0, 0, 0)
        for seed: UInt64 in 0..<20 {
            var session = Session(seed: seed)
            session.run(steps: 250)
            inRoom += session.stepsInRoom
            streams += session.streams
            succeeded += session.succeeded
        }
        #expect(inRoom > 20 * 250 / 2)
        #expect(streams > 15)
        // What the server says by chance is seldom what was asked for, but now and then it is.
        #expect(succeeded > 10)
    }
}

private struct Session {
    private var machine: RoomClientMachine
    private var random: EngineRandom
    private var now = Instant(nanoseconds: 1_000_000_000_000)
    /// Asked of the machine, and not decided.
    private var undecided: Set<UInt64> = []
    private var lastRequest: UInt64 = 0
    /// Numbers of our calls.
    private var callIDs: [String] = []
    private var openStreams: Set<IncomingStreamID> = []
    private var faults: [String] = []
    private(set) var stepsInRoom = 0
    private(set) var streams = 0
    private(set) var succeeded = 0

    init(seed: UInt64) {
        var options = RoomClientMachine.Options()
        if seed % 3 == 0 { options.encryption = Self.keys }
        options.acceptsPlain = seed % 2 == 0
        machine = RoomClientMachine(options: options, random: .seeded(seed))
        machine.calls.methods = ["shout"]
        machine.incoming.textTopics = ["chat"]
        machine.incoming.byteTopics = ["files"]
        random = .seeded(seed &+ 1_000_000)
    }

    private static let keys = KeyProvider(sharedKey: "of tests")

    private mutating func below(_ bound: UInt64) -> UInt64 { random.next() % bound }

    private mutating func request() -> RequestID {
        lastRequest += 1
        undecided.insert(lastRequest)
        return RequestID(rawValue: lastRequest)
    }

    // MARK: What happens

    mutating func run(steps: Int) {
        machine.connect(token: "token", request: request(), at: now)
        drain()
        // Some get into the room first; others have to do with nonsense from the beginning.
        if below(4) > 0 { letIn() }
        for _ in 0..<steps {
            if machine.isInRoom { stepsInRoom += 1 }
            // It comes back from most of what happens to it.
            if case .signaling = machine.phase, below(2) == 0 { letIn() }
            switch below(10) {
            case 0...3: if let said = serverMessage() { machine.receive(said, at: now) }
            case 4...5: machine.mediaChanged(mediaFact(), at: now)
            case 6: userStep()
            case 7: pass(Interval.milliseconds(Int64(below(3_000))))
            default: pass(Interval.milliseconds(Int64(below(50))))
            }
            drain()
        }
    }

    /// What a server says to whoever is to join, or comes back.
    private mutating func letIn() {
        if case .signaling(.resume, _) = machine.phase {
            machine.receive(.reconnect(.init()), at: now)
        } else {
            machine.receive(Dialogue.join([Dialogue.info("ann"), Dialogue.info("bob")]), at: now)
        }
        for fact: MediaFact in [
            .stateChanged(.subscriber, .connected), .stateChanged(.publisher, .connected), .channelOpen(.reliable),
            .channelOpen(.lossy),
        ] {
            machine.mediaChanged(fact, at: now)
        }
        drain()
    }

    /// Time goes on until all has been decided, and then the user leaves. Returns what is wrong.
    mutating func finish() -> [String] {
        for _ in 0..<120 {
            if case .signaling = machine.phase { letIn() }
            pass(.seconds(Int64(1)))
        }
        if !undecided.isEmpty { faults.append("not decided for two minutes: \(undecided.sorted())") }
        machine.leave()
        drain()
        if !undecided.isEmpty { faults.append("never decided: \(undecided.sorted())") }
        if !openStreams.isEmpty { faults.append("never ended: \(openStreams.count) streams") }
        if let wake = machine.nextWake { faults.append("wants to be woken at \(wake) when all is over") }
        return faults
    }

    private mutating func pass(_ interval: Interval) {
        let end = now + interval
        var turns = 0
        while let wake = machine.nextWake, wake <= end {
            turns += 1
            guard turns < 10_000 else { return faults.append("no end of wakes") }
            now = max(now, wake)
            machine.tick(at: now)
            drain()
        }
        now = end
    }

    private mutating func drain() {
        var count = 0
        while let output = machine.pollOutput() {
            count += 1
            guard count < 100_000 else { return faults.append("no end of outputs") }
            take(output)
        }
    }

    private mutating func take(_ output: RoomClientMachine.Output) {
        switch output {
        case .complete(let request, let outcome):
            decided(request)
            if case .success = outcome { succeeded += 1 }
        case .completeCall(let request, let outcome):
            decided(request)
            if case .success = outcome { succeeded += 1 }
        case .streamBegan(let id, _):
            streams += 1
            if !openStreams.insert(id).inserted { faults.append("a stream begins twice") }
        case .streamWentOn(let id, let chunk):
            if !openStreams.contains(id) { faults.append("a stream goes on that is over") }
            if chunk.isEmpty { faults.append("a chunk of nothing") }
        case .streamEnded(let id, _):
            if openStreams.remove(id) == nil { faults.append("a stream ends that is over") }
            machine.incoming.readerGone(id)
        case .sendData(_, let bytes):
            guard let packet = try? LiveKitDataPacket(serializedBytes: bytes) else {
                return faults.append("what is sent is no packet")
            }
            if case .rpcRequest(let call)? = packet.value { callIDs.append(call.id) }
            if case .streamHeader(let header)? = packet.value,
                let id = header.attributes[CallPayload.Attribute.requestID]
            {
                callIDs.append(id)
            }
        case .invoke(let call):
            // Some answer, some never do.
            if below(2) == 0 { machine.answerRPC(call.requestID, .success(call.payload), at: now) }
        // Our own peer connections always answer, now and then with a refusal.
        case .media(.makeOffer(let id, _)): answer(.offerMade(id: id, sdp: "offer"), or: .publisher)
        case .media(.takeAnswer): answer(.answerTaken, or: .publisher)
        case .media(.takeOffer(let id, _)): answer(.answerMade(id: id, sdp: "answer"), or: .subscriber)
        case .media(.addTrack(let id, _, _)):
            let isRefused = below(6) == 0
            machine.mediaChanged(
                isRefused ? .trackRefused(id, "no encoder") : .trackAdded(id, cid: "c\(id.rawValue)"), at: now)
        default: break
        }
    }

    private mutating func answer(_ fact: MediaFact, or target: SignalTarget) {
        machine.mediaChanged(below(6) == 0 ? .failed(target, "not understood") : fact, at: now)
    }

    private mutating func decided(_ request: RequestID) {
        if undecided.remove(request.rawValue) == nil { faults.append("request \(request.rawValue) is decided twice") }
    }

    private mutating func userStep() {
        switch below(6) {
        case 0:
            machine.publish(
                LocalTrackID(rawValue: UInt32(lastRequest)), .vp8,
                TrackPublishOptions(name: "film", source: .camera),
                request: request())
        case 1:
            machine.performRPC(
                "shout", payload: "hi", of: below(2) == 0 ? "ann" : "nobody", timeout: nil, request: request(), at: now)
        case 2:
            try? machine.sendData([1, 2, 3], isReliable: below(2) == 0, to: [], topic: "t", at: now)
        default: break
        }
    }

    // MARK: What is said

    private mutating func sid() -> String {
        ["PA_ann", "PA_bob", "PA_me", "TR_1", "TR_2", "DTR_1", "", "c1"][Int(below(8))]
    }

    private mutating func participant() -> LiveKitParticipantInfo {
        let identity = ["ann", "bob", "me", ""][Int(below(4))]
        let version = UInt32(below(5))
        let (tracks, state) = (trackInfos(), Int(below(4)))
        return Dialogue.info(identity, sid: sid(), version: version, tracks: tracks) {
            $0.state = LiveKitParticipantInfo.State(rawValue: state) ?? .active
            $0.clientProtocol = Int32(state)
        }
    }

    private mutating func trackInfos() -> [LiveKitTrackInfo] {
        (0..<below(3)).map { _ in Dialogue.track(sid(), "film", muted: below(2) == 0) }
    }

    private mutating func serverMessage() -> LiveKitSignalResponse.OneOf_Message? {
        let message = sensibleMessage()
        guard below(3) == 0 else { return message }
        // Some of its bytes are others: fields change, vanish, have other numbers.
        var response = LiveKitSignalResponse()
        response.message = message
        guard let damaged = damaged(response) else { return nil }
        return (try? LiveKitSignalResponse(serializedBytes: damaged))?.message
    }

    private mutating func damaged(_ message: some SwiftProtobuf.Message) -> [UInt8]? {
        guard var bytes: [UInt8] = try? message.serializedBytes(), !bytes.isEmpty else { return nil }
        for _ in 0...below(3) { bytes[Int(below(UInt64(bytes.count)))] = UInt8(truncatingIfNeeded: random.next()) }
        return bytes
    }

    private mutating func sensibleMessage() -> LiveKitSignalResponse.OneOf_Message {
        let (sid, other, number) = (sid(), self.sid(), UInt32(below(6)))
        switch below(22) {
        case 0: return Dialogue.join([participant(), participant()], sid: below(2) == 0 ? "PA_me" : sid)
        case 1: return .reconnect(.init())
        case 2:
            return .offer(
                .with {
                    $0.id = number; $0.sdp = "offer"
                })
        case 3:
            return .answer(
                .with {
                    $0.id = number; $0.sdp = "answer"
                })
        case 4:
            return .trickle(
                .with {
                    $0.target = number % 2 == 0 ? .publisher : .subscriber; $0.candidateInit = "{}"
                })
        case 5...7: return Dialogue.update(participant(), participant())
        case 8:
            return .trackPublished(
                .with {
                    $0.cid = "c\(number)"; $0.track = Dialogue.track(sid, "film")
                })
        case 9: return .trackUnpublished(.with { $0.trackSid = sid })
        case 10:
            return .mute(
                .with {
                    $0.sid = sid; $0.muted = number % 2 == 0
                })
        case 11:
            return .speakersChanged(
                .with {
                    $0.speakers = [
                        .with {
                            $0.sid = sid; $0.active = true
                        }
                    ]
                })
        case 12:
            return .subscriptionResponse(
                .with {
                    $0.trackSid = sid; $0.err = .seTrackNotfound
                })
        case 13:
            return .subscriptionPermissionUpdate(
                .with {
                    $0.trackSid = sid; $0.allowed = number == 0
                })
        case 14: return .refreshToken("another")
        case 15: return .pongResp(.with { $0.timestamp = Int64(number) })
        case 16:
            return .requestResponse(
                .with {
                    $0.requestID = number; $0.reason = .notAllowed
                })
        case 17:
            return .roomMoved(
                .with {
                    $0.participant = Dialogue.info("me"); $0.token = "new"
                })
        case 18:
            return .publishDataTrackResponse(
                .with {
                    $0.info = .with {
                        $0.sid = sid; $0.pubHandle = number
                    }
                })
        case 19:
            return .dataTrackSubscriberHandles(
                .with {
                    $0.subHandles = [
                        number: .with {
                            $0.trackSid = sid; $0.publisherSid = other
                        }
                    ]
                })
        case 20 where below(5) == 0:
            return .leave(
                .with {
                    $0.action = [.resume, .resume, .resume, .reconnect, .reconnect, .disconnect][Int(number)]
                    $0.reason = .serverShutdown
                })
        default: return .streamStateUpdate(.with { $0.streamStates = [.with { $0.trackSid = sid }] })
        }
    }

    private mutating func mediaFact() -> MediaFact {
        let target: SignalTarget = below(2) == 0 ? .publisher : .subscriber
        switch below(9) {
        case 0: return .stateChanged(target, [.connected, .failed, .disconnected][Int(below(3))])
        case 1: return .candidate(target, json: "{}", isLast: below(2) == 0)
        case 2:
            return .receiving([
                RemoteStream(stream: "PA_ann|TR_1", track: sid(), transceiver: TransceiverID(rawValue: 1))
            ])
        case 3: return .channelOpen(below(2) == 0 ? .reliable : .lossy)
        case 4: return .failed(target, "not understood")
        default: return .message(below(4) == 0 ? .lossy : .reliable, dataPacket())
        }
    }

    /// Of somebody's in the room: messages, calls, answers, streams.
    private mutating func dataPacket() -> [UInt8] {
        let sender = ["ann", "bob", ""][Int(below(3))]
        let number = below(4)
        var packet = LiveKitDataPacket()
        packet.participantIdentity = sender
        packet.participantSid = sender.isEmpty ? "" : "PA_\(sender)"
        // Those that have a number are heard once.
        packet.sequence = below(4) == 0 ? UInt32(below(50)) : 0
        let stream = "s\(number)"
        switch below(7) {
        case 0: packet.user = .with { $0.payload = .init([1, 2]) }
        case 1:
            packet.rpcRequest = .with {
                $0.id = "r\(number)"
                $0.method = "shout"
                $0.version = 1
                $0.responseTimeoutMs = UInt32(number) * 1_000
            }
        case 2:
            let id = below(4) == 0 ? "r\(number)" : callIDs.last ?? ""
            if below(2) == 0 {
                packet.rpcAck = .with { $0.requestID = id }
            } else {
                packet.rpcResponse = .with { $0.requestID = id }
            }
        case 3...4:
            let topic = ["chat", "files", CallPayload.requestTopic, CallPayload.responseTopic][Int(below(4))]
            let (hasLength, isPacked, isText) = (below(2) == 0, below(3) == 0, topic != "files")
            packet.streamHeader = .with {
                $0.streamID = stream
                $0.topic = topic
                if hasLength { $0.totalLength = number * 3 }
                if isPacked { $0.compression = .deflateRaw }
                $0.attributes = [
                    CallPayload.Attribute.requestID: "r\(number)", CallPayload.Attribute.method: "shout",
                    CallPayload.Attribute.version: "2",
                ]
                $0.contentHeader = isText ? .textHeader(.init()) : .byteHeader(.init())
            }
        case 5:
            let index = below(3)
            packet.streamChunk = .with {
                $0.streamID = stream
                $0.chunkIndex = index
                $0.content = .init(repeating: 0x61, count: Int(number) * 3)
            }
        default: packet.streamTrailer = .with { $0.streamID = stream }
        }
        if below(4) == 0, let damaged = damaged(packet) { return damaged }
        return (try? packet.serializedBytes()) ?? []
    }
}
