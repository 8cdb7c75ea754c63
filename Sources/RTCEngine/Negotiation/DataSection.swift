internal import RTCWire

/// What both descriptions say of the SCTP association (RFC 8841).
public struct DataAgreement: Sendable, Hashable {
    public var localPort: UInt16
    public var remotePort: UInt16
    /// The largest message that the peer takes, in bytes; nil for any size.
    public var remoteMaximumMessageSize: Int?

    /// Without `a=max-message-size` a peer takes 64 KiB (RFC 8841 §6.1).
    static let defaultMaximumMessageSize = 65_536
}

extension DataAgreement {
    /// Nil when a section is not one for data channels.
    init?(local: MediaDescription, remote: MediaDescription) {
        guard let localPort = local.dataChannelPort, let remotePort = remote.dataChannelPort else { return nil }
        self.localPort = localPort
        self.remotePort = remotePort
        switch remote.first(SDP.MaxMessageSize.self)?.value {
        case nil: remoteMaximumMessageSize = Self.defaultMaximumMessageSize
        case 0: remoteMaximumMessageSize = nil
        case let size?: remoteMaximumMessageSize = Int(clamping: size)
        }
    }
}

/// The one section for data channels that a connection may have.
struct DataSection: Sendable, Equatable {
    /// What negotiation has made of it; a rollback takes this back and nothing else.
    struct Association: Sendable, Equatable {
        var mid: String?
        var mLineIndex: Int?
        var agreement: DataAgreement?
    }

    /// The application has made a channel.
    var isWanted = false
    var association = Association()

    var mid: String? { association.mid }
    var mLineIndex: Int? { association.mLineIndex }

    /// One side refuses data channels. A new one of ours would ask again.
    mutating func refused() {
        isWanted = false
        association = Association()
    }

    /// What leads from `old` to here.
    func actions(since old: DataSection) -> [NegotiationAction] {
        let agreement = association.agreement
        let isRefused = old.isWanted && !isWanted && agreement == nil
        return agreement != old.association.agreement || isRefused ? [.configureDataChannels(agreement)] : []
    }
}

extension Negotiator {
    /// The application has made a data channel: the next offer has a section for it.
    public mutating func wantDataChannels() throws(NegotiationError) {
        guard signalingState != .closed else { throw .closed }
        data.isWanted = true
    }

    /// W3C WebRTC §4.7.3: a channel was made, and no description has a section for it.
    var needsDataSection: Bool { data.isWanted && data.mLineIndex == nil }

    /// Whether a section is one for data channels that we would accept.
    func takesData(_ section: MediaDescription) -> Bool {
        section.dataChannelPort != nil && (configuration.dataChannels.acceptsOffers || data.isWanted)
    }

    /// RFC 8829 §5.10: the peer offers data channels. A second section of the kind is left without an owner, and so
    /// rejected.
    mutating func associateData(_ section: MediaDescription, named name: String, at index: Int) {
        guard takesData(section) else { return }
        guard data.mLineIndex == nil || data.mLineIndex == index else { return }
        data.association.mid = name
        data.association.mLineIndex = index
    }

    /// Applies an answer to the section for data channels.
    mutating func agreeData(local: MediaDescription, remote: MediaDescription) {
        data.association.agreement = DataAgreement(local: local, remote: remote)
    }
}

extension LocalSection {
    /// Our section for data channels (RFC 8841 §4, §5).
    ///
    /// - Parameter offered: what it answers; nil in an offer.
    static func data(
        mid: String?, answering offered: MediaDescription? = nil, setup: SDP.Setup, ice: ICEParameters,
        configuration: NegotiatorConfiguration
    ) -> MediaDescription {
        // A peer of the time before RFC 8841 is answered in its own words.
        let isDraft = offered?.dataChannelForm == .draft
        let port: UInt16 = 5_000
        var section = MediaDescription(
            kind: "application", port: 9, proto: offered?.proto ?? "UDP/DTLS/SCTP",
            formats: [isDraft ? "\(port)" : SDP.dataChannelFormat])
        section.lines.append(.other(type: "c", value: "IN IP4 0.0.0.0"))
        section.append(SDP.ICEUsernameFragment(ice.usernameFragment))
        section.append(SDP.ICEPassword(ice.password))
        let fingerprint = configuration.fingerprint
        section.append(SDP.Fingerprint(algorithm: fingerprint.algorithm, bytes: fingerprint.value))
        section.append(setup)
        if let mid { section.append(SDP.Mid(mid)) }
        if isDraft {
            section.append(SDP.SCTPMap(port: port, streams: .max))
        } else {
            section.append(SDP.SCTPPort(port))
        }
        let limit = configuration.dataChannels.maximumMessageSize
        let size = min(configuration.dataChannels.announcedMessageSize ?? limit, limit)
        section.append(SDP.MaxMessageSize(UInt64(clamping: size)))
        return section
    }
}
