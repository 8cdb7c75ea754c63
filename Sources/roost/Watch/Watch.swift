#if os(Linux)
    internal import ArgumentParser
    internal import ClientKit
    internal import WebRTCCore

    /// `roost watch`: receives from everybody who calls in a room.
    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Receive from everybody who calls in a room, and record it.",
            discussion: """
                Joins a call room as callee, answers every caller, sends nothing, and records each caller into a file of \
                its own. Callers may come, go and change what they send. It ends after --duration or with Ctrl-C.

                The status is 0 if something was received, 1 if nothing was, or if the server, a recording or the reader \
                of the output was lost, 64 when the command line is not understood, and 130 when Ctrl-C came before anything.

                Examples:
                  roost watch --room 1 --as Watcher --record calls/
                  roost watch --room 7 --as Watcher --duration 1m --json
                """
        )

        @OptionGroup var options: RoomOptions

        @MainActor
        func run() async throws {
            let output = CallOutput(style: options.json ? .json : .text)
            do {
                guard let room = CallRoomID(options.room) else {
                    throw CommandError("\(options.room) is no room's number.")
                }
                let sink = try WatchSink(folder: options.record) { sentence in
                    Task { @MainActor in output.notice(sentence) }
                }
                let runner = WatchRunner(
                    identity: CallIdentity(username: options.username, room: room, role: .callee),
                    signaling: SocketIOCallSignaling(server: options.server), sink: sink,
                    engine: .live(configuration: try options.configuration()), output: output)
                try await runner.run(for: options.duration?.duration)
            } catch let error as CommandError {
                output.failed(error.description)
                throw ExitCode(error.status)
            }
        }
    }
#endif
