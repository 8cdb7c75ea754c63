internal import ClientKit
internal import RTCEngine

/// Turns W3C's counters into what a person reads: rates over the last interval.
struct StatisticsMeter {
    private struct Reading {
        var bytes: UInt64
        var frames: UInt64
        var at: Instant
    }

    private var last: [String: Reading] = [:]

    mutating func measure(_ report: StatsReport) -> CallStatistics {
        var statistics = CallStatistics()
        for stream in report.outboundRTP {
            var flow = CallStatistics.Flow(codec: codec(stream.codecID, report))
            rates(&flow, id: stream.id, bytes: stream.bytesSent, frames: stream.framesSent, at: stream.timestamp)
            flow.packets = Int(clamping: stream.ownPacketsSent)
            flow.packetsExpected = flow.packets
            if let remote = report.remoteInboundRTP.first(where: { $0.localID == stream.id }) {
                flow.packetsLost = Int(clamping: max(0, remote.packetsLost))
                flow.jitter = .seconds(remote.jitter)
                if statistics.roundTrip == nil, let roundTrip = remote.roundTripTime {
                    statistics.roundTrip = .seconds(roundTrip)
                }
            }
            if stream.kind == "video" { statistics.videoSent = flow } else { statistics.audioSent = flow }
        }
        for stream in report.inboundRTP {
            var flow = CallStatistics.Flow(codec: codec(stream.codecID, report))
            rates(
                &flow, id: stream.id, bytes: stream.bytesReceived, frames: stream.framesReceived, at: stream.timestamp)
            flow.packets = Int(clamping: stream.ownPacketsReceived)
            flow.packetsLost = Int(clamping: max(0, stream.packetsLost))
            flow.packetsExpected = flow.packets + flow.packetsLost
            flow.jitter = .seconds(stream.jitter)
            if stream.kind == "video" { statistics.videoReceived = flow } else { statistics.audioReceived = flow }
        }
        addPath(report, to: &statistics)
        return statistics
    }

    private mutating func rates(
        _ flow: inout CallStatistics.Flow, id: String, bytes: UInt64, frames: UInt64, at now: Instant
    ) {
        flow.frames = Int(clamping: frames)
        if let before = last[id], now > before.at, bytes >= before.bytes, frames >= before.frames {
            let seconds = (now - before.at).seconds
            flow.bitrate = Int(Double(bytes - before.bytes) * 8 / seconds)
            flow.frameRate = Double(frames - before.frames) / seconds
        }
        last[id] = Reading(bytes: bytes, frames: frames, at: now)
    }

    /// `H264` of `video/H264`.
    private func codec(_ id: String?, _ report: StatsReport) -> String? {
        guard let id, case .codec(let codec)? = report[id] else { return nil }
        return codec.mimeType.split(separator: "/").last.map(String.init)
    }

    /// The selected pair's kinds, and its round trip: it is measured even while nothing but STUN flows.
    private func addPath(_ report: StatsReport, to statistics: inout CallStatistics) {
        guard let id = report.transport?.selectedCandidatePairID, case .candidatePair(let pair)? = report[id] else {
            return
        }
        if statistics.roundTrip == nil { statistics.roundTrip = pair.currentRoundTripTime.map { .seconds($0) } }
        guard case .candidate(let local)? = report[pair.localCandidateID],
            case .candidate(let remote)? = report[pair.remoteCandidateID]
        else { return }
        statistics.route = "\(local.candidateType) ↔ \(remote.candidateType)"
    }
}
