import NIOSSL
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What a server shows over TLS: read from its files, and anew when they are others. Connections that are open keep
/// what they were shown.
public final class ServerCertificate: Sendable {
    public let files: SocketIOServerConfiguration.TLS

    private struct State {
        var context: NIOSSLContext
        var expires: Int
        /// Of the files that these are from.
        var version: Version
    }

    /// Written when it is read anew; each new connection looks.
    private let state: Mutex<State>

    /// - Throws: `SocketIOServerError.cannotUseTLSFile`.
    public init(_ files: SocketIOServerConfiguration.TLS) throws(SocketIOServerError) {
        self.files = files
        state = Mutex(try Self.read(files))
    }

    private static func read(_ files: SocketIOServerConfiguration.TLS) throws(SocketIOServerError) -> State {
        // First: what is written while it is read makes another version.
        let version = Version(of: files)
        let (context, expires) = try files.makeContext()
        return State(context: context, expires: expires, version: version)
    }

    var context: NIOSSLContext { state.withLock { $0.context } }

    /// The end of the first certificate's time (RFC 5280 §4.1.2.5), in seconds since 1970.
    public var expires: Int { state.withLock { $0.expires } }

    /// The files that are shown.
    public var version: Version { state.withLock { $0.version } }

    /// Shows what is in the files now. One of them that is of no use, or a key of another certificate, is an error, and
    /// what was there stays.
    public func renew() throws(SocketIOServerError) {
        let new = try Self.read(files)
        state.withLock { $0 = new }
    }

    /// By which two files are known to be others than before, as far as the file system tells.
    public struct Version: Hashable, Sendable {
        private let certificate: FileVersion?
        private let key: FileVersion?

        /// That of the files as they are now.
        public init(of files: SocketIOServerConfiguration.TLS) {
            certificate = FileVersion(files.certificateChainFile)
            key = FileVersion(files.privateKeyFile)
        }
    }
}

/// A file at a time. Links are followed: what renews certificates often moves a link.
private struct FileVersion: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Nil where there is none.
    init?(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        #if canImport(Darwin)
            let modified = facts.st_mtimespec
        #else
            let modified = facts.st_mtim
        #endif
        device = UInt64(truncatingIfNeeded: facts.st_dev)
        inode = UInt64(facts.st_ino)
        size = Int64(facts.st_size)
        seconds = Int(modified.tv_sec)
        nanoseconds = Int(modified.tv_nsec)
    }
}
