internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// Calls of others' methods that wait for their answers, and the methods that are ours (LiveKit's RPC, version 1).
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
    /// So many that we have not answered.
    private static let openLimit = 256

    private(set) var pending: [Pending] = []
    var methods: Set<String> = []
    /// Calls of methods of ours that others wait for, by request: who, and until when.
    private var open: [String: (caller: ParticipantIdentity, until: Instant)] = [:]

    var deadline: Instant? {
        let answers = pending.map { min($0.acknowledgedBy ?? $0.answeredBy, $0.answeredBy) }
        return (answers + open.values.map(\.until)).min()
    }

    mutating func add(_ call: Pending) { pending.append(call) }

    mutating func acknowledged(_ requestID: String) {
        guard let place = pending.firstIndex(where: { $0.requestID == requestID }) else { return }
        pending[place].acknowledgedBy = nil
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
    mutating func begin(_ requestID: String, from caller: ParticipantIdentity, until: Instant) -> Bool {
        guard open[requestID] == nil, open.count < Self.openLimit else { return false }
        open[requestID] = (caller, until)
        return true
    }

    mutating func end(_ requestID: String) -> ParticipantIdentity? { open.removeValue(forKey: requestID)?.caller }

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
        guard payload.utf8.count <= RPCError.largestPayload else {
            return put(.completeCall(request, .failure(.requestPayloadTooLarge)))
        }
        guard roster.has(destination) else {
            return put(.completeCall(request, .failure(.recipientNotFound)))
        }
        let timeout = timeout ?? RPCCalls.usualTimeout
        let id = makeID("RPC_")
        // What is left to the method when the way to it and back is taken off.
        let forMethod = max(timeout - RPCCalls.roundTrip, RPCCalls.shortestTimeout)
        let packet = LiveKitDataPacket.with {
            $0.destinationIdentities = [destination.rawValue]
            $0.rpcRequest = .with {
                $0.id = id
                $0.method = method
                $0.payload = payload
                $0.responseTimeoutMs = UInt32(clamping: forMethod.nanoseconds / 1_000_000)
                $0.version = 1
            }
        }
        do throws(RoomError) {
            try send(packet, .reliable, at: now)
        } catch {
            return put(.completeCall(request, .failure(.sendFailed)))
        }
        calls.add(
            RPCCalls.Pending(
                request: request, requestID: id, destination: destination, acknowledgedBy: now + RPCCalls.roundTrip,
                answeredBy: now + timeout))
    }

    /// Somebody calls a method of ours: hears at once that we have heard.
    mutating func callReceived(_ call: LiveKitRpcRequest, from caller: ParticipantIdentity?, at now: Instant) {
        // A call of the server's comes from nobody, and its answer goes to everybody: only the server knows its number.
        let caller = caller ?? ""
        // What nobody waits for any more makes room for others. Callers that do not say how long wait as SDKs do.
        let given = Interval.milliseconds(Int64(call.responseTimeoutMs))
        let timeout = given > .zero ? min(given, RPCCalls.longestTimeout) : RPCCalls.usualTimeout
        guard calls.begin(call.id, from: caller, until: now + timeout + RPCCalls.roundTrip) else { return }
        sayCall(to: caller, at: now) { $0.rpcAck = .with { $0.requestID = call.id } }
        guard call.version == 1 else {
            return answerRPC(call.id, .failure(.unsupportedVersion), at: now)
        }
        guard calls.methods.contains(call.method) else {
            return answerRPC(call.id, .failure(.unsupportedMethod), at: now)
        }
        put(
            .invoke(
                RPCInvocation(
                    requestID: call.id, caller: caller, method: call.method, payload: call.payload,
                    responseTimeout: .milliseconds(Int64(call.responseTimeoutMs)))))
    }

    /// A method of ours has come to an end.
    mutating func answerRPC(_ requestID: String, _ outcome: Result<String, RPCError>, at now: Instant) {
        guard let caller = calls.end(requestID) else { return }
        var outcome = outcome
        if case .success(let payload) = outcome, payload.utf8.count > RPCError.largestPayload {
            outcome = .failure(.responsePayloadTooLarge)
        }
        sayCall(to: caller, at: now) { packet in
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

    mutating func callTimePassed(at now: Instant) {
        for (request, error) in calls.takeLate(at: now) { put(.completeCall(request, .failure(error))) }
        for requestID in calls.takeAbandoned(at: now) { put(.abandon(requestID)) }
    }
}
