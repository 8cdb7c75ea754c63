import Foundation
import MediaFiles
import ProgramRun
import RTCEngine
import RTCWire
import Synchronization
import Testing

@testable import RTCNetwork

/// coturn as a TURN server for one test, on free ports of this host; its log says what it did.
final class TURNProcess: Sendable {
    static let program = "/usr/bin/turnserver"
    static let isInstalled = FileManager.default.isExecutableFile(atPath: program)

    let port: UInt16
    let tlsPort: UInt16
    private let process = Process()
    private let log = Mutex(Log())

    private struct Log {
        var text = ""
        var waiters: [(marks: [String], continuation: CheckedContinuation<Void, Never>)] = []

        mutating func ready() -> [CheckedContinuation<Void, Never>] {
            let (text, all) = (text, waiters)
            func isDone(_ marks: [String]) -> Bool { marks.allSatisfy { text.contains($0) } }
            waiters.removeAll { isDone($0.marks) }
            return all.filter { isDone($0.marks) }.map(\.continuation)
        }
    }

    /// Starts it and waits until it listens.
    init(_ address: String = "127.0.0.1", _ options: [String] = [], certificate: TURNCertificate? = nil) async throws {
        guard let ip = IPAddress(address) else { throw CocoaError(.featureUnsupported) }
        // Ports that were free a moment ago.
        port = try StreamListener(binding: TransportAddress(ip, port: 0)).address.port
        tlsPort = try StreamListener(binding: TransportAddress(ip, port: 0)).address.port
        process.executableURL = URL(filePath: Self.program)
        process.arguments =
            [
                "-n", "--no-cli", "--no-dtls", "--verbose", "--log-file=stdout", "--pidfile=/dev/null",
                "--userdb=/dev/null",
                "--lt-cred-mech", "--user=user:secret", "--realm=roost", "--allow-loopback-peers",
                "--listening-ip=\(address)", "--relay-ip=\(address)", "--listening-port=\(port)",
                "--tls-listening-port=\(tlsPort)",
            ] + options
            + (certificate.map { ["--cert=\($0.certificate)", "--pkey=\($0.key)"] } ?? ["--no-tls"])
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        // A `readabilityHandler` would not hear of the end of one that writes and ends at once.
        let handle = pipe.fileHandleForReading
        Thread.detachNewThread { [weak self] in
            while case let data = handle.availableData, !data.isEmpty { self?.logged(data) }
        }
        await says("Total General servers")
    }

    private func logged(_ data: Data) {
        let ready = log.withLock { log in
            log.text += String(decoding: data, as: UTF8.self)
            return log.ready()
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until the log holds all of these.
    func says(_ marks: String...) async {
        await withCheckedContinuation { continuation in
            let ready = log.withLock { log in
                log.waiters.append((marks, continuation))
                return log.ready()
            }
            for continuation in ready { continuation.resume() }
        }
    }

    var text: String { log.withLock { $0.text } }

    func url(_ transport: TURNServer.Transport = .udp, host: String = "127.0.0.1") -> String {
        switch transport {
        case .udp: "turn:\(host):\(port)"
        case .tcp: "turn:\(host):\(port)?transport=tcp"
        case .tls: "turns:\(host):\(tlsPort)"
        }
    }

    func server(
        _ transport: TURNServer.Transport = .udp, host: String = "127.0.0.1", credential: String = "secret"
    ) -> PeerConnectionConfiguration.ICEServer {
        .init(urls: [url(transport, host: host)], username: "user", credential: credential)
    }

    /// At once: it has nothing to tidy up, and a child of a pool's thread may have inherited that SIGTERM is blocked.
    func stop() { kill(process.processIdentifier, SIGKILL) }

    deinit { stop() }
}

/// A certificate for `localhost` and 127.0.0.1 that vouches for itself, made by OpenSSL's program.
struct TURNCertificate {
    let folder: URL
    var certificate: String { folder.appending(path: "certificate.pem").path }
    var key: String { folder.appending(path: "key.pem").path }

    init(names: String = "DNS:localhost,IP:127.0.0.1") throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "roost-turn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let status = try runToEnd(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=roost test", "-addext", "subjectAltName=\(names)", "-keyout", key, "-out", certificate,
            ])
        guard status == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}

extension ConnectedPair {
    /// Sends so many frames and waits until as many have come out, unchanged.
    func carriesFrames(_ count: Int) async throws -> Bool {
        let frames = answererVideo.receiver.frames
        let sent = try testVideo().frames.prefix(count)
        for (index, frame) in sent.enumerated() {
            try await offererVideo.sender.send(
                EncodedFrame(
                    payload: frame.payload, timestamp: UInt32(index) * 3_000, isKeyFrame: frame.isKeyFrame,
                    format: .h264))
        }
        var received: [EncodedFrame] = []
        for await frame in frames {
            received.append(frame)
            if received.count == sent.count { break }
        }
        return received.map(\.payload) == sent.map(\.payload)
    }

    /// Comes back when the pair in use has been nominated. No event tells it: the connection is up before (RFC 8445
    /// §12.1), and without the end of candidates it is not completed, so the statistics are asked again and again.
    static func nominated(
        _ connection: PeerConnection, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await until("the pair in use is nominated", sourceLocation: sourceLocation) {
            let report = await connection.getStats()
            let id = report.transport?.selectedCandidatePairID
            return report.candidatePairs.contains { $0.id == id && $0.nominated }
        }
    }

    /// Comes back when the pair in use is one of these kinds of candidates, ours first. A check may be there before the
    /// peer's candidate is signalled, and what it reveals is peer-reflexive until then (RFC 8838 §11).
    static func uses(
        _ types: [String], _ connection: PeerConnection, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await until("the pair in use is of the kinds \(types)", sourceLocation: sourceLocation) {
            await candidateTypes(connection) == types
        }
    }

    /// Comes back when our candidate in use is one that this TURN server has given.
    static func uses(
        relay url: String, _ connection: PeerConnection, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await until("our candidate in use is one of \(url)", sourceLocation: sourceLocation) {
            await usedCandidates(connection).first?.url == url
        }
    }

    /// The kinds of candidates of the pair in use, ours first.
    static func candidateTypes(_ connection: PeerConnection) async -> [String] {
        await usedCandidates(connection).map(\.candidateType)
    }

    private static func usedCandidates(_ connection: PeerConnection) async -> [CandidateStats] {
        let report = await connection.getStats()
        guard let id = report.transport?.selectedCandidatePairID,
            let pair = report.candidatePairs.first(where: { $0.id == id })
        else { return [] }
        return [pair.localCandidateID, pair.remoteCandidateID].compactMap { id in
            report.candidates.first { $0.id == id }
        }
    }
}
