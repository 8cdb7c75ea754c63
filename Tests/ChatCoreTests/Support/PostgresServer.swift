import Foundation
import ProgramRun

/// A PostgreSQL server of the tests' own, begun with the first test that needs it: in a folder that nobody else uses,
/// reached by a socket in it, gone with the tests however they end.
actor PostgresServer {
    static let shared = PostgresServer()

    private var folder: String?
    private var process: Process?
    /// While this is open, the server runs.
    private let lifeline = Pipe()
    private var databases = 0

    struct NotToBeHad: Error, CustomStringConvertible {
        let description: String
    }

    /// Where a database is that has nothing in it yet, as libpq takes it.
    func emptyDatabase() throws -> String {
        let folder = try self.folder ?? start()
        self.folder = folder
        databases += 1
        // A schema of its own is as good, and made at once.
        let name = "test\(databases)"
        let address = "host=\(folder) user=postgres dbname=postgres"
        try Self.run("psql", ["-qX", "-c", "CREATE SCHEMA \(name)", address])
        return "\(address) options='-c search_path=\(name)'"
    }

    private func start() throws -> String {
        let folder = NSTemporaryDirectory() + "roost-postgres-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // PostgreSQL does not run as root.
        let other = getuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        if !other.isEmpty { try Self.run("chown", ["postgres", folder]) }
        let data = folder + "/data"
        try Self.run(
            "env",
            other + [
                try Self.program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                "--locale=C.UTF-8", "-N",
            ])
        let server = Process()
        server.executableURL = URL(filePath: "/bin/sh")
        // Threads of Swift's hand down a mask that blocks SIGCHLD, for which `wait` would wait without end.
        // The shell collects what has ended while it runs `sleep`, and `kill -0` then finds nobody.
        // Nothing of it is to last, so nothing waits for the disk.
        server.arguments =
            [
                "-c",
                #"""
                "$@" & server=$!
                read -r nothing
                kill -INT $server
                while kill -0 $server; do sleep 0.1; done
                rm -rf "$0"
                """#, folder,
            ] + ["env"] + other + [
                try Self.program("postgres"), "-D", data, "-k", folder, "-h", "", "-F", "-c", "max_connections=1000",
                "-c", "full_page_writes=off", "-c", "log_min_messages=fatal",
            ]
        server.standardInput = lifeline
        server.standardError = FileHandle.nullDevice
        server.standardOutput = FileHandle.nullDevice
        try server.run()
        process = server
        try Self.run("pg_isready", ["-q", "-h", folder, "-t", "30"], tries: 100)
        return folder
    }

    /// Debian keeps the server's programs off the path.
    private static func program(_ name: String) throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        for version in versions.compactMap({ Int($0) }).sorted(by: >) {
            let path = "\(root)/\(version)/bin/\(name)"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw NotToBeHad(description: "PostgreSQL's \(name) is missing: install postgresql.")
    }

    private static func run(_ program: String, _ arguments: [String], tries: Int = 1) throws {
        for attempt in 1...tries {
            let status = try runToEnd("/usr/bin/env", [program] + arguments)
            if status == 0 { return }
            guard attempt < tries else { throw NotToBeHad(description: "\(program) has ended with \(status).") }
            Thread.sleep(forTimeInterval: 0.1)
        }
    }
}
