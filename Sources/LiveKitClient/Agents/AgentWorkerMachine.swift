internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// A worker's side of `/agent`, without sockets and clock: what the server says, what becomes of jobs and what time it
/// is go in; messages, and what is to be done about jobs, come out of `pollOutput()`.
///
///     idle ──begin──▶ connecting ──opened──▶ registering ──registered──▶ registered ──drained──▶ ended
///                          ▲                     │ lost                      │ lost
///                          └──────────────── waiting ◀─────────────────────────┘
struct AgentWorkerMachine {
    enum Phase: Equatable {
        case idle
        /// The WebSocket is opened, or given up by itself (`BinarySocket.Target.connectTimeout`).
        case connecting
        /// The answer to `register` is awaited.
        case registering(until: Instant)
        case registered
        /// Until the next attempt.
        case waiting(until: Instant)
        case ended
    }

    /// What is to be done, in this order.
    enum Output {
        /// Opens a WebSocket in place of any that there is.
        case open
        case close
        case send(LiveKitWorkerMessage.OneOf_Message)
        /// Whether it is to be done here: `answer` with this number is waited for.
        case ask(AgentJob, number: Int)
        /// Nothing waits for that answer any more.
        case forget(number: Int)
        case start(AgentJob, url: String?, token: String)
        /// The server wants an end of it: its room is left.
        case leave(jobID: String)
        /// It has not come to an end, or has no time to.
        case cancel(jobID: String)
        /// It has been cancelled and goes on: nobody waits for it any more.
        case abandon(jobID: String)
        case tell(AgentWorkerEvent)
        /// Nothing follows.
        case end(AgentWorkerError?)
    }

    /// What a worker is told once.
    struct Options {
        var registration = LiveKitRegisterWorkerRequest()
        /// With so many jobs it is full.
        var maximumJobs = 1
        /// How long a job that is called off may take to come to its end, and again to be cancelled.
        var shutdownTime = Interval.seconds(Int64(10))
    }

    /// How a function has ended.
    struct Outcome {
        /// What it has thrown; nil when it has returned.
        var error: String?
        /// Its task had been cancelled.
        var wasCancelled = false
    }

    enum Standing {
        /// Its owner thinks about it.
        case asked(number: Int, until: Instant)
        /// The server is to say whether it is ours.
        case accepted(until: Instant)
        case running
        /// It is called off, or its worker is stopped.
        case ending(until: Instant, isCancelled: Bool)
    }

    struct Place {
        let job: AgentJob
        var standing: Standing

        /// When something is to be done about it unless something happens.
        var until: Instant? {
            switch standing {
            case .asked(_, let until), .accepted(let until), .ending(let until, _): until
            case .running: nil
            }
        }

        /// Its function has been called.
        var isUnderWay: Bool {
            switch standing {
            case .asked, .accepted: false
            case .running, .ending: true
            }
        }
    }

    /// A word about a job's end, and when it was said.
    struct Verdict {
        let update: LiveKitUpdateJobStatus
        var saidAt: Int64
    }

    /// As LiveKit's framework has it: so often in a row a server is not reached before it ever was.
    static let attemptLimit = 16
    /// A connection that lasts so long was no mistake.
    private static let steadyTime = Interval.seconds(Int64(10))
    private static let registerTime = Interval.seconds(Int64(10))
    /// LiveKit's server gives a job up for everybody when a worker does not answer for ten seconds.
    static let answerTime = Interval.seconds(Int64(8))
    /// So long it may take to say whether a job that was accepted is ours.
    static let assignmentTime = Interval.seconds(Int64(10))
    private static let pingInterval = Interval.seconds(Int64(10))
    /// A server that says nothing for so long is gone.
    private static let silence = Interval.seconds(Int64(30))
    /// Of words about ends that the server may not have heard, the last.
    static let verdictLimit = 500
    /// In characters.
    static let errorLimit = 1_000
    /// LiveKit's server gives no jobs to a worker above 0.7 (`DefaultTargetLoad`): what is less than full is below
    /// that.
    private static let mostLoad: Float = 0.6

    let options: Options
    private(set) var phase = Phase.idle
    var jobs: [String: Place] = [:]
    private var attempt = 0
    private var registeredAt = Instant.zero
    private var wasRegistered = false
    /// When it ends whatever is still going on; nil unless it is stopped.
    var stopBy: Instant?
    private(set) var isDraining = false
    /// What the owner says of its machine, from 0 to 1; nil for one that counts jobs alone.
    private var ownLoad: Float?
    var toldStatus: LiveKitUpdateWorkerStatus?
    /// How jobs came out, as long as the server may not have heard of it.
    var verdicts: [Verdict] = []
    var lastQuestion = 0
    private var lastHeard = Instant.zero
    private var nextPing = Instant.zero
    private var outputs: [Output] = []
    private var nextOutput = 0

    init(options: Options) { self.options = options }

    mutating func pollOutput() -> Output? {
        guard nextOutput < outputs.count else {
            outputs.removeAll(keepingCapacity: true)
            nextOutput = 0
            return nil
        }
        defer { nextOutput += 1 }
        return outputs[nextOutput]
    }

    /// Jobs that are being done, or may be soon.
    var jobCount: Int { jobs.count }

    // MARK: The connection

    /// To be called once.
    mutating func begin() {
        guard phase == .idle else { return }
        connect()
    }

    private mutating func connect() {
        phase = .connecting
        put(.open)
    }

    /// The WebSocket is there.
    mutating func opened(at now: Instant) {
        guard phase == .connecting else { return }
        phase = .registering(until: now + Self.registerTime)
        put(.send(.register(options.registration)))
    }

    /// It is closed, was refused or could not be made.
    mutating func lost(_ failure: RoomError, at now: Instant) {
        switch phase {
        case .idle, .waiting, .ended: return
        case .connecting, .registering: break
        // One that is lost again as soon as it is there was as good as not made.
        case .registered: if now - registeredAt >= Self.steadyTime { attempt = 0 }
        }
        // A server that starts anew, or a proxy before it, may say anything for a while; one that we have never been
        // registered with means it.
        if !wasRegistered {
            switch failure {
            case .invalidURL(let url): return end(.invalidURL(url))
            case .refused(let status, _) where [400, 401, 403, 404].contains(status):
                return end(.refused(status: status))
            case .refused, .unreachable, .timedOut, .cancelled, .disconnected, .notConnected, .alreadyConnected,
                .requestRefused, .media, .invalidLayers, .dataTooLarge, .dataBacklog, .dataTrackEnded,
                .dataTrackEncrypted, .streamInterrupted,
                .streamClosed, .notEncryptable, .fileUnreadable:
                break
            }
        }
        // What was offered over a connection is nobody's when that is lost.
        for (id, place) in jobs where !place.isUnderWay { remove(id) }
        put(.close)
        let mayEnd = isDraining && jobs.isEmpty
        guard !mayEnd || !verdicts.isEmpty else { return end(nil) }
        attempt += 1
        let reason = Self.words(failure)
        // A worker that has been registered waits for its server for ever; one that has only ends to tell, not.
        guard wasRegistered && !mayEnd || attempt < Self.attemptLimit else {
            return end(isDraining ? nil : .unreachable(reason, attempts: attempt))
        }
        // As LiveKit's framework waits: at once, then two seconds longer each time, up to ten.
        let wait = Interval.seconds(Int64(min((attempt - 1) * 2, 10)))
        phase = .waiting(until: now + wait)
        put(.tell(.disconnected(reason, retryAfter: wait.duration)))
    }

    private static func words(_ failure: RoomError) -> String {
        switch failure {
        case .unreachable(let how): how
        case .refused(let status, _): "the server answered with status \(status)"
        case .timedOut: "the server did not answer"
        case .invalidURL, .cancelled, .disconnected, .notConnected, .alreadyConnected, .requestRefused, .media,
            .invalidLayers, .dataTooLarge, .dataBacklog, .dataTrackEnded, .dataTrackEncrypted, .streamInterrupted,
            .streamClosed, .notEncryptable,
            .fileUnreadable:
            "\(failure)"
        }
    }

    mutating func remove(_ id: String) {
        guard let place = jobs.removeValue(forKey: id) else { return }
        if case .asked(let number, _) = place.standing { put(.forget(number: number)) }
    }

    // MARK: From the server

    mutating func receive(_ message: LiveKitServerMessage.OneOf_Message, at now: Instant) {
        lastHeard = now
        switch (message, phase) {
        case (.register(let response), .registering): registered(response, at: now)
        case (.availability(let request), .registered): offered(request, at: now)
        case (.assignment(let assignment), .registered): assigned(assignment, at: now)
        case (.termination(let termination), .registered): terminated(termination.jobID, at: now)
        // It has heard what was said before that ping.
        case (.pong(let pong), .registered): verdicts.removeAll { $0.saidAt < pong.lastTimestamp }
        case (.register, _), (.availability, _), (.assignment, _), (.termination, _), (.pong, _): return
        }
    }

    private mutating func registered(_ response: LiveKitRegisterWorkerResponse, at now: Instant) {
        phase = .registered
        registeredAt = now
        wasRegistered = true
        nextPing = now + Self.pingInterval
        toldStatus = nil
        put(.tell(.registered(workerID: response.workerID)))
        // What goes on is ours also on this connection, and so is what has ended meanwhile.
        let ids = Set(jobs.keys).union(verdicts.map(\.update.jobID))
        if !ids.isEmpty { put(.send(.migrateJob(.with { $0.jobIds = ids.sorted() }))) }
        for place in verdicts.indices {
            verdicts[place].saidAt = Self.milliseconds(now)
            put(.send(.updateJob(verdicts[place].update)))
        }
        changed()
    }

    // MARK: From the owner

    /// How busy the machine is: at 1 the worker is full, however few jobs it has.
    mutating func loadChanged(_ load: Double) {
        ownLoad = load.isNaN ? 1 : Float(min(max(load, 0), 1))
        if phase == .registered { tellStatus() }
    }

    /// No more jobs; the end comes when those that there are have ended.
    mutating func drain() {
        guard !isDraining, phase != .ended else { return }
        isDraining = true
        put(.tell(.draining))
        for (id, place) in jobs {
            guard case .asked = place.standing else { continue }
            remove(id)
            refuse(id)
        }
        changed()
    }

    /// Cancels all jobs; the end comes when they have ended, and in any case soon.
    mutating func stop(at now: Instant) {
        guard stopBy == nil, phase != .ended else { return }
        let until = now + options.shutdownTime
        stopBy = until
        for (id, place) in jobs {
            switch place.standing {
            case .asked:
                remove(id)
                refuse(id)
            case .accepted: remove(id)
            case .running, .ending:
                jobs[id]?.standing = .ending(until: until, isCancelled: true)
                put(.cancel(jobID: id))
            }
        }
        if isDraining { changed() } else { drain() }
    }

    // MARK: Time

    var nextWake: Instant? {
        var due: Instant? =
            switch phase {
            case .idle, .connecting, .ended: nil
            case .registering(let until), .waiting(let until): until
            case .registered: min(nextPing, lastHeard + Self.silence)
            }
        for until in [stopBy] + jobs.values.map(\.until) {
            guard phase != .ended, let until else { continue }
            due = due.map { min($0, until) } ?? until
        }
        return due
    }

    mutating func tick(at now: Instant) {
        for (id, place) in jobs {
            if let until = place.until, until <= now { due(id, place, at: now) }
        }
        if let stopBy, stopBy <= now { return end(nil) }
        switch phase {
        case .registering(let until) where until <= now: lost(.timedOut, at: now)
        case .registered where lastHeard + Self.silence <= now: lost(.timedOut, at: now)
        case .registered where nextPing <= now:
            nextPing = now + Self.pingInterval
            put(.send(.ping(.with { $0.timestamp = Self.milliseconds(now) })))
        case .waiting(let until) where until <= now: connect()
        case .idle, .connecting, .registering, .registered, .waiting, .ended: return
        }
    }

    // MARK: Parts

    mutating func put(_ output: Output) { outputs.append(output) }

    /// There are more jobs or fewer, or none are wanted.
    mutating func changed() {
        guard phase != .ended else { return }
        if isDraining, jobs.isEmpty, phase == .registered || verdicts.isEmpty { return end(nil) }
        if phase == .registered { tellStatus() }
    }

    private var load: Float { max(ownLoad ?? 0, Float(jobs.count) / Float(max(options.maximumJobs, 1))) }

    /// No more jobs are taken.
    var isFull: Bool { isDraining || load >= 1 }

    /// Says how full it is, where that is news.
    mutating func tellStatus() {
        let status = LiveKitUpdateWorkerStatus.with {
            $0.status = isFull ? .wsFull : .wsAvailable
            $0.load = isFull ? 1 : load * Self.mostLoad
            $0.jobCount = UInt32(jobs.count)
            $0.draining = isDraining
        }
        guard status != toldStatus else { return }
        toldStatus = status
        put(.send(.updateWorker(status)))
    }

    static func milliseconds(_ now: Instant) -> Int64 { now.nanoseconds / 1_000_000 }

    private mutating func end(_ error: AgentWorkerError?) {
        guard phase != .ended else { return }
        phase = .ended
        put(.end(error))
    }
}
