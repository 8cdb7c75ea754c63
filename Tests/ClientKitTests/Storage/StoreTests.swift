import ClientKit
import Foundation
import Testing

@Suite struct `File stores` {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("roost-store-\(UUID().uuidString)", isDirectory: true)
    private let key = StoreKey("name")

    private func withStores(_ body: (FilePreferencesStore, FileSecretStore) throws -> Void) throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try body(FilePreferencesStore(directory: directory), FileSecretStore(directory: directory))
    }

    private func mode(_ name: String) throws -> Int? {
        let path = name.isEmpty ? directory.path : directory.appendingPathComponent(name).path
        return try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `are empty at first, and keep what they are given`() throws {
        try withStores { preferences, secrets in
            #expect(try preferences.value(for: key) == nil)
            try preferences.setValue("Оля", for: key)
            try secrets.setSecret("1", for: key)
            #expect(try FilePreferencesStore(directory: directory).value(for: key) == "Оля")
            #expect(try FileSecretStore(directory: directory).secret(for: key) == "1")
            try preferences.setValue(nil, for: key)
            #expect(try preferences.value(for: key) == nil)
        }
    }

    @Test func `let only the owner read secrets`() throws {
        try withStores { preferences, secrets in
            try secrets.setSecret("1", for: key)
            try preferences.setValue("Bob", for: key)
            #expect(try mode("secrets.json") == 0o600)
            #expect(try mode("") == 0o700)
        }
    }

    @Test func `do not trust secrets that others can read, and replace them`() throws {
        try withStores { _, secrets in
            try secrets.setSecret("1", for: key)
            let path = directory.appendingPathComponent("secrets.json").path
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            #expect(throws: StoreError.exposed(path: path)) { try secrets.secret(for: key) }
            try secrets.setSecret("2", for: key)
            #expect(try secrets.secret(for: key) == "2")
            #expect(try mode("secrets.json") == 0o600)
            #expect(try mode("secrets.json.damaged") == 0o600)
        }
    }

    @Test func `name a damaged file, and start afresh with the next write`() throws {
        try withStores { preferences, _ in
            try preferences.setValue("Bob", for: key)
            let file = directory.appendingPathComponent("preferences.json")
            try Data("{\"name\": ".utf8).write(to: file)
            #expect(throws: StoreError.damaged(path: file.path)) { try preferences.value(for: key) }
            try preferences.setValue("Eve", for: key)
            #expect(try preferences.value(for: key) == "Eve")
            #expect(try String(contentsOf: file.appendingPathExtension("damaged"), encoding: .utf8) == "{\"name\": ")
        }
    }

    @Test func `replace the file as a whole and leave nothing else behind`() throws {
        try withStores { preferences, _ in
            try preferences.setValue("Bob", for: key)
            let file = directory.appendingPathComponent("preferences.json")
            // A reader that opened the old file keeps the old content to its end.
            let reader = try FileHandle(forReadingFrom: file)
            try preferences.setValue("Eve", for: key)
            let old = try #require(try reader.readToEnd())
            #expect(String(decoding: old, as: UTF8.self).contains("Bob"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["preferences.json"])
        }
    }

    @Test func `say which file cannot be written`() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data().write(to: directory)
        let store = FilePreferencesStore(directory: directory.appendingPathComponent("below", isDirectory: true))
        #expect {
            try store.setValue("Bob", for: key)
        } throws: { error in
            guard case StoreError.unwritable(let path, _)? = error as? StoreError else { return false }
            return path.hasSuffix("below/preferences.json")
        }
    }

    @Test func `lose nothing when written from many threads`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = FilePreferencesStore(directory: directory)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try store.setValue("\(number)", for: StoreKey("key\(number)")) }
            }
            try await group.waitForAll()
        }
        for number in 0..<20 { #expect(try store.value(for: StoreKey("key\(number)")) == "\(number)") }
    }

    /// Two values of one file know nothing of each other, as two processes don't.
    @Test func `lose nothing when two programs write at once`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let stores = [FilePreferencesStore(directory: directory), FilePreferencesStore(directory: directory)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for round in 0..<6 { try store.setValue("\(round)", for: StoreKey("key\(number).\(round)")) }
                }
            }
            try await group.waitForAll()
        }
        for number in 0..<2 {
            for round in 0..<6 {
                #expect(try stores[0].value(for: StoreKey("key\(number).\(round)")) == "\(round)")
            }
        }
    }

    @Test func `do not wait for ever for a program that was stopped while it wrote`() throws {
        try withStores { preferences, _ in
            try preferences.setValue("Bob", for: key)
            let folder = open(directory.path, O_RDONLY)
            defer { close(folder) }
            #expect(flock(folder, LOCK_EX) == 0)
            try preferences.setValue("Eve", for: key)
            #expect(try preferences.value(for: key) == "Eve")
        }
    }

    @Test func `live where XDG says`() {
        let home = URL(fileURLWithPath: "/home/bob", isDirectory: true)
        #expect(clientConfigurationDirectory(environment: ["XDG_CONFIG_HOME": "/x"], home: home).path == "/x/roost")
        #expect(
            clientConfigurationDirectory(environment: ["XDG_CONFIG_HOME": "x"], home: home).path
                == "/home/bob/.config/roost")
        #expect(clientConfigurationDirectory(environment: [:], home: home).path == "/home/bob/.config/roost")
    }
}
