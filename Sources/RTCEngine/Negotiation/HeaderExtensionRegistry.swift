internal import RTCWire

/// Which identifier means which header extension in this session; the same in all bundled sections (RFC 8285 §5).
struct HeaderExtensionRegistry: Sendable, Equatable {
    private var identifiers: [String: UInt8] = [:]
    private var used: Set<UInt8> = []

    /// Learns what a description of either side says.
    mutating func learn(_ section: MediaDescription) {
        for map in section.all(SDP.ExtensionMap.self) {
            guard let id = UInt8(exactly: map.id) else { continue }
            for (uri, other) in identifiers where other == id && uri != map.uri { identifiers[uri] = nil }
            identifiers[map.uri] = id
            used.insert(id)
        }
    }

    /// The identifier that an offer gives an extension: the one that it has, for libwebrtc refuses another; else 1 to
    /// 14, which fit both header forms; nil when none is left.
    ///
    /// - Parameter allowsMixed: the peer takes what needs the form of two bytes (RFC 8285 §4.1.2).
    mutating func assign(_ capability: HeaderExtensionCapability, allowsMixed: Bool) -> UInt8? {
        if let id = identifiers[capability.uri], id <= 14 || allowsMixed { return id }
        let isPreferredFree = (1...14).contains(capability.preferredID) && !used.contains(capability.preferredID)
        let free = isPreferredFree ? capability.preferredID : (1...14).first { !used.contains($0) }
        guard let id = free else { return nil }
        used.insert(id)
        identifiers[capability.uri] = id
        return id
    }
}

/// Which header extensions both sides want.
enum HeaderExtensionNegotiation {
    /// Our answer to an offer's extensions: those that we know, under the offer's identifiers (RFC 8285 §7).
    static func answer(
        offered: [SDP.ExtensionMap], supported: [HeaderExtensionCapability], kind: MediaKind, allowsMixed: Bool
    ) -> [SDP.ExtensionMap] {
        var seen: Set<String> = []
        var taken: Set<UInt16> = []
        return offered.compactMap { map in
            guard isUsable(map, allowsMixed: allowsMixed), !seen.contains(map.uri), !taken.contains(map.id),
                supported.contains(where: { $0.uri == map.uri && $0.kinds.contains(kind) })
            else { return nil }
            seen.insert(map.uri)
            // RFC 8285 §5: an identifier is used for one extension only.
            taken.insert(map.id)
            return SDP.ExtensionMap(id: map.id, direction: map.direction?.reversed, uri: map.uri)
        }
    }

    /// Identifiers by URI of what both descriptions have, for one way of the media.
    static func agreed(
        local: MediaDescription, remote: MediaDescription, sending: Bool, allowsMixed: Bool
    ) -> [String: UInt8] {
        let theirs = remote.all(SDP.ExtensionMap.self)
        var identifiers: [String: UInt8] = [:]
        for map in local.all(SDP.ExtensionMap.self) where isUsable(map, allowsMixed: allowsMixed) {
            guard let other = theirs.first(where: { $0.uri == map.uri }), other.id == map.id else { continue }
            let mine = map.direction ?? .sendrecv
            let its = other.direction ?? .sendrecv
            let flows = sending ? mine.sends && its.receives : mine.receives && its.sends
            if flows, let id = UInt8(exactly: map.id) { identifiers[map.uri] = id }
        }
        return identifiers
    }

    /// RFC 8285 §4.2: the one-byte form has 1 to 14; anything above needs the two-byte form, which we only send where
    /// both forms may be mixed. From 256 on they are placeholders of an offer (§5).
    private static func isUsable(_ map: SDP.ExtensionMap, allowsMixed: Bool) -> Bool {
        (1...14).contains(map.id) || (allowsMixed && (16...255).contains(map.id))
    }
}
