internal import RTCWire

/// The DTLS association of a peer connection and the SRTP contexts that come out of it.
///
///     idle ──begin──▶ waitingForPath ──pathFound; spoken to──▶ handshaking ──▶ protected ──▶ closed
struct SecureTransport {
    private enum Phase {
        /// No description has said yet how to shake hands.
        case idle
        /// There is no path yet. A client has nowhere to speak to; a server has nobody to wait for, and its time for
        /// the handshake must not run out before there is.
        case waitingForPath(any DTLSPort, [Fingerprint])
        case handshaking(any DTLSPort)
        /// Without SRTP contexts for data channels alone.
        case protected(any DTLSPort, (any SRTPPort)?)
        case closed(DTLSCloseReason)
    }

    /// The contexts of `Phase.protected`, where every packet finds them without a look into the phase.
    private(set) var srtp: (any SRTPPort)? {
        didSet { srtpAddress = srtp.map { UnsafeRawPointer(Unmanaged.passUnretained($0 as AnyObject).toOpaque()) } }
    }
    /// Where they lie, for `Prefetch`: to look at them counts a reference in them, and would wait for their memory.
    private(set) var srtpAddress: UnsafeRawPointer?
    private var phase = Phase.idle {
        didSet {
            if case .protected(_, let contexts) = phase { srtp = contexts } else { srtp = nil }
        }
    }
    /// Media is negotiated, so there have to be keys for it.
    private var needsSRTP = true
    /// The peer's first flight may overtake the description that carries its fingerprint. It would come again by
    /// retransmission; keeping a few datagrams saves that time. More is not kept for somebody unknown.
    private var early: [[UInt8]] = []
    private static let earlyLimit = 8
    /// A server may be spoken to before our side of ICE has its path. What it answers goes out when the path is there,
    /// instead of a time-out later.
    private var unsent: [[UInt8]] = []
    private static let unsentLimit = 16

    private(set) var role: DTLSRole?
    private(set) var profile: SRTPProfile?

    var state: DTLSTransportState {
        switch phase {
        case .idle, .waitingForPath: .new
        case .handshaking: .connecting
        case .protected: .connected
        case .closed(let reason):
            switch reason {
            case .local, .remote: .closed
            case .fingerprintMismatch, .noSRTPProfile, .timedOut, .failed: .failed
            }
        }
    }

    var closeReason: DTLSCloseReason? {
        switch phase {
        case .closed(let reason): reason
        case .idle, .waitingForPath, .handshaking, .protected: nil
        }
    }

    /// Keys for media are in place: it may flow.
    var isProtected: Bool { srtp != nil }

    private var association: (any DTLSPort)? {
        switch phase {
        case .waitingForPath(let dtls, _), .handshaking(let dtls), .protected(let dtls, _): dtls
        case .idle, .closed: nil
        }
    }

    /// What the handshake agreed on; nil before its end.
    var details: DTLSDetails? { association?.details }

    /// To be asked while there is a path that answers.
    var nextWake: Instant? {
        switch phase {
        case .handshaking(let dtls): dtls.nextWake
        // Nothing is repeated by time any more, and to ask would wait for the association's memory.
        case .idle, .waitingForPath, .protected, .closed: nil
        }
    }

    /// The descriptions are agreed: shake hands in this role with the owner of one of these fingerprints.
    mutating func begin(
        _ dtls: any DTLSPort, role: DTLSRole, fingerprints: [Fingerprint], needsSRTP: Bool, hasPath: Bool,
        at now: Instant
    ) {
        self.role = role
        self.needsSRTP = needsSRTP
        if hasPath {
            start(dtls, fingerprints, role, at: now)
        } else {
            phase = .waitingForPath(dtls, fingerprints)
            startIfSpokenTo(at: now)
        }
    }

    /// Who speaks to a server has a path to it.
    private mutating func startIfSpokenTo(at now: Instant) {
        guard role == .server, !early.isEmpty, case .waitingForPath(let dtls, let fingerprints) = phase else { return }
        start(dtls, fingerprints, .server, at: now)
    }

    /// There is no path to send a datagram of ours on. One of the handshake is kept for it; any other's time is over
    /// when there is a path again.
    mutating func hold(_ datagram: [UInt8]) {
        switch phase {
        case .handshaking where unsent.count < Self.unsentLimit: unsent.append(datagram)
        case .idle, .waitingForPath, .handshaking, .protected, .closed: return
        }
    }

    /// What was held, for the path that there is now.
    mutating func takeUnsent() -> [[UInt8]] {
        defer { unsent = [] }
        return unsent
    }

    /// ICE has a path, or the peer is heard over it again: a client's first flight can go, and a handshake goes on.
    mutating func pathFound(at now: Instant) {
        switch phase {
        case .waitingForPath(let dtls, let fingerprints):
            guard let role else { return }
            start(dtls, fingerprints, role, at: now)
        case .handshaking(let dtls): dtls.pathFound(at: now)
        case .idle, .protected, .closed: return
        }
    }

    private mutating func start(
        _ dtls: any DTLSPort, _ fingerprints: [Fingerprint], _ role: DTLSRole, at now: Instant
    ) {
        phase = .handshaking(dtls)
        dtls.start(role: role, remoteFingerprints: fingerprints, needsSRTP: needsSRTP, at: now)
        let held = early
        early = []
        for datagram in held { dtls.receive(datagram.span.bytes, at: now) }
    }

    mutating func receive(_ datagram: [UInt8], at now: Instant) {
        switch phase {
        case .idle, .waitingForPath:
            guard early.count < Self.earlyLimit else { return }
            early.append(datagram)
            startIfSpokenTo(at: now)
        case .handshaking(let dtls), .protected(let dtls, _):
            dtls.receive(datagram.span.bytes, at: now)
        case .closed:
            return
        }
    }

    /// While there is a path that answers. Without one no time passes for the handshake: the path may come back, or a
    /// restart of ICE bring another, and then the handshake has its whole time anew.
    mutating func tick(at now: Instant) {
        switch phase {
        case .handshaking(let dtls), .protected(let dtls, _): dtls.tick(at: now)
        case .idle, .waitingForPath, .closed: return
        }
    }

    mutating func pollOutput() -> DTLSOutput? { association?.pollOutput() }

    /// Sends one record of application data, once there are keys.
    func send(_ record: [UInt8], at now: Instant) {
        switch phase {
        case .protected(let dtls, _): dtls.send(applicationData: record.span.bytes, at: now)
        case .idle, .waitingForPath, .handshaking, .closed: return
        }
    }

    /// The handshake is done and the contexts are made; nil when no profile was negotiated, nor needed.
    mutating func protect(with srtp: (any SRTPPort)?, profile: SRTPProfile?) {
        guard case .handshaking(let dtls) = phase else { return }
        self.profile = profile
        phase = .protected(dtls, srtp)
    }

    /// Asks the association to end; its last datagram is still among its outputs.
    mutating func close(at now: Instant) {
        switch phase {
        case .handshaking(let dtls), .protected(let dtls, _): dtls.close(at: now)
        case .idle, .waitingForPath: phase = .closed(.local)
        case .closed: return
        }
    }

    /// The association has ended.
    mutating func ended(_ reason: DTLSCloseReason) { phase = .closed(reason) }
}
