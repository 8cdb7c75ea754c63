internal import RTCEngine
internal import RTCWire
internal import SFUCore

/// Finds whose a datagram is, on a socket that many peers share.
///
/// A connectivity check names its receiver itself, by the fragment before the colon of its user name (RFC 8445 §7.2.2).
/// Everything else is known by where it comes from: an address that a check has been answered at (`learn`). The rest is
/// a stranger's and goes no further.
struct Demultiplexer<Peer: AnyObject> {
    /// Whose a datagram is.
    enum Route {
        case peer(Peer)
        case stranger(DropReason)
    }

    /// Why nobody is given a datagram.
    enum DropReason: String, CaseIterable, Sendable {
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
    private var byAddress: [TransportAddress: Place] = [:]

    /// Addresses of one peer: a client that moves between networks has few, and NATs that change ports some more.
    static var addressesOfPeer: Int { 16 }
    /// Fragments of one peer: that of its last restart, and what still travels under those before.
    static var fragmentsOfPeer: Int { 4 }

    /// Who is found at an address.
    private struct Place {
        let peer: Peer
        /// When it last answered a check from there.
        var provenAt: Instant
    }

    /// An address stays its peer's for this long after the peer was last heard there: source addresses can be forged.
    static var addressHold: Interval { .seconds(Int64(15)) }

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

    /// The peer has answered an authentic check from this address. One that was another's, and of which that one has
    /// not been heard for a while, has moved on: a NAT has given its port to somebody else, or a host to its next
    /// program, whose packets would be taken for those of the one before.
    ///
    /// - Parameter path: where somebody is: not every client makes checks while its media flow (Pion makes
    ///   none), and one that has said goodbye may not be forgotten yet.
    mutating func learn(
        _ address: TransportAddress, of peer: Peer, at now: Instant,
        path: (Peer) -> PeerPath = { _ in .unknown }
    ) {
        guard var entry = entries[ObjectIdentifier(peer)] else { return }
        if let former = byAddress[address], former.peer !== peer {
            switch path(former.peer) {
            case .over: break
            case .heard(at: address, let heardAt) where now - heardAt <= Self.addressHold: return
            case .heard, .unknown: guard now - former.provenAt > Self.addressHold else { return }
            }
            entries[ObjectIdentifier(former.peer)]?.addresses.removeAll { $0 == address }
        }
        byAddress[address] = Place(peer: peer, provenAt: now)
        guard entry.addresses.last != address else { return }
        entry.addresses.removeAll { $0 == address }
        if entry.addresses.count == Self.addressesOfPeer {
            // The one that was proven longest ago goes, but for the one that is used: checks can be sent again from
            // elsewhere by who has seen them pass, and they are answered.
            let spared: TransportAddress? =
                if case .heard(let used, _) = path(peer) { used } else { nil }
            if let place = entry.addresses.firstIndex(where: { $0 != spared }) {
                byAddress[entry.addresses.remove(at: place)] = nil
            }
        }
        entry.addresses.append(address)
        entries[ObjectIdentifier(peer)] = entry
    }

    /// Nothing is kept of it.
    mutating func remove(_ peer: Peer) {
        guard let entry = entries.removeValue(forKey: ObjectIdentifier(peer)) else { return }
        for fragment in entry.fragments { byFragment[fragment] = nil }
        for address in entry.addresses { byAddress[address] = nil }
    }

    /// Whose it is.
    func route(of datagram: RawSpan, from remote: TransportAddress) -> Route {
        if STUNMessage.isBindingRequest(datagram) {
            guard let fragment = STUNMessage.receiverFragment(ofCheck: datagram), let peer = byFragment[fragment] else {
                return .stranger(.unknownFragment)
            }
            return .peer(peer)
        }
        guard let place = byAddress[remote] else { return .stranger(.unknownAddress) }
        return .peer(place.peer)
    }
}
