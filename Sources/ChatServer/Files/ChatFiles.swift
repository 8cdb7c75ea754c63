internal import ChatCore
internal import ChatModel
internal import Foundation
internal import Logging
internal import Synchronization

/// Files of the chat: what the tables know of them, and their bytes in a store.
struct ChatFiles: Sendable {
    let service: ChatService
    let store: any FileStore
    /// Nil where pictures are files like others.
    let pictures: Pictures?
    let links: FileLinks
    let logger: Logger
    private let busy = BusyUploads()

    /// - Returns: nil without a store.
    static func make(
        _ configuration: ChatServerConfiguration, service: ChatService, logger: Logger
    ) async throws -> ChatFiles? {
        guard let store = configuration.fileStore else { return nil }
        let secret = Secret.random().text
        let kept = try await service.write { try $0.setting("file_link_secret", ifMissing: secret) }
        return ChatFiles(
            service: service, store: store,
            pictures: try configuration.thumbnailer.map {
                try Pictures(
                    $0, store: store, service: service, folder: configuration.pictureFolder, logger: logger)
            }, links: FileLinks(key: Array(kept.utf8)), logger: logger)
    }

    private init(
        service: ChatService, store: any FileStore, pictures: Pictures?, links: FileLinks, logger: Logger
    ) {
        self.service = service
        self.store = store
        self.pictures = pictures
        self.links = links
        self.logger = logger
    }

    // MARK: Uploads

    func begin(_ new: ChatTransaction.NewUpload, to channel: ChannelID, by user: UserID) async throws -> FileUpload {
        let upload = try await service.write { try $0.beginUpload(new, to: channel, by: user) }
        // A server that ends here leaves an upload that nobody knows of, which goes when it is too old.
        do {
            let handle = try await store.begin(upload.id)
            try await service.write { try $0.setHandle(handle, of: upload.id) }
        } catch {
            try? await service.write { try $0.abandonUpload(upload.id, by: user) }
            throw error
        }
        return answer(upload, offset: 0)
    }

    private func answer(_ upload: ChatTransaction.Upload, offset: Int64) -> FileUpload {
        FileUpload(
            id: upload.id, name: upload.name, mediaType: upload.mediaType, size: upload.size, offset: offset,
            partSize: store.partSize, expiresAt: upload.expiresAt)
    }

    func upload(_ id: FileID, by user: UserID) async throws -> FileUpload {
        let (upload, stored) = try await find(id, by: user)
        return answer(upload, offset: try await store.offset(of: stored))
    }

    private func find(
        _ id: FileID, by user: UserID
    ) async throws -> (upload: ChatTransaction.Upload, stored: StoredUpload) {
        let upload = try await service.read { try $0.upload(id, by: user) }
        guard let handle = upload.handle else { throw ChatError.notFound("upload") }
        return (upload, StoredUpload(id: id, handle: handle, size: upload.size))
    }

    enum PartAnswer: Sendable, Equatable {
        /// Where the next part begins.
        case taken(Int64)
        /// The part does not begin where the upload ends, which is here.
        case misplaced(Int64)
    }

    func append(
        _ bytes: [UInt8], at offset: Int64, to id: FileID, by user: UserID
    ) async throws -> PartAnswer {
        guard !bytes.isEmpty else { throw ChatError.invalid("part", "A part has at least one byte.") }
        return try await busy.run(id) {
            let (upload, stored) = try await find(id, by: user)
            let there = try await store.offset(of: stored)
            guard there == offset else { return .misplaced(there) }
            let end = offset + Int64(bytes.count)
            guard end <= upload.size, bytes.count <= store.partSize else {
                throw ChatError(.tooLarge, code: "part_too_large", "The upload does not have so many bytes.")
            }
            guard store.takesShortParts || bytes.count == store.partSize || end == upload.size else {
                throw ChatError.invalid("part", "All parts but the last have \(store.partSize) bytes.")
            }
            // Before it is written, so that it does not give way meanwhile.
            if service.now() - upload.touchedAt >= Self.touchInterval {
                try await service.write { try $0.touchUpload(id) }
            }
            try await store.append(bytes, to: stored, at: offset)
            service.statistics.uploadedBytes.add(bytes.count)
            return .taken(end)
        }
    }

    /// How often it is noted that something is sent to an upload.
    private static let touchInterval = Duration.seconds(60)

    func abandon(_ id: FileID, by user: UserID) async throws {
        try await busy.run(id) { try await service.write { try $0.abandonUpload(id, by: user) } }
    }

    /// Makes a file of an upload. Of a picture it is told at once or within two seconds; what takes longer comes later,
    /// as an event of the message that shows it by then.
    func complete(_ id: FileID, by user: UserID) async throws -> FileInfo {
        let (info, isNew) = try await finish(id, by: user)
        guard isNew, let pictures, Thumbnailer.isPicture(info.mediaType, size: info.size),
            await pictures.look(into: PictureQueue.Picture(id: id, owner: user, size: info.size)),
            await pictures.isDone(id, within: Self.patience)
        else { return info }
        return try await service.read { try $0.storedFile(id).info }
    }

    /// How long an upload waits for what is in its picture.
    private static let patience = Duration.seconds(2)

    /// - Returns: the file, which is not new when somebody asks again whose answer was lost.
    private func finish(_ id: FileID, by user: UserID) async throws -> (info: FileInfo, isNew: Bool) {
        try await busy.run(id) {
            if let file = try await service.read({ try $0.finishedUpload(id, by: user) }) { return (file, false) }
            let (upload, stored) = try await find(id, by: user)
            guard try await store.offset(of: stored) == upload.size else {
                throw ChatError.conflict("upload_incomplete", "Not all of the file is there.")
            }
            try await store.complete(stored)
            let awaitsLook = pictures != nil && Thumbnailer.isPicture(upload.mediaType, size: upload.size)
            if let digest = upload.sha256, try await self.digest(of: upload) != digest {
                try await service.write { try $0.abandonUpload(id, by: user) }
                throw ChatError(
                    .invalid, code: "wrong_digest", "What has arrived is not what was announced.", field: "sha256")
            }
            let file = try await service.write { try $0.finishUpload(id, by: user, awaitsLook: awaitsLook) }
            service.statistics.uploads.add()
            return (file, true)
        }
    }

    /// Looks into pictures of the last day that waited when a server ended, as many as there is room for.
    func lookIntoAwaitedPictures() async {
        guard let pictures else { return }
        do {
            let since = service.now().advanced(by: .seconds(-86_400))
            let awaited = try await service.read {
                try $0.awaitedPictures(since: since, atMost: PictureQueue.most)
            }
            for file in awaited {
                _ = await pictures.look(
                    into: PictureQueue.Picture(id: file.id, owner: file.owner, size: file.size))
            }
        } catch {
            logger.failedChore("pictures that wait could not be found", error)
        }
    }

    private func digest(of upload: ChatTransaction.Upload) async throws -> String? {
        let digest = FileDigest()
        for try await chunk in try await store.read(StoredObject(upload.id), 0..<upload.size) { digest.add(chunk) }
        return digest.text()
    }

    // MARK: Links

    func link(to id: FileID, _ part: StoredObject.Part, for user: UserID) async throws -> FileLink {
        let file = try await service.read { try $0.file(id, for: user) }
        let type = try Self.type(of: file, part)
        let object = StoredObject(id, part)
        // In whole seconds, as links have them.
        let until = service.now().advanced(by: service.lifetimes.fileLink).milliseconds / 1_000
        let end = Timestamp(milliseconds: until * 1_000)
        let response = LinkedResponse(
            mediaType: type, disposition: FileHeaders.disposition(of: file.info.name, type))
        let url = store.link(to: object, as: response, until: end) ?? links.path(to: object, until: end)
        return FileLink(url: url, expiresAt: end)
    }

    /// The media type of what is served.
    static func type(
        of file: ChatTransaction.StoredFile, _ part: StoredObject.Part
    ) throws(ChatError) -> String {
        switch part {
        case .content: return file.info.mediaType
        case .thumbnail:
            guard let type = file.thumbnailType else { throw .notFound("thumbnail") }
            return type
        }
    }

    func thumbnail(of id: FileID) async throws -> [UInt8] {
        do {
            let bytes = try await store.get(StoredObject(id, .thumbnail))
            service.statistics.downloadedBytes.add(bytes.count)
            return bytes
        } catch FileStoreFault.missing {
            throw ChatError.notFound("thumbnail")
        }
    }

    /// In bytes.
    func thumbnailSize(of id: FileID) async throws -> Int {
        do {
            return try await store.size(of: StoredObject(id, .thumbnail))
        } catch FileStoreFault.missing {
            throw ChatError.notFound("thumbnail")
        }
    }

    // MARK: What is over

    /// Looks every ten minutes for what is too old, until it is cancelled.
    func sweepRegularly() async {
        while !Task.isCancelled {
            do {
                try await service.write { try $0.expireFiles() }
            } catch {
                logger.failedChore("old uploads could not be given up", error)
            }
            await removeLeftovers()
            await pictures?.removeOldCopies()
            try? await Task.sleep(for: .seconds(600))
        }
    }

    /// Takes away the bytes of what was deleted. What does not go now is tried again later.
    func removeLeftovers() async {
        var last: FileID?
        var failures = 0
        do {
            while case let after = last,
                case let leftovers = try await service.read({ try $0.leftovers(after: after) }),
                !leftovers.isEmpty
            {
                for leftover in leftovers {
                    last = leftover.id
                    do {
                        try await store.remove(leftover.id, handle: leftover.handle)
                        try await service.write { try $0.forgetLeftovers([leftover.id]) }
                    } catch {
                        failures += 1
                        // One that is held fast keeps nobody else's.
                        guard failures < 100 else { throw error }
                        logger.failedChore("a file that was deleted could not be taken away", error)
                    }
                }
            }
        } catch {
            logger.failedChore("files that were deleted could not be taken away", error)
        }
    }
}

/// Uploads of which a part is being written: of each one at a time.
private final class BusyUploads: Sendable {
    private let ids = Mutex<Set<FileID>>([])

    func run<Value: Sendable>(_ id: FileID, _ body: () async throws -> Value) async throws -> Value {
        guard ids.withLock({ $0.insert(id).inserted }) else {
            throw ChatError.conflict("upload_busy", "Another part of it is being taken. Ask for its offset.")
        }
        defer { _ = ids.withLock { $0.remove(id) } }
        return try await body()
    }
}
