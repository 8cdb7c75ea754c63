import Foundation

/// One line of output in JSON.
struct Report: Encodable {
    var event: String
    var label: String?
    var id: UInt16?
    var ordered: Bool?
    var maxRetransmits: UInt16?
    var maxPacketLifeTime: UInt16?
    var `protocol`: String?
    var state: String?
    var text: String?
    var base64: String?
    /// Bytes of a message, or of all that were counted.
    var bytes: Int?
    var messages: Int?
    /// From the first message that was counted to the last.
    var seconds: Double?
    var reason: String?

    init(_ event: String) { self.event = event }
}

/// Standard output, a whole line at a time.
enum Output {
    static func say(_ value: some Encodable) {
        guard let json = try? JSONEncoder().encode(value) else { return }
        FileHandle.standardOutput.write(json + [0x0a])
    }

    static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
