/// The body of `POST /channels/{channel_id}/uploads`.
public struct BeginUploadRequest: Codable, Sendable, Equatable {
    public var name: String
    /// `application/octet-stream` if it is left out.
    public var mediaType: String?
    /// In bytes.
    public var size: Int64
    /// Of the whole file, in hexadecimal: it is compared before the file is taken.
    public var sha256: String?

    public init(name: String, mediaType: String? = nil, size: Int64, sha256: String? = nil) {
        self.name = name
        self.mediaType = mediaType
        self.size = size
        self.sha256 = sha256
    }

    private enum CodingKeys: String, CodingKey {
        case name, size, sha256
        case mediaType = "media_type"
    }
}

/// The body of `PUT /users/me/avatar`.
public struct AvatarRequest: Codable, Sendable, Equatable {
    /// A picture of one's own that is in no message; nil for none.
    public var fileID: FileID?

    public init(fileID: FileID?) {
        self.fileID = fileID
    }

    private enum CodingKeys: String, CodingKey {
        case fileID = "file_id"
    }
}
