import Foundation
import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf

/// Messages from one to others. Who sent one is filled in, its kind and to whom it goes are looked at, and no more.
extension RoomMachine {
    func take(_ event: DataChannelEvent, on channel: DataChannelID, of connection: Connection, at now: Instant) {
        switch event {
        case .announced(let description):
            guard connection.role != .subscriber else { return }
            guard let label = DataLabel(rawValue: description.label) else {
                connection.unlabelled.insert(channel)
                return
            }
            // The last one of a name counts: a client that makes its channels anew has given up those before.
            connection.channels[label] = channel
            if connection === connection.participant.publisher { tellHeld(of: connection.participant, at: now) }
        case .open, .bufferedAmountLow:
            guard connection.channels[.reliable] == channel else { return }
            connection.hasHadReliable = true
            connection.lostReliableAt = nil
            media.withMachine(of: connection.id) {
                $0.setBufferedAmountLowThreshold(Self.lowBuffer, of: channel)
            }
            sendOutbox(of: connection.participant, at: now)
        case .message(let message):
            guard connection === connection.participant.publisher,
                message.byteCount <= configuration.limits.dataMessageBytes
            else { return }
            if connection.unlabelled.contains(channel) {
                return receiveUnlabelled(message, from: connection.participant, at: now)
            }
            guard case .binary(let bytes) = message,
                let label = connection.channels.first(where: { $0.value == channel })?.key
            else { return }
            receive(bytes, label, from: connection.participant, at: now)
        case .closed:
            connection.unlabelled.remove(channel)
            let wasReliable = connection.channels[.reliable] == channel
            for (label, id) in connection.channels where id == channel { connection.channels[label] = nil }
            if wasReliable { reliableClosed(of: connection, at: now) }
        case .closing:
            // Nothing more can be sent on it, though what was given to it may still go out.
            guard connection.channels[.reliable] == channel else { return }
            connection.channels[.reliable] = nil
            reliableClosed(of: connection, at: now)
        case .bufferedAmount: break
        }
    }

    /// What waits on a channel when more reliable messages are given to it, in bytes.
    private static let lowBuffer = 64 << 10
    /// A lossy message is of no use behind so much.
    private static let lossyBuffer = 256 << 10
    /// Reliable ones wait in the participant's outbox behind so much, and then their senders wait.
    private static let reliableBuffer = 512 << 10

    // MARK: In

    private func receive(_ bytes: [UInt8], _ label: DataLabel, from sender: Participant, at now: Instant) {
        let limits = configuration.limits
        guard label != .tracks else { return forwardDataTrack(bytes, of: sender, at: now) }
        guard
            var packet = try? LiveKitDataPacket(serializedBytes: bytes),
            // What is in one may be newer than we are, but something is.
            packet.value != nil || !packet.unknownFields.data.isEmpty
        else { return }
        // What is refused is done with, too: it does not come again when a session goes on.
        if label == .reliable, !sender.messages.isNew(packet.sequence) { return }
        guard sender.grants.mayPublishData else { return }
        guard !completesCall(packet, from: sender) else { return }
        // What somebody has said is an agent's to write down.
        if case .transcription? = packet.value, !sender.isAgent { return }
        packet.kind = label == .reliable ? .reliable : .lossy
        // Whoever sends cannot say that it was somebody else; and of whom nobody sees nobody hears.
        if !isForAnother(&packet, from: sender) {
            packet.participantIdentity = sender.isHidden ? "" : sender.identity
        }
        packet.participantSid = sender.isHidden ? "" : sender.sid.rawValue
        var destinations = Set(packet.destinationIdentities)
        if case .user(var user)? = packet.value {
            user.participantSid = packet.participantSid
            user.participantIdentity = packet.participantIdentity
            destinations.formUnion(user.destinationIdentities)
            destinations.formUnion(identities(ofSessions: user.destinationSids))
            packet.value = .user(user)
        }
        guard let forwarded: [UInt8] = try? packet.serializedBytes() else { return }
        let isMetrics = if case .metrics? = packet.value { true } else { false }
        // Not everybody may have metrics, and nobody misses them.
        if label == .reliable, packet.sequence > 0, !isMetrics {
            sender.messages.keep(
                MessageLog.Entry(sequence: packet.sequence, bytes: forwarded, destinations: destinations), limits)
        }
        let message = HeldMessage(forwarded, sender: sender)
        for participant in people where participant !== sender {
            guard destinations.isEmpty || destinations.contains(participant.identity),
                !isMetrics || participant.grants.maySubscribeToMetrics
            else { continue }
            deliver(message, label, to: participant, at: now)
        }
    }

    /// A channel of another name has no packets on it. What comes is for everybody, in a packet, as LiveKit's server
    /// has it (`SendDataMessageUnlabeled`): reliably, and of text the bytes.
    private func receiveUnlabelled(_ message: DataChannelMessage, from sender: Participant, at now: Instant) {
        let packet = LiveKitDataPacket.with {
            switch message {
            case .text(let text): $0.user.payload = Data(text.utf8)
            case .binary(let bytes): $0.user.payload = Data(bytes)
            }
        }
        guard let bytes: [UInt8] = try? packet.serializedBytes() else { return }
        receive(bytes, .reliable, from: sender, at: now)
    }

    /// What an agent writes for somebody else is that one's, and is marked as not written by them (LiveKit's
    /// `handleReceivedDataMessage`).
    private func isForAnother(_ packet: inout LiveKitDataPacket, from sender: Participant) -> Bool {
        let identity = packet.participantIdentity
        guard sender.isAgent, !identity.isEmpty, identity != sender.identity else { return false }
        switch packet.value {
        case .chatMessage(var message)?:
            message.generated = true
            packet.value = .chatMessage(message)
            return true
        case .streamHeader(var header)?:
            guard case .textHeader(var text)? = header.contentHeader else { return false }
            text.generated = true
            header.contentHeader = .textHeader(text)
            packet.value = .streamHeader(header)
            return true
        case .user?, .sipDtmf?, .transcription?, .metrics?, .rpcRequest?, .rpcAck?, .rpcResponse?, .streamChunk?,
            .streamTrailer?, .encryptedPacket?, nil:
            return false
        }
    }

    /// For whom sessions stand. One that is over stands for nobody, and not for everybody.
    func identities(ofSessions sids: [String]) -> Set<String> {
        guard !sids.isEmpty else { return [] }
        let sids = Set(sids)
        let identities = people.lazy.filter { sids.contains($0.sid.rawValue) }.map(\.identity)
        // Nobody has an empty one.
        return Set(identities).union([""])
    }

    // MARK: Out

    private enum Sending {
        case sent
        /// The channel is not open, or full.
        case tooEarly
        /// The client takes nothing like it.
        case impossible
    }

    /// A message of nobody who could be made to wait.
    func deliver(_ bytes: [UInt8], _ label: DataLabel, to participant: Participant, at now: Instant) {
        deliver(HeldMessage(bytes, sender: nil), label, to: participant, at: now)
    }

    private func deliver(_ message: HeldMessage, _ label: DataLabel, to participant: Participant, at now: Instant) {
        // Nothing is to wait for a channel that never opens.
        guard !participant.mode.isExchange else { return }
        switch label {
        case .reliable:
            // Nothing comes after what was left out.
            guard !participant.isGivenUp else { return }
            // Behind those that wait already.
            guard participant.outbox.isEmpty else { return hold(message, for: participant, at: now) }
            switch sendNow(message.bytes, label, to: participant, at: now) {
            case .sent, .impossible: break
            case .tooEarly: hold(message, for: participant, at: now)
            }
        case .lossy, .tracks: _ = sendNow(message.bytes, label, to: participant, at: now)
        }
    }

    /// The receiver takes less than is sent: the sender waits for it.
    private func hold(_ message: HeldMessage, for participant: Participant, at now: Instant) {
        guard openReliable(of: participant) != nil else {
            // Nobody waits for one who is still coming: it has a few of the first, or the last ones by `replay`.
            let unowned = HeldMessage(message.bytes, sender: nil)
            let isHeld = participant.outbox.hold(unowned, limit: Outbox.maximumCostUnopened)
            // It has had a channel: this is in the middle of what it was sent.
            if !isHeld, participant.primary?.lostReliableAt != nil { participant.isGivenUp = true }
            return
        }
        guard participant.outbox.hold(message, limit: Outbox.maximumCost) else {
            // A stream with a hole is of no use to it.
            participant.isGivenUp = true
            return
        }
        guard message.holders == 1, let sender = message.sender else { return }
        sender.heldData += message.cost
        tellHeld(of: sender, at: now)
    }

    /// Beyond a megabyte SCTP asks the sender to send less, and beyond two to send nothing.
    private func tellHeld(of sender: Participant, at now: Instant) {
        guard let connection = sender.publisher else { return }
        media.withMachine(of: connection.id) { $0.setUnreadData(sender.heldData, at: now) }
    }

    private func release(_ messages: [HeldMessage], at now: Instant) {
        var senders: [Participant] = []
        for message in messages {
            guard let sender = message.sender else { continue }
            sender.heldData -= message.cost
            if !senders.contains(where: { $0 === sender }) { senders.append(sender) }
        }
        for sender in senders where !sender.hasLeft { tellHeld(of: sender, at: now) }
    }

    /// The way for reliable messages to somebody, when it is there. The room's own channels have their names before
    /// they are open.
    private func openReliable(of participant: Participant) -> (connection: Connection, channel: DataChannelID)? {
        guard let connection = participant.primary, let channel = connection.channels[.reliable],
            media.withMachine(of: connection.id, { $0.dataChannel(channel)?.state == .open }) == true
        else { return nil }
        return (connection, channel)
    }

    /// What waits cannot be sent any more, nor what is sent after it: a stream with a hole is of no use. Where nothing
    /// waits the client may make its channel anew, or be about to leave (`hasLostReliable`).
    private func reliableClosed(of connection: Connection, at now: Instant) {
        let participant = connection.participant
        guard connection === participant.primary, !participant.mode.isExchange else { return }
        guard participant.outbox.isEmpty else {
            dropOutbox(of: participant, at: now)
            participant.isGivenUp = true
            return
        }
        connection.channels[.reliable] = openReliable(ofClient: connection)
        // One that never came about is no loss: its client has media alone.
        if connection.channels[.reliable] == nil, connection.hasHadReliable { connection.lostReliableAt = now }
    }

    /// A channel for reliable messages that the client has made before another one, and has not closed.
    private func openReliable(ofClient connection: Connection) -> DataChannelID? {
        guard connection.role != .subscriber else { return nil }
        return media.withMachine(of: connection.id) { machine -> DataChannelID? in
            machine.dataChannels.last { id in
                guard let channel = machine.dataChannel(id) else { return false }
                return channel.isRemote && channel.state == .open && channel.label == DataLabel.reliable.rawValue
            }
        } ?? nil
    }

    /// Whether somebody is to come back with a connection that is new: a reliable message was left out for it, it has
    /// no channel for them any more, or others wait for it in vain.
    func mustReturn(_ participant: Participant, at now: Instant) -> Bool {
        participant.isGivenUp || hasLostReliable(participant, at: now) || isStuck(participant, at: now)
    }

    /// Whether media go on, but reliable messages never will: the room's own channels do not come again, and a client
    /// has had the time to make one.
    private func hasLostReliable(_ participant: Participant, at now: Instant) -> Bool {
        guard participant.phase == .active, let connection = participant.primary, connection.state == .connected,
            let lostAt = connection.lostReliableAt
        else { return false }
        return now - lostAt >= Self.channelTimeout
    }

    /// Nothing is sent to one who has left, and nobody waits for it.
    func dropOutbox(of participant: Participant, at now: Instant) {
        var released: [HeldMessage] = []
        while !participant.outbox.isEmpty {
            if let message = participant.outbox.removeFirst() { released.append(message) }
        }
        release(released, at: now)
    }

    /// Whether others wait for one who takes next to nothing.
    func isStuck(_ participant: Participant, at now: Instant) -> Bool {
        guard !participant.outbox.isEmpty else { return false }
        guard participant.phase == .active, let way = openReliable(of: participant) else {
            participant.outbox.forgetMark()
            return false
        }
        let waiting = media.withMachine(of: way.connection.id) { $0.bufferedAmount(of: way.channel) } ?? 0
        return participant.outbox.isStuck(waiting: waiting, at: now)
    }

    /// What cannot be sent at once is of no use later.
    func sendDataTrack(_ packet: [UInt8], to participant: Participant, at now: Instant) {
        _ = sendNow(packet, .tracks, to: participant, at: now)
    }

    private func sendNow(
        _ bytes: [UInt8], _ label: DataLabel, to participant: Participant, at now: Instant
    ) -> Sending {
        guard let connection = participant.primary, let channel = connection.channels[label] else { return .tooEarly }
        return media.withMachine(of: connection.id) { machine in
            let limit = label == .reliable ? Self.reliableBuffer : Self.lossyBuffer
            if machine.bufferedAmount(of: channel) > limit { return .tooEarly }
            do throws(DataChannelError) {
                try machine.send(.binary(bytes), on: channel, at: now)
                return .sent
            } catch {
                if case .messageTooLarge = error { return .impossible }
                return .tooEarly
            }
        } ?? .impossible
    }

    private func sendOutbox(of participant: Participant, at now: Instant) {
        var released: [HeldMessage] = []
        sending: while let message = participant.outbox.next {
            switch sendNow(message.bytes, .reliable, to: participant, at: now) {
            case .sent, .impossible:
                if let message = participant.outbox.removeFirst() { released.append(message) }
            case .tooEarly: break sending
            }
        }
        release(released, at: now)
    }

    /// Sends what somebody who was away has missed.
    func replay(to participant: Participant, from states: [LiveKitDataChannelReceiveState], at now: Instant) {
        let received = Dictionary(states.map { ($0.publisherSid, $0.lastSeq) }) { first, _ in first }
        for sender in people where sender !== participant {
            guard let last = received[sender.sid.rawValue] else { continue }
            for entry in sender.messages.entries where entry.sequence > last {
                guard entry.destinations.isEmpty || entry.destinations.contains(participant.identity) else { continue }
                deliver(entry.bytes, .reliable, to: participant, at: now)
            }
        }
    }
}
