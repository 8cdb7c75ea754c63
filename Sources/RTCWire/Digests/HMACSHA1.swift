/// A key for HMAC-SHA1 (RFC 2104), with both padded key blocks already hashed: one key serves every message of an
/// ICE session, and each message then costs only its own length.
public struct HMACSHA1: Sendable {
    private let inner: SHA1
    private let outer: SHA1

    /// Takes a key of any length; one longer than a block is hashed first (RFC 2104 §2).
    public init(key: [UInt8]) {
        var block = key
        if block.count > SHA1.blockSize {
            var hash = SHA1()
            hash.update(key.span.bytes)
            block = hash.finalize()
        }
        block.append(contentsOf: repeatElement(0, count: SHA1.blockSize - block.count))
        let innerBlock = block.map { $0 ^ 0x36 }
        let outerBlock = block.map { $0 ^ 0x5c }
        var inner = SHA1()
        inner.update(innerBlock.span.bytes)
        var outer = SHA1()
        outer.update(outerBlock.span.bytes)
        self.inner = inner
        self.outer = outer
    }

    /// The short-term credential's key: the password's bytes (RFC 8489 §9.1.1). ICE passwords are ASCII, so
    /// OpaqueString preparation leaves them as they are.
    public init(password: String) { self.init(key: Array(password.utf8)) }

    /// The 20-byte code of `prefix` followed by `message`.
    func authenticate(prefix: RawSpan, message: RawSpan) -> [UInt8] {
        var hash = inner
        hash.update(prefix)
        hash.update(message)
        let digest = hash.finalize()
        var wrapped = outer
        wrapped.update(digest.span.bytes)
        return wrapped.finalize()
    }

    /// The 20-byte code of `message`.
    public func authenticate(_ message: RawSpan) -> [UInt8] {
        let nothing: [UInt8] = []
        return authenticate(prefix: nothing.span.bytes, message: message)
    }
}
