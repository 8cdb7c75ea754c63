import Logging
import Synchronization

/// Keeps what is logged, with the count that it names.
final class Log: LogHandler, Sendable {
    private let state = Mutex([String]())

    var lines: [String] { state.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .warning }
        set {}
    }
    subscript(metadataKey _: String) -> Logger.MetadataValue? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let count = event.metadata?["count"].map { "\($0)" } ?? ""
        state.withLock { $0.append("\(event.message) \(count)") }
    }
}
