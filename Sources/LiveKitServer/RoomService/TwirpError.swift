internal import Foundation
internal import LiveKitCore
internal import SocketIO

/// An error of Twirp, the protocol of the room service (https://twitchtv.github.io/twirp/docs/spec_v7.html).
struct TwirpError: Error, Equatable {
    enum Code: String, CaseIterable {
        case canceled
        case malformed
        case invalidArgument = "invalid_argument"
        case unauthenticated
        case notFound = "not_found"
        case badRoute = "bad_route"
        case resourceExhausted = "resource_exhausted"
        case failedPrecondition = "failed_precondition"
        case deadlineExceeded = "deadline_exceeded"
        case unimplemented
        case unavailable
        case `internal` = "internal"

        var status: Int {
            switch self {
            case .malformed, .invalidArgument: 400
            case .unauthenticated: 401
            case .notFound, .badRoute: 404
            case .canceled, .deadlineExceeded: 408
            case .resourceExhausted: 429
            case .failedPrecondition: 412
            case .unimplemented: 501
            case .unavailable: 503
            case .internal: 500
            }
        }
    }

    var code: Code
    var message: String
    var meta: [String: String] = [:]

    init(_ code: Code, _ message: String, meta: [String: String] = [:]) {
        self.code = code
        self.message = message
        self.meta = meta
    }

    static let noSuchRoom = TwirpError(.notFound, "requested room does not exist")
    /// A grant that is missing is this too, as LiveKit's server has it, and not `permission_denied`.
    static let notAllowed = TwirpError(.unauthenticated, "permissions denied")

    /// Of the request's token.
    init(_ refusal: HTTPRefusal) {
        self.init(refusal.status == 400 ? .invalidArgument : .unauthenticated, refusal.text)
    }

    init(_ refusal: WorkerRefusal) {
        switch refusal {
        case .noSuchRoom: self = .noSuchRoom
        case .tooManyRooms(let limit): self.init(.resourceExhausted, "the server is full: it has \(limit) rooms")
        case .draining: self.init(.unavailable, "the server takes no new rooms: it is about to go down")
        case .elsewhere, .goingDown: self.init(.unavailable, "try again")
        // Only clients join.
        case .join(let refusal): self.init(.internal, refusal.description)
        case .tooManyConnections(let limit):
            self.init(.resourceExhausted, "the server is full: there are \(limit) connections where the room is")
        }
    }

    init(_ error: RoomServiceError) {
        switch error {
        case .noSuchParticipant, .noSuchDispatch: self.init(.notFound, error.description)
        case .remoteUnmuteDisabled: self.init(.failedPrecondition, error.description)
        case .metadataTooLong, .attributesTooLong, .nameTooLong, .dataTooLong, .badNonce, .badDeployment:
            self.init(.invalidArgument, error.description)
        case .tooManyCalls, .tooManyDispatches: self.init(.resourceExhausted, error.description)
        }
    }

    /// Of a call of somebody's method (`PerformRpc`), as LiveKit's server has it since September 2025
    /// (`DataChannelRpcError`). `meta` is ours: it spares services to read the message.
    init(rpcCode: UInt32, message: String, data: String) {
        let code: Code =
            switch rpcCode {
            // There is no such method.
            case 1_400: .invalidArgument
            // Nobody of that identity is there.
            case 1_401: .notFound
            // The request or the answer is too large.
            case 1_402, 1_504: .malformed
            // The server, or the version, knows no calls.
            case 1_403, 1_404: .unimplemented
            // Who is called did not say in time that it heard, or did not answer in time.
            case 1_501, 1_502: .canceled
            // Who is called has left.
            case 1_503: .unavailable
            // The method has failed, could not be sent for, or has a code of its own.
            default: .internal
            }
        let text = "RpcError \(rpcCode): \(message)" + (data.isEmpty ? "" : ": \(data)")
        self.init(code, text, meta: ["rpc_code": "\(rpcCode)", "rpc_data": data])
    }

    private struct Body: Encodable {
        let code: String
        let msg: String
        let meta: [String: String]?
    }

    var response: SocketIOHTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let body = Body(code: code.rawValue, msg: message, meta: meta.isEmpty ? nil : meta)
        return SocketIOHTTPResponse(
            status: code.status, headers: [("Content-Type", "application/json")] + HTTPRefusal.crossOrigin,
            body: .bytes([UInt8]((try? encoder.encode(body)) ?? Data())))
    }
}
