import ClientKit
import Foundation

/// Any bytes as what a call room says, an event's name and its JSON on each line: read as something or refused, and
/// what was read says the same once more when it has travelled. Whoever keeps several callers apart gives each a name
/// that can be shown.
func fuzzCallEvents(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    var senders = CallRoomSenders(us: "us")
    for line in text.split(separator: "\n").prefix(50) {
        let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
        guard let name = parts.first, let event = CallSignalingEvent(event: name, json: parts.dropFirst().first ?? "")
        else { continue }
        switch event {
        case .offer(let offer):
            precondition(hasSameMeaning(event, offer, as: "offer"))
            check(offer)
            guard let sender = senders.sender(of: offer) else { continue }
            precondition(CallName.problem(with: sender) == nil)
            let answer = senders.answer(offer.sdp, to: sender)
            precondition(answer.to == sender && hasSameMeaning(.answer(answer), answer, as: "answer"))
        case .answer(let answer):
            precondition(hasSameMeaning(event, answer, as: "answer"))
            check(answer)
        case .candidate(let candidate):
            precondition(hasSameMeaning(event, candidate, as: "candidate"))
            precondition(candidate.isEndOfCandidates || candidate.candidate.hasPrefix("candidate:"))
            precondition(candidate.sdpMLineIndex.map { (0...65_535).contains($0) } ?? true)
            guard let sender = senders.sender(of: candidate) else { continue }
            precondition(CallName.problem(with: sender) == nil)
        case .roster(let participants): senders.present(participants)
        case .peerJoined(let participant): senders.joined(participant)
        case .peerLeft(let username): _ = senders.left(username)
        case .unreadable(let detail): precondition(!detail.isEmpty)
        // Only the connection itself says these: a peer that could would end somebody's call.
        case .connected, .connectionLost, .reconnected, .closed: preconditionFailure("a peer speaks for the connection")
        }
    }
}

private func check(_ description: SessionDescriptionPayload) {
    precondition(description.sdp.hasPrefix("v=0"))
    precondition(description.fromUser.map { CallName.problem(with: $0) == nil } ?? true)
}

/// Whether a payload of ours is read as what it was.
private func hasSameMeaning(_ event: CallSignalingEvent, _ payload: some Encodable, as name: String) -> Bool {
    guard let json = try? JSONEncoder().encode(payload) else { return false }
    return CallSignalingEvent(event: name, json: String(decoding: json, as: UTF8.self)) == event
}
