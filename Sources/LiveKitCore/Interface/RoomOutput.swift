package import LiveKitProtocol
package import SFUCore

/// What a `RoomMachine` asks of its owner, oldest first.
package enum RoomOutput: Sendable {
    /// To be written to the client. The first one after `join` or `resume` is the one that clients expect first.
    case signal(SignalID, LiveKitSignalResponse)
    /// The connection is to be closed once all that came before has been written. Nothing more comes for it, and
    /// nothing more is taken from it.
    case closeSignal(SignalID)
    /// STUN messages whose username begins with this fragment and a colon are for this peer from now on, besides those
    /// with the fragments that were told of it before. Told before the description that has the fragment.
    case peerReachable(RoomPeerID, usernameFragment: String)
    /// Nothing is taken for this peer any more: its fragments and addresses can be forgotten.
    case peerRemoved(RoomPeerID)
    /// To be signed and delivered, in this order. Times and ids are filled in.
    case webhook(LiveKitWebhookEvent)
    /// The client is to have a new token, to connect with next time: sign one and give it to `sendToken`.
    case tokenWanted(SignalID, TokenSubject)
    /// A call of `performRPC` is over.
    case rpcFinished(RPCCallID, RPCOutcome)
    /// For the server's `AgentPool`.
    case agents(AgentOrder)
    /// The room is over: nothing is in it any more, nothing more comes, and `join` refuses everybody.
    case ended(LiveKitRoomEndReason)
}

/// Whom a token is for, as things stand now: permissions and names may have changed since the last one.
package struct TokenSubject: Sendable, Equatable {
    package var identity: String
    package var claims: AccessToken.Claims
}

/// How a call to a participant came out.
package enum RPCOutcome: Sendable, Equatable {
    case payload(String)
    /// As the participant said, or with one of the protocol's own codes.
    case error(code: UInt32, message: String, data: String)
}
