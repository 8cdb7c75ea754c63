/// Why the room service cannot do something. Nothing has changed then.
package enum RoomServiceError: Error, Sendable, Equatable {
    case noSuchParticipant
    /// The room does not let anybody else switch tracks on.
    case remoteUnmuteDisabled
    case metadataTooLong(limit: Int)
    case attributesTooLong(limit: Int)
    case nameTooLong(limit: Int)
    case dataTooLong(limit: Int)
    case badNonce(length: Int)
    case tooManyCalls(limit: Int)
    case noSuchDispatch
    case tooManyDispatches(limit: Int)
    case badDeployment
}

extension RoomServiceError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noSuchParticipant: "participant does not exist"
        case .remoteUnmuteDisabled: "remote unmute not enabled"
        case .metadataTooLong(let limit): "the metadata are longer than \(limit) bytes"
        case .attributesTooLong(let limit): "the attributes are longer than \(limit) bytes"
        case .nameTooLong(let limit): "the name is longer than \(limit) bytes"
        case .dataTooLong(let limit): "the data are longer than \(limit) bytes"
        case .badNonce(let length): "a nonce has \(length) bytes"
        case .tooManyCalls(let limit): "\(limit) calls are waiting for their answers"
        case .noSuchDispatch: "dispatch ID not found"
        case .tooManyDispatches(let limit): "the room has \(limit) dispatches already"
        case .badDeployment: "a deployment's name is too long, or has white space or _ in it"
        }
    }
}
