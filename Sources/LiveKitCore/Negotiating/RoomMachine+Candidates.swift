import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

/// Candidates beside the descriptions: LiveKit's `TrickleRequest`.
extension RoomMachine {
    /// Says again which candidates are in a description that was sent, the first one with its credential. Nobody needs
    /// it to connect, and SDKs take a candidate that they have; but LiveKit's server says its own in this way, and its
    /// browser SDK's `ConnectionCheck` looks for them nowhere else.
    func trickle(_ description: SessionDescription, of connection: Connection) {
        // Those of one section are those of all.
        guard let index = description.media.firstIndex(where: { !$0.values(of: SDP.Candidate.name).isEmpty }) else {
            return
        }
        let section = description.media[index]
        let lines = section.values(of: SDP.Candidate.name)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for (place, line) in lines.enumerated() {
            // With both names of the section: SDKs read strictly.
            let candidate = CandidateInit(
                candidate: "candidate:\(line)", sdpMid: section.mid ?? "", sdpMLineIndex: index)
            guard let json = try? encoder.encode(candidate) else { continue }
            send(
                .trickle(
                    .with {
                        $0.candidateInit = String(decoding: json, as: UTF8.self)
                        $0.target = connection.role == .subscriber ? .subscriber : .publisher
                        $0.final = place == lines.count - 1
                    }), to: connection.participant)
        }
    }

    /// A candidate of the client's. What cannot be used is no fault: a lite agent waits to be checked.
    func takeCandidate(_ request: LiveKitTrickleRequest, from participant: Participant, at now: Instant) {
        guard let candidate = try? JSONDecoder().decode(CandidateInit.self, from: Data(request.candidateInit.utf8))
        else {
            let repeated = request.known(within: configuration.limits.trackRequestBytes)
            return refuse(
                .unclassifiedError, repeated.map { .trickle($0) }, "the candidate is no JSON", to: participant)
        }
        let connection = request.target == .subscriber ? participant.subscriber : participant.publisher
        guard let connection, let line = candidate.candidate else { return }
        _ = try? media.withMachine(of: connection.id) { machine throws(PeerError) in
            try machine.addICECandidate(
                line, mid: candidate.sdpMid, mLineIndex: candidate.sdpMLineIndex,
                usernameFragment: candidate.usernameFragment, at: now)
        }
    }
}

/// W3C's RTCIceCandidateInit.
private struct CandidateInit: Codable {
    var candidate: String?
    var sdpMid: String?
    var sdpMLineIndex: Int?
    var usernameFragment: String?
}
