import ChatCore
import ChatModel
import Foundation
import Testing

@testable import ChatServer

struct ByteRangeTests {
    @Test(
        arguments: [
            ("bytes=0-0", 0, 1), ("bytes=0-", 0, 10), ("bytes=3-5", 3, 6), ("bytes=9-", 9, 10), ("bytes=5-99", 5, 10),
            ("bytes=-1", 9, 10), ("bytes=-99", 0, 10), ("Bytes = 2 - 3", 2, 4),
            ("bytes=0-99999999999999999999999", 0, 10),
        ] as [(String, Int64, Int64)])
    func `takes one range`(header: String, start: Int64, end: Int64) {
        #expect(ByteRange(header, of: 10) == .part(start..<end))
    }

    @Test(arguments: ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"])
    func `what begins behind the end cannot be had`(header: String) {
        #expect(ByteRange(header, of: 10) == .unsatisfiable)
    }

    @Test(arguments: [
        nil, "", "bytes", "bytes=", "bytes=-", "bytes=5-3", "bytes=a-b", "bytes=0-1,3-4", "lines=0-1", "bytes=+1-2",
        "bytes=--1", "bytes=1-2-3",
    ])
    func `passes over what is no single range of bytes`(header: String?) {
        #expect(ByteRange(header, of: 10) == .whole)
    }
}

struct FileHeadersTests {
    @Test(arguments: [
        ("a b.png", "image/png", "inline; filename*=UTF-8''a%20b.png"),
        ("ü\".svg", "image/svg+xml", "attachment; filename*=UTF-8''%C3%BC%22.svg"),
        ("page.html", "text/html", "attachment; filename*=UTF-8''page.html"),
        ("film.mp4", "video/mp4", "inline; filename*=UTF-8''film.mp4"),
    ])
    func `shows what is harmless, and saves the rest under its name`(name: String, type: String, value: String) {
        #expect(FileHeaders.disposition(of: name, type) == value)
    }
}

struct FileLinksTests {
    private let links = FileLinks(key: Array("0123456789abcdef0123456789abcdef".utf8))
    private let object = StoredObject(FileID(UUID()))
    private let now = Timestamp(milliseconds: 1_790_000_000_500)

    /// The items of a link's query.
    private func items(_ path: String) -> [String: String] {
        let query = path.split(separator: "?").last ?? ""
        return Dictionary(
            uniqueKeysWithValues: query.split(separator: "&").map { item in
                let pair = item.split(separator: "=", maxSplits: 1)
                return (String(pair[0]), String(pair[1]))
            })
    }

    private func refusal(
        of object: StoredObject, _ expires: String?, _ signature: String?, at time: Timestamp
    ) -> String? {
        do {
            try links.check(object, expires: expires, signature: signature, at: time)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a link opens its file until it ends, and nothing else`() throws {
        let item = items(links.path(to: object, until: now.advanced(by: .seconds(300))))
        let (expires, signature) = (try #require(item["expires"]), try #require(item["signature"]))
        #expect(refusal(of: object, expires, signature, at: now) == nil)
        #expect(refusal(of: object, expires, signature, at: now.advanced(by: .seconds(299))) == nil)
        #expect(refusal(of: object, expires, signature, at: now.advanced(by: .seconds(300))) == "link_over")
        #expect(refusal(of: StoredObject(FileID(UUID())), expires, signature, at: now) == "bad_link")
        #expect(refusal(of: StoredObject(object.id, .thumbnail), expires, signature, at: now) == "bad_link")
        for forged in ["\((Int64(expires) ?? 0) + 1)", "+\(expires)", "0\(expires)", "", "x"] {
            #expect(refusal(of: object, forged, signature, at: now) == "bad_link")
        }
        for forged in ["", String(signature.dropLast()), signature + "A", signature.lowercased() + "="] {
            #expect(refusal(of: object, expires, forged, at: now) == "bad_link")
        }
        #expect(refusal(of: object, nil, signature, at: now) == "bad_link")
        #expect(refusal(of: object, expires, nil, at: now) == "bad_link")
        let other = FileLinks(key: Array("another key, which is as long...".utf8))
        let foreign = items(other.path(to: object, until: now.advanced(by: .seconds(300))))
        #expect(refusal(of: object, foreign["expires"], foreign["signature"], at: now) == "bad_link")
    }
}
