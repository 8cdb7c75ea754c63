internal import RTCWire

/// What a negotiated payload format is for.
enum CodecRole: Sendable, Hashable {
    /// Frames are sent and received in it.
    case media(PayloadFormat)
    /// RFC 2198: carries other formats' packets, several at a time.
    case redundancy
    /// RFC 4733: telephone keys.
    case telephoneEvent
    /// Passed on in descriptions only.
    case unknown
}

extension CodecParameters {
    var role: CodecRole {
        if let payloadFormat { return .media(payloadFormat) }
        switch name.lowercased() {
        // Redundancy for video goes with ULPFEC, which we do not have.
        case "red" where clockRate != 90_000: return .redundancy
        case "telephone-event": return .telephoneEvent
        default: return .unknown
        }
    }

    /// Frames can be sent with it.
    var isMedia: Bool {
        switch role {
        case .media: true
        case .redundancy, .telephoneEvent, .unknown: false
        }
    }

    /// Of the same clock and channels, as redundancy and telephone events have to be to go with sound.
    func accompanies(_ media: CodecParameters) -> Bool {
        clockRate == media.clockRate && (role == .telephoneEvent || channels == media.channels)
    }
}

extension [CodecParameters] {
    /// RFC 2198 §5: the parameters of redundancy are the payload types that it carries, which are this section's;
    /// without one of them it has no use, as telephone events have none without sound of their clock.
    var withPayloadTypesOfRedundancy: [CodecParameters] {
        compactMap { codec in
            switch codec.role {
            case .media, .unknown, .telephoneEvent: return codec
            case .redundancy:
                guard let media = first(where: { $0.isMedia && codec.accompanies($0) }) else { return nil }
                var codec = codec
                codec.parameters = SDP.CodecOptions("\(media.payloadType)/\(media.payloadType)")
                return codec
            }
        }
    }

    /// Whether there is more than redundancy and telephone events, which alone carry nothing.
    var carryMedia: Bool { contains { $0.isMedia || $0.role == .unknown } }

    /// What frames are sent with: the first format that is one; nil when there is none.
    var firstMedia: CodecParameters? { first(where: \.isMedia) }

    /// Redundancy for a format, if it is preferred to the format alone, as browsers have it.
    package func redundancy(for media: CodecParameters) -> CodecParameters? {
        guard let place = firstIndex(of: media) else { return nil }
        return self[..<place].first { $0.role == .redundancy && $0.accompanies(media) }
    }

    /// Telephone events that may go between a format's packets (RFC 4733 §2.1: the clock is the sound's).
    func telephoneEvent(for media: CodecParameters) -> CodecParameters? {
        first { $0.role == .telephoneEvent && $0.accompanies(media) }
    }
}
