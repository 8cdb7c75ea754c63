/// Which side of the DTLS handshake a peer takes (RFC 8842 §5): the answerer usually is the client.
public enum DTLSRole: Sendable, Equatable {
    case client, server
}

/// A certificate's hash as a session description gives it (RFC 8122 §5).
public struct Fingerprint: Hashable, Sendable {
    /// Lower case, as `sha-256`.
    public var algorithm: String
    /// The hash itself.
    public var value: [UInt8]

    public init(algorithm: String, value: [UInt8]) {
        self.algorithm = algorithm
        self.value = value
    }
}

/// The protection profiles offered in `use_srtp` (RFC 5764 §4.1.2, RFC 7714 §14.2), best first.
public enum SRTPProfile: UInt16, Sendable, CaseIterable {
    case aeadAES128GCM = 0x0007
    case aeadAES256GCM = 0x0008
    case aes128CMHMACSHA1_80 = 0x0001
}

/// The keys that a finished handshake exports (RFC 5764 §4.2), already told apart by direction.
public struct SRTPKeyingMaterial: Sendable, Equatable {
    /// What the keys are for.
    public var profile: SRTPProfile
    /// Master key and salt for what we send.
    public var localKey: [UInt8], localSalt: [UInt8]
    /// Master key and salt for what we receive.
    public var remoteKey: [UInt8], remoteSalt: [UInt8]

    public init(
        profile: SRTPProfile, localKey: [UInt8], localSalt: [UInt8], remoteKey: [UInt8], remoteSalt: [UInt8]
    ) {
        self.profile = profile
        self.localKey = localKey
        self.localSalt = localSalt
        self.remoteKey = remoteKey
        self.remoteSalt = remoteSalt
    }
}

/// Why a DTLS association ended.
public enum DTLSCloseReason: Error, Sendable, Equatable {
    /// We closed it.
    case local
    /// The peer sent close_notify.
    case remote
    /// The peer's certificate is not the one that its session description promised.
    case fingerprintMismatch
    /// No common SRTP profile, or the peer did not negotiate `use_srtp`, and media needs one.
    case noSRTPProfile
    /// The handshake did not finish in time.
    case timedOut
    /// An alert or a protocol error; the text is for a log and holds no key.
    case failed(String)
}

/// What a DTLS association wants done or has to tell.
public enum DTLSOutput: Sendable, Equatable {
    /// Send this datagram over the selected pair.
    case send([UInt8])
    /// The handshake finished and the peer's certificate matches. Without keys when no SRTP profile was negotiated,
    /// which only a handshake that needs none comes through.
    case connected(SRTPKeyingMaterial?)
    /// A record of application data (SCTP, RFC 8261).
    case applicationData([UInt8])
    /// The association is over; no output follows.
    case closed(DTLSCloseReason)
}

/// One DTLS association without sockets or clock. Implemented over OpenSSL by `RTCSecurity`, and by a
/// repeatable stand-in in the simulations.
public protocol DTLSPort: AnyObject {
    /// Begins the handshake; a client's first flight is among the outputs afterwards. Called once.
    ///
    /// - Parameter needsSRTP: media is negotiated, so a peer without a common SRTP profile is refused (RFC 5764 §4.1).
    ///   For data channels alone none is needed.
    func start(role: DTLSRole, remoteFingerprints: [Fingerprint], needsSRTP: Bool, at now: Instant)
    /// There is a path that answers, again or another one: a handshake that is under way has its whole time from now
    /// on. While there is none, `tick` is not called.
    func pathFound(at now: Instant)
    /// A datagram whose first byte is 20 to 63 (RFC 7983).
    func receive(_ datagram: RawSpan, at now: Instant)
    /// Call when `nextWake` has come: retransmits, or gives up.
    func tick(at now: Instant)
    /// When `tick` is next wanted; nil when nothing is pending, and always once the handshake is over.
    var nextWake: Instant? { get }
    /// Sends application data once connected; ignored before.
    func send(applicationData: RawSpan, at now: Instant)
    /// Sends close_notify. Safe in every state, and repeatable.
    func close(at now: Instant)
    /// The next thing to do, oldest first; nil when there is none.
    func pollOutput() -> DTLSOutput?
    /// What the handshake agreed on; nil before its end.
    var details: DTLSDetails? { get }
}

extension DTLSPort {
    /// A stand-in has nothing to show.
    public var details: DTLSDetails? { nil }

    /// One whose handshake may take any time has nothing to do.
    public func pathFound(at now: Instant) {}

    /// Begins the handshake of a connection with media.
    public func start(role: DTLSRole, remoteFingerprints: [Fingerprint], at now: Instant) {
        start(role: role, remoteFingerprints: remoteFingerprints, needsSRTP: true, at: now)
    }
}
