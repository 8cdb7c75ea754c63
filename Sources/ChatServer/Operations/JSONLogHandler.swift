package import ChatModel
internal import Foundation
package import Logging

/// Writes each entry of a log as one line of JSON: `time` (RFC 3339), `level`, `label`, `message`, and `metadata` where
/// there is some. What may be in a log is decided where it is logged; nothing is added here.
package struct JSONLogHandler: LogHandler {
    package var logLevel = Logger.Level.info
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let now: @Sendable () -> Timestamp
    private let write: @Sendable (String) -> Void

    /// - Parameter write: takes a line, without its end; from any thread.
    package init(
        label: String, now: @escaping @Sendable () -> Timestamp, write: @escaping @Sendable (String) -> Void
    ) {
        self.label = label
        self.now = now
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata
        if let metadataProvider { all.merge(metadataProvider.get()) { _, new in new } }
        if let given = event.metadata { all.merge(given) { _, new in new } }
        if let error = event.error, all["error"] == nil { all["error"] = "\(error)" }
        let line = Line(
            time: now(), level: event.level.rawValue, label: label, message: "\(event.message)",
            metadata: all.isEmpty ? nil : all.mapValues(Value.init))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(line) else { return }
        write(String(decoding: data, as: UTF8.self))
    }

    private struct Line: Encodable {
        let time: Timestamp
        let level: String
        let label: String
        let message: String
        let metadata: [String: Value]?
    }

    private struct Value: Encodable {
        let value: Logger.MetadataValue

        init(_ value: Logger.MetadataValue) { self.value = value }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch value {
            case .string(let text): try container.encode(text)
            case .stringConvertible(let value): try container.encode("\(value)")
            case .array(let values): try container.encode(values.map(Value.init))
            case .dictionary(let values): try container.encode(values.mapValues(Value.init))
            }
        }
    }
}
