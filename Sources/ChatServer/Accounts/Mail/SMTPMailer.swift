package import ChatModel
package import Logging
internal import NIOSSL

/// Brings letters to a mail server, which brings them to people. What the server does not take now waits here, in
/// memory, and is tried again.
package actor SMTPMailer: Mailer {
    private let server: SMTPServer
    private let author: MailAuthor
    private let tls: NIOSSLContext
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    /// Letters that are not taken yet.
    private var letters: [Int: Task<Void, Never>] = [:]
    private var count = 0
    private var connections = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isStopped = false
    private nonisolated let tally = MailCounters()

    private static let mostLetters = 1_000
    private static let mostConnections = 4
    /// Between one try and the next: a little more than four hours in all. A server that makes strangers come again
    /// wants minutes; one that restarts, seconds. RFC 5321 §4.5.4.1 has days, for servers that have a disk to keep
    /// letters on.
    private static let waits: [Duration] = [5, 30, 120, 300, 600, 900, 1_800, 3_600, 7_200].map { .seconds($0) }
    /// What is on its way when the server ends may arrive.
    private static let lastWait = Duration.seconds(5)
    private static let lookAgain = Duration.milliseconds(50)

    /// - Parameter authorities: a file of certificates to trust besides the system's (PEM).
    /// - Throws: where that file is of no use.
    package init(
        server: SMTPServer, author: MailAuthor, authorities: String?, now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let authorities { configuration.additionalTrustRoots = [.file(authorities)] }
        tls = try NIOSSLContext(configuration: configuration)
        self.server = server
        self.author = author
        self.now = now
        self.logger = logger
    }

    package nonisolated var isDelivering: Bool { true }
    package nonisolated var counters: MailCounters? { tally }

    package func send(_ mail: Mail) throws {
        guard !isStopped, letters.count < Self.mostLetters else {
            tally.failed.add()
            throw SMTPFault.tooMany
        }
        // The same in each try, so that a letter that came twice is seen to be one.
        let letter = SMTPLetter(mail, from: author, identifier: Secret.random().text, at: now())
        guard let letter else { throw SMTPFault.notOffered("such addresses") }
        count += 1
        tally.waiting.add()
        let number = count
        letters[number] = Task { await deliver(letter, as: number) }
    }

    private func deliver(_ letter: SMTPLetter, as number: Int) async {
        for wait in Self.waits.map(Optional.some) + [nil] {
            do {
                try await attempt(letter)
                letters[number] = nil
                tally.waiting.add(-1)
                tally.sent.add()
                return
            } catch is CancellationError {
                return
            } catch {
                guard let wait, (error as? SMTPFault)?.isTemporary != false else {
                    logger.error("a letter was given up", metadata: ["error": "\(error)"])
                    break
                }
                logger.warning("a letter is tried again", metadata: ["error": "\(error)", "after": "\(wait)"])
                // When the server ends it stays among those that were not sent.
                do { try await Task.sleep(for: wait) } catch { return }
            }
        }
        letters[number] = nil
        tally.waiting.add(-1)
        tally.failed.add()
    }

    private func attempt(_ letter: SMTPLetter) async throws {
        if connections >= Self.mostConnections {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            connections += 1
        }
        // Whoever waits takes the connection's place over.
        defer { if waiting.isEmpty { connections -= 1 } else { waiting.removeFirst().resume() } }
        try Task.checkCancellation()
        try await SMTPConnection.deliver(letter, to: server, tls: tls)
    }

    package func stop() async {
        isStopped = true
        // Those that wait stop waiting; what a server is being told goes on.
        for task in letters.values { task.cancel() }
        var left = Self.lastWait
        while connections > 0, left > .zero {
            try? await Task.sleep(for: Self.lookAgain)
            left -= Self.lookAgain
        }
        guard !letters.isEmpty else { return }
        logger.error("letters were not sent, for the server has ended", metadata: ["letters": "\(letters.count)"])
    }
}
