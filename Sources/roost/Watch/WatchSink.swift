#if os(Linux)
    internal import Foundation
    internal import RTCEngine
    internal import RTCWire
    internal import WebRTCCore

    /// Takes what is received: counts it, and records each connection by itself.
    actor WatchSink {
        /// What came from one sender, over all its connections.
        struct Tally: Sendable, Equatable {
            var pictures = 0
            var sounds = 0
            var isEmpty: Bool { pictures == 0 && sounds == 0 }
        }

        private struct Entry {
            let recorder: CallRecorder?
            var openTracks = 0
        }

        private let folder: String?
        private let failed: @Sendable (String) -> Void
        private var entries: [WebRTCConnectionID: Entry] = [:]
        private(set) var tallies: [String: Tally] = [:]
        private var files: [(name: String, file: URL)] = []
        /// Recordings that are being completed, which takes a while.
        private var completions: [Task<Void, Never>] = []
        private var failure: CommandError?

        /// - Parameters:
        ///   - folder: where recordings go; nil: frames are only counted.
        ///   - failed: is called when a recording can no longer be written; with a sentence.
        init(folder: String?, failed: @escaping @Sendable (String) -> Void) throws {
            self.folder = folder
            self.failed = failed
            // Says now, and not at the first caller, that the folder cannot be written.
            if let folder { _ = try CallRecorder(folder: folder, name: "", failed: failed) }
        }

        func trackBegan(_ connection: WebRTCConnectionID) {
            if entries[connection] == nil {
                entries[connection] = Entry(recorder: recorder(for: connection))
            }
            entries[connection]?.openTracks += 1
        }

        private func recorder(for connection: WebRTCConnectionID) -> CallRecorder? {
            guard let folder else { return nil }
            do {
                return try CallRecorder(folder: folder, name: connection.userId, failed: failed)
            } catch {
                failure = error as? CommandError ?? CommandError("\(error)")
                failed("\(connection.userId) is not recorded: \(error)")
                return nil
            }
        }

        func receive(_ frame: EncodedFrame, of connection: WebRTCConnectionID) async {
            if frame.format.isVideo {
                tallies[connection.userId, default: Tally()].pictures += 1
            } else {
                tallies[connection.userId, default: Tally()].sounds += 1
            }
            await entries[connection]?.recorder?.receive(frame)
        }

        func trackEnded(_ connection: WebRTCConnectionID) async {
            entries[connection]?.openTracks -= 1
            if entries[connection]?.openTracks == 0 { await finish(connection) }
        }

        /// All is over. The recordings, in the order in which they ended, and what one of them failed of.
        func finish() async -> (files: [(name: String, file: URL)], failure: CommandError?) {
            for connection in entries.keys.sorted(by: { $0.userId < $1.userId }) { await finish(connection) }
            // Also those of tracks that ended a moment ago.
            for completion in completions { await completion.value }
            return (files, failure)
        }

        private func finish(_ connection: WebRTCConnectionID) async {
            guard let recorder = entries.removeValue(forKey: connection)?.recorder else { return }
            let completion = Task { await complete(recorder, of: connection.userId) }
            completions.append(completion)
            await completion.value
        }

        private func complete(_ recorder: CallRecorder, of name: String) async {
            let (whole, failure) = await recorder.completed()
            for file in whole { files.append((name, file)) }
            if let failure { self.failure = failure }
        }
    }
#endif
