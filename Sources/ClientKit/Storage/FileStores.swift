public import Foundation

/// Where Roost's clients keep their files: `$XDG_CONFIG_HOME/roost`, or `~/.config/roost`
/// (XDG Base Directory Specification).
public func clientConfigurationDirectory(
    environment: [String: String] = ProcessInfo.processInfo.environment,
    home: URL = FileManager.default.homeDirectoryForCurrentUser
) -> URL {
    // The specification: a relative path is invalid and counts as unset.
    if let path = environment["XDG_CONFIG_HOME"], path.hasPrefix("/") {
        return URL(fileURLWithPath: path, isDirectory: true).appendingPathComponent("roost", isDirectory: true)
    }
    return home.appendingPathComponent(".config/roost", isDirectory: true)
}

/// Preferences in `preferences.json`.
public struct FilePreferencesStore: PreferencesStore {
    private let file: ValueFile

    public init(directory: URL) {
        file = ValueFile(url: directory.appendingPathComponent("preferences.json"), audience: .everybody)
    }

    public func value(for key: StoreKey) throws(StoreError) -> String? {
        try file.read()[key.name]
    }

    public func setValue(_ value: String?, for key: StoreKey) throws(StoreError) {
        try file.set(value, for: key.name)
    }
}

/// Secrets in `secrets.json`, which only its owner can read.
public struct FileSecretStore: SecretStore {
    private let file: ValueFile

    public init(directory: URL) {
        file = ValueFile(url: directory.appendingPathComponent("secrets.json"), audience: .owner)
    }

    public func secret(for key: StoreKey) throws(StoreError) -> String? {
        try file.read()[key.name]
    }

    public func setSecret(_ secret: String?, for key: StoreKey) throws(StoreError) {
        try file.set(secret, for: key.name)
    }
}
