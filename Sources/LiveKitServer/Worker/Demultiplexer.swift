internal import RTCWire

/// Finds whose a datagram is, on a socket that many peers share.
///
/// A connectivity check names its receiver itself, by the fragment before the colon of its user name (RFC 8445 §7.2.2).
/// Everything else is known by where it comes from: an address that a check has been answered at (`learn`). The rest is
/// a stranger's and goes no further.
struct Demultiplexer<Peer: AnyObject> {
    /// Whose a datagram is.
    enum Verdict {
        case peer(Peer)
        case stranger(Drop)
    }

    /// Why nobody is given a datagram.
    enum Drop: String, CaseIterable, Sendable {
        /// A check for nobody here: of a session that is over, or a stranger's.
        case unknownFragment = "unknown_fragment"
        /// Anything else from an address that nobody has been found at.
        case unknownAddress = "unknown_address"
    }

    /// What is known of a peer.
    private struct Entry {
        let peer: Peer
        var fragments: [String] = []
        /// The one that was learned last comes last.
        var addresses: [TransportAddress] = []
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var byFragment: [String: Peer] = [:]
    private var byAddress: [TransportAddress: Peer] = [:]

    /// Addresses of one peer: a client that moves between networks has few, and NATs that change ports some more.
    static var addressesOfPeer: Int { 16 }
    /// Fragments of one peer: that of its last restart, and what still travels under those before.
    static var fragmentsOfPeer: Int { 4 }

    /// How many addresses are known.
    var addressCount: Int { byAddress.count }

    /// Checks for this fragment are this peer's from now on, besides those for the ones before it.
    mutating func add(fragment: String, of peer: Peer) {
        var entry = entries[ObjectIdentifier(peer)] ?? Entry(peer: peer)
        guard !entry.fragments.contains(fragment) else { return }
        if entry.fragments.count == Self.fragmentsOfPeer { byFragment[entry.fragments.removeFirst()] = nil }
        entry.fragments.append(fragment)
        byFragment[fragment] = peer
        entries[ObjectIdentifier(peer)] = entry
    }

    /// The peer has answered an authentic check from this address. One that was another's has moved on: a NAT has given
    /// its port to somebody else.
    mutating func learn(_ address: TransportAddress, of peer: Peer) {
        let former = byAddress[address]
        guard former !== peer, var entry = entries[ObjectIdentifier(peer)] else { return }
        if let former { entries[ObjectIdentifier(former)]?.addresses.removeAll { $0 == address } }
        if entry.addresses.count == Self.addressesOfPeer { byAddress[entry.addresses.removeFirst()] = nil }
        entry.addresses.append(address)
        byAddress[address] = peer
        entries[ObjectIdentifier(peer)] = entry
    }

    /// Nothing is kept of it.
    mutating func remove(_ peer: Peer) {
        guard let entry = entries.removeValue(forKey: ObjectIdentifier(peer)) else { return }
        for fragment in entry.fragments { byFragment[fragment] = nil }
        for address in entry.addresses { byAddress[address] = nil }
    }

    /// Whose it is.
    func verdict(on datagram: RawSpan, from remote: TransportAddress) -> Verdict {
        if STUNMessage.isBindingRequest(datagram) {
            guard let fragment = STUNMessage.receiverFragment(ofCheck: datagram), let peer = byFragment[fragment] else {
                return .stranger(.unknownFragment)
            }
            return .peer(peer)
        }
        guard let peer = byAddress[remote] else { return .stranger(.unknownAddress) }
        return .peer(peer)
    }
}
