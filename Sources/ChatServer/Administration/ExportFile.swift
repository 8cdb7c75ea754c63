package import ChatCore
package import Foundation

/// A file of lines of JSON: docs/specs/chat-export.md.
package struct ExportFile: ImportSource {
    private let file: FileHandle
    private let decoder = JSONDecoder()
    private var rest: [UInt8] = []
    /// Of `rest`, what is read.
    private var taken = 0
    private var line = 0
    private var isAtEnd = false

    /// The longest line: a message whose every character is escaped is far shorter.
    private static let longest = 4 << 20

    /// - Throws: `ImportFault` where there is no such file.
    package init(_ url: URL) throws {
        do { file = try FileHandle(forReadingFrom: url) } catch {
            throw ImportFault.unreadable("there is no file \(url.path), or it may not be read")
        }
    }

    package mutating func next() throws(ImportFault) -> PlacedRecord? {
        guard let text = try nextLine() else { return nil }
        let place = "Line \(line)"
        do {
            return PlacedRecord(record: try decoder.decode(ExportRecord.self, from: Data(text)), place: place)
        } catch {
            // The last line of a file that has broken off is no JSON.
            if isAtEnd, taken == rest.count { throw .brokenOff }
            throw .at(place, line == 1 ? .order : .unreadable("it is no record of an export"))
        }
    }

    private mutating func nextLine() throws(ImportFault) -> [UInt8]? {
        while true {
            if let end = rest[taken...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { taken = end + 1 }
                line += 1
                return Array(rest[taken..<end])
            }
            guard !isAtEnd else {
                guard taken < rest.count else { return nil }
                defer { taken = rest.count }
                line += 1
                return Array(rest[taken...])
            }
            guard rest.count - taken <= Self.longest else {
                throw .at("Line \(line + 1)", .unreadable("it is too long"))
            }
            try fill()
        }
    }

    private mutating func fill() throws(ImportFault) {
        let data: Data?
        do { data = try file.read(upToCount: 1 << 20) } catch { throw .unreadable("the disk does not give it") }
        rest.removeFirst(taken)
        taken = 0
        if let data, !data.isEmpty { rest += data } else { isAtEnd = true }
    }
}
