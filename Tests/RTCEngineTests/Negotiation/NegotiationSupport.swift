import Foundation
import RTCWire

@testable import RTCEngine

/// One end of a dialogue: a negotiator and the ICE credential that its agent would have.
struct Party {
    var negotiator: Negotiator
    var ice: ICEParameters
    private var generation = 0
    private let name: String

    init(_ name: String, _ configure: (inout NegotiatorConfiguration) -> Void = { _ in }) {
        let seed = name.utf8.reduce(UInt64(7)) { $0 &* 31 &+ UInt64($1) }
        let print = [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: 32)
        var configuration = NegotiatorConfiguration(
            fingerprint: Fingerprint(algorithm: "sha-256", value: print), cname: name)
        // Few, so that a dialogue can be read by its outline.
        configuration.audioCodecs = [.opus]
        configuration.videoCodecs = [.h264, .vp8]
        configure(&configuration)
        self.name = name
        self.negotiator = Negotiator(configuration: configuration, random: .seeded(seed))
        self.ice = Self.credential(name, 0)
    }

    static func credential(_ name: String, _ generation: Int) -> ICEParameters {
        ICEParameters(
            usernameFragment: "\(name)-\(generation)", password: "\(name)-password-of-generation-\(generation)")
    }

    /// What the agent's `makeRestartParameters` does.
    mutating func renewICE() {
        generation += 1
        ice = Self.credential(name, generation)
    }

    /// createOffer, setLocalDescription.
    mutating func offers() throws -> (sdp: SessionDescription, actions: [NegotiationAction]) {
        let sdp = try negotiator.createOffer(ice: ice)
        let actions = try negotiator.setLocal(.offer)
        return (try overTheWire(sdp), actions)
    }

    /// setRemoteDescription.
    mutating func takes(_ offer: SessionDescription, glare: GlareRule = .refuse) throws -> [NegotiationAction] {
        try negotiator.setRemote(.offer, offer, glare: glare)
    }

    /// createAnswer, setLocalDescription.
    mutating func answers() throws -> (sdp: SessionDescription, actions: [NegotiationAction]) {
        let sdp = try negotiator.createAnswer(ice: ice)
        let actions = try negotiator.setLocal(.answer)
        return (try overTheWire(sdp), actions)
    }

    func transceiver(_ id: TransceiverID) -> Transceiver? { negotiator.transceiver(id) }
}

/// As text and back, as signaling does it.
func overTheWire(_ description: SessionDescription) throws -> SessionDescription {
    let copy = try SessionDescription(parsing: description.text)
    assert(copy == description)
    return copy
}

/// What came of one exchange.
struct Exchange {
    var offer: SessionDescription
    var answer: SessionDescription
    /// Of the offerer: by its own offer, then by the answer.
    var offererActions: [NegotiationAction]
    /// Of the answerer: by the offer, then by its own answer.
    var answererActions: [NegotiationAction]
}

/// A whole offer and answer.
@discardableResult
func negotiate(_ offerer: inout Party, _ answerer: inout Party) throws -> Exchange {
    let (offer, first) = try offerer.offers()
    let second = try answerer.takes(offer)
    let (answer, third) = try answerer.answers()
    let fourth = try offerer.negotiator.setRemote(.answer, answer)
    return Exchange(
        offer: offer, answer: answer, offererActions: first + fourth, answererActions: second + third)
}

extension SessionDescription {
    /// One line a section, as `0 audio sendrecv opus`; enough to read a dialogue by.
    var outline: [String] {
        media.map { section in
            let mid = section.mid ?? "?"
            if section.isRejected { return "\(mid) \(section.kind) rejected" }
            let codecs = section.codecs.map { $0.name + ($0.rtxPayloadType == nil ? "" : "+rtx") }
            return "\(mid) \(section.kind) \(section.direction?.rawValue ?? "-") \(codecs.joined(separator: " "))"
        }
    }
}

extension NegotiationAction {
    /// The action's name and its transceiver, without parameters: enough to read an order by.
    var outline: String {
        switch self {
        case .iceRole(let role): "iceRole \(role)"
        case .restartICE(let local): "restartICE \(local.usernameFragment)"
        case .setRemoteICE(let remote, let isLite): "setRemoteICE \(remote.usernameFragment)\(isLite ? " lite" : "")"
        case .addRemoteCandidate(let candidate): "candidate \(candidate.foundation)"
        case .endOfRemoteCandidates: "endOfCandidates"
        case .startDTLS(let role, _): "startDTLS \(role)"
        case .configureDataChannels(let agreement): agreement == nil ? "no data" : "data"
        case .transceiverAdded(let id): "added \(id.rawValue)"
        case .configureReceiver(let id, let parameters):
            "\(parameters == nil ? "end receiver" : "receive") \(id.rawValue)"
        case .configureSender(let id, let parameters): "\(parameters == nil ? "end sender" : "send") \(id.rawValue)"
        case .trackAdded(let id): "track \(id.rawValue)"
        case .trackRemoved(let id): "track gone \(id.rawValue)"
        case .transceiverStopped(let id): "stopped \(id.rawValue)"
        case .signalingStateChanged(let state): "\(state.rawValue)"
        }
    }
}

extension [NegotiationAction] {
    var outline: [String] { map(\.outline) }
}

/// The captured descriptions of `Tests/Vectors/sdp`.
enum CapturedOffers {
    static func load(_ name: String) throws -> SessionDescription {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let data = try Data(contentsOf: tests.appending(path: "Vectors/sdp/\(name).sdp"))
        return try SessionDescription(parsing: String(decoding: data, as: UTF8.self))
    }
}
