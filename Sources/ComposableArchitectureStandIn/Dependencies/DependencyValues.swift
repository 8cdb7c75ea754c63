import Synchronization

/// The dependencies of a reducer. An extension adds a property that reads and writes `self[Key.self]`.
public struct DependencyValues: Sendable {
    /// The dependencies of the code that runs.
    @TaskLocal public static var _current = DependencyValues()
    @TaskLocal static var isSetting = false
    @TaskLocal static var nameBeingRead: String?

    private var storage: [ObjectIdentifier: any Sendable] = [:]
    private var chosenContext: DependencyContext?

    /// No dependency is set: each is what its key says.
    public init() {}

    /// Which value of a key is read that nobody set: `test` where the stand-in for tests is linked, else `live`.
    public var context: DependencyContext {
        get { chosenContext ?? (Reporting.recorder == nil ? .live : .test) }
        set { chosenContext = newValue }
    }

    /// The dependency of a key.
    public subscript<Key: TestDependencyKey>(
        key: Key.Type,
        fileID fileID: StaticString = #fileID,
        filePath filePath: StaticString = #filePath,
        line line: UInt = #line,
        column column: UInt = #column,
        function function: StaticString = #function
    ) -> Key.Value {
        get {
            if let value = storage[ObjectIdentifier(key)] as? Key.Value { return value }
            return Self.$nameBeingRead.withValue("\(function)") {
                DependencyCache.shared.value(of: key, in: context)
            }
        }
        set { storage[ObjectIdentifier(key)] = newValue }
    }

    /// These dependencies, with those that `other` sets in place of ours.
    func merging(_ other: DependencyValues) -> DependencyValues {
        var values = self
        values.storage.merge(other.storage) { $1 }
        values.chosenContext = other.chosenContext ?? chosenContext
        return values
    }
}

/// Values that were made from their keys: one for the program, one for each test.
final class DependencyCache: Sendable {
    static let shared = DependencyCache()

    private struct Key: Hashable {
        let type: ObjectIdentifier
        let context: DependencyContext
        let test: String?
    }

    private let values = Mutex<[Key: any Sendable]>([:])

    func value<K: TestDependencyKey>(of key: K.Type, in context: DependencyContext) -> K.Value {
        // While a dependency is being set, a value made from a key is a draft: it reports nothing, and is not kept.
        if DependencyValues.isSetting { return Self.make(key, in: context) }
        let place = Key(type: ObjectIdentifier(key), context: context, test: Reporting.recorder?.testID)
        if let value = values.withLock({ $0[place] }) as? K.Value { return value }
        // Made outside the lock, because a value may read other dependencies. Of two made at once the first stays.
        let made = Self.make(key, in: context)
        return values.withLock { values in
            if let value = values[place] as? K.Value { return value }
            values[place] = made
            return made
        }
    }

    private static func make<K: TestDependencyKey>(_ key: K.Type, in context: DependencyContext) -> K.Value {
        switch context {
        case .test: return key.testValue
        case .preview: return key.previewValue
        case .live:
            if let live = (key as? any DependencyKey.Type)?.liveValue as? K.Value { return live }
            reportIssue("\(key) has no live implementation, but was read in a running program.")
            return key.testValue
        }
    }
}
