internal import ChatCore
internal import ChatModel
internal import Foundation
internal import Logging
internal import NIOPosix

/// Looks into pictures after they have become files: two at a time, from a copy on disk, so that neither memory nor the
/// disk is filled by those that wait.
actor Pictures {
    private let thumbnailer: Thumbnailer
    private let store: any FileStore
    private let service: ChatService
    private let folder: URL
    private let logger: Logger
    private var queue = PictureQueue()
    /// Waiting or looked into.
    private var open: Set<FileID> = []
    private var waiters: [FileID: [Int: CheckedContinuation<Bool, Never>]] = [:]
    private var lastWaiter = 0

    /// A copy that takes longer is given up: what is slow is not to keep others waiting.
    private static let copyingLimit = Duration.seconds(30)
    /// No copy is needed for so long.
    private static let oldest: TimeInterval = 120

    /// - Parameter folder: for copies, and nothing else; is made if it is not there. Nil for one among temporary files.
    init(
        _ thumbnailer: Thumbnailer, store: any FileStore, service: ChatService, folder: String?, logger: Logger
    ) throws {
        self.thumbnailer = thumbnailer
        self.store = store
        self.service = service
        self.logger = logger
        self.folder =
            folder.map { URL(filePath: $0, directoryHint: .isDirectory) }
            ?? FileManager.default.temporaryDirectory.appending(path: "roost-pictures-\(UUID())")
        try FileManager.default.createDirectory(
            at: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Does so when it is its turn.
    ///
    /// - Returns: false where too many wait: such a picture is a file like others.
    func look(into picture: PictureQueue.Picture) -> Bool {
        // One that was found to be waiting may have come just now.
        guard !open.contains(picture.id) else { return true }
        guard queue.add(picture) else { return false }
        open.insert(picture.id)
        pump()
        return true
    }

    /// Waits until a picture has been looked into, with or without success.
    ///
    /// - Returns: false when that has not been so in time. True for what nobody looks into.
    func isDone(_ id: FileID, within patience: Duration) async -> Bool {
        guard open.contains(id) else { return true }
        lastWaiter += 1
        let waiter = lastWaiter
        return await withCheckedContinuation { continuation in
            waiters[id, default: [:]][waiter] = continuation
            // Finds nobody where the picture was done before; it is over when the time is.
            Task {
                try? await Task.sleep(for: patience)
                giveUp(waiter, for: id)
            }
        }
    }

    private func giveUp(_ waiter: Int, for id: FileID) {
        waiters[id]?.removeValue(forKey: waiter)?.resume(returning: false)
    }

    private func pump() {
        while let picture = queue.begin() {
            // The queue counts it, and limits itself how long it takes. What a server that ends has not looked into is
            // looked into after the next start.
            Task {
                await look(into: picture.id, picture.size)
                end(picture.id)
            }
        }
    }

    private func end(_ id: FileID) {
        queue.end(id)
        open.remove(id)
        for continuation in (waiters.removeValue(forKey: id) ?? [:]).values { continuation.resume(returning: true) }
        pump()
    }

    private nonisolated func look(into id: FileID, _ size: Int64) async {
        let copy = folder.appending(path: id.description)
        defer { try? FileManager.default.removeItem(at: copy) }
        do {
            try await write(id, size, to: copy)
            guard let picture = await thumbnailer.picture(in: copy) else {
                return try await service.write { try $0.setNoPicture(of: id) }
            }
            if let thumbnail = picture.thumbnail { try await store.put(thumbnail, as: StoredObject(id, .thumbnail)) }
            let facts = ChatTransaction.PictureFacts(
                width: picture.width, height: picture.height, thumbnailType: picture.type)
            // The thumbnail may have come after all of a file that was deleted was taken away.
            let isThere = try await service.write { try $0.setPicture(facts, of: id) }
            if !isThere { try await store.remove(id, handle: nil) }
        } catch {
            logger.warning("a picture has no thumbnail", metadata: ["error": "\(error)"])
        }
    }

    private nonisolated func write(_ id: FileID, _ size: Int64, to copy: URL) async throws {
        let deadline = ContinuousClock.now.advanced(by: Self.copyingLimit)
        guard
            FileManager.default.createFile(
                atPath: copy.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown) }
        let file = try FileHandle(forWritingTo: copy)
        defer { try? file.close() }
        for try await chunk in try await store.read(StoredObject(id), 0..<size) {
            guard ContinuousClock.now < deadline else { throw CocoaError(.fileReadUnknown) }
            try await NIOThreadPool.singleton.runIfActive { try file.write(contentsOf: Data(chunk)) }
        }
    }

    /// Takes copies away that a process which ended has left.
    func removeOldCopies() {
        let copies = try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: [.contentModificationDateKey])
        for copy in copies ?? [] {
            let date = try? copy.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
            guard let date, Date().timeIntervalSince(date) < Self.oldest else {
                try? FileManager.default.removeItem(at: copy)
                continue
            }
        }
    }
}
