import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// The client's offers: for the connection it publishes on, or for its only one.
extension RoomMachine {
    func takeOffer(
        _ offer: LiveKitSessionDescription, _ said: ClientMessage, from participant: Participant, at now: Instant
    ) {
        guard let description = said.description else { return negotiationFailed(participant, at: now) }
        participant.publisher?.offered = said.offered
        answer(description, id: offer.id, from: participant, at: now)
    }

    /// - Parameter id: the client's number of the offer, which the answer repeats.
    func answer(_ offer: SessionDescription, id: UInt32, from participant: Participant, at now: Instant) {
        let connection =
            participant.publisher
            ?? makeConnection(participant.mode == .single ? .only : .publisher, for: participant, at: now)
        do throws(PeerError) {
            try apply(offer, on: connection, at: now)
        } catch {
            return negotiationFailed(participant, at: now)
        }
        guard let answer = media.withMachine(of: connection.id, { $0.localDescription?.sdp }) ?? nil else { return }
        let hasNewPaths = tellFragment(of: connection, in: answer)
        send(
            .answer(
                .with {
                    $0.type = "answer"
                    $0.sdp = answer.text
                    $0.id = id
                    $0.midToTrackID = midMap(of: connection)
                }), to: participant)
        if hasNewPaths { trickle(answer, of: connection) }
        publishBoundTracks(of: participant, at: now)
        guard connection.role == .only else { return }
        checkSubscriptions(on: connection, at: now)
        askAgain(connection)
    }

    func apply(_ offer: SessionDescription, on connection: Connection, at now: Instant) throws(PeerError) {
        let participant = connection.participant
        try media.withMachine(of: connection.id) { machine throws(PeerError) in
            try machine.setRemoteDescription(.offer, offer, at: now)
        }
        endTracks(of: participant, missingIn: offer, at: now)
        bindTracks(of: participant, to: offer)
        if connection.role == .only { assignSections(of: connection, at: now) }
        try media.withMachine(of: connection.id) { machine throws(PeerError) in
            try machine.setLocalDescription(.answer, try machine.createAnswer(), at: now)
        }
    }

    // MARK: Sections to send in, for a client of one connection

    struct SpareSection {
        var transceiver: TransceiverID
        var kind: MediaKind
    }

    func waitingSubscriptions(of participant: Participant) -> [SubscribedTrack] {
        participant.subscriptions.values.filter { $0.transceiver == nil }
            .sorted { $0.track.sid.rawValue < $1.track.sid.rawValue }
    }

    /// Sections that the client wants to receive in and that carry nothing. One that has carried something is free once
    /// the client knows that it is inactive.
    func spareSections(of connection: Connection) -> [SpareSection] {
        let used = Set(connection.participant.subscriptions.values.compactMap(\.transceiver))
        return media.withMachine(of: connection.id) { machine in
            guard let offer = machine.remoteDescription?.sdp else { return [] }
            return machine.transceivers.compactMap { transceiver in
                guard let index = transceiver.mLineIndex, offer.media.indices.contains(index),
                    !offer.media[index].isRejected, !used.contains(transceiver.id),
                    offer.direction(ofSection: index) == .recvonly,
                    transceiver.currentDirection == nil || transceiver.currentDirection == .inactive
                else { return nil }
                return SpareSection(transceiver: transceiver.id, kind: transceiver.kind)
            }
        } ?? []
    }

    /// Gives those who wait the sections of the offer that is to be answered.
    private func assignSections(of connection: Connection, at now: Instant) {
        connection.asked.audio = 0
        connection.asked.video = 0
        connection.asked.isOutstanding = false
        connection.asked.hasServed = false
        var spare = spareSections(of: connection)
        for subscription in waitingSubscriptions(of: connection.participant) {
            guard let place = spare.firstIndex(where: { $0.kind == subscription.track.kind }) else { continue }
            let section = spare.remove(at: place)
            connection.asked.hasServed = true
            attach(subscription, to: connection, on: section.transceiver, at: now)
        }
    }

    /// Somebody still waits after an offer: the client is asked once more, unless it has shown that it will not.
    private func askAgain(_ connection: Connection) {
        let waiting = waitingSubscriptions(of: connection.participant).count
        connection.asked.fruitless = waiting == 0 || connection.asked.hasServed ? 0 : connection.asked.fruitless + 1
        guard waiting > 0, connection.asked.fruitless <= AskedSections.maximumFruitless else { return }
        negotiate(connection)
    }
}
