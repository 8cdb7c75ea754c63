import ClientKit

/// A machine with the seconds written out.
struct Dialogue {
    var machine: CallMachine

    init(_ role: CallRole) {
        machine = CallMachine(role: role)
    }

    mutating func at(_ seconds: Int, _ fact: CallFact) -> [CallCommand] {
        machine.receive(fact, at: .seconds(seconds))
    }

    mutating func tick(_ seconds: Int) -> [CallCommand] {
        machine.tick(at: .seconds(seconds))
    }

    /// A call whose media flows since second 1.
    static func connected(_ role: CallRole) -> Dialogue {
        var dialogue = Dialogue(role)
        _ = dialogue.at(0, .started)
        _ = dialogue.at(0, .mediaOpened)
        switch role {
        case .caller:
            _ = dialogue.at(0, .offerMade(.offerA))
            _ = dialogue.at(1, .answerReceived(.answerA))
            _ = dialogue.at(1, .answerApplied)
        case .callee:
            _ = dialogue.at(0, .offerReceived(.offerA))
            _ = dialogue.at(1, .answerMade(.answerA))
        }
        _ = dialogue.at(1, .mediaConnection(.connected))
        return dialogue
    }
}

extension SessionDescriptionPayload {
    static let offerA = SessionDescriptionPayload(type: .offer, sdp: "v=0 offer a")
    static let offerB = SessionDescriptionPayload(type: .offer, sdp: "v=0 offer b")
    static let answerA = SessionDescriptionPayload(type: .answer, sdp: "v=0 answer a")
    static let answerB = SessionDescriptionPayload(type: .answer, sdp: "v=0 answer b")
}

extension IceCandidatePayload {
    static let mine = IceCandidatePayload(candidate: "candidate:1", sdpMid: "0", sdpMLineIndex: 0)
    static let theirs = IceCandidatePayload(candidate: "candidate:2", sdpMid: "0", sdpMLineIndex: 0)
    static let theirs2 = IceCandidatePayload(candidate: "candidate:3", sdpMid: "0", sdpMLineIndex: 0)
}
