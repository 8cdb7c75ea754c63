internal import RTCWire

/// What a description says about the transport of one of its sections.
struct PeerTransport: Equatable {
    var ice: TransportAgreement.RemoteICE
    var fingerprints: [Fingerprint]
    /// Nil when the description does not say.
    var setup: SDP.Setup?

    /// Looks in the section itself, in the session section, and then in the one that stands for the section's bundle:
    /// the others may leave the transport's attributes out (RFC 9143 §7.1.3).
    init(reading description: SessionDescription, section index: Int) throws(NegotiationError) {
        let places = Self.places(in: description, section: index)
        func find<Value>(_ read: (any SDPSection) -> Value?) -> Value? {
            for place in places {
                if let value = read(place) { return value }
            }
            return nil
        }
        guard let fragment = find({ $0.iceUsernameFragment }), let password = find({ $0.icePassword }) else {
            throw .missingICEParameters
        }
        let fingerprints = find { $0.fingerprints.isEmpty ? nil : $0.fingerprints }
        guard let fingerprints else { throw .missingFingerprint }
        self.ice = TransportAgreement.RemoteICE(
            parameters: ICEParameters(usernameFragment: fragment, password: password),
            isLite: description.has(.iceLite))
        self.fingerprints = fingerprints.map { Fingerprint(algorithm: $0.algorithm, value: $0.bytes) }
        self.setup = find { $0.setup }
    }

    private static func places(in description: SessionDescription, section index: Int) -> [any SDPSection] {
        guard description.media.indices.contains(index) else { return [description] }
        let own = description.media[index]
        var places: [any SDPSection] = [own, description]
        if let mid = own.mid, let group = description.bundleGroups.first(where: { $0.contains(mid) }) {
            // §7.2.1: the first that the group names. Sections may be in another order.
            let tagged = group.lazy.compactMap { mid in description.media.first { $0.mid == mid } }
                .first { !$0.isRejected }
            if let tagged { places.append(tagged) }
        }
        return places
    }
}

extension SessionDescription {
    /// The first section that is sound, pictures or data and not rejected: it stands for the bundle's transport.
    var firstUsableSection: Int? { media.firstIndex(where: \.isUsable) }

    /// The section that an answer has chosen to stand for the bundle: the first of its group (RFC 9143 §7.3.1), or the
    /// only one that it accepts.
    var taggedSection: Int? {
        let tagged = bundleGroups.joined().lazy.compactMap { mediaIndex(ofMid: $0) }
            .first { !media[$0].isRejected }
        return tagged ?? firstUsableSection
    }

    /// The sections of ours that show our candidates: the one that stands for the bundle (RFC 9143 §7.1.3). Before it
    /// is agreed all, as browsers do it: who rejects the first section of an offer takes another one's transport.
    func sectionsWithCandidates(agreed: Int?) -> [Int] {
        if let agreed, media.indices.contains(agreed), media[agreed].isUsable { return [agreed] }
        return media.indices.filter { media[$0].isUsable }
    }

    /// Our own credential as a description of ours has it.
    var iceParameters: ICEParameters? {
        guard let section = media.first(where: { $0.iceUsernameFragment != nil }),
            let fragment = section.iceUsernameFragment, let password = section.icePassword
        else { return nil }
        return ICEParameters(usernameFragment: fragment, password: password)
    }

    /// The name by which a section is known here. One without `a=mid` gets one that no peer can use, since a space is
    /// not a token's character (RFC 8829 §5.10 wants a random one).
    func sectionName(_ index: Int) -> String {
        guard media.indices.contains(index), let mid = media[index].mid else { return "section \(index)" }
        return mid
    }
}

extension String {
    /// A section's name here, and not in descriptions: see `sectionName`.
    var isMadeUp: Bool { contains(" ") }
}

extension MediaDescription {
    /// Sound, pictures or data, and not rejected.
    fileprivate var isUsable: Bool {
        !isRejected && (MediaKind(rawValue: kind) != nil || dataChannelPort != nil)
    }
}
