#if os(Linux)
    internal import ClientKit
    internal import ComposableArchitectureStandIn
    internal import Foundation
    internal import Observation
    internal import WebRTCCore

    /// Runs a `WatchFeature` from joining the room to hanging up.
    @MainActor
    final class WatchRunner {
        private enum Step: Sendable {
            case signaled(CallSignalingEvent)
            case second
            case enough
            case interrupted(signal: Int32)
            case readerGone
            case notLetIn(CommandError)
        }

        private let identity: CallIdentity
        private let signaling: SocketIOCallSignaling
        private let sink: WatchSink
        private let store: StoreOf<WatchFeature>
        private let outbox: AsyncStream<CallSignal>
        private let output: CallOutput

        init(
            identity: CallIdentity, signaling: SocketIOCallSignaling, sink: WatchSink, engine: WebRTCDependency,
            output: CallOutput
        ) {
            self.identity = identity
            self.signaling = signaling
            self.sink = sink
            self.output = output
            let (outbox, continuation) = AsyncStream.makeStream(of: CallSignal.self)
            self.outbox = outbox
            store = Store(initialState: WatchFeature.State(username: identity.username)) {
                WatchFeature(send: { continuation.yield($0) }, sink: sink)
            } withDependencies: {
                $0.webRTCEngine = engine
            }
        }

        /// Returns when it was ended and something had been received; throws a sentence otherwise.
        func run(for duration: Duration?) async throws {
            let (steps, queue) = AsyncStream.makeStream(of: Step.self)
            let events = signaling.events
            let interrupts = Interrupts.stream()
            var helpers = [
                Task { for await event in events { queue.yield(.signaled(event)) } },
                Task { for await signal in interrupts { queue.yield(.interrupted(signal: signal)) } },
                Task { [outbox, signaling] in for await signal in outbox { try? await signaling.send(signal) } },
                Task { while (try? await Task.sleep(for: .seconds(1))) != nil { queue.yield(.second) } },
                Task { await show() },
                // Beside the steps, so that Ctrl-C is heard while a server does not answer.
                Task { if let refusal = await join() { queue.yield(.notLetIn(refusal)) } },
            ]
            if let duration {
                helpers.append(
                    Task { if (try? await Task.sleep(for: duration)) != nil { queue.yield(.enough) } })
            }
            defer { for helper in helpers { helper.cancel() } }
            output.onReaderGone = { queue.yield(.readerGone) }
            let listening = store.send(.webRTC(.view(.task)))
            var failure: CommandError?
            var interruption: Int32?
            loop: for await step in steps {
                switch step {
                case .signaled(.closed(let reason)):
                    failure = CommandError("The signaling server is gone: \(reason).")
                    break loop
                case .signaled(let event):
                    tell(event)
                    store.send(.signaling(event))
                case .second: await tellTallies()
                case .enough: break loop
                case .notLetIn(let refusal):
                    failure = refusal
                    break loop
                case .interrupted(let signal):
                    interruption = signal
                    break loop
                case .readerGone:
                    failure = CommandError("Nobody takes what is printed any more, so watching is over.")
                    break loop
                }
            }
            await hangUp()
            listening.cancel()
            try await tellRecordings(interruptedBy: interruption, failure: failure)
        }

        /// Returns what went wrong.
        private func join() async -> CommandError? {
            do throws(CallSignalingError) {
                try await signaling.connect(as: identity)
                return nil
            } catch {
                return CommandError(error.sentence)
            }
        }

        private func hangUp() async {
            for peer in store.webRTC.connectedPeers.ids {
                await store.send(.webRTC(.view(.disconnectPeer(peer)))).finish()
            }
            await signaling.disconnect()
        }

        // MARK: Output

        /// Looks at the store as a view does: now, and whenever it says that something has changed.
        private func show() async {
            var report = WatchReport()
            while !Task.isCancelled {
                let (changed, change) = AsyncStream.makeStream(of: Void.self)
                let state = withObservationTracking {
                    store.webRTC
                } onChange: {
                    change.yield()
                }
                for line in report.changes(to: state) { output.say(line.event, line.sentence, line.fields) }
                for await _ in changed { break }
            }
        }

        private func tell(_ event: CallSignalingEvent) {
            switch event {
            case .connected, .reconnected: output.say("room", "Connected", [:])
            case .connectionLost(let reason): output.say("room", "The signaling server is lost: \(reason).", [:])
            case .unreadable(let detail): output.say("notice", detail, [:])
            case .roster, .peerJoined, .peerLeft, .offer, .answer, .candidate, .closed: return
            }
        }

        private func tellTallies() async {
            let tallies = await sink.tallies
            guard !tallies.isEmpty else { return }
            output.say("statistics", WatchReport.sentence(tallies), WatchReport.fields(tallies))
        }

        private func tellRecordings(interruptedBy signal: Int32?, failure: CommandError?) async throws {
            let (files, fault) = await sink.finish()
            await tellTallies()
            for (name, file) in files {
                output.say(
                    "recording", "Recorded \(name): \(file.path)", ["peer": .text(name), "path": .text(file.path)])
            }
            if let failure = failure ?? fault { throw failure }
            guard await sink.tallies.values.contains(where: { !$0.isEmpty }) else {
                throw CommandError(
                    "Nothing was received in room \(identity.room).", status: signal.map { 128 + $0 } ?? 1)
            }
        }
    }
#endif
