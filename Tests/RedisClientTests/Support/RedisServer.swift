import Foundation
import Logging
import Testing

@testable import RedisClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A Redis server of one test's own, on 127.0.0.1, gone with the tests however they end.
actor RedisServer {
    let port: Int
    private let options: [String]
    private let folder: URL
    private var process: Process?
    /// While this is open, the server runs.
    private var lifeline = Pipe()
    private var identifier: pid_t = 0

    struct NotToBeHad: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs `body` beside a server.
    ///
    /// - Parameter files: are put in a folder whose path stands for `FOLDER` in the options.
    static func run(
        _ options: [String] = [], isSecure: Bool = false, files: [String: String] = [:],
        _ body: (RedisServer) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roost-redis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let port = try freePort()
        let server = RedisServer(
            port, folder,
            ["--bind", "127.0.0.1", "--dir", folder.path, "--save", "", "--appendonly", "no"]
                + (isSecure ? ["--port", "0", "--tls-port", "\(port)"] : ["--port", "\(port)"])
                + options.map { $0.replacing("FOLDER", with: folder.path) })
        try await server.start()
        do {
            try await body(server)
        } catch {
            await server.kill()
            throw error
        }
        await server.kill()
    }

    private init(_ port: Int, _ folder: URL, _ options: [String]) {
        self.port = port
        self.folder = folder
        self.options = options
    }

    nonisolated func file(_ name: String) -> String { folder.appending(path: name).path }

    // MARK: Beginning and ending

    /// Begins it, again where it was, and waits until it listens.
    func start() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c",
                #""$@" >/dev/null 2>&1 & server=$!; echo $server; read -r nothing; kill -KILL $server"#,
                "sh", "redis-server",
            ] + options
        lifeline = Pipe()
        let output = Pipe()
        process.standardInput = lifeline
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        identifier = pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        for _ in 0..<500 {
            if Self.listens(port) { return }
            Thread.sleep(forTimeInterval: 0.02)
        }
        throw NotToBeHad(description: "redis-server has not begun: install redis-server.")
    }

    /// Ends it without a word to its clients but what the system says.
    func kill() {
        guard process != nil else { return }
        process = nil
        try? lifeline.fileHandleForWriting.close()
        // Nobody can take the port meanwhile.
        for _ in 0..<500 where Self.listens(port) { Thread.sleep(forTimeInterval: 0.02) }
    }

    /// From now on it does nothing, and its connections stay open.
    func suspend() { signal(SIGSTOP) }
    func resume() { signal(SIGCONT) }

    private func signal(_ number: CInt) {
        guard identifier > 0 else { return }
        #if canImport(Darwin)
            _ = Darwin.kill(identifier, number)
        #elseif canImport(Musl)
            _ = Musl.kill(identifier, number)
        #else
            _ = Glibc.kill(identifier, number)
        #endif
    }

    // MARK: Ports

    /// Below those that the system gives to connections, so that nobody takes it while the server is away.
    private static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            if withSocket(port, { bind($0, $1, $2) == 0 }) { return port }
        }
        throw NotToBeHad(description: "There is no free port.")
    }

    private static func listens(_ port: Int) -> Bool { withSocket(port) { connect($0, $1, $2) == 0 } }

    private static func withSocket(
        _ port: Int, _ body: (CInt, UnsafePointer<sockaddr>, socklen_t) -> Bool
    ) -> Bool {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    // MARK: Clients

    /// A client that is patient for long enough on a busy machine, and asks often whether the server lives.
    ///
    /// - Parameter place: what stands before the port in its address.
    nonisolated func client(
        _ place: String = "redis://127.0.0.1", database: Int = 0, trustedAuthorities: String? = nil,
        timeout: Duration = .seconds(5), subscriptionLimit: Int = RedisSubscription.bufferLimit
    ) throws -> RedisClient {
        let address = try RedisAddress("\(place):\(port)/\(database)")
        return RedisClient(
            RedisEndpoint(
                address, trustedAuthorities: trustedAuthorities, timeout: timeout, pingInterval: .milliseconds(200)),
            subscriptionLimit: subscriptionLimit, logger: .silent)
    }
}

extension Logger {
    static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// Waits for what is to come soon.
func eventually(_ what: Comment, _ isSo: () async throws -> Bool) async throws {
    for _ in 0..<1_000 {
        if try await isSo() { return }
        try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record(what)
}

extension RedisValue {
    static func bulk(_ text: String) -> RedisValue { .bulk(Array(text.utf8)) }
}

/// What `body` fails of.
func fault(of body: () async throws(RedisFault) -> Void) async -> RedisFault? {
    do throws(RedisFault) {
        try await body()
        return nil
    } catch {
        return error
    }
}
