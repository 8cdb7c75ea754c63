/// Names a stored value.
public struct StoreKey: Hashable, Sendable {
    public let name: String

    public init(_ name: String) {
        self.name = name
    }
}

/// Keeps what a user may read: `UserDefaults` on Apple platforms, a file elsewhere.
public protocol PreferencesStore: Sendable {
    /// The stored value; nil when there is none.
    func value(for key: StoreKey) throws(StoreError) -> String?
    /// Stores a value; nil removes it.
    func setValue(_ value: String?, for key: StoreKey) throws(StoreError)
}

/// Keeps what gives access: the Keychain on Apple platforms, a file that only its owner can read elsewhere.
public protocol SecretStore: Sendable {
    /// The stored secret; nil when there is none.
    func secret(for key: StoreKey) throws(StoreError) -> String?
    /// Stores a secret; nil removes it.
    func setSecret(_ secret: String?, for key: StoreKey) throws(StoreError)
}

/// Why a store could not do what it was asked. No case carries a stored value.
public enum StoreError: Error, Hashable, Sendable {
    /// The file's content is not what a store writes. The next write puts it aside and starts afresh.
    case damaged(path: String)
    case unreadable(path: String, reason: String)
    case unwritable(path: String, reason: String)
    /// A file with secrets is open to others than its owner.
    case exposed(path: String)

    /// One sentence for people.
    public var sentence: String {
        switch self {
        case .damaged(let path): "What was stored in \(path) is damaged and cannot be read."
        case .unreadable(let path, let reason): "\(path) cannot be read: \(reason)."
        case .unwritable(let path, let reason): "\(path) cannot be written: \(reason)."
        case .exposed(let path): "\(path) can be read by other users of this computer, so it is not trusted."
        }
    }
}
