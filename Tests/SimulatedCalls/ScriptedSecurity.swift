import RTCEngine
import RTCWire

/// A stand-in for DTLS in simulations. OpenSSL brings its own random numbers and reads the real clock, so a run over it
/// does not replay from a seed; this one does. Four messages with time-outs and retransmission, as in a DTLS handshake,
/// so that loss, reordering and duplication in the handshake are part of what is simulated. The real DTLS has its tests
/// in RTCSecurityTests and in the interop suite.
final class ScriptedDTLS: DTLSPort {
    private enum Phase {
        case idle, clientHelloSent, clientFinishedSent, serverWaiting, serverHelloSent, connected, closed
    }

    /// First byte of each message, within DTLS's range (RFC 7983).
    private enum Message: UInt8 {
        case clientHello = 20
        case serverHello, clientFinished, serverFinished, alert, applicationData
    }

    private let nonce: UInt64
    private let fingerprint: [UInt8]
    private let profile: SRTPProfile
    private var phase = Phase.idle
    private var remoteFingerprints: [Fingerprint] = []
    private var remoteNonce: UInt64 = 0
    private var lastFlight: [UInt8] = []
    private var retransmitAt: Instant?
    private var retransmitAfter = Interval.milliseconds(100)
    private var deadline = Instant.zero
    private var outputs: [DTLSOutput] = []

    private(set) var nextWake: Instant?

    init(nonce: UInt64, fingerprint: [UInt8], profile: SRTPProfile) {
        self.nonce = nonce
        self.fingerprint = fingerprint
        self.profile = profile
    }

    func start(role: DTLSRole, remoteFingerprints: [Fingerprint], needsSRTP: Bool, at now: Instant) {
        self.remoteFingerprints = remoteFingerprints
        deadline = now + .seconds(Int64(30))
        switch role {
        case .client:
            phase = .clientHelloSent
            flight(.clientHello, at: now)
        case .server:
            phase = .serverWaiting
            nextWake = deadline
        }
    }

    private func flight(_ message: Message, at now: Instant) {
        lastFlight = [message.rawValue]
        lastFlight.append(uint64: nonce)
        lastFlight += fingerprint
        outputs.append(.send(lastFlight))
        retransmitAt = now + retransmitAfter
        nextWake = retransmitAt
    }

    func receive(_ datagram: RawSpan, at now: Instant) {
        var reader = ByteReader(datagram)
        guard let type = reader.readUInt8(), let message = Message(rawValue: type) else { return }
        if message == .alert { return close(.remote) }
        if message == .applicationData {
            guard phase == .connected, let bytes = reader.readBytes(reader.remaining) else { return }
            outputs.append(.applicationData(bytes))
            return
        }
        guard let nonce = reader.readUInt64(), let fingerprint = reader.readBytes(reader.remaining) else { return }
        switch (phase, message) {
        case (.serverWaiting, .clientHello), (.serverHelloSent, .clientHello):
            remoteNonce = nonce
            guard check(fingerprint) else { return }
            phase = .serverHelloSent
            flight(.serverHello, at: now)
        case (.clientHelloSent, .serverHello):
            remoteNonce = nonce
            guard check(fingerprint) else { return }
            phase = .clientFinishedSent
            flight(.clientFinished, at: now)
        case (.serverHelloSent, .clientFinished):
            flight(.serverFinished, at: now)
            connected(isClient: false)
        case (.connected, .clientFinished):
            // Our last flight was lost: it is repeated when the client repeats its own.
            outputs.append(.send(lastFlight))
        case (.clientFinishedSent, .serverFinished):
            connected(isClient: true)
        default:
            return
        }
    }

    private func check(_ fingerprint: [UInt8]) -> Bool {
        if remoteFingerprints.contains(where: { $0.value == fingerprint }) { return true }
        outputs.append(.send([Message.alert.rawValue]))
        close(.fingerprintMismatch)
        return false
    }

    private func connected(isClient: Bool) {
        phase = .connected
        retransmitAt = nil
        nextWake = nil
        func key(_ nonce: UInt64, _ count: Int) -> [UInt8] {
            var random = EngineRandom.seeded(nonce)
            return random.bytes(count)
        }
        let length = profile == .aeadAES256GCM ? 32 : 16
        let salt = profile == .aes128CMHMACSHA1_80 ? 14 : 12
        outputs.append(
            .connected(
                SRTPKeyingMaterial(
                    profile: profile, localKey: key(nonce, length), localSalt: key(nonce &+ 1, salt),
                    remoteKey: key(remoteNonce, length), remoteSalt: key(remoteNonce &+ 1, salt))))
    }

    func tick(at now: Instant) {
        guard phase != .connected, phase != .closed, phase != .idle else { return }
        if now >= deadline { return close(.timedOut) }
        if let at = retransmitAt, now >= at {
            outputs.append(.send(lastFlight))
            retransmitAfter = min(retransmitAfter * 2, .seconds(Int64(2)))
            retransmitAt = now + retransmitAfter
        }
        nextWake = min(retransmitAt ?? deadline, deadline)
    }

    func pathFound(at now: Instant) {
        guard phase != .connected, phase != .closed, phase != .idle else { return }
        deadline = now + .seconds(Int64(30))
        nextWake = min(retransmitAt ?? deadline, deadline)
    }

    func send(applicationData: RawSpan, at now: Instant) {
        guard phase == .connected else { return }
        var bytes = [Message.applicationData.rawValue]
        bytes.append(contentsOf: applicationData)
        outputs.append(.send(bytes))
    }

    func close(at now: Instant) {
        guard phase != .closed else { return }
        if phase != .idle { outputs.append(.send([Message.alert.rawValue])) }
        close(.local)
    }

    private func close(_ reason: DTLSCloseReason) {
        guard phase != .closed else { return }
        phase = .closed
        nextWake = nil
        retransmitAt = nil
        outputs.append(.closed(reason))
    }

    func pollOutput() -> DTLSOutput? { outputs.isEmpty ? nil : outputs.removeFirst() }
}
