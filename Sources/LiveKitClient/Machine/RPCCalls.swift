internal import Foundation
internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Calls of others' methods that wait for their answers, and the methods that are ours (LiveKit's RPC, versions 1
/// and 2: in messages, and in streams).
struct RPCCalls {
    struct Pending {
        let request: RequestID
        let requestID: String
        let destination: ParticipantIdentity
        /// Until when they have to say that they heard; nil once they have.
        var acknowledgedBy: Instant?
        let answeredBy: Instant
    }

    /// How long a call and its answer may travel; as long as SDKs take for it.
    static let roundTrip = Interval.seconds(Int64(7))
    static let usualTimeout = Interval.seconds(Int64(15))
    /// A called method gets at least so long.
    static let shortestTimeout = Interval.seconds(Int64(1))
    /// However long a caller says that it waits.
    static let longestTimeout = Interval.seconds(Int64(3_600))
    /// So many of one caller that we have not answered.
    private static let openLimit = 256
    /// What they are called with, together; bytes.
    private static let heldLimit = 16 << 20

    private(set) var pending: [Pending] = []
    var methods: Set<String> = []
    /// A call of a method of ours that somebody waits for.
    struct Open {
        let caller: ParticipantIdentity
        let until: Instant
        /// It came as a stream, and its answer goes as one.
        let isStreamed: Bool
        /// Of what it is called with, as far as that has come; bytes.
        var length = 0
    }

    /// By request.
    private var open: [String: Open] = [:]

    var deadline: Instant? {
        let answers = pending.map { min($0.acknowledgedBy ?? $0.answeredBy, $0.answeredBy) }
        return (answers + open.values.map(\.until)).min()
    }

    mutating func add(_ call: Pending) { pending.append(call) }

    mutating func acknowledged(_ requestID: String) {
        guard let place = pending.firstIndex(where: { $0.requestID == requestID }) else { return }
        pending[place].acknowledgedBy = nil
    }

    /// Who was called answers, and has not said all of it. False for anybody else.
    mutating func answerBegan(_ requestID: String, by sender: ParticipantIdentity?) -> Bool {
        guard pending.contains(where: { $0.requestID == requestID && $0.destination == sender }) else { return false }
        acknowledged(requestID)
        return true
    }

    /// Nobody else answers for who was called.
    mutating func take(_ requestID: String, by sender: ParticipantIdentity?) -> RequestID? {
        guard let place = pending.firstIndex(where: { $0.requestID == requestID && $0.destination == sender }) else {
            return nil
        }
        return pending.remove(at: place).request
    }

    mutating func recipientLeft(_ identity: ParticipantIdentity) -> [RequestID] {
        defer { pending.removeAll { $0.destination == identity } }
        return pending.filter { $0.destination == identity }.map(\.request)
    }

    func isAwaited(_ requestID: String) -> Bool { pending.contains { $0.requestID == requestID } }

    mutating func takeLate(at now: Instant) -> [(RequestID, RPCError)] {
        var late: [(RequestID, RPCError)] = []
        pending.removeAll { call in
            if let acknowledgedBy = call.acknowledgedBy, acknowledgedBy <= now {
                late.append((call.request, .connectionTimeout))
            } else if call.answeredBy <= now {
                late.append((call.request, .responseTimeout))
            } else {
                return false
            }
            return true
        }
        return late
    }

    mutating func takeAll() -> [RequestID] {
        defer { (pending, open) = ([], [:]) }
        return pending.map(\.request)
    }

    /// False for a call that is being answered already, or one too many.
    mutating func begin(_ requestID: String, _ call: Open) -> Bool {
        guard open[requestID] == nil, open.values.count(where: { $0.caller == call.caller }) < Self.openLimit else {
            return false
        }
        open[requestID] = call
        return true
    }

    /// What a method is called with has become so long. False where its caller makes us keep too much.
    mutating func hold(_ length: Int, of requestID: String) -> Bool {
        guard let call = open[requestID] else { return false }
        open[requestID]?.length = length
        return open.values.reduce(0) { $1.caller == call.caller ? $0 + $1.length : $0 } <= Self.heldLimit
    }

    mutating func end(_ requestID: String) -> Open? { open.removeValue(forKey: requestID) }

    /// Calls of methods of ours whose callers wait no longer.
    mutating func takeAbandoned(at now: Instant) -> [String] {
        let late = open.filter { $0.value.until <= now }.map(\.key).sorted()
        for requestID in late { open[requestID] = nil }
        return late
    }
}

extension RoomClientMachine {
    /// Calls a method of somebody's.
    mutating func performRPC(
        _ method: String, payload: String, of destination: ParticipantIdentity, timeout: Interval?, request: RequestID,
        at now: Instant
    ) {
        guard let callee = roster.remote.values.first(where: { $0.identity == destination.rawValue }) else {
            return put(.completeCall(request, .failure(.recipientNotFound)))
        }
        let takesStreams = callee.clientProtocol >= 1
        let limit = takesStreams ? RPCError.largestStreamedPayload : RPCError.largestPayload
        guard payload.utf8.count <= limit else {
            return put(.completeCall(request, .failure(.requestPayloadTooLarge)))
        }
        let timeout = timeout ?? RPCCalls.usualTimeout
        let id = makeID("RPC_")
        // What is left to the method when the way to it and back is taken off.
        let forMethod = max(timeout - RPCCalls.roundTrip, RPCCalls.shortestTimeout).nanoseconds / 1_000_000
        do throws(RoomError) {
            if takesStreams {
                let attributes = [
                    CallPayload.Attribute.requestID: id, CallPayload.Attribute.method: method,
                    CallPayload.Attribute.responseTimeout: String(forMethod),
                    CallPayload.Attribute.version: CallPayload.version,
                ]
                try sendCall(payload, CallPayload.requestTopic, attributes, to: destination, at: now)
            } else {
                let packet = LiveKitDataPacket.with {
                    $0.destinationIdentities = [destination.rawValue]
                    $0.rpcRequest = .with {
                        $0.id = id
                        $0.method = method
                        $0.payload = payload
                        $0.responseTimeoutMs = UInt32(clamping: forMethod)
                        $0.version = 1
                    }
                }
                try send(packet, .reliable, at: now)
            }
        } catch {
            return put(.completeCall(request, .failure(.sendFailed)))
        }
        calls.add(
            RPCCalls.Pending(
                request: request, requestID: id, destination: destination, acknowledgedBy: now + RPCCalls.roundTrip,
                answeredBy: now + timeout))
    }

    /// Somebody calls a method of ours.
    mutating func callReceived(_ call: LiveKitRpcRequest, from caller: ParticipantIdentity?, at now: Instant) {
        let timeout = Interval.milliseconds(Int64(call.responseTimeoutMs))
        guard
            callBegan(
                call.id, from: caller, method: call.method, isVersionKnown: call.version == 1, isStreamed: false,
                timeout: timeout, at: now)
        else { return }
        invoke(call.id, from: caller, call.method, call.payload, timeout)
    }

    /// Somebody calls a method of ours with what follows. Nil where that is not wanted.
    mutating func callBegan(
        _ header: IncomingStreamHeader, _ attributes: [String: String], at now: Instant
    ) -> CallPayload? {
        // To a call without a number there is no answer.
        guard let id = attributes[CallPayload.Attribute.requestID], !id.isEmpty else { return nil }
        let method = attributes[CallPayload.Attribute.method] ?? ""
        let milliseconds = attributes[CallPayload.Attribute.responseTimeout].flatMap { UInt32($0) } ?? 0
        let timeout = Interval.milliseconds(Int64(milliseconds))
        guard
            callBegan(
                id, from: header.sender, method: method,
                isVersionKnown: attributes[CallPayload.Attribute.version] == CallPayload.version, isStreamed: true,
                timeout: timeout, at: now)
        else { return nil }
        do throws(StreamError) {
            return try CallPayload(id, header, method: method, responseTimeout: timeout)
        } catch {
            answerRPC(id, .failure(.applicationError), at: now)
            return nil
        }
    }

    /// Whoever calls hears at once that we have heard. False where there is nothing to be called.
    private mutating func callBegan(
        _ id: String, from caller: ParticipantIdentity?, method: String, isVersionKnown: Bool, isStreamed: Bool,
        timeout given: Interval, at now: Instant
    ) -> Bool {
        // A server's call may come from nobody. Its answer goes to everybody then: only the server knows its number.
        let caller = caller ?? ""
        // What nobody waits for any more makes room for others. Callers that do not say how long wait as SDKs do.
        let timeout = given > .zero ? min(given, RPCCalls.longestTimeout) : RPCCalls.usualTimeout
        let open = RPCCalls.Open(caller: caller, until: now + timeout + RPCCalls.roundTrip, isStreamed: isStreamed)
        guard calls.begin(id, open) else { return false }
        sayCall(to: caller, at: now) { $0.rpcAck = .with { $0.requestID = id } }
        guard isVersionKnown else {
            answerRPC(id, .failure(.unsupportedVersion), at: now)
            return false
        }
        guard calls.methods.contains(method) else {
            answerRPC(id, .failure(.unsupportedMethod), at: now)
            return false
        }
        return true
    }

    /// What a method is called with is all there, or will not be.
    mutating func callEnded(_ payload: CallPayload, _ end: IncomingStreamEnd, at now: Instant) {
        do throws(StreamError) {
            _ = try end.get()
            let text = try payload.end()
            invoke(payload.requestID, from: payload.sender, payload.method, text, payload.responseTimeout)
        } catch .tooLong {
            answerRPC(payload.requestID, .failure(.requestPayloadTooLarge), at: now)
        } catch {
            answerRPC(payload.requestID, .failure(.applicationError), at: now)
        }
    }

    private mutating func invoke(
        _ id: String, from caller: ParticipantIdentity?, _ method: String, _ payload: String, _ timeout: Interval
    ) {
        put(
            .invoke(
                RPCInvocation(
                    requestID: id, caller: caller ?? "", method: method, payload: payload,
                    responseTimeout: .nanoseconds(timeout.nanoseconds))))
    }

    /// A method of ours has come to an end.
    mutating func answerRPC(_ requestID: String, _ outcome: Result<String, RPCError>, at now: Instant) {
        guard let call = calls.end(requestID) else { return }
        var outcome = outcome
        let limit = call.isStreamed ? RPCError.largestStreamedPayload : RPCError.largestPayload
        if case .success(let payload) = outcome, payload.utf8.count > limit {
            outcome = .failure(.responsePayloadTooLarge)
        }
        // Errors are messages in both versions.
        if call.isStreamed, case .success(let payload) = outcome {
            let attributes = [CallPayload.Attribute.requestID: requestID]
            // As below, of a caller that this does not reach.
            try? sendCall(payload, CallPayload.responseTopic, attributes, to: call.caller, at: now)
            return
        }
        sayCall(to: call.caller, at: now) { packet in
            packet.rpcResponse = .with { response in
                response.requestID = requestID
                switch outcome {
                case .success(let payload): response.payload = payload
                case .failure(let error):
                    response.error = .with {
                        $0.code = error.code
                        $0.message = error.message
                        $0.data = error.data
                    }
                }
            }
        }
    }

    /// A call or an answer as a stream.
    private mutating func sendCall(
        _ payload: String, _ topic: String, _ attributes: [String: String], to destination: ParticipantIdentity,
        at now: Instant
    ) throws(RoomError) {
        var options = StreamTextOptions(topic: topic)
        options.attributes = attributes
        let header = LiveKitDataStream.Header(options, id: makeID("ST_"), timestamp: wallClock())
        try sendWhole(header, content: Array(payload.utf8), to: [destination], at: now)
    }

    /// A caller that this does not reach hears nothing, and has a time-out for that.
    private mutating func sayCall(
        to caller: ParticipantIdentity, at now: Instant, _ fill: (inout LiveKitDataPacket) -> Void
    ) {
        var packet = LiveKitDataPacket()
        if !caller.rawValue.isEmpty { packet.destinationIdentities = [caller.rawValue] }
        fill(&packet)
        try? send(packet, .reliable, at: now)
    }

    mutating func callAnswered(_ response: LiveKitRpcResponse, by sender: ParticipantIdentity?) {
        guard let request = calls.take(response.requestID, by: sender) else { return }
        switch response.value {
        case .payload(let payload)?: put(.completeCall(request, .success(payload)))
        case .error(let error)?:
            let error = RPCError(code: error.code, message: error.message, data: error.data)
            put(.completeCall(request, .failure(error)))
        // We have not said that we can unpack it.
        case .compressedPayload?: put(.completeCall(request, .failure(.applicationError)))
        case nil: put(.completeCall(request, .success("")))
        }
    }

    /// Who was called answers with what follows. Nil where nobody waits for it.
    mutating func answerBegan(_ header: IncomingStreamHeader, _ attributes: [String: String]) -> CallPayload? {
        guard let id = attributes[CallPayload.Attribute.requestID], calls.answerBegan(id, by: header.sender) else {
            return nil
        }
        do throws(StreamError) {
            return try CallPayload(id, header)
        } catch {
            if let request = calls.take(id, by: header.sender) {
                put(.completeCall(request, .failure(.applicationError)))
            }
            return nil
        }
    }

    /// An answer is all there, or will not be.
    mutating func answerEnded(_ payload: CallPayload, _ end: IncomingStreamEnd) {
        // The time for it may be over.
        guard let request = calls.take(payload.requestID, by: payload.sender) else { return }
        let result: Result<String, RPCError>
        do throws(StreamError) {
            _ = try end.get()
            result = .success(try payload.end())
        } catch .tooLong {
            result = .failure(.responsePayloadTooLarge)
        } catch .senderLeft {
            result = .failure(.recipientDisconnected)
        } catch {
            result = .failure(.applicationError)
        }
        put(.completeCall(request, result))
    }

    mutating func callTimePassed(at now: Instant) {
        for (request, error) in calls.takeLate(at: now) { put(.completeCall(request, .failure(error))) }
        let abandoned = calls.takeAbandoned(at: now)
        for requestID in abandoned { put(.abandon(requestID)) }
        // What is still on its way to them, or comes as an answer too late, is for nobody.
        if !abandoned.isEmpty { incoming.dropCalls { abandoned.contains($0) } }
        incoming.dropAnswers { [calls] in !calls.isAwaited($0) }
    }
}
