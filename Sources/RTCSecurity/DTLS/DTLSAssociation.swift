public import RTCEngine

/// A DTLS 1.2 association over OpenSSL, for DTLS-SRTP (RFC 5764) and application data (RFC 8261).
///
/// Not thread-safe: it belongs to the one peer connection that drives it.
///
/// Time: deadlines are the caller's, by `tick(at:)`. OpenSSL decides whether to retransmit by the system's clock,
/// though, and cannot be given another. So `nextWake` is `now` plus what OpenSSL's timer has left, and OpenSSL
/// counts the last 15 ms of its timer as run out, which covers a caller whose clock is a little ahead. Under a
/// simulated clock the handshake works, but a lost flight is repeated only when real time has passed too:
/// simulations with loss use a stand-in for this class.
public final class DTLSAssociation: DTLSPort {
    /// The largest datagram of a handshake, in bytes: fits IPv6 (1,280) with room for a relay's framing.
    public static let defaultMTU = 1_200
    /// A handshake that takes longer is given up, counted from when the path in use was found.
    public static let handshakeTimeout = Interval.milliseconds(30_000)
    /// Datagrams and messages that wait for `pollOutput`; further ones are lost, as they may be on a network.
    static let outputLimit = 512
    /// Datagrams kept before `start`: the peer may begin before its answer, or our own, has been applied.
    static let heldLimit = 4

    private enum Phase {
        case idle(held: [[UInt8]])
        case handshaking(DTLSSession, deadline: Instant)
        case connected(DTLSSession)
        case closed
    }

    private let context: DTLSContext
    private let mtu: Int
    private var phase = Phase.idle(held: [])
    private var outputs = OutputQueue(limit: DTLSAssociation.outputLimit)
    private var readBuffer: [UInt8] = []

    /// When `tick` is next wanted; nil when nothing is pending.
    public private(set) var nextWake: Instant?

    init(context: DTLSContext, mtu: Int = DTLSAssociation.defaultMTU) {
        self.context = context
        self.mtu = mtu
    }

    /// The running OpenSSL session.
    var session: DTLSSession? {
        switch phase {
        case .idle, .closed: nil
        case .handshaking(let session, _), .connected(let session): session
        }
    }

    /// Begins the handshake as `role`. A second call is ignored.
    public func start(role: DTLSRole, remoteFingerprints: [Fingerprint], needsSRTP: Bool, at now: Instant) {
        guard case .idle(let held) = phase else { return }
        do throws(SecurityError) {
            let session = try DTLSSession(
                context: context, role: role, fingerprints: remoteFingerprints, needsSRTP: needsSRTP, mtu: mtu)
            phase = .handshaking(session, deadline: now + Self.handshakeTimeout)
        } catch {
            return end(.failed("\(error)"))
        }
        continueHandshake(at: now)
        for datagram in held { receive(datagram.span.bytes, at: now) }
        // What was held answers to nothing.
        if role == .client { session?.timer.asked(at: now) }
    }

    /// A datagram whose first byte is 20 to 63 (RFC 7983). Records that cannot be right are dropped.
    public func receive(_ datagram: RawSpan, at now: Instant) {
        let records = DTLSRecords.admissible(in: datagram, overhead: session?.cipherOverhead ?? 0)
        guard !records.isEmpty else { return }
        switch phase {
        case .idle(let held):
            guard held.count < Self.heldLimit else { return }
            phase = .idle(held: held + [records])
        case .handshaking(let session, _):
            session.timer.answered(at: now)
            session.fill(records)
            continueHandshake(at: now)
        case .connected(let session):
            session.fill(records)
            readAll(from: session)
        case .closed:
            break
        }
    }

    /// Gives a handshake that is under way its whole time anew; what has waited for an answer meanwhile is due at once.
    public func pathFound(at now: Instant) {
        guard case .handshaking(let session, _) = phase else { return }
        let deadline = now + Self.handshakeTimeout
        phase = .handshaking(session, deadline: deadline)
        scheduleWake(session, deadline: deadline, at: now)
    }

    /// Retransmits, or gives up.
    public func tick(at now: Instant) {
        guard case .handshaking(let session, let deadline) = phase else { return }
        guard now < deadline else { return end(.timedOut) }
        switch session.retransmitIfDue() {
        case .failed(let text):
            flush(session)
            end(session.failure(text))
        case .waiting, .finished, .closedByPeer:
            for datagram in session.takeRepeatedFlight() { outputs.append(.send(datagram)) }
            scheduleWake(session, deadline: deadline, at: now)
        }
    }

    /// Sends one record of application data once connected; ignored before and after.
    public func send(applicationData: RawSpan, at now: Instant) {
        guard case .connected(let session) = phase else { return }
        session.write(applicationData)
        flush(session)
    }

    /// Ends the association: close_notify if it is connected.
    public func close(at now: Instant) {
        switch phase {
        case .idle, .handshaking:
            end(.local)
        case .connected(let session):
            session.shutdown()
            flush(session)
            end(.local)
        case .closed:
            break
        }
    }

    /// The next thing to do, oldest first; nil when there is none.
    public func pollOutput() -> DTLSOutput? { outputs.next() }

    // MARK: Handshake

    private func continueHandshake(at now: Instant) {
        guard case .handshaking(let session, let deadline) = phase else { return }
        let progress = session.handshake()
        flush(session)
        switch progress {
        case .waiting:
            scheduleWake(session, deadline: deadline, at: now)
        case .finished:
            finishHandshake(session)
        case .closedByPeer:
            end(.remote)
        case .failed(let text):
            end(session.failure(text))
        }
    }

    /// The verifier has accepted the peer's certificate, else OpenSSL had failed the handshake.
    private func finishHandshake(_ session: DTLSSession) {
        if let defect = session.defect { return refuse(session, because: defect) }
        let keys = session.exportKeys()
        guard keys != nil || session.profile == nil else {
            return refuse(session, because: .failed("no keys exported"))
        }
        phase = .connected(session)
        nextWake = nil
        outputs.append(.connected(keys))
        // The datagram that completed the handshake may hold application data too.
        readAll(from: session)
    }

    private func refuse(_ session: DTLSSession, because reason: DTLSCloseReason) {
        session.shutdown()
        flush(session)
        end(reason)
    }

    private func scheduleWake(_ session: DTLSSession, deadline: Instant, at now: Instant) {
        nextWake = session.retransmissionDelay.map { min(now + $0, deadline) } ?? deadline
    }

    // MARK: Connected

    /// Drains what the last datagram held. The peer's retransmitted last flight is answered in here by OpenSSL.
    private func readAll(from session: DTLSSession) {
        if readBuffer.isEmpty { readBuffer = [UInt8](repeating: 0, count: Self.largestRecord) }
        while true {
            var count = 0
            switch session.read(into: &readBuffer, count: &count) {
            case .finished:
                outputs.append(.applicationData(Array(readBuffer.prefix(count))))
            case .waiting:
                return flush(session)
            case .closedByPeer:
                // RFC 5246 §7.2.1: answered with our own.
                session.shutdown()
                flush(session)
                return end(.remote)
            case .failed(let text):
                flush(session)
                return end(.failed(text))
            }
        }
    }

    /// RFC 6347 §4.1: a record carries at most 2^14 bytes.
    private static let largestRecord = 1 << 14

    // MARK: Outputs

    private func flush(_ session: DTLSSession) {
        for datagram in session.takeOutbound() { outputs.append(.send(datagram)) }
    }

    /// The one door to `closed`: frees OpenSSL's session with it.
    private func end(_ reason: DTLSCloseReason) {
        phase = .closed
        nextWake = nil
        outputs.append(.closed(reason))
    }
}
