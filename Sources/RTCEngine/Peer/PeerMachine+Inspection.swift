package import RTCWire

/// What the simulation of calls (`Tests/SimulatedCalls`) looks at between two calls of the machine, to say that what
/// always has to hold does hold. Nothing else reads it.
extension PeerMachine {
    /// DTLS is done: from now on media may be sent.
    package var isProtected: Bool { secure.isProtected }

    /// Of a packet that was asked to be sent nothing may be left here when the call returns.
    package var hasUnsentPackets: Bool { !packets.isEmpty }

    /// Packets that wait for others before them, of the stream that has the most.
    package var mostHeldPackets: Int {
        var most = 0
        for receiver in receivers.values {
            if let stream = receiver.stream { most = max(most, stream.heldPackets) }
        }
        return most
    }

    /// User name fragment and password, which no log may tell.
    package var localICEParameters: ICEParameters { ice.localParameters }

    /// Whether a socket, a connection or a relay of ours is there.
    package func isOurs(_ address: TransportAddress) -> Bool { ice.isOurs(address) }

    /// W3C's negotiation-needed flag.
    package var needsNegotiation: Bool { negotiator.negotiationNeeded }

    /// Nothing is kept that a call has brought: streams with their histories and buffers, what waits to be sent, what
    /// was sent, who sends what.
    package var holdsNoMedia: Bool {
        senders.entries.isEmpty && receivers.entries.isEmpty && layerSenders.entries.isEmpty
            && simulcasts.entries.isEmpty && packets.isEmpty && congestion.pacer.isEmpty && transmits.isEmpty
            && sentPackets.isEmpty && received == nil && feedbackGenerator == nil
    }
}
