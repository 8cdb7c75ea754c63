internal import ChatCore
internal import ChatModel
internal import SocketIO

/// Files: uploads in parts, what is known of them, links to their bytes.
extension ChatAPI {
    var fileRoutes: [Route] {
        [
            Route("POST", "/channels/{channel_id}/uploads", beginUpload),
            Route("GET", "/uploads/{upload_id}", upload),
            Route("PATCH", "/uploads/{upload_id}", append),
            Route("DELETE", "/uploads/{upload_id}", abandonUpload),
            Route("POST", "/uploads/{upload_id}/complete", completeUpload),
            Route("GET", "/files/{file_id}", file),
            Route("DELETE", "/files/{file_id}", deleteFile),
            Route("GET", "/files/{file_id}/link", link),
            Route("GET", "/files/{file_id}/content", for: .link, content),
            Route("HEAD", "/files/{file_id}/content", for: .link, content),
            Route("GET", "/workspaces/{workspace_id}/files", workspaceFiles),
        ]
    }

    private func takenFiles() throws(ChatError) -> ChatFiles {
        guard let files else {
            throw ChatError(.unavailable, code: "no_files", "This server takes no files.")
        }
        return files
    }

    // MARK: Uploads

    @Sendable private func beginUpload(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, ChannelID) = (try request.user(), try request.id("channel_id"))
        let body: BeginUploadRequest = try request.body()
        let new = ChatTransaction.NewUpload(
            name: body.name, mediaType: body.mediaType, size: body.size, sha256: body.sha256)
        return try answer(try await takenFiles().begin(new, to: id, by: user), status: 201)
    }

    private func answer(_ upload: FileUpload, status: Int = 200) throws -> APIResponse {
        var response = try APIResponse.json(upload, status: status)
        response.headers.append(("Upload-Offset", "\(upload.offset)"))
        return response
    }

    @Sendable private func upload(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, FileID) = (try request.user(), try request.id("upload_id"))
        return try answer(try await takenFiles().upload(id, by: user))
    }

    /// As PATCH of tus 1.0 (https://tus.io/protocols/resumable-upload, "PATCH"): the part begins at `Upload-Offset`,
    /// and the answer says where the next one does.
    @Sendable private func append(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, FileID) = (try request.user(), try request.id("upload_id"))
        guard let text = request.header("Upload-Offset"), let offset = Int64(text), offset >= 0 else {
            throw ChatError.invalid("offset", "The header Upload-Offset says where the part begins.")
        }
        var response: APIResponse
        let place: Int64
        switch try await takenFiles().append(request.http.body, at: offset, to: id, by: user) {
        case .taken(let end): (response, place) = (.nothing, end)
        case .misplaced(let end):
            let error = ChatError.conflict("wrong_offset", "The next part begins at \(end).")
            (response, place) = (APIResponse(error), end)
        }
        response.headers.append(("Upload-Offset", "\(place)"))
        return response
    }

    @Sendable private func abandonUpload(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, FileID) = (try request.user(), try request.id("upload_id"))
        try await takenFiles().abandon(id, by: user)
        return .nothing
    }

    @Sendable private func completeUpload(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, FileID) = (try request.user(), try request.id("upload_id"))
        return try .json(try await takenFiles().complete(id, by: user), status: 201)
    }

    // MARK: Files

    @Sendable private func file(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, FileID) = (try request.user(), try request.id("file_id"))
        return try .json(try await service.read { try $0.file(id, for: user).info })
    }

    @Sendable private func deleteFile(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, FileID) = (try request.user(), try request.id("file_id"))
        try await service.write { try $0.discardFile(id, by: user) }
        return .nothing
    }

    private func part(of request: APIRequest) throws(ChatError) -> StoredObject.Part {
        switch request.query("thumbnail") {
        case nil, "false": .content
        case "true": .thumbnail
        default: throw .invalid("thumbnail", "This takes true or false.")
        }
    }

    @Sendable private func link(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, FileID) = (try request.user(), try request.id("file_id"))
        return try .json(try await takenFiles().link(to: id, try part(of: request), for: user))
    }

    @Sendable private func workspaceFiles(_ request: APIRequest) async throws -> APIResponse {
        let (user, id): (UserID, WorkspaceID) = (try request.user(), try request.id("workspace_id"))
        var filter = ChatTransaction.FileFilter()
        if let text = request.query("channel") {
            guard let channel = ChannelID(text) else {
                throw ChatError.invalid("channel", "This takes a channel's identifier.")
            }
            filter.channel = channel
        }
        if let text = request.query("user") {
            guard let sender = UserID(text) else {
                throw ChatError.invalid("user", "This takes a user's identifier.")
            }
            filter.sender = sender
        }
        let (wanted, cursor, limit) = (filter, request.cursor, try request.limit())
        return try .json(
            try await service.read { try $0.files(of: id, wanted, for: user, after: cursor, limit: limit) })
    }

    // MARK: Bytes

    /// For whoever has a link. One that is wrong counts with what strangers ask for.
    @Sendable private func content(_ request: APIRequest) async throws -> APIResponse {
        let files = try takenFiles()
        do {
            let object = StoredObject(try request.id("file_id"), try part(of: request))
            try files.links.check(
                object, expires: request.query("expires"), signature: request.query("signature"),
                at: service.now())
            return try await answer(object, of: files, to: request)
        } catch let error as ChatError {
            try await limits.take(.strangers(request.http.site), at: service.now())
            throw error
        }
    }

    private func answer(
        _ object: StoredObject, of files: ChatFiles, to request: APIRequest
    ) async throws -> APIResponse {
        let file = try await service.read { try $0.storedFile(object.id) }
        let type = try ChatFiles.type(of: file, object.part)
        var response = APIResponse(
            status: 200, headers: FileHeaders.headers(of: file.info, object.part, type: type))
        let tag = response.headers.first { $0.name == "ETag" }?.value ?? ""
        // RFC 9110 §13.1.2.
        if let known = request.header("If-None-Match"), FileHeaders.names(tag, in: known) {
            response.status = 304
            return response
        }
        switch object.part {
        case .thumbnail:
            try await put(thumbnailOf: object.id, of: files, into: &response, to: request)
        case .content: try await stream(file.info, of: files, as: tag, to: request, into: &response)
        }
        return response
    }

    /// Of a thumbnail that is asked for by HEAD nothing is read.
    func put(
        thumbnailOf id: FileID, of files: ChatFiles, into response: inout APIResponse, to request: APIRequest
    ) async throws {
        if request.http.method == "HEAD" {
            response.stream = .chunks(NoChunks(), length: try await files.thumbnailSize(of: id))
        } else {
            response.body = try await files.thumbnail(of: id)
        }
    }

    private func stream(
        _ file: FileInfo, of files: ChatFiles, as tag: String, to request: APIRequest,
        into response: inout APIResponse
    ) async throws {
        // RFC 9110 §14.2: a range is for GET alone. Of what is there nothing is read.
        guard request.http.method != "HEAD" else {
            guard try await files.store.exists(StoredObject(file.id)) else { throw ChatError.notFound("file") }
            response.stream = .chunks(NoChunks(), length: Int(file.size))
            return
        }
        // RFC 9110 §13.1.5: of what has changed since, everything is sent.
        let isSame = request.header("If-Range").map { $0 == tag } ?? true
        let range: Range<Int64>
        switch ByteRange(isSame ? request.header("Range") : nil, of: file.size) {
        case .whole: range = 0..<file.size
        case .part(let part):
            range = part
            response.status = 206
            response.headers.append(
                ("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(file.size)"))
        case .unsatisfiable:
            response = APIResponse(
                ChatError(.invalid, code: "range_not_satisfiable", "The file does not have these bytes."))
            response.status = 416
            response.headers.append(("Content-Range", "bytes */\(file.size)"))
            return
        }
        do {
            let chunks = try await files.store.read(StoredObject(file.id), range)
            let counted = CountedChunks(chunks: chunks, counter: service.statistics.downloadedBytes)
            response.stream = .chunks(counted, length: range.count)
        } catch FileStoreFault.missing {
            throw ChatError.notFound("file")
        }
    }
}
