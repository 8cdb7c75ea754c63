import Foundation
package import LiveKitProtocol
package import RTCEngine
import SwiftProtobuf

/// A call of the server's that waits for its answer.
struct ServerCall {
    var id: RPCCallID
    var requestID: String
    unowned var participant: Participant
    /// Until when the participant has to say that it has heard; nil once it has.
    var acknowledgedBy: Instant?
    var answeredBy: Instant
}

/// Calls of participants by the server (`PerformRpc`).
extension RoomMachine {
    /// A participant says that it has heard within this time, or is taken for unreachable.
    private static let acknowledgementTimeout = Interval.seconds(Int64(7))
    private static let usualResponseTimeout = Interval.seconds(Int64(15))
    private static let longestResponseTimeout = Interval.seconds(Int64(600))
    /// What the protocol lets a call carry.
    private static let largestPayload = 15 << 10

    /// Calls a participant. The outcome is an output: what the participant answers, or that it does not.
    package func performRPC(
        _ request: LiveKitPerformRpcRequest, at now: Instant
    ) throws(RoomServiceError) -> RPCCallID {
        let identity = request.destinationIdentity
        guard let participant = people.first(where: { $0.identity == identity }) else { throw .noSuchParticipant }
        guard calls.count < configuration.limits.pendingCalls else {
            throw .tooManyCalls(limit: configuration.limits.pendingCalls)
        }
        let timeout =
            request.responseTimeoutMs == 0
            ? Self.usualResponseTimeout
            : min(.milliseconds(Int64(request.responseTimeoutMs)), Self.longestResponseTimeout)
        lastCall += 1
        let call = ServerCall(
            id: RPCCallID(rawValue: lastCall), requestID: random.sid("RPC_"), participant: participant,
            acknowledgedBy: now + Self.acknowledgementTimeout, answeredBy: now + timeout)
        func failed(_ code: UInt32, _ message: String) -> RPCCallID {
            put(.rpcFinished(call.id, .error(code: code, message: message, data: "")))
            return call.id
        }
        let isTooLarge = request.payload.utf8.count > Self.largestPayload
        guard !isTooLarge else { return failed(1_402, "Request payload too large") }
        // Who comes without messages would never hear of it.
        guard !participant.mode.isExchange else { return failed(1_505, "Failed to send") }
        calls.append(call)
        let packet = LiveKitDataPacket.with {
            // As LiveKit's server has it: the answer goes there. It is nobody's identity, so that an answer that comes
            // too late goes to nobody; to a caller without one, some clients answer everybody.
            $0.participantIdentity = call.requestID
            $0.destinationIdentities = [identity]
            $0.rpcRequest = .with {
                $0.id = call.requestID
                $0.method = request.method
                $0.payload = request.payload
                $0.responseTimeoutMs = UInt32(clamping: timeout.nanoseconds / 1_000_000)
                $0.version = 1
            }
        }
        if let bytes: [UInt8] = try? packet.serializedBytes() {
            deliver(bytes, .reliable, to: participant, at: now)
        }
        return call.id
    }

    /// Whether a packet is about a call of the server's, and so is for nobody else.
    func completesCall(_ packet: LiveKitDataPacket, from participant: Participant) -> Bool {
        func place(_ requestID: String) -> Int? {
            calls.firstIndex { $0.requestID == requestID && $0.participant === participant }
        }
        switch packet.value {
        case .rpcAck(let acknowledgement)?:
            guard let place = place(acknowledgement.requestID) else { return false }
            calls[place].acknowledgedBy = nil
            return true
        case .rpcResponse(let response)?:
            guard let place = place(response.requestID) else { return false }
            let outcome: RPCOutcome =
                switch response.value {
                case .payload(let text)?: .payload(text)
                case .error(let error)?: .error(code: error.code, message: error.message, data: error.data)
                // The request was of a version that has none.
                case .compressedPayload?: .error(code: 1_500, message: "Application error in method handler", data: "")
                case nil: .payload("")
                }
            finish(place, outcome)
            return true
        case .user?, .sipDtmf?, .transcription?, .metrics?, .chatMessage?, .rpcRequest?, .streamHeader?, .streamChunk?,
            .streamTrailer?, .encryptedPacket?, nil:
            return false
        }
    }

    private func finish(_ place: Int, _ outcome: RPCOutcome) {
        put(.rpcFinished(calls.remove(at: place).id, outcome))
    }

    func checkCalls(at now: Instant) {
        for place in calls.indices.reversed() {
            if let deadline = calls[place].acknowledgedBy, now >= deadline {
                finish(place, .error(code: 1_501, message: "Connection timeout", data: ""))
            } else if now >= calls[place].answeredBy {
                finish(place, .error(code: 1_502, message: "Response timeout", data: ""))
            }
        }
    }

    /// Somebody has left.
    func failCalls(to participant: Participant) {
        for place in calls.indices.reversed() where calls[place].participant === participant {
            finish(place, .error(code: 1_503, message: "Recipient disconnected", data: ""))
        }
    }
}
