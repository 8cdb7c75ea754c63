import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

@testable import LiveKitCore

/// What a client that has no messages offers in a section.
struct OfferedSection {
    var title: String
    var kind: MediaKind
    var direction = TransceiverDirection.sendonly
    var layers: [String] = []
}

/// Of a client that has no messages.
extension TestClient {
    /// The only offer of a client that has no messages.
    func onlyOffer(_ sections: [OfferedSection], at now: Instant) throws -> LiveKitSessionDescription {
        for section in sections {
            senders[section.title] = try publisher.addTransceiver(
                section.kind, direction: section.direction, streamIDs: ["stream"], trackID: section.title,
                encodings: section.layers.map { SendEncoding(rid: $0) })
        }
        let offer = try makeOffer(at: now)
        offered = offer.sdp
        return offer
    }

    func takeOnlyAnswer(_ text: String, at now: Instant) {
        takeAnswer(.with { $0.sdp = text }, at: now)
        // What comes is known by the section that it comes in.
        for transceiver in publisher.transceivers {
            guard let mid = transceiver.mid else { continue }
            mids[mid] = senders.first { $0.value == transceiver.id }?.key
        }
    }

    /// What of an offer for new paths is told without offering.
    func restartFragment(at now: Instant) throws -> String {
        try publisher.setLocalDescription(.offer, try publisher.createOffer(iceRestart: true), at: now)
        return publisher.localDescription?.sdp.transportFragment ?? ""
    }

    /// The answer to it: the one before, but for what the fragment says.
    func takeRestart(_ fragment: String, at now: Instant) throws {
        let answer = try SessionDescription(parsing: answers.last?.sdp ?? "")
        let restarted = answer.restarted(with: try TrickleFragment(parsing: fragment))
        try publisher.setRemoteDescription(.answer, restarted, at: now)
    }

    func numbers(in section: String) -> [UInt8] { frames[section]?.compactMap(\.payload.last) ?? [] }
}
