internal import Synchronization

/// Keeps values as long as the process lives: for tests, and for a command that is told everything on its line.
public final class MemoryStore: PreferencesStore, SecretStore {
    /// Written by `setValue` and `setSecret` on any thread.
    private let values: Mutex<[StoreKey: String]>

    public init(_ values: [StoreKey: String] = [:]) {
        self.values = Mutex(values)
    }

    public func value(for key: StoreKey) -> String? {
        values.withLock { $0[key] }
    }

    public func setValue(_ value: String?, for key: StoreKey) {
        values.withLock { $0[key] = value }
    }

    public func secret(for key: StoreKey) -> String? {
        value(for: key)
    }

    public func setSecret(_ secret: String?, for key: StoreKey) {
        setValue(secret, for: key)
    }
}
