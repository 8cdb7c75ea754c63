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
    var outbound: [UInt32: Counts] = [:]
    /// Whose word this participant has, and which.
    var told: [ParticipantSID: SFUCore.ConnectionQuality] = [:]

    struct Counts {
        var packets: Int64
        var lost: Int64
    }
}

/// Connection quality: every five seconds, of everybody, to those who have their tracks.
extension RoomMachine {
    static let qualityInterval = Interval.seconds(Int64(5))

    func judgeQuality(at now: Instant) {
        for participant in people where participant.phase == .active {
            let observations = observe(participant, at: now)
            participant.quality.score = observations.filter { !$0.isMuted }.map(\.score).min() ?? 100
            _ = participant.quality.judge.observe(observations)
        }
        for listener in people where listener.phase == .active {
            var updates: [LiveKitConnectionQualityInfo] = []
            var told: [ParticipantSID: SFUCore.ConnectionQuality] = [:]
            for participant in people where participant === listener || listener.sees(participant) {
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
            guard !updates.isEmpty else { continue }
            send(.connectionQuality(.with { $0.updates = updates }), to: listener)
        }
    }

    /// What has come of each track of a participant, and how what was sent to it has arrived.
    private func observe(_ participant: Participant, at now: Instant) -> [QualityObservation] {
        var observations: [QualityObservation] = []
        var inbound: [UInt32: QualityRecord.Counts] = [:]
        var outbound: [UInt32: QualityRecord.Counts] = [:]
        for connection in participant.connections {
            guard let report = media.withMachine(of: connection.id, { $0.stats(at: now) }) else { continue }
            let remote = report.remoteInboundRTP
            let roundTrip = remote.compactMap(\.roundTripTime).max() ?? 0
            for stream in report.inboundRTP {
                let counts = QualityRecord.Counts(
                    packets: Int64(clamping: stream.packetsReceived), lost: max(stream.packetsLost, 0))
                inbound[stream.ssrc] = counts
                guard let before = participant.quality.inbound[stream.ssrc] else { continue }
                let track = participant.tracks.first { $0.info.mid == stream.mid }
                observations.append(
                    observation(
                        stream.kind, counts, since: before, jitter: stream.jitter, roundTrip: roundTrip,
                        // A layer that nobody wants is not sent.
                        maySleep: track?.info.muted == true || stream.kind == "video"))
            }
            for stream in remote {
                let sent = report.outboundRTP.first { $0.ssrc == stream.ssrc }?.packetsSent ?? 0
                let counts = QualityRecord.Counts(packets: Int64(clamping: sent), lost: max(stream.packetsLost, 0))
                outbound[stream.ssrc] = counts
                guard let before = participant.quality.outbound[stream.ssrc] else { continue }
                var sentSince = counts
                // The receiver's losses are among what was sent.
                sentSince.packets = max(counts.packets - (counts.lost - before.lost), before.packets)
                observations.append(
                    observation(
                        stream.kind, sentSince, since: before, jitter: stream.jitter, roundTrip: roundTrip,
                        maySleep: true))
            }
        }
        participant.quality.inbound = inbound
        participant.quality.outbound = outbound
        return observations
    }

    private func observation(
        _ kind: String, _ counts: QualityRecord.Counts, since before: QualityRecord.Counts, jitter: Double,
        roundTrip: Double, maySleep: Bool
    ) -> QualityObservation {
        let received = Int(clamping: max(counts.packets - before.packets, 0))
        let lost = Int(clamping: max(counts.lost - before.lost, 0))
        return QualityObservation(
            media: kind == "video" ? .video : .audio, expectedPackets: received + lost, lostPackets: lost,
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
