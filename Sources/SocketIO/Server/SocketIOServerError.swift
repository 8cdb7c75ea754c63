import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Why a server could not do what it was asked. Each describes itself in one sentence for a person.
public enum SocketIOServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The port is taken or needs root, or the address is not ours; with the sentence.
    case cannotListen(host: String, port: Int, String)
    /// A file of `SocketIOServerConfiguration.tls` is of no use; with the sentence, which names it.
    case cannotUseTLSFile(String, String)
    /// `shutdown` was called before.
    case shutDown

    public var description: String {
        switch self {
        case .cannotListen(_, _, let sentence), .cannotUseTLSFile(_, let sentence): sentence
        case .shutDown: "The server has been shut down."
        }
    }

    /// What NIO threw while a port was bound.
    init(_ error: any Error, host: String, port: Int) {
        let sentence =
            switch error {
            case let error as IOError: Self.sentence(errno: error.errnoCode, host: host, port: port)
            case is SocketAddressError.UnknownHost: "The name \(host) is not known."
            default: "Cannot listen on port \(port) of \(host)."
            }
        self = .cannotListen(host: host, port: port, sentence)
    }

    static func sentence(errno code: CInt, host: String, port: Int) -> String {
        switch code {
        case EADDRINUSE: "Port \(port) on \(host) is taken by another program."
        case EACCES: "Port \(port) on \(host) needs root; ports from 1024 on do not."
        case EADDRNOTAVAIL: "\(host) is not an address of this machine."
        default: "Cannot listen on port \(port) of \(host): \(systemText(of: code))."
        }
    }
}
