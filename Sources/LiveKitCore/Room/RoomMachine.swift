package import LiveKitProtocol
package import RTCEngine
package import RTCWire
package import SFUCore

/// A room of LiveKit's protocol as a machine: who is in it, what they publish, what they are told, and through an
/// `SFUCore.Room` their media. Without sockets and clock: whoever owns it keeps it on one thread.
///
/// Requests of clients go in by `receive(_:from:at:)`, datagrams by `receive(_:for:from:to:at:)`, and the room service's
/// commands by methods of their own, all with the time. Afterwards the owner calls `drainTransmits`, then drains
/// `pollOutput`, and calls `tick` when `nextWake` has come.
package final class RoomMachine {
    package private(set) var configuration: RoomConfiguration
    let transport: RoomTransport
    let media: Room
    var random: EngineRandom
    private var outputs: [RoomOutput] = []
    private var firstOutput = 0

    package init(
        configuration: RoomConfiguration, transport: RoomTransport, random: EngineRandom, at now: Instant
    ) {
        var random = random
        self.configuration = configuration
        self.transport = transport
        media = Room(random: random.split())
        self.random = random
    }

    // MARK: Signaling

    /// Somebody joins. The first output for the signaling connection is the join response.
    package func join(_ arrival: Arrival, at now: Instant) throws(JoinRefusal) -> SignalID { throw .roomEnded }

    /// Somebody's signaling is back (`JoinRequest.reconnect`, `participantSid`). The first output for the new signaling
    /// connection is a reconnect response, or, when there is nothing to go on with, a leave that asks for a new session.
    package func resume(_ arrival: Arrival, at now: Instant) -> SignalID { SignalID(rawValue: 0) }

    /// What `resume` answers when there is no such session, for an owner that has no such room.
    package static var staleSessionResponse: LiveKitSignalResponse { LiveKitSignalResponse() }

    /// A client's message.
    package func receive(_ request: LiveKitSignalRequest, from signal: SignalID, at now: Instant) {}

    /// The connection has ended without our having asked for it.
    package func signalClosed(_ signal: SignalID, at now: Instant) {}

    /// A token that `RoomOutput.tokenWanted` asked for.
    package func sendToken(_ token: String, to signal: SignalID) {}

    // MARK: Media

    /// Takes a datagram, or a packet that came over a stream. It is decrypted where it lies.
    package func receive(
        _ datagram: inout [UInt8], for peer: RoomPeerID, from remote: TransportAddress, to local: TransportAddress,
        at now: Instant
    ) {
        media.receive(&datagram, for: peer, from: remote, to: local, at: now)
    }

    /// A TCP connection of a peer is over.
    package func streamClosed(
        for peer: RoomPeerID, from local: TransportAddress, to remote: TransportAddress, at now: Instant
    ) {}

    /// When `tick` is next wanted; nil when nothing is pending.
    package var nextWake: Instant? { nil }

    /// Does what has fallen due.
    package func tick(at now: Instant) {}

    /// Takes all datagrams that are to be sent.
    package func drainTransmits(at now: Instant, _ send: (RoomPeerID, borrowing Transmit) -> Void) {}

    /// The next output; nil when there is none. To be asked after `drainTransmits`.
    package func pollOutput() -> RoomOutput? {
        guard firstOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            firstOutput = 0
            return nil
        }
        defer { firstOutput += 1 }
        return outputs[firstOutput]
    }

    // MARK: Room service

    package var info: LiveKitRoom { LiveKitRoom() }
    package var participants: [LiveKitParticipantInfo] { [] }
    package func participant(_ identity: String) throws(RoomServiceError) -> LiveKitParticipantInfo {
        throw .noSuchParticipant
    }
    package func removeParticipant(_ identity: String, at now: Instant) throws(RoomServiceError) {}
    package func muteTrack(
        _ track: TrackSID, of identity: String, isMuted: Bool, at now: Instant
    ) throws(RoomServiceError) -> LiveKitTrackInfo { throw .noSuchTrack }
    package func updateParticipant(
        _ request: LiveKitUpdateParticipantRequest, at now: Instant
    ) throws(RoomServiceError) -> LiveKitParticipantInfo { throw .noSuchParticipant }
    package func updateSubscriptions(
        _ request: LiveKitUpdateSubscriptionsRequest, at now: Instant
    ) throws(RoomServiceError) {}
    package func sendData(_ request: LiveKitSendDataRequest, at now: Instant) throws(RoomServiceError) {}
    package func updateMetadata(_ metadata: String, at now: Instant) throws(RoomServiceError) -> LiveKitRoom { info }
    /// The call's outcome is an output.
    package func performRPC(
        _ request: LiveKitPerformRpcRequest, at now: Instant
    ) throws(RoomServiceError) -> RPCCallID { RPCCallID(rawValue: 0) }
    /// Ends the room: everybody is told to leave.
    package func end(_ reason: LiveKitRoomEndReason, at now: Instant) {}
}
