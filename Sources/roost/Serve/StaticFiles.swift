internal import Foundation

/// The browser page's files, by path. Read from the disk at each request, so that an edit shows at once; the folder is
/// small and the system caches it.
struct StaticFiles: Sendable {
    let root: URL

    struct File {
        var contentType: String
        var entityTag: String
        var body: [UInt8]
    }

    init(root: URL) { self.root = root.standardizedFileURL.resolvingSymlinksInPath() }

    /// The file that a URL's path names; nil when there is none, or when the path would leave the folder.
    func file(at path: String) -> File? {
        let path = path.prefix { $0 != "?" && $0 != "#" }
        guard let decoded = String(path).removingPercentEncoding, !decoded.contains("\0") else { return nil }
        let parts = decoded.split(separator: "/")
        // `..`, hidden files and back slashes are never names of ours.
        guard parts.allSatisfy({ !$0.hasPrefix(".") && !$0.contains("\\") }) else { return nil }
        var url = root
        for part in parts { url.append(path: String(part)) }
        if parts.isEmpty || decoded.hasSuffix("/") { url.append(path: "index.html") }
        url = url.resolvingSymlinksInPath()
        guard url.path.hasPrefix(root.path + "/"), let body = try? Data(contentsOf: url) else { return nil }
        return File(contentType: Self.contentType(url.pathExtension), entityTag: Self.tag(body), body: [UInt8](body))
    }

    /// FNV-1a over the content: it only has to change when the content does.
    private static func tag(_ body: Data) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "\"" + String(hash, radix: 16) + "\""
    }

    private static func contentType(_ fileExtension: String) -> String {
        switch fileExtension.lowercased() {
        case "html": "text/html; charset=utf-8"
        case "js", "mjs": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json", "webmanifest": "application/json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "ico": "image/x-icon"
        case "woff2": "font/woff2"
        case "txt": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}
