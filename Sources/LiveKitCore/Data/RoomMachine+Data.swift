import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf

/// Messages from one to others. Who sent one is filled in, to whom it goes is looked at, and nothing else.
extension RoomMachine {
    func take(_ event: DataChannelEvent, on channel: DataChannelID, of connection: Connection, at now: Instant) {
        switch event {
        case .announced(let description):
            // The last one of a name counts: a client that makes its channels anew has given up those before.
            guard connection.role != .subscriber, let label = DataLabel(rawValue: description.label) else { return }
            connection.channels[label] = channel
        case .open, .bufferedAmountLow:
            guard connection.channels[.reliable] == channel else { return }
            media.withMachine(of: connection.id) {
                $0.setBufferedAmountLowThreshold(Self.lowBuffer, of: channel)
            }
            sendOutbox(of: connection.participant, at: now)
        case .message(let message):
            guard case .binary(let bytes) = message, connection === connection.participant.publisher,
                let label = connection.channels.first(where: { $0.value == channel })?.key
            else { return }
            receive(bytes, label, from: connection.participant, at: now)
        case .closed:
            for (label, id) in connection.channels where id == channel { connection.channels[label] = nil }
        case .bufferedAmount, .closing: break
        }
    }

    /// What waits on a channel when more reliable messages are given to it, in bytes.
    private static let lowBuffer = 64 << 10
    /// A lossy message is of no use behind so much.
    private static let lossyBuffer = 256 << 10
    /// Reliable ones wait in the participant's outbox, which is bounded, behind so much.
    private static let reliableBuffer = 512 << 10

    // MARK: In

    private func receive(_ bytes: [UInt8], _ label: DataLabel, from sender: Participant, at now: Instant) {
        let limits = configuration.limits
        guard label != .tracks, sender.grants.mayPublishData, bytes.count <= limits.dataMessageBytes,
            var packet = try? LiveKitDataPacket(serializedBytes: bytes),
            // What is in one may be newer than we are, but something is.
            packet.value != nil || !packet.unknownFields.data.isEmpty
        else { return }
        if label == .reliable, !sender.messages.isNew(packet.sequence) { return }
        guard !completesCall(packet, from: sender, at: now) else { return }
        packet.kind = label == .reliable ? .reliable : .lossy
        // Whoever sends cannot say that it was somebody else; and of whom nobody sees nobody hears.
        packet.participantIdentity = sender.isHidden ? "" : sender.identity
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
        if label == .reliable, packet.sequence > 0 {
            sender.messages.keep(
                MessageLog.Entry(sequence: packet.sequence, bytes: forwarded, destinations: destinations), limits)
        }
        let isMetrics = if case .metrics? = packet.value { true } else { false }
        for participant in people where participant !== sender {
            guard destinations.isEmpty || destinations.contains(participant.identity),
                !isMetrics || participant.grants.maySubscribeToMetrics
            else { continue }
            deliver(forwarded, label, to: participant, at: now)
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

    func deliver(_ bytes: [UInt8], _ label: DataLabel, to participant: Participant, at now: Instant) {
        // Nothing is to wait for a channel that never opens.
        guard !participant.mode.isExchange else { return }
        switch label {
        case .reliable:
            // Behind those that wait already.
            guard participant.outbox.isEmpty else { return participant.outbox.hold(bytes) }
            switch sendNow(bytes, label, to: participant, at: now) {
            case .sent, .impossible: break
            case .tooEarly: participant.outbox.hold(bytes)
            }
        case .lossy, .tracks: _ = sendNow(bytes, label, to: participant, at: now)
        }
    }

    private func sendNow(
        _ bytes: [UInt8], _ label: DataLabel, to participant: Participant, at now: Instant
    ) -> Sending {
        guard let connection = participant.primary, let channel = connection.channels[label] else { return .tooEarly }
        return media.withMachine(of: connection.id) { machine in
            let limit = label == .lossy ? Self.lossyBuffer : Self.reliableBuffer
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
        while let message = participant.outbox.next {
            switch sendNow(message, .reliable, to: participant, at: now) {
            case .sent, .impossible: participant.outbox.removeFirst()
            case .tooEarly: return
            }
        }
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
