/// A key for HMAC-SHA-256 (RFC 2104, RFC 4231), with both padded key blocks made.
public struct HMACSHA256: Sendable, Hashable {
    private let inner: [UInt8]
    private let outer: [UInt8]

    /// Takes a key of any length; one longer than a block is hashed first (RFC 2104 §2).
    public init(key: [UInt8]) {
        var block = key.count > SHA256.blockSize ? SHA256.digest(of: key) : key
        block.append(contentsOf: repeatElement(0, count: SHA256.blockSize - block.count))
        inner = block.map { $0 ^ 0x36 }
        outer = block.map { $0 ^ 0x5c }
    }

    /// The 32-byte code of `message`.
    public func authenticate(_ message: [UInt8]) -> [UInt8] {
        SHA256.digest(of: outer + SHA256.digest(of: inner + message))
    }
}
