import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf

/// What is known of how somebody's connection is.
struct QualityRecord {
    var judge = QualityJudge()
    var score = 100.0
    /// As counted last, by source.
    var inbound: [UInt32: Counts] = [:]
    var outbound: [UInt32: SentCounts] = [:]
    /// Whose word this participant has, and which.
    var told: [ParticipantSID: SFUCore.ConnectionQuality] = [:]

    struct Counts {
        var packets: Int64
        var lost: Int64
    }

    /// Of a source that is sent.
    struct SentCounts {
        var packets: Int64
        /// As the receiver reports it.
        var lost: Int64
        /// What the track had lost on its way here when this was first looked at.
        let base: Int64
        /// What of the receiver's losses cannot have been lost on the way here.
        var own: Int64
    }
}

/// Connection quality: of everybody every five seconds, to those who have their tracks. Not of all at once: statistics
/// take time, and packets would wait.
extension RoomMachine {
    /// Five seconds' worth of `checkInterval`s. Everybody has a turn in one of them.
    static let qualityTurns = 10

    func judgeQuality(at now: Instant) {
        qualityTurn = (qualityTurn + 1) % Self.qualityTurns
        let turn = people.filter { $0.phase == .active && $0.qualityTurn == qualityTurn }
        let reports = turn.map { participant in
            participant.connections.compactMap { connection in
                media.withMachine(of: connection.id) { $0.streamStats(at: now) }.map {
                    (connection: connection, report: $0)
                }
            }
        }
        // First what comes: what did not come cannot be lost on the way to others.
        var observations = zip(turn, reports).map { observeInbound(of: $0, $1.map(\.report)) }
        for (place, participant) in turn.enumerated() {
            observations[place] += observeOutbound(to: participant, reports[place])
            participant.quality.score = observations[place].filter { !$0.isMuted }.map(\.score).min() ?? 100
            _ = participant.quality.judge.observe(observations[place])
        }
        for participant in turn { tellQuality(to: participant) }
    }

    /// What is new of the participant itself and of those whose tracks it has.
    private func tellQuality(to listener: Participant) {
        var updates: [LiveKitConnectionQualityInfo] = []
        var told: [ParticipantSID: SFUCore.ConnectionQuality] = [:]
        for participant in [listener] + listener.subscriptions.values.map(\.track.publisher)
        where told[participant.sid] == nil {
            let quality = participant.quality.judge.quality
            told[participant.sid] = quality
            guard listener.quality.told[participant.sid] != quality else { continue }
            updates.append(
                .with {
                    $0.participantSid = participant.sid.rawValue
                    $0.quality = LiveKitConnectionQuality(quality)
                    // Of LiveKit's scale, which ends at 5.
                    $0.score = Float(participant.quality.score / 20)
                })
        }
        listener.quality.told = told
        guard !updates.isEmpty else { return }
        send(
            .connectionQuality(.with { $0.updates = updates.sorted { $0.participantSid < $1.participantSid } }),
            to: listener)
    }

    /// What has come of each track of a participant.
    private func observeInbound(of participant: Participant, _ reports: [StatsReport]) -> [QualityObservation] {
        var observations: [QualityObservation] = []
        var counted: [UInt32: QualityRecord.Counts] = [:]
        for track in participant.tracks {
            for version in track.versions {
                version.noteMissing(layers: version.publication.map { media.missingLayers(of: $0) } ?? 0)
            }
        }
        for report in reports {
            let roundTrip = report.remoteInboundRTP.compactMap(\.roundTripTime).max() ?? 0
            for stream in report.inboundRTP {
                let counts = QualityRecord.Counts(
                    packets: Int64(clamping: stream.ownPacketsReceived), lost: max(stream.packetsLost, 0))
                counted[stream.ssrc] = counts
                let track = participant.tracks.first { $0.versions.contains { $0.mid == stream.mid } }
                let version = track?.versions.first { $0.mid == stream.mid }
                let before = participant.quality.inbound[stream.ssrc]
                if let version {
                    let recovered = version.publication.map(media.recoveredPackets) ?? 0
                    version.lost += max(counts.lost - (before?.lost ?? 0) - (recovered - version.recovered), 0)
                    version.recovered = recovered
                }
                guard let before else { continue }
                var observed = observation(
                    stream.kind == "video" ? .video : track?.isRedundant == true ? .redundantAudio : .audio, counts,
                    since: before, jitter: stream.jitter, roundTrip: roundTrip,
                    // A layer that nobody wants is not sent.
                    maySleep: track?.info.muted == true || stream.kind == "video")
                observed.missingLayers = version?.missingLayers ?? 0
                observations.append(observed)
            }
        }
        participant.quality.inbound = counted
        return observations
    }

    /// How what was sent to a participant has arrived.
    private func observeOutbound(
        to participant: Participant, _ reports: [(connection: Connection, report: StatsReport)]
    ) -> [QualityObservation] {
        var observations: [QualityObservation] = []
        var counted: [UInt32: QualityRecord.SentCounts] = [:]
        for (connection, report) in reports {
            let sections = midMap(of: connection)
            for stream in report.remoteInboundRTP {
                guard let sent = report.outboundRTP.first(where: { $0.ssrc == stream.ssrc }),
                    let track = sent.mid.flatMap({ sections[$0] }).flatMap({ tracks[TrackSID(rawValue: $0)] })
                else { continue }
                let version = participant.subscriptions[track.sid]?.version ?? track.primary
                let before = participant.quality.outbound[stream.ssrc]
                var counts = QualityRecord.SentCounts(
                    packets: Int64(clamping: sent.ownPacketsSent), lost: max(stream.packetsLost, 0),
                    base: before?.base ?? version.lost, own: before?.own ?? 0)
                defer { counted[stream.ssrc] = counts }
                guard let before else { continue }
                // What was lost before it came here keeps its number, and the receiver misses it. Its former report is
                // compared with what is known now, which is at least as late: nothing is held against it by mistake.
                counts.own = max(before.own, before.lost - (version.lost - counts.base))
                let lost = counts.own - before.own
                var observed = observation(
                    stream.kind == "video" ? .video : hasRedundancy(track, participant) ? .redundantAudio : .audio,
                    QualityRecord.Counts(
                        packets: max(counts.packets - lost, before.packets), lost: before.lost + lost),
                    since: QualityRecord.Counts(packets: before.packets, lost: before.lost),
                    jitter: stream.jitter, roundTrip: stream.roundTripTime ?? 0, maySleep: true)
                if let publication = version.publication {
                    observed.missingLayers = media.missingLayers(to: connection.id, of: publication)
                }
                observations.append(observed)
            }
        }
        participant.quality.outbound = counted
        return observations
    }

    /// Whether a subscriber gets a track with earlier packets (RFC 2198).
    private func hasRedundancy(_ track: Track, _ participant: Participant) -> Bool {
        guard track.isRedundant, let connection = participant.subscriber,
            let transceiver = participant.subscriptions[track.sid]?.transceiver
        else { return false }
        return media.withMachine(of: connection.id) { $0.redundancy(on: transceiver) != nil } ?? false
    }

    private func observation(
        _ media: QualityObservation.Media, _ counts: QualityRecord.Counts, since before: QualityRecord.Counts,
        jitter: Double,
        roundTrip: Double, maySleep: Bool
    ) -> QualityObservation {
        let received = Int(clamping: max(counts.packets - before.packets, 0))
        let lost = Int(clamping: max(counts.lost - before.lost, 0))
        return QualityObservation(
            media: media, expectedPackets: received + lost, lostPackets: lost,
            roundTrip: .seconds(min(roundTrip, 10)), jitter: .seconds(min(jitter, 10)),
            isMuted: maySleep && received + lost == 0)
    }
}

extension LiveKitConnectionQuality {
    init(_ quality: SFUCore.ConnectionQuality) {
        switch quality {
        case .lost: self = .lost
        case .poor: self = .poor
        case .good: self = .good
        case .excellent: self = .excellent
        }
    }
}
