import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// Where the room has something to tell by a description: it offers itself, or asks the client to offer.
extension RoomMachine {
    /// Something has changed that a description has to say.
    func negotiate(_ connection: Connection) {
        guard !connection.needsNegotiation else { return }
        connection.needsNegotiation = true
        unsettled.append(connection)
    }

    /// Tells all who are to be told: once for all that has changed since the last time.
    func settle(at now: Instant) {
        while !unsettled.isEmpty {
            let connections = unsettled
            unsettled = []
            for connection in connections where byPeer[connection.id] === connection {
                // While nobody can be told, the change waits for the client to come back.
                if case .detached = connection.participant.signaling { continue }
                switch connection.role {
                case .subscriber: offer(connection, at: now)
                case .only: askForSections(connection)
                case .publisher: connection.needsNegotiation = false
                case .player: fillSections(of: connection, at: now)
                }
            }
        }
    }

    private func offer(_ connection: Connection, at now: Instant) {
        guard connection.needsNegotiation else { return }
        let needsRestart = connection.needsRestart
        do {
            let offer = try media.withMachine(of: connection.id) { machine throws(PeerError) -> SessionDescription? in
                // The answer to the one before is awaited; then comes the next. An answer that was lost with the
                // signaling connection never comes: the next offer takes the place of the one before, and names its
                // sections as that did, for the client may have taken it.
                guard machine.signalingState == .stable || needsRestart && machine.signalingState == .haveLocalOffer
                else { return nil }
                try machine.setLocalDescription(
                    .offer, try machine.createOffer(iceRestart: needsRestart), at: now)
                return machine.localDescription?.sdp
            }
            guard let offer = offer ?? nil else { return }
            connection.needsNegotiation = false
            connection.needsRestart = false
            connection.lastOffer += 1
            connection.offeredAt = now
            let hasNewPaths = tellFragment(of: connection, in: offer)
            send(
                .offer(
                    .with {
                        $0.type = "offer"
                        $0.sdp = offer.text
                        $0.id = connection.lastOffer
                        $0.midToTrackID = midMap(of: connection)
                    }), to: connection.participant)
            if hasNewPaths { trickle(offer, of: connection) }
        } catch {
            negotiationFailed(connection.participant, at: now)
        }
    }

    /// The client's answer to an offer of ours.
    func takeAnswer(
        _ answer: LiveKitSessionDescription, _ description: SessionDescription?, from participant: Participant,
        at now: Instant
    ) {
        guard let connection = participant.subscriber, connection.role == .subscriber,
            // Some clients do not count. What answers an offer that another has replaced is of no use.
            answer.id == 0 || answer.id == connection.lastOffer
        else { return }
        guard let description else { return negotiationFailed(participant, at: now) }
        do throws(PeerError) {
            try media.withMachine(of: connection.id) { machine throws(PeerError) in
                guard machine.signalingState == .haveLocalOffer else { return }
                try machine.setRemoteDescription(.answer, description, at: now)
            }
        } catch {
            return negotiationFailed(participant, at: now)
        }
        connection.offeredAt = nil
        checkSubscriptions(on: connection, at: now)
        subscribePostponed(on: connection, at: now)
        if connection.needsNegotiation { unsettled.append(connection) }
    }

    /// Which track is in which section.
    func midMap(of connection: Connection) -> [String: String] {
        let participant = connection.participant
        guard connection === participant.subscriber else { return [:] }
        let mids = media.withMachine(of: connection.id) { machine in
            Dictionary(machine.transceivers.map { ($0.id, $0.mid) }) { first, _ in first }
        }
        var map: [String: String] = [:]
        for (sid, subscription) in participant.subscriptions {
            guard let transceiver = subscription.transceiver, let mid = mids?[transceiver] ?? nil else { continue }
            map[mid] = sid.rawValue
        }
        return map
    }

    // MARK: Clients of one connection

    /// Asks the client to offer, with as many more sections to receive in as are missing: none, if only something else
    /// has changed.
    private func askForSections(_ connection: Connection) {
        let waiting = waitingSubscriptions(of: connection.participant)
        let spare = spareSections(of: connection).map(\.kind)
        func missing(_ kind: MediaKind, asked: Int) -> Int {
            let wanted = waiting.count { $0.track.kind == kind }
            return max(wanted - spare.count { $0 == kind } - asked, 0)
        }
        // More than a description has room for would end the session: those who are left out wait for a section.
        let count = media.withMachine(of: connection.id) { $0.transceivers.count } ?? 0
        let asked = connection.asked.audio + connection.asked.video
        let room = max(min(configuration.limits.transceivers - count, connection.offered.room) - asked, 0)
        let audio = min(missing(.audio, asked: connection.asked.audio), room)
        let video = min(missing(.video, asked: connection.asked.video), room - audio)
        connection.needsNegotiation = false
        // An offer is on its way, and will find what is ready for it.
        guard !connection.asked.isOutstanding || audio + video > 0 else { return }
        connection.asked.audio += audio
        connection.asked.video += video
        connection.asked.isOutstanding = true
        send(
            .mediaSectionsRequirement(
                .with {
                    $0.numAudios = UInt32(audio)
                    $0.numVideos = UInt32(video)
                }), to: connection.participant)
    }
}
