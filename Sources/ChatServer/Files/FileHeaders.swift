internal import ChatModel

/// How a file is answered, so that a browser never takes what somebody has sent for a page of this server's.
enum FileHeaders {
    /// What browsers show by themselves, and in which nothing runs: pictures without scripts, sound, films.
    private static let harmless: Set<String> = [
        "image/png", "image/jpeg", "image/gif", "image/webp", "audio/mpeg", "audio/mp4", "audio/aac", "audio/ogg",
        "audio/webm", "audio/wav", "audio/flac", "video/mp4", "video/webm", "video/ogg",
    ]

    /// The value of `Content-Disposition` (RFC 6266 §4). Names are in UTF-8 (RFC 8187 §3.2), which every browser reads.
    static func disposition(of name: String, _ mediaType: String) -> String {
        let kind = harmless.contains(mediaType) ? "inline" : "attachment"
        return "\(kind); filename*=UTF-8''" + SignatureV4.encoded(name)
    }

    static func headers(
        of file: FileInfo, _ part: StoredObject.Part, type: String
    ) -> [(name: String, value: String)] {
        let suffix =
            switch part {
            case .content: ""
            case .thumbnail: "-thumbnail"
            }
        return [
            ("Content-Type", type), ("Content-Disposition", disposition(of: file.name, type)),
            // Even where it is opened by itself, it runs nothing and asks for nothing.
            ("Content-Security-Policy", "default-src 'none'; sandbox"),
            ("Cross-Origin-Resource-Policy", "cross-origin"),
            // The bytes of an identifier never change; who may see them does.
            ("Cache-Control", "private, max-age=300"), ("ETag", "\"\(file.id)\(suffix)\""),
            ("Accept-Ranges", "bytes"),
        ]
    }
}

extension FileHeaders {
    /// Whether a list of entity tags has this one (RFC 9110 §8.8.3.2, weakly compared).
    static func names(_ tag: String, in list: String) -> Bool {
        list.split(separator: ",").contains { item in
            let item = item.drop { $0 == " " }.prefix { $0 != " " }
            return item == "*" || item == tag || item == "W/" + tag
        }
    }
}
