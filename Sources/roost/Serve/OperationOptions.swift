internal import ArgumentParser
internal import ChatModel
internal import ChatServer
internal import Foundation
internal import Logging

/// How the server is run beside others: what it writes into its log, and how it ends.
struct OperationOptions: ParsableArguments {
    enum LogFormat: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    @Option(help: "How the log is written, on standard error: as text, or as one JSON object a line.")
    var logFormat = LogFormat.text

    @Option(
        help: ArgumentHelp(
            "How long, as 10s or 2m, to go on serving after being told to end, while /health/ready says no, so that "
                + "balancers notice.", valueName: "time"))
    var shutdownDelay = TimeSpan(.zero)

    /// For all loggers that are made from here on. Once.
    func beginLog() {
        guard logFormat == .json else { return }
        LoggingSystem.bootstrap { label in
            JSONLogHandler(
                label: label,
                now: { Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1_000).rounded(.down))) },
                write: { Console.log($0) })
        }
    }
}
