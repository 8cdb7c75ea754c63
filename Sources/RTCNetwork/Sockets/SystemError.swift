#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A system call that failed.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The call, as `bind`.
    public var call: String
    /// The value of `errno`.
    public var code: Int32

    init(_ call: String, negated code: Int32) {
        self.call = call
        self.code = -code
    }

    /// Nothing is wrong: the call would have had to wait.
    var isWouldBlock: Bool { code == EAGAIN || code == EWOULDBLOCK }

    /// The process, or the system, has no descriptor left.
    var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

    /// Another socket has the port.
    package var isAddressInUse: Bool { code == EADDRINUSE }
    /// No interface of this machine has the address.
    package var isAddressMissing: Bool { code == EADDRNOTAVAIL }

    public var description: String { "\(call) failed: \(String(cString: strerror(code)))" }
}
