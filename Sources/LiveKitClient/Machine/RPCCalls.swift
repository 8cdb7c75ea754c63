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
        /// By when the other has to acknowledge the call; nil once that has been done.
        var acknowledgedBy: Instant?
        let answeredBy: Instant
    }

    /// The longest time that a call and its answer are on the way, as LiveKit's SDKs have it.
    static let roundTrip = Interval.seconds(Int64(7))
    static let usualTimeout = Interval.seconds(Int64(15))
    /// The called method is given at least this long.
    static let shortestTimeout = Interval.seconds(Int64(1))
    /// A call of our methods is kept no longer, whatever its caller says.
    static let longestTimeout = Interval.seconds(Int64(3_600))
    /// How many calls of one caller may be unanswered at a time.
    private static let openLimit = 256
    /// In bytes: the payloads of one caller's unanswered calls together.
    private static let heldLimit = 16 << 20

    private(set) var pending: [Pending] = []
    var methods: Set<String> = []
    /// A call of one of our methods that is not answered yet.
    struct Open {
        let caller: ParticipantIdentity
        let until: Instant
        /// It came as a stream, so its answer goes as one.
        let isStreamed: Bool
        /// How much of its payload has come, in bytes.
        var length = 0
    }

    /// By the caller's number of the call (`requestID`).
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

    /// The first part of an answer has come, which acknowledges the call too.
    ///
    /// - Returns: false where there is no such call, or `sender` is not the one who was called.
    mutating func answerBegan(_ requestID: String, by sender: ParticipantIdentity?) -> Bool {
        guard pending.contains(where: { $0.requestID == requestID && $0.destination == sender }) else { return false }
        acknowledged(requestID)
        return true
    }

    /// Removes and returns a call that `sender` has answered; nil where there is none, or another was called.
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

    /// Notes a call of one of our methods.
    ///
    /// - Returns: false where there is one of that number already, or its caller has too many.
    mutating func begin(_ requestID: String, _ call: Open) -> Bool {
        guard open[requestID] == nil, open.values.count(where: { $0.caller == call.caller }) < Self.openLimit else {
            return false
        }
        open[requestID] = call
        return true
    }

    /// Notes how much of a call's payload has come.
    ///
    /// - Returns: false where the payloads of that caller have become too much to keep, or there is no such call.
    mutating func hold(_ length: Int, of requestID: String) -> Bool {
        guard let call = open[requestID] else { return false }
        open[requestID]?.length = length
        return open.values.reduce(0) { $1.caller == call.caller ? $0 + $1.length : $0 } <= Self.heldLimit
    }

    mutating func end(_ requestID: String) -> Open? { open.removeValue(forKey: requestID) }

    /// Removes and returns the calls of our methods for whose answer the caller no longer waits.
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
        // The time that the method has: what we wait for, less the way there and back.
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

    /// Somebody calls one of our methods by a stream, whose content is the payload.
    ///
    /// - Returns: what gathers the payload; nil where the call is refused, and the stream is to be ignored.
    mutating func callBegan(
        _ header: IncomingStreamHeader, _ attributes: [String: String], at now: Instant
    ) -> CallPayload? {
        // A call without a number cannot be answered.
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

    /// Notes and acknowledges a call, and refuses it where its version or its method is not known.
    ///
    /// - Returns: whether the method is to be called.
    private mutating func callBegan(
        _ id: String, from caller: ParticipantIdentity?, method: String, isVersionKnown: Bool, isStreamed: Bool,
        timeout given: Interval, at now: Instant
    ) -> Bool {
        // A call by the server names no caller. Its answer goes to everybody, and only the server knows its number.
        let caller = caller ?? ""
        // After this the call is forgotten, so that it does not count against its caller for ever. Where the caller
        // does not say how long it waits, the SDKs' default is taken.
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

    /// The stream with a call's payload has ended, as it should or not.
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

    /// One of our methods has returned or thrown.
    mutating func answerRPC(_ requestID: String, _ outcome: Result<String, RPCError>, at now: Instant) {
        guard let call = calls.end(requestID) else { return }
        var outcome = outcome
        let limit = call.isStreamed ? RPCError.largestStreamedPayload : RPCError.largestPayload
        if case .success(let payload) = outcome, payload.utf8.count > limit {
            outcome = .failure(.responsePayloadTooLarge)
        }
        // Errors go as messages in both versions of the protocol.
        if call.isStreamed, case .success(let payload) = outcome {
            let attributes = [CallPayload.Attribute.requestID: requestID]
            // As with `sayCall`, the caller's time-out covers an answer that cannot be sent.
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

    /// Sends the payload of a call or of an answer as a stream.
    private mutating func sendCall(
        _ payload: String, _ topic: String, _ attributes: [String: String], to destination: ParticipantIdentity,
        at now: Instant
    ) throws(RoomError) {
        var options = StreamTextOptions(topic: topic)
        options.attributes = attributes
        let header = LiveKitDataStream.Header(options, id: makeID("ST_"), timestamp: wallClock())
        try sendWhole(header, content: Array(payload.utf8), to: [destination], at: now)
    }

    /// Sends an acknowledgement or an answer. Where it cannot be sent nothing is done: the caller has a time-out.
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
        // We have not announced that we can decompress payloads, so no peer should send one.
        case .compressedPayload?: put(.completeCall(request, .failure(.applicationError)))
        case nil: put(.completeCall(request, .success("")))
        }
    }

    /// The one who was called answers by a stream.
    ///
    /// - Returns: what gathers the answer; nil where nobody waits for it, and the stream is to be ignored.
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

    /// The stream with an answer has ended, as it should or not.
    mutating func answerEnded(_ payload: CallPayload, _ end: IncomingStreamEnd) {
        // The call may have timed out meanwhile.
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
        // Streams with payloads for those calls, or with answers that come too late, are no longer read.
        if !abandoned.isEmpty { incoming.dropCalls { abandoned.contains($0) } }
        incoming.dropAnswers { [calls] in !calls.isAwaited($0) }
    }
}
