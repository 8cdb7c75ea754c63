/// An event that a peer sent.
public struct SocketIOEvent: Sendable {
    /// The event's name.
    public let name: String
    /// The arguments after the name.
    public let arguments: SocketIOArguments
    /// Sends an acknowledgement, if the peer asked for one. Only the first call counts.
    public let acknowledge: Acknowledgement?
    /// The whole array as it was sent, for passing on.
    let payload: RawJSON

    /// Answers an event.
    public struct Acknowledgement: Sendable {
        let send: @Sendable (SocketIOArguments) -> Void

        /// Sends the answer.
        public func callAsFunction(_ arguments: SocketIOArguments = []) { send(arguments) }
    }
}

/// Why an acknowledgement did not come.
public enum SocketIOAcknowledgementError: Error, Hashable, Sendable {
    /// The peer did not answer in time.
    case timedOut
    /// The connection ended first.
    case disconnected
}
