import LiveKitProtocol
import RTCEngine
import SFUCore
import SwiftProtobuf

/// Faults that clients ask for, to test themselves by.
extension RoomMachine {
    func simulate(_ request: LiveKitSimulateScenario, for participant: Participant, at now: Instant) {
        switch request.scenario {
        case .speakerUpdate(let seconds):
            // A request of a few bytes is told to everybody: once, however often it comes.
            if participant.simulatedSpeechUntil == nil { tellSimulatedSpeech(0.9, of: participant) }
            participant.simulatedSpeechUntil = now + .seconds(Int64(max(min(seconds, 60), 0)))
        // The session is lost without a word.
        case .nodeFailure, .migration: remove(participant, because: .migration, action: nil, at: now)
        case .serverLeave: remove(participant, because: .serverShutdown, action: .disconnect, at: now)
        case .leaveRequestFullReconnect: remove(participant, because: .unknownReason, action: .reconnect, at: now)
        case .switchCandidateProtocol(let proto): switchPaths(of: participant, to: proto, at: now)
        case .disconnectSignalOnResume: participant.resumeFault = .afterResponse
        case .disconnectSignalOnResumeNoMessages: participant.resumeFault = .beforeResponse
        // The path is as wide as it is.
        case .subscriberBandwidth, nil: break
        }
    }

    /// The client is to come back over TCP, or over datagrams again.
    private func switchPaths(of participant: Participant, to proto: LiveKitCandidateProtocol, at now: Instant) {
        let prefersTCP = proto != .udp
        guard participant.prefersTCP != prefersTCP, !transport.tcpHosts.isEmpty else { return }
        participant.prefersTCP = prefersTCP
        for connection in participant.connections {
            offerPaths(overTCPAlone: prefersTCP, on: connection, at: now)
        }
        tellToResume(participant, because: .unknownReason, at: now)
    }

    func tellSimulatedSpeech(_ level: Float, of participant: Participant) {
        let speaker = LiveKitSpeakerInfo.with {
            $0.sid = participant.sid.rawValue
            $0.level = level
            $0.active = level > 0
        }
        for listener in people where listener === participant || listener.sees(participant) {
            send(.speakersChanged(.with { $0.speakers = [speaker] }), to: listener)
        }
    }
}

/// How a client wants its next attempt to resume to fail.
enum ResumeFault {
    case afterResponse
    case beforeResponse
}
