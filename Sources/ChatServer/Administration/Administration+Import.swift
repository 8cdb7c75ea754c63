package import ChatCore
package import ChatModel
package import Foundation

/// What an import gives.
package struct ImportSummary: Sendable, Equatable {
    package let workspace: Workspace
    package let added: ImportProgress.Counts
    /// Nobody who can log in owns it.
    package let isWithoutOwner: Bool
}

extension Administration {
    /// How many lines share a transaction.
    private static let linesTogether = 500

    /// Reads a workspace in. What was read of the same source before is passed over.
    ///
    /// - Parameters:
    ///   - source: of records, in their order; each says where it stands.
    ///   - slug: the workspace's address; nil for that of the file.
    ///   - trustsAddresses: whether accounts whose addresses nobody has confirmed are those of the file's people.
    /// - Throws: `ImportFault`. What came before stays.
    package func `import`(
        _ source: inout some ImportSource, slug: String?, trustsAddresses: Bool
    ) async throws -> ImportSummary {
        var progress = ImportProgress(slug: slug, trustsAddresses: trustsAddresses)
        var isEnded = false
        while !progress.isComplete, !isEnded {
            var batch: [PlacedRecord] = []
            var fault: ImportFault?
            do {
                while batch.count < Self.linesTogether, let record = try source.next() { batch.append(record) }
                isEnded = batch.count < Self.linesTogether
            } catch let error {
                // What stands before it can be read.
                fault = error
            }
            progress = try await take(batch, progress)
            if let fault, !progress.isComplete { throw fault }
        }
        guard progress.isComplete else { throw progress.workspace == nil ? ImportFault.order : .brokenOff }
        guard let id = progress.workspace else { throw ImportFault.order }
        let added = progress.added
        return try await service.read { chat in
            ImportSummary(
                workspace: try chat.workspace(named: id.description), added: added,
                isWithoutOwner: try chat.isWithoutOwner(id))
        }
    }

    /// Reads a Slack export in.
    ///
    /// - Parameters:
    ///   - archive: a ZIP file, or the folder that was unpacked from it.
    ///   - name: of the workspace; nil for that of the file.
    package func importSlack(
        _ archive: URL, name: String?, slug: String?, trustsAddresses: Bool
    ) async throws -> ImportSummary {
        // `Harbour Slack export Nov 1 2026 - Nov 23 2026.zip`.
        let stem = archive.deletingPathExtension().lastPathComponent.split(separator: " Slack export").first
        let name = name ?? stem.map { String($0) } ?? "Slack"
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: archive.path, isDirectory: &isFolder) else {
            throw ImportFault.unreadable("there is no \(archive.path)")
        }
        guard !isFolder.boolValue else {
            var source = try SlackArchive(archive, name: name)
            return try await `import`(&source, slug: slug, trustsAddresses: trustsAddresses)
        }
        let folder = URL.temporaryDirectory.appending(path: "roost-slack-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try SlackZip.unpack(archive, into: folder)
        var source = try SlackArchive(folder, name: name)
        return try await `import`(&source, slug: slug, trustsAddresses: trustsAddresses)
    }

    private func take(_ batch: [PlacedRecord], _ progress: ImportProgress) async throws -> ImportProgress {
        try await service.write { chat in
            var progress = progress
            for record in batch {
                do {
                    try chat.take(record.record, &progress)
                } catch let fault as ImportFault {
                    throw ImportFault.at(record.place, fault)
                } catch let error as ChatError {
                    throw ImportFault.at(record.place, .refused(error.message))
                }
                // All of it was imported before.
                if progress.isComplete { break }
            }
            return progress
        }
    }
}

/// A record, and where it stands for who looks for it.
package struct PlacedRecord: Sendable {
    package let record: ExportRecord
    package let place: String
}

/// Where an import reads from.
package protocol ImportSource {
    /// The next record; nil behind the last.
    mutating func next() throws(ImportFault) -> PlacedRecord?
}
