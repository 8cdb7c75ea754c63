internal import ChatCore
internal import COpenSSL
internal import Dispatch
internal import Foundation
internal import LiveKitProtocol
internal import Synchronization

/// Hashes passwords with scrypt (RFC 7914), which costs 32 MiB and a quarter of a second of whoever guesses, and of
/// us. So it is done by one thread, one after the other, and not for more than so many at once.
final class PasswordHasher: Sendable {
    /// Parameters of scrypt: one of OWASP's choices, unless something else is said.
    struct Cost: Sendable, Equatable {
        var logN = ChatServerConfiguration.usualPasswordCost
        var r: UInt64 = 8
        var p: UInt64 = 3
    }

    private let cost: Cost
    private let queue = DispatchQueue(label: "roost-passwords", qos: .utility)
    private let waiting = Atomic<Int>(0)

    init(cost: Cost = Cost()) { self.cost = cost }

    /// Who has to wait longer than some seconds is better off trying again: the dearer each one is, the fewer wait.
    static func mostWaiting(at cost: Cost) -> Int {
        let usual = ChatServerConfiguration.usualPasswordCost
        return 64 >> (max(cost.logN, usual) - usual)
    }

    /// `$scrypt$ln=15,r=8,p=3$SALT$HASH`, as other programs write it (the PHC string format).
    func hash(_ password: String) async throws(ChatError) -> String {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let (password, cost) = (Self.normalized(password), cost)
        guard let hash = try await run({ Self.derive(password, salt, cost) }) else { throw .busy }
        return
            "$scrypt$ln=\(cost.logN),r=\(cost.r),p=\(cost.p)$\(Base64.encodeForToken(salt))$\(Base64.encodeForToken(hash))"
    }

    /// Whether a password that is known to be right is better hashed anew: its hash has another cost than those that
    /// are made now.
    func isOutdated(_ text: String) -> Bool { Stored(text)?.cost != cost }

    /// Whether a password is the one. Without a hash to compare with it takes as long, and is not.
    func isRight(_ password: String, for text: String?) async throws(ChatError) -> Bool {
        let stored = text.flatMap(Stored.init) ?? Stored(cost: cost, salt: Array(repeating: 0, count: 16), hash: [])
        let normalized = Self.normalized(password)
        if try await isRight(normalized, for: stored) { return true }
        // Passwords were once hashed as they were typed. By bytes: strings that look alike are equal.
        guard !normalized.utf8.elementsEqual(password.utf8) else { return false }
        return try await isRight(password, for: stored)
    }

    private func isRight(_ password: String, for stored: Stored) async throws(ChatError) -> Bool {
        let cost = cost
        let derived = try await run { () -> [UInt8]? in
            // One that was kept at less takes as long as one of now, or where there is none: each step costs as much as
            // all before it, so with these it comes to the same.
            var step = stored.cost
            while step.logN < cost.logN {
                _ = Self.derive(password, stored.salt, step)
                step.logN += 1
            }
            return Self.derive(password, stored.salt, stored.cost)
        }
        guard let derived else { throw .busy }
        return SHA256.areEqual(derived, stored.hash)
    }

    /// RFC 8265 §4.2.1: one device composes what another sends in parts, so both are hashed in normalization form C.
    private static func normalized(_ password: String) -> String { password.precomposedStringWithCanonicalMapping }

    private func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws(ChatError) -> Value {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.mostWaiting(at: cost) else {
            waiting.subtract(1, ordering: .relaxed)
            throw .busy
        }
        defer { waiting.subtract(1, ordering: .relaxed) }
        return await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }

    private static func derive(_ password: String, _ salt: [UInt8], _ cost: Cost) -> [UInt8]? {
        let password = Array(password.utf8)
        var hash = [UInt8](repeating: 0, count: 32)
        let isDone = password.withUnsafeBytes { bytes in
            EVP_PBE_scrypt(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, salt, salt.count,
                1 << cost.logN, cost.r, cost.p, 256 << 20, &hash, hash.count)
        }
        return isDone == 1 ? hash : nil
    }

    /// A hash as it is kept.
    private struct Stored {
        let cost: Cost
        let salt: [UInt8]
        let hash: [UInt8]

        init(cost: Cost, salt: [UInt8], hash: [UInt8]) {
            self.cost = cost
            self.salt = salt
            self.hash = hash
        }

        init?(_ text: String) {
            let parts = text.split(separator: "$")
            guard parts.count == 4, parts[0] == "scrypt", let salt = Base64.decode(parts[2].utf8, as: .token),
                let hash = Base64.decode(parts[3].utf8, as: .token), hash.count == 32
            else { return nil }
            var cost = Cost()
            for item in parts[1].split(separator: ",") {
                let pair = item.split(separator: "=")
                guard pair.count == 2, let value = UInt64(pair[1]) else { return nil }
                switch pair[0] {
                case "ln" where value < 24: cost.logN = value
                case "r" where value < 64: cost.r = value
                case "p" where value < 64: cost.p = value
                default: return nil
                }
            }
            self.init(cost: cost, salt: salt, hash: hash)
        }
    }
}

extension ChatError {
    static let busy = ChatError(
        .tooMany(retryAfter: .seconds(3)), code: "busy", "Too many people are logging in. Try again in a moment.")
}
