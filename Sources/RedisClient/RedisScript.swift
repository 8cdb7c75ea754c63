internal import COpenSSL

/// A Lua script, with the name under which Redis keeps it: `EVALSHA` then sends 40 characters instead of the text.
package struct RedisScript: Sendable {
    let text: String
    /// SHA-1 of the text, in hexadecimal digits (redis.io, "EVALSHA").
    let digest: String

    package init(_ text: String) {
        self.text = text
        var digest = [UInt8](repeating: 0, count: 20)
        let bytes = Array(text.utf8)
        _ = SHA1(bytes, bytes.count, &digest)
        self.digest = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
