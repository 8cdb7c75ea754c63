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
    case cannotListen(host: String, port: Int, ListenFailure)
    /// A file of `SocketIOServerConfiguration.tls` is of no use; with the sentence, which names it.
    case cannotUseTLSFile(String, String)
    /// `shutdown` was called before.
    case shutDown

    /// Why nobody can listen on a port of a host.
    public enum ListenFailure: Hashable, Sendable {
        /// By another program.
        case portTaken
        /// Ports below 1024 are root's.
        case needsRoot
        /// The number is none of a port.
        case noPort
        /// The address is not one of this machine.
        case addressNotHere
        case unknownHost
        /// With the system's words, if it has said any.
        case other(String?)
    }

    public var description: String {
        switch self {
        case .cannotListen(let host, let port, let failure): failure.sentence(host: host, port: port)
        case .cannotUseTLSFile(_, let sentence): sentence
        case .shutDown: "The server has been shut down."
        }
    }
}

extension SocketIOServerError.ListenFailure {
    /// What NIO threw while a port was bound.
    init(_ error: any Error) {
        switch error {
        case let error as IOError: self.init(errno: error.errnoCode)
        case is SocketAddressError.UnknownHost: self = .unknownHost
        default: self = .other(nil)
        }
    }

    init(errno code: CInt) {
        switch code {
        case EADDRINUSE: self = .portTaken
        case EACCES: self = .needsRoot
        case EADDRNOTAVAIL: self = .addressNotHere
        default: self = .other(systemText(of: code))
        }
    }

    fileprivate func sentence(host: String, port: Int) -> String {
        switch self {
        case .portTaken: "Port \(port) on \(host) is taken by another program."
        case .needsRoot: "Port \(port) on \(host) needs root; ports from 1024 on do not."
        case .noPort: "\(port) is not a port: it has to be in 0...65535."
        case .addressNotHere: "\(host) is not an address of this machine."
        case .unknownHost: "The name \(host) is not known."
        case .other(let words?): "Cannot listen on port \(port) of \(host): \(words)."
        case .other(nil): "Cannot listen on port \(port) of \(host)."
        }
    }
}
