import LiveKitProtocol
package import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// Participants whose signaling is one offer and its answer: how they come, find new paths, and go. The others see them
/// as they see anybody.
extension RoomMachine {
    /// Somebody comes with an offer, of which all is taken or nothing.
    ///
    /// - Parameter arrival: its mode says what for, and its request has the offer.
    package func open(_ arrival: Arrival, at now: Instant) throws(JoinRefusal) -> ExchangeAnswer {
        guard phase == .open else { throw .roomEnded }
        guard case .exchange(let exchange) = arrival.mode else { throw .badOffer("there is nothing to exchange") }
        // Who publishes as INGRESS takes a place, whatever its token says that it is.
        var arrival = arrival
        if exchange == .publishing(.ours) {
            arrival.claims.kind = "ingress"
            arrival.claims.video?.agent = false
            arrival.claims.video?.recorder = false
        }
        let claims = try admit(arrival)
        let offer = try judgeOffer(of: arrival, for: exchange)
        return try open(arrival, claims, exchange, offer, at: now)
    }

    /// Takes an offer that was found good as far as it can be judged without a connection. Only when the connection has
    /// answered it, too, does anything that is there change: whoever had the identity has it still otherwise, and
    /// nobody hears of the attempt.
    func open(
        _ arrival: Arrival, _ claims: AccessToken.Claims, _ exchange: Exchange, _ offer: SessionDescription,
        at now: Instant
    ) throws(JoinRefusal) -> ExchangeAnswer {
        let grants = claims.video ?? VideoGrants()
        var announcements: [LiveKitAddTrackRequest] = []
        switch exchange {
        case .publishing(let form):
            announcements = try announce(offer, grants, form)
        case .playing:
            guard grants.maySubscribe else { throw .mayNotSubscribe }
        }
        defer { settle(at: now) }
        let signal = makeSignal()
        let participant = makeParticipant(arrival, claims, signal, at: now)
        for request in announcements { addTrack(request, of: participant, at: now) }
        let connection = makeConnection(exchange.isPlaying ? .player : .publisher, for: participant, at: now)
        let answer: SessionDescription
        do throws(JoinRefusal) {
            answer = try self.answer(offer, exchange, on: connection, at: now)
        } catch {
            discard(participant, at: now)
            throw error
        }
        enter(participant, signal, at: now)
        tellOf(participant)
        tellRecording()
        tellFragment(of: connection, in: answer)
        for track in participant.tracks { nameLayers(of: track, on: connection) }
        publishBoundTracks(of: participant, at: now)
        return ExchangeAnswer(signal: signal, sdp: answer.text)
    }

    /// - Returns: the answer, in which each of the participant's tracks can be published.
    private func answer(
        _ offer: SessionDescription, _ exchange: Exchange, on connection: Connection, at now: Instant
    ) throws(JoinRefusal) -> SessionDescription {
        do throws(PeerError) {
            switch exchange {
            case .publishing: try apply(offer, on: connection, at: now)
            case .playing: try self.answer(offer, toPlayer: connection, at: now)
            }
        } catch {
            throw .badOffer("\(error)")
        }
        guard let answer = media.withMachine(of: connection.id, { $0.localDescription?.sdp }) ?? nil else {
            throw .badOffer("there is no answer")
        }
        guard connection.participant.tracks.allSatisfy({ describe($0, $0.primary, on: connection) != nil }) else {
            throw .unsuitableOffer("A section cannot be published.")
        }
        return answer
    }

    /// Somebody has not come in after all.
    private func discard(_ participant: Participant, at now: Instant) {
        for track in participant.tracks { tracks[track.sid] = nil }
        for connection in participant.connections {
            byPeer[connection.id] = nil
            media.remove(connection.id, at: now)
        }
        participant.phase = .left
        participant.publisher = nil
        participant.subscriber = nil
    }

    /// The client ends its session.
    package func close(_ signal: SignalID, at now: Instant) {
        guard let participant = bySignal[signal] else { return }
        leave(participant, at: now)
        settle(at: now)
    }

    // MARK: Paths

    /// Candidates of the client's, or another credential, with which it looks for new paths.
    ///
    /// - Parameter isRestart: the client asks for new paths. It gets our part also where it has them already: the
    ///   answer to its first request was lost.
    /// - Returns: our part of the transport; nil when nothing is to be answered.
    package func take(
        _ fragment: TrickleFragment, from signal: SignalID, isRestart: Bool = false, at now: Instant
    ) throws(ExchangeRefusal) -> OwnTransport? {
        guard let participant = bySignal[signal], let connection = participant.publisher,
            case .answered = participant.signaling
        else { throw .noSuchSession }
        defer { settle(at: now) }
        let offer = media.withMachine(of: connection.id) { $0.remoteDescription?.sdp } ?? nil
        guard let offer else { throw .noSuchSession }
        let present = offer.credential("ice-ufrag")
        guard let name = fragment.usernameFragment, name != present else {
            take(fragment.candidates, isComplete: fragment.isComplete, on: connection, at: now)
            guard isRestart, fragment.password != nil, !connection.formerNames.isEmpty else { return nil }
            return try ownTransport(on: connection, isNew: false)
        }
        // RFC 9725 §4.3.1: what a client has kept of the paths before may come late.
        guard !connection.formerNames.contains(name) else { throw .former }
        guard fragment.password != nil else { throw .unusable("A new credential has a password.") }
        do throws(PeerError) {
            try agree(on: offer.restarted(with: fragment), connection, at: now)
        } catch {
            throw .unusable("\(error)")
        }
        if case .interrupted = participant.phase { participant.phase = .interrupted(until: now + Self.restartTimeout) }
        connection.formerNames = connection.formerNames.suffix(Self.formerNameLimit - 1) + [present].compactMap { $0 }
        return try ownTransport(on: connection, isNew: true)
    }

    /// How many credentials that a client had before are known.
    private static let formerNameLimit = 16

    private func ownTransport(on connection: Connection, isNew: Bool) throws(ExchangeRefusal) -> OwnTransport {
        guard let answer = media.withMachine(of: connection.id, { $0.localDescription?.sdp }) ?? nil else {
            throw .noSuchSession
        }
        if isNew { tellFragment(of: connection, in: answer) }
        return OwnTransport(fragment: answer.transportFragment, isNew: isNew)
    }

    /// What cannot be used is no fault: a lite agent waits to be checked.
    private func take(
        _ candidates: [TrickleFragment.Candidate], isComplete: Bool, on connection: Connection, at now: Instant
    ) {
        media.withMachine(of: connection.id) { machine in
            for candidate in candidates {
                try? machine.addICECandidate(
                    candidate.line, mid: candidate.mid, mLineIndex: candidate.mid == nil ? 0 : nil,
                    usernameFragment: nil, at: now)
            }
            guard isComplete else { return }
            try? machine.addICECandidate("", mid: nil, mLineIndex: nil, usernameFragment: nil, at: now)
        }
    }

    /// Agrees on an offer that the client has not made in so many words. Nothing has changed when it cannot be.
    func agree(on offer: SessionDescription, _ connection: Connection, at now: Instant) throws(PeerError) {
        try media.withMachine(of: connection.id) { machine throws(PeerError) in
            try machine.setRemoteDescription(.offer, offer, at: now)
            do throws(PeerError) {
                try machine.setLocalDescription(.answer, try machine.createAnswer(), at: now)
            } catch {
                try machine.setRemoteDescription(.rollback, nil, at: now)
                throw error
            }
        }
    }

    // MARK: Reading offers

    /// An offer, as far as it can be judged before there is a connection. Nobody would hear of a section that was
    /// refused: an exchange succeeds wholly, or not at all (RFC 9725 §4.4.3).
    private func judgeOffer(of arrival: Arrival, for exchange: Exchange) throws(JoinRefusal) -> SessionDescription {
        var arrival = arrival
        try arrival.readOffer()
        guard let offer = arrival.offer else { throw .badOffer("there is none") }
        let answer: SessionDescription
        do {
            var trial = Negotiator(configuration: negotiation, random: .seeded(0))
            _ = try trial.setRemote(.offer, offer)
            answer = try trial.createAnswer(ice: ICEParameters(usernameFragment: "trial", password: "trial"))
        } catch {
            throw .badOffer("\(error)")
        }
        let sections = offer.media.indices.filter { MediaKind(rawValue: offer.media[$0].kind) != nil }
        guard !sections.isEmpty else { throw .unsuitableOffer("It has neither sound nor pictures.") }
        for index in sections {
            let direction = offer.direction(ofSection: index)
            switch exchange {
            case .publishing:
                guard direction.sends else { throw .unsuitableOffer("Section \(index) sends nothing.") }
            case .playing:
                guard direction.receives else { throw .unsuitableOffer("Section \(index) receives nothing.") }
            }
            guard answer.media.indices.contains(index), !answer.media[index].isRejected else {
                throw .unsuitableOffer("Section \(index) has no codec that is known here, or is not bundled.")
            }
        }
        return offer
    }

    // MARK: Tracks

    /// What somebody would have said of its tracks, had it a way to: of each kind the first is the camera's or the
    /// microphone's and the second the screen's, as far as the token lets them be published.
    private func announce(
        _ offer: SessionDescription, _ grants: VideoGrants, _ form: PublisherForm
    ) throws(JoinRefusal) -> [LiveKitAddTrackRequest] {
        var taken: Set<LiveKitTrackSource> = []
        var requests: [LiveKitAddTrackRequest] = []
        for (index, section) in offer.media.enumerated() {
            guard let kind = MediaKind(rawValue: section.kind) else { continue }
            let sources: [LiveKitTrackSource] =
                switch kind {
                case .video: [.camera, .screenShare]
                case .audio: [.microphone, .screenShareAudio]
                }
            let free = sources.filter { !taken.contains($0) } + [.unknown]
            guard requests.count < configuration.limits.tracksPerParticipant else {
                throw .unsuitableOffer(
                    "It has more sections than somebody may have tracks (\(configuration.limits.tracksPerParticipant))."
                )
            }
            guard let source = free.first(where: { grants.mayPublish($0) }) else { throw .mayNotPublish }
            if !form.repeatsSources { taken.insert(source) }
            requests.append(
                .with {
                    // With a space, which is in no name that an offer has for a track.
                    $0.cid = "section \(index)"
                    $0.name = form.name(source.claimName ?? section.kind)
                    $0.type = kind == .video ? .video : .audio
                    $0.source = source
                    $0.disableDtx = form == .liveKits && kind == .audio
                })
        }
        return requests
    }

    /// The layers that the answer has taken, the smallest first, by the qualities that subscribers ask for.
    private func nameLayers(of track: Track, on connection: Connection) {
        guard track.kind == .video, let id = track.transceiver else { return }
        let names =
            media.withMachine(of: connection.id) { machine in
                machine.transceivers.first { $0.id == id }?.receiveParameters?.layers.map(\.rid)
            } ?? nil
        guard let names, names.count > 1 else { return }
        let qualities: [LiveKitVideoQuality] = [.low, .medium, .high]
        let layers = zip(names, Track.spatialLayers(names)).sorted { $0.1 < $1.1 }.map { name, place in
            LiveKitVideoLayer.with {
                $0.quality = qualities[min(place, qualities.count - 1)]
                $0.rid = name
                $0.spatialLayer = Int32(clamping: place)
            }
        }
        track.info.simulcast = true
        track.info.layers = layers
        guard !track.info.codecs.isEmpty else { return }
        track.info.codecs[0].layers = layers
        track.info.codecs[0].videoLayerMode = .oneSpatialLayerPerStream
    }
}
