/// One entry of a report (W3C webrtc-stats §8.1: `RTCStatsType`).
public enum Stats: Sendable, Hashable {
    case codec(CodecStats)
    case inboundRTP(InboundRTPStreamStats)
    case outboundRTP(OutboundRTPStreamStats)
    case remoteInboundRTP(RemoteInboundRTPStreamStats)
    case remoteOutboundRTP(RemoteOutboundRTPStreamStats)
    case transport(TransportStats)
    case candidatePair(CandidatePairStats)
    case candidate(CandidateStats)
    case dataChannel(DataChannelStats)
    case sctpTransport(SCTPTransportStats)
    case mediaSource(MediaSourceStats)
    case peerConnection(PeerConnectionStats)
    case certificate(CertificateStats)

    /// Unique in a report, and the same from report to report.
    public var id: String {
        switch self {
        case .codec(let stats): stats.id
        case .inboundRTP(let stats): stats.id
        case .outboundRTP(let stats): stats.id
        case .remoteInboundRTP(let stats): stats.id
        case .remoteOutboundRTP(let stats): stats.id
        case .transport(let stats): stats.id
        case .candidatePair(let stats): stats.id
        case .candidate(let stats): stats.id
        case .dataChannel(let stats): stats.id
        case .sctpTransport(let stats): stats.id
        case .mediaSource(let stats): stats.id
        case .peerConnection(let stats): stats.id
        case .certificate(let stats): stats.id
        }
    }

    /// The name that W3C gives the kind of entry.
    public var type: String {
        switch self {
        case .codec: "codec"
        case .inboundRTP: "inbound-rtp"
        case .outboundRTP: "outbound-rtp"
        case .remoteInboundRTP: "remote-inbound-rtp"
        case .remoteOutboundRTP: "remote-outbound-rtp"
        case .transport: "transport"
        case .candidatePair: "candidate-pair"
        case .dataChannel: "data-channel"
        case .sctpTransport: "sctp-transport"
        case .mediaSource: "media-source"
        case .peerConnection: "peer-connection"
        case .certificate: "certificate"
        case .candidate(let stats):
            switch stats.side {
            case .local: "local-candidate"
            case .remote: "remote-candidate"
            }
        }
    }
}

/// What a peer connection knows about itself at one moment (W3C: `RTCStatsReport`), by identifier.
public struct StatsReport: Sendable, Hashable {
    private var entries: [String: Stats] = [:]

    public init() {}

    /// Adds an entry, in the place of one with the same identifier.
    public mutating func add(_ stats: Stats) { entries[stats.id] = stats }

    /// The entry with this identifier.
    public subscript(id: String) -> Stats? { entries[id] }

    /// There is no entry.
    public var isEmpty: Bool { entries.isEmpty }
    /// How many entries there are.
    public var count: Int { entries.count }

    /// All entries, in the order of their identifiers.
    public var all: [Stats] { entries.keys.sorted().compactMap { entries[$0] } }

    /// What is sent and received as (`codec`).
    public var codecs: [CodecStats] {
        all.compactMap { if case .codec(let stats) = $0 { stats } else { nil } }
    }

    /// Streams that are received (`inbound-rtp`).
    public var inboundRTP: [InboundRTPStreamStats] {
        all.compactMap { if case .inboundRTP(let stats) = $0 { stats } else { nil } }
    }

    /// Streams that are sent (`outbound-rtp`).
    public var outboundRTP: [OutboundRTPStreamStats] {
        all.compactMap { if case .outboundRTP(let stats) = $0 { stats } else { nil } }
    }

    /// What the peer reports of streams that are sent (`remote-inbound-rtp`).
    public var remoteInboundRTP: [RemoteInboundRTPStreamStats] {
        all.compactMap { if case .remoteInboundRTP(let stats) = $0 { stats } else { nil } }
    }

    /// What the peer reports of streams that are received (`remote-outbound-rtp`).
    public var remoteOutboundRTP: [RemoteOutboundRTPStreamStats] {
        all.compactMap { if case .remoteOutboundRTP(let stats) = $0 { stats } else { nil } }
    }

    /// Pairs of ICE candidates (`candidate-pair`).
    public var candidatePairs: [CandidatePairStats] {
        all.compactMap { if case .candidatePair(let stats) = $0 { stats } else { nil } }
    }

    /// ICE candidates of both sides (`local-candidate`, `remote-candidate`).
    public var candidates: [CandidateStats] {
        all.compactMap { if case .candidate(let stats) = $0 { stats } else { nil } }
    }

    /// Data channels (`data-channel`).
    public var dataChannels: [DataChannelStats] {
        all.compactMap { if case .dataChannel(let stats) = $0 { stats } else { nil } }
    }

    /// What senders are given to send (`media-source`).
    public var mediaSources: [MediaSourceStats] {
        all.compactMap { if case .mediaSource(let stats) = $0 { stats } else { nil } }
    }

    /// Those of DTLS, of both sides (`certificate`).
    public var certificates: [CertificateStats] {
        all.compactMap { if case .certificate(let stats) = $0 { stats } else { nil } }
    }

    /// There is one in every report of a peer connection.
    public var peerConnection: PeerConnectionStats? {
        for case .peerConnection(let stats) in all { return stats }
        return nil
    }

    /// There is one at most: all data channels share it.
    public var sctpTransport: SCTPTransportStats? {
        for case .sctpTransport(let stats) in all { return stats }
        return nil
    }

    /// There is one at most: everything is bundled.
    public var transport: TransportStats? {
        for case .transport(let stats) in all { return stats }
        return nil
    }
}
