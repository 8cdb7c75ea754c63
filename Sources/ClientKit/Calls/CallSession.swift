/// What the user of a call sees of it.
public enum CallSessionUpdate: Hashable, Sendable {
    /// The last one is `.ended`; the stream ends after it, when media is closed.
    case state(CallState, because: String)
    /// The own picture can be shown.
    case localVideo(VideoSurface)
    /// The partner's track arrived; for video with what shows it.
    case remoteTrack(kind: CallTrackKind, VideoSurface?)
    /// Somebody's offer or answer was taken: from now on the call is theirs. With the name that they give themselves,
    /// and that of their call.
    case partner(name: String?, call: String?)
    /// How the call is doing, as often as the engine tells.
    case statistics(CallStatistics)
}

/// One call: drives a `CallMachine` with a signaling service, a media engine and a clock.
///
/// The session does not read the signaling's events itself, because the room's screen reads them too: their reader
/// passes them on through `receive(_:)`. It holds itself while the call lasts and lets go at its end.
///
/// ```swift
/// let call = CallSession(role: .caller, signaling: signaling, engine: engine, clock: CallClock(ContinuousClock()))
/// call.start()
/// for await update in call.updates { … }      // ends with `.state(.ended(reason), …)`
/// ```
public actor CallSession {
    /// Everything that enters the machine goes through one queue, so that its order is the order of arrival.
    private enum Input {
        case fact(CallFact)
        case media(CallMediaEvent)
        case microphone(enabled: Bool)
        case camera(enabled: Bool)
        case tick
    }

    /// Everything that happens, in order; one consumer. Ends with the call.
    public nonisolated let updates: AsyncStream<CallSessionUpdate>

    private nonisolated let inbox: AsyncStream<Input>.Continuation
    private let inputs: AsyncStream<Input>
    private let updated: AsyncStream<CallSessionUpdate>.Continuation
    /// Commands for the media and the socket, executed one after the other by `work`.
    private let orders: AsyncStream<CallCommand>.Continuation
    private let orderList: AsyncStream<CallCommand>

    private let signaling: any CallSignalingService
    private let engine: any CallMediaEngine
    private let clock: CallClock
    private var machine: CallMachine
    private var correspondence: CallCorrespondence
    private var media: Media = .none
    private var switches = (microphone: true, camera: true)
    private var closing: Task<Void, Never>?
    private var alarm: (at: Duration, task: Task<Void, Never>)?

    private enum Media {
        case none
        case open(any CallMediaSession, reader: Task<Void, Never>)
        case closed
    }

    /// - Parameters:
    ///   - username: what we are called in the room, for the partner to know whose leaving ends the call.
    ///   - callee: whom a caller means when several could answer; nil: whoever is there.
    public init(
        role: CallRole, username: String? = nil, callee: String? = nil, signaling: any CallSignalingService,
        engine: any CallMediaEngine, clock: CallClock, policy: CallPolicy = CallPolicy()
    ) {
        self.signaling = signaling
        self.engine = engine
        self.clock = clock
        machine = CallMachine(role: role, policy: policy)
        let name = String(UInt64.random(in: .min ... .max), radix: 36)
        correspondence = CallCorrespondence(role: role, call: name, username: username, callee: callee)
        (inputs, inbox) = AsyncStream.makeStream()
        (updates, updated) = AsyncStream.makeStream()
        (orderList, orders) = AsyncStream.makeStream()
    }

    /// Starts the call. More than one call does no harm.
    ///
    /// - Parameter events: what has come already, as `receive(_:)` takes it: the offer that opens the call, and the
    ///   candidates before it. It is taken before what comes of opening camera and microphone, so that a call that
    ///   ends for want of them ends for the partner, too.
    public nonisolated func start(with events: [CallSignalingEvent] = []) {
        inbox.yield(.fact(.started))
        for event in events { receive(event) }
        Task { await run() }
    }

    /// Takes an event of the signaling service. `.peerLeft` means this call's partner.
    public nonisolated func receive(_ event: CallSignalingEvent) {
        switch event {
        case .offer(let offer): inbox.yield(.fact(.offerReceived(offer)))
        case .answer(let answer): inbox.yield(.fact(.answerReceived(answer)))
        case .candidate(let candidate): inbox.yield(.fact(.candidateReceived(candidate)))
        case .peerLeft: inbox.yield(.fact(.peerLeft))
        case .connectionLost: inbox.yield(.fact(.signalingLost))
        case .reconnected: inbox.yield(.fact(.signalingRestored))
        case .closed(let reason): inbox.yield(.fact(.signalingClosed(reason: reason)))
        case .connected, .roster, .peerJoined, .unreadable: break
        }
    }

    /// Ends the call.
    public nonisolated func hangUp() {
        inbox.yield(.fact(.hungUp))
    }

    /// Sends the microphone's sound or silence.
    public nonisolated func setMicrophone(enabled: Bool) {
        inbox.yield(.microphone(enabled: enabled))
    }

    /// Sends the camera's picture or none.
    public nonisolated func setCamera(enabled: Bool) {
        inbox.yield(.camera(enabled: enabled))
    }

    // MARK: The loop

    private var isRunning = false

    private func run() async {
        guard !isRunning else { return }
        isRunning = true
        let worker = Task { await work() }
        for await input in inputs {
            await take(input)
            if machine.state.endReason != nil { break }
        }
        alarm?.task.cancel()
        orders.finish()
        inbox.finish()
        await closing?.value
        await worker.value
        updated.finish()
    }

    private func take(_ input: Input) async {
        switch input {
        case .fact(let fact):
            let hadPartner = correspondence.hasPartner
            guard correspondence.accepts(fact) else { return }
            if !hadPartner, correspondence.hasPartner {
                updated.yield(.partner(name: fact.description?.fromUser, call: fact.description?.fromCall))
            }
            execute(machine.receive(fact, at: clock.now()))
        case .tick:
            alarm = nil
            execute(machine.tick(at: clock.now()))
        case .media(let event):
            await take(event)
        case .microphone(let enabled):
            switches.microphone = enabled
            if case .open(let session, _) = media { await session.setMicrophone(enabled: enabled) }
        case .camera(let enabled):
            switches.camera = enabled
            if case .open(let session, _) = media { await session.setCamera(enabled: enabled) }
        }
    }

    private func take(_ event: CallMediaEvent) async {
        switch event {
        case .localCandidate(let candidate): execute(machine.receive(.localCandidate(candidate), at: clock.now()))
        case .connectionState(let state): execute(machine.receive(.mediaConnection(state), at: clock.now()))
        case .negotiationNeeded: execute(machine.receive(.negotiationNeeded, at: clock.now()))
        case .statistics(let statistics): updated.yield(.statistics(statistics))
        case .remoteTrack(let kind, _):
            guard case .open(let session, _) = media else { return }
            switch kind {
            case .audio: updated.yield(.remoteTrack(kind: .audio, nil))
            case .video: updated.yield(.remoteTrack(kind: .video, await session.remoteVideo))
            }
        }
    }

    private func execute(_ commands: [CallCommand]) {
        setAlarm()
        for command in commands {
            switch command {
            case .announce(let state, let reason):
                updated.yield(.state(state, because: reason))
            case .closeMedia:
                // At once, past the queue: a step that hangs there is what closing has to end.
                closeMedia()
            case .openMedia, .makeOffer, .makeAnswer, .applyAnswer, .addCandidate, .send:
                orders.yield(command)
            }
        }
    }

    private func setAlarm() {
        let wake = machine.nextWake
        guard wake != alarm?.at else { return }
        alarm?.task.cancel()
        alarm = wake.map { wake in
            let task = Task { [clock, inbox] in
                do {
                    try await clock.sleep(wake)
                    inbox.yield(.tick)
                } catch {
                    // Cancelled: another alarm has taken its place.
                }
            }
            return (wake, task)
        }
    }

    private func closeMedia() {
        let old = media
        media = .closed
        guard case .open(let session, let reader) = old else { return }
        reader.cancel()
        closing = Task { await session.close() }
    }

    // MARK: The worker

    /// Executes what takes time, in order, and reports results as facts.
    private func work() async {
        for await order in orderList {
            do {
                try await perform(order)
            } catch let error as CallMediaError {
                inbox.yield(.fact(.negotiationFailed(error.sentence)))
            } catch {
                inbox.yield(.fact(.negotiationFailed("The call could not be agreed on: \(error).")))
            }
        }
    }

    private func perform(_ order: CallCommand) async throws {
        switch order {
        case .openMedia:
            await openMedia()
        case .makeOffer(let restartingIce):
            let session = try openSession()
            if restartingIce { try await session.restartIce() }
            inbox.yield(.fact(.offerMade(try await session.createOffer())))
        case .makeAnswer(let offer):
            inbox.yield(.fact(.answerMade(try await openSession().createAnswer(to: offer))))
        case .applyAnswer(let answer):
            try await openSession().setRemoteAnswer(answer)
            inbox.yield(.fact(.answerApplied))
        case .addCandidate(let candidate):
            // Held since before anybody was the partner, it may be a former call's, or another caller's.
            guard correspondence.accepts(.candidateReceived(candidate)) else { return }
            // One that cannot be used is no loss to the call: others may be.
            try? await openSession().addRemoteCandidate(candidate)
        case .send(let signal):
            // The room may have been left and joined again since: what a call of the past says would open a new one.
            guard machine.state.endReason == nil else { return }
            // A socket that is just breaking reports it by itself; the machine then says everything again.
            try? await signaling.send(correspondence.addressed(signal))
        case .announce, .closeMedia:
            // Done at once by `execute`.
            break
        }
    }

    private func openSession() throws(CallMediaError) -> any CallMediaSession {
        switch media {
        case .open(let session, _): return session
        case .none, .closed: throw .closed
        }
    }

    private func openMedia() async {
        let session: any CallMediaSession
        do {
            session = try await engine.makeSession()
        } catch {
            inbox.yield(.fact(.mediaUnavailable(error.sentence)))
            return
        }
        switch media {
        case .none:
            break
        case .open, .closed:
            // The call ended while camera and microphone were opened.
            await session.close()
            return
        }
        let reader = Task { [inbox] in
            for await event in session.events { inbox.yield(.media(event)) }
        }
        media = .open(session, reader: reader)
        await session.setMicrophone(enabled: switches.microphone)
        await session.setCamera(enabled: switches.camera)
        if let surface = await session.localVideo { updated.yield(.localVideo(surface)) }
        inbox.yield(.fact(.mediaOpened))
    }
}

extension CallFact {
    /// What the other side says.
    fileprivate var description: SessionDescriptionPayload? {
        switch self {
        case .offerReceived(let description), .answerReceived(let description): description
        case .started, .mediaOpened, .mediaUnavailable, .offerMade, .answerMade, .answerApplied, .negotiationFailed,
            .localCandidate, .mediaConnection, .negotiationNeeded, .candidateReceived, .peerLeft, .signalingLost,
            .signalingRestored, .signalingClosed, .hungUp:
            nil
        }
    }
}
