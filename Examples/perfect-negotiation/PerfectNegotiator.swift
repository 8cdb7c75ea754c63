import ExampleSupport
import RTCEngine
import RTCNetwork

/// Perfect negotiation (RFC 9429, W3C webrtc-pc §10.7): either side may offer at any moment, and when both do at once
/// the polite one gives way. What the application does — add a track, restart ICE — is the same on both sides.
///
/// W3C's version guards itself with flags against what may happen between two steps of its own. Here everything, the
/// connection's events and the peer's messages, stands in one line and is handled to its end before the next: there is
/// no between.
struct PerfectNegotiator {
    private enum Input: Sendable {
        case happened(PeerConnectionEvent)
        case received(SignalLine)
    }

    private let connection: PeerConnection
    private let isPolite: Bool
    /// The peer's offer was turned down; the candidates that follow belong to it.
    private var ignoresOffer = false

    init(_ connection: PeerConnection, isPolite: Bool) {
        self.connection = connection
        self.isPolite = isPolite
    }

    /// Negotiates until the connection is closed or the messages end.
    ///
    /// - Parameters:
    ///   - messages: the peer's.
    ///   - send: takes a message to the peer.
    ///   - happened: is told every event, after it was seen to here.
    mutating func run(
        messages: AsyncStream<SignalLine>, send: @Sendable (SignalLine) -> Void,
        happened: @Sendable (PeerConnectionEvent) -> Void
    ) async {
        let (inputs, queue) = AsyncStream.makeStream(of: Input.self)
        let events = connection.events
        let following = Task {
            for await event in events { queue.yield(.happened(event)) }
            queue.finish()
        }
        let reading = Task {
            for await message in messages { queue.yield(.received(message)) }
            queue.finish()
        }
        for await input in inputs {
            do {
                switch input {
                case .happened(let event):
                    try await see(to: event, send)
                    happened(event)
                case .received(let message): try await receive(message, send)
                }
            } catch {
                LineSignaling.note("Left out: \(error)")
            }
        }
        following.cancel()
        reading.cancel()
    }

    private func see(to event: PeerConnectionEvent, _ send: @Sendable (SignalLine) -> Void) async throws {
        switch event {
        case .negotiationNeeded:
            // The peer's offer may have come since this was told; then it is told again after our answer.
            guard await connection.signalingState == .stable else { return }
            send(SignalLine(try await connection.setLocalDescription()))
        case .iceCandidate(let candidate): send(SignalLine(candidate))
        default: return
        }
    }

    private mutating func receive(_ message: SignalLine, _ send: @Sendable (SignalLine) -> Void) async throws {
        if let description = message.description {
            try await receive(description, send)
        } else if let candidate = message.iceCandidate, !ignoresOffer {
            try await connection.addICECandidate(candidate)
        }
    }

    private mutating func receive(_ description: SessionDescriptionInit, _ send: @Sendable (SignalLine) -> Void)
        async throws
    {
        let isOurOfferOut = await connection.signalingState == .haveLocalOffer
        let collides = description.type == .offer && isOurOfferOut
        ignoresOffer = collides && !isPolite
        if ignoresOffer { return LineSignaling.note("Both offered at once; ours stands.") }
        if collides { LineSignaling.note("Both offered at once; ours is taken back.") }
        // Where ours is out it makes way here.
        try await connection.setRemoteDescription(description)
        if description.type == .offer { send(SignalLine(try await connection.setLocalDescription())) }
    }
}
