internal import LiveKitProtocol
internal import Synchronization

/// The keys of end-to-end encryption (LiveKit's): who has them reads sound, pictures and messages of a room, and the
/// server does not. They are made of passwords, one for all or one for each participant; to go over to another one, all
/// set it under another index, and then use that.
///
/// ```swift
/// var options = ConnectOptions()
/// options.encryption = KeyProvider(sharedKey: "correct horse battery staple")
/// let room = Room(options: options)
/// ```
public final class KeyProvider: Sendable {
    /// As many keys as LiveKit's SDKs keep of one participant.
    public static let ringSize = 16
    /// What LiveKit's SDKs say if nobody else does.
    public static let usualSalt = "LKFrameEncryptionKey"
    /// As LiveKit's SDKs have it.
    private static let iterations = 100_000

    private struct Keys {
        var shared: [Int: [UInt8]] = [:]
        var own: [ParticipantIdentity: [Int: [UInt8]]] = [:]
        var current = 0
    }

    private let salt: [UInt8]
    private let keys = Mutex(Keys())

    /// Without a key yet: until there is one nothing is sent, and nothing can be read.
    ///
    /// - Parameter salt: that all use; not a secret.
    public init(salt: String = KeyProvider.usualSalt) { self.salt = Array(salt.utf8) }

    /// With a password that all in the room have. Another one for each room is best: who has it, reads all that was
    /// ever encrypted with it. Takes tens of milliseconds.
    ///
    /// - Precondition: the password is not empty: an empty one, whose key everybody knows, stops the program. Of what
    ///   people type, that is to be looked at before.
    public convenience init(sharedKey: String, salt: String = KeyProvider.usualSalt) {
        self.init(salt: salt)
        setSharedKey(sharedKey)
    }

    /// Sets the password that all in the room have. Takes tens of milliseconds.
    ///
    /// - Precondition: the password is not empty, and the index within its range; others stop the program.
    /// - Parameters:
    ///   - password: not empty.
    ///   - index: 0 to 15, as the others have it.
    public func setSharedKey(_ password: String, index: Int = 0) {
        let key = derive(password, index)
        keys.withLock { $0.shared[index] = key }
    }

    /// Sets the password of one participant, which we need to read what that one sends, or our own: the shared ones are
    /// not theirs then. Takes tens of milliseconds.
    ///
    /// - Precondition: the password is not empty, and the index within its range; others stop the program.
    /// - Parameters:
    ///   - password: not empty.
    ///   - index: 0 to 15, as the others have it.
    public func setKey(_ password: String, for participant: ParticipantIdentity, index: Int = 0) {
        let key = derive(password, index)
        keys.withLock { $0.own[participant, default: [:]][index] = key }
    }

    /// Encrypts with the key under this index from now on.
    ///
    /// - Parameter index: 0 to 15.
    public func setCurrentKeyIndex(_ index: Int) {
        precondition(Self.indexes.contains(index), "a key's index is from 0 to 15")
        keys.withLock { $0.current = index }
    }

    private static var indexes: Range<Int> { 0..<ringSize }

    private func derive(_ password: String, _ index: Int) -> [UInt8] {
        precondition(Self.indexes.contains(index), "a key's index is from 0 to 15")
        precondition(!password.isEmpty, "everybody knows the key of an empty password")
        let key = PasswordKey.derive(
            Array(password.utf8), salt: salt, iterations: Self.iterations, length: AES128GCM.keyLength)
        guard let key else { preconditionFailure("PBKDF2 has failed in OpenSSL") }
        return key
    }

    // MARK: For who encrypts

    func key(of participant: ParticipantIdentity, at index: UInt8) -> [UInt8]? {
        keys.withLock { keys in
            // Who has the shared one does not speak for who has another.
            if let own = keys.own[participant] { return own[Int(index)] }
            return keys.shared[Int(index)]
        }
    }

    /// What we encrypt with; nil while there is none.
    func currentKey(of participant: ParticipantIdentity) -> (key: [UInt8], index: UInt8)? {
        let index = keys.withLock { UInt8($0.current) }
        return key(of: participant, at: index).map { ($0, index) }
    }
}
