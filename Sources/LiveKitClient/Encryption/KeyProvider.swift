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

    /// With a password that all in the room have.
    public convenience init(sharedKey: String, salt: String = KeyProvider.usualSalt) {
        self.init(salt: salt)
        setSharedKey(sharedKey)
    }

    /// Sets the password that all in the room have. Takes tens of milliseconds.
    ///
    /// - Parameter index: 0 to 15, as the others have it.
    public func setSharedKey(_ password: String, index: Int = 0) {
        guard let key = derive(password) else { return }
        keys.withLock { $0.shared[Self.place(index)] = key }
    }

    /// Sets the password of one participant, which we need to read what that one sends, or our own. It is looked at
    /// before the shared one. Takes tens of milliseconds.
    public func setKey(_ password: String, for participant: ParticipantIdentity, index: Int = 0) {
        guard let key = derive(password) else { return }
        keys.withLock { $0.own[participant, default: [:]][Self.place(index)] = key }
    }

    /// Encrypts with the key under this index from now on.
    public func setCurrentKeyIndex(_ index: Int) { keys.withLock { $0.current = Self.place(index) } }

    private static func place(_ index: Int) -> Int { min(max(index, 0), ringSize - 1) }

    private func derive(_ password: String) -> [UInt8]? {
        PasswordKey.derive(
            Array(password.utf8), salt: salt, iterations: Self.iterations, length: AES128GCM.keyLength)
    }

    // MARK: For who encrypts

    func key(of participant: ParticipantIdentity, at index: UInt8) -> [UInt8]? {
        keys.withLock { $0.own[participant]?[Int(index)] ?? $0.shared[Int(index)] }
    }

    /// What we encrypt with; nil while there is none.
    func currentKey(of participant: ParticipantIdentity) -> (key: [UInt8], index: UInt8)? {
        let index = keys.withLock { UInt8($0.current) }
        return key(of: participant, at: index).map { ($0, index) }
    }
}
