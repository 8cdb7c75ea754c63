public import RTCEngine
public import RTCWire

/// Addresses, users and limits of a TURN server. The defaults serve a team of some hundred people.
public struct TURNServerConfiguration: Sendable {
    /// An address of this host on which it relays.
    public struct RelayAddress: Sendable, Hashable {
        /// What sockets are bound to.
        public var local: IPAddress
        /// What clients are told and peers send to: another one where a NAT stands in front that maps it one to one.
        public var announced: IPAddress

        public init(local: IPAddress, announced: IPAddress? = nil) {
            self.local = local
            self.announced = announced ?? local
        }
    }

    /// One of each family at most; the first one counts. A family without one is refused with 440.
    public var relayAddresses: [RelayAddress]
    /// The ports of relayed addresses, the dynamic ones of IANA by default (RFC 8656 §7.2).
    public var relayPorts: ClosedRange<UInt16> = 49_152...65_535
    /// Names the users' database (RFC 8489 §9.2).
    public var realm = "roost"
    public var accounts: TURNAccounts
    public var policy = PeerPolicy()

    // Lifetimes.

    /// RFC 8656 §3.2: of an allocation that asks for less, or for none.
    public var defaultLifetime = Interval.seconds(Int64(600))
    /// §7.2: of one that asks for more.
    public var maximumLifetime = Interval.seconds(Int64(3_600))
    /// §9.
    public var permissionLifetime = Interval.seconds(Int64(300))
    /// §12.
    public var channelLifetime = Interval.seconds(Int64(600))
    /// RFC 8489 §9.2 recommends an hour at most.
    public var nonceLifetime = Interval.seconds(Int64(3_600))
    /// RFC 8656 §7.2: for how long a port is held for the token.
    public var reservationLifetime = Interval.seconds(Int64(30))

    // Limits.

    /// In all: 508 to whoever comes then.
    public var maximumAllocations = 4_000
    /// Of one user, ports held by tokens among them: 486. A browser makes one for each network, transport and
    /// connection.
    public var maximumAllocationsPerUser = 16
    /// From one client address (IPv6: one /64), whatever the users' names: 486. Who gives out time-limited credentials
    /// gives out names. Of an office behind one address some hundred people need two to four each.
    public var maximumAllocationsPerAddress = 1_024
    /// Peers' addresses of one allocation: 508.
    public var maximumPermissions = 100
    /// Of one allocation: 508.
    public var maximumChannels = 64
    /// Ports held by tokens: 508.
    public var maximumReservations = 64
    /// Bytes a second that an allocation relays, both directions together. 2.5 MB is 20 Mbit/s: some calls' worth.
    public var bytesPerSecond = 2_500_000
    /// Bytes at once: a second's worth holds any key frame.
    public var burst = 2_500_000
    /// Answers over UDP a second to one address (IPv6: one /64) that has shown no credential.
    public var answersToStrangers = 100

    public init(relayAddresses: [RelayAddress], accounts: TURNAccounts) {
        self.relayAddresses = relayAddresses
        self.accounts = accounts
    }

    func relayAddress(of family: TURNAddressFamily) -> RelayAddress? {
        relayAddresses.first { TURNAddressFamily(of: $0.local) == family }
    }
}
