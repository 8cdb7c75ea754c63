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
        /// The WebSocket is opened.
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
        /// Whether it is to be done here: `answer` is waited for.
        case ask(AgentJob)
        /// Nothing waits for its answer any more.
        case forget(jobID: String)
        case start(AgentJob, url: String?, token: String)
        /// The server wants an end of it.
        case cancel(jobID: String)
        case tell(AgentWorkerEvent)
        /// Nothing follows.
        case end(AgentWorkerError?)
    }

    /// What a worker is told once.
    struct Options {
        var registration = LiveKitRegisterWorkerRequest()
        /// With so many jobs it is full.
        var maximumJobs = 1
    }

    private enum Standing {
        /// Its owner thinks about it.
        case asked(until: Instant)
        /// The server is to say whether it is ours.
        case accepted(until: Instant)
        case running
    }

    private struct Place {
        let job: AgentJob
        var standing: Standing

        /// When it is somebody else's unless something happens; nil for one that is being done.
        var until: Instant? {
            switch standing {
            case .asked(let until), .accepted(let until): until
            case .running: nil
            }
        }
    }

    /// As LiveKit's framework has it: so often in a row a server is not reached before it ever was.
    static let attemptLimit = 16
    private static let registerTime = Interval.seconds(Int64(10))
    /// LiveKit's server goes on to somebody else when a worker does not answer for ten seconds; and so long it may take
    /// to say whether a job that was accepted is ours.
    private static let offerTime = Interval.seconds(Int64(10))
    private static let pingInterval = Interval.seconds(Int64(10))
    /// A server that says nothing for so long is gone.
    private static let silence = Interval.seconds(Int64(30))
    /// How jobs came out that ended while there was no connection.
    private static let heldLimit = 1_024

    let options: Options
    private(set) var phase = Phase.idle
    private var jobs: [String: Place] = [:]
    private var attempt = 0
    private var wasRegistered = false
    private(set) var isDraining = false
    /// What the owner says of its machine, from 0 to 1; nil for one that counts jobs alone.
    private var ownLoad: Float?
    private var toldStatus: LiveKitUpdateWorkerStatus?
    private var held: [LiveKitUpdateJobStatus] = []
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
        case .connecting, .registering, .registered: break
        }
        // A server that starts anew, or a proxy before it, may say anything for a while; one that we have never been
        // registered with means it.
        if !wasRegistered {
            switch failure {
            case .invalidURL(let url): return end(.invalidURL(url))
            case .refused(let status) where [400, 401, 403, 404].contains(status): return end(.refused(status: status))
            default: break
            }
        }
        loseOffers()
        put(.close)
        guard !isDraining || !jobs.isEmpty || !held.isEmpty else { return end(nil) }
        attempt += 1
        let reason = Self.words(failure)
        // A worker that has been registered waits for its server for ever; one that wants to end, not.
        guard wasRegistered && !isDraining || attempt < Self.attemptLimit else {
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
        case .refused(let status): "the server answered with status \(status)"
        case .timedOut: "the server did not answer"
        default: "\(failure)"
        }
    }

    /// What was offered over a connection is nobody's when that is lost.
    private mutating func loseOffers() {
        for (id, place) in jobs where place.until != nil { remove(id) }
    }

    private mutating func remove(_ id: String) {
        guard let place = jobs.removeValue(forKey: id) else { return }
        if case .asked = place.standing { put(.forget(jobID: id)) }
    }

    // MARK: From the server

    mutating func receive(_ message: LiveKitServerMessage.OneOf_Message, at now: Instant) {
        lastHeard = now
        switch (message, phase) {
        case (.register(let response), .registering): registered(response, at: now)
        case (.availability(let request), .registered): offered(request, at: now)
        case (.assignment(let assignment), .registered): assigned(assignment)
        case (.termination(let termination), .registered): terminated(termination.jobID)
        case (.register, _), (.availability, _), (.assignment, _), (.termination, _), (.pong, _): return
        }
    }

    private mutating func registered(_ response: LiveKitRegisterWorkerResponse, at now: Instant) {
        phase = .registered
        attempt = 0
        wasRegistered = true
        nextPing = now + Self.pingInterval
        toldStatus = nil
        put(.tell(.registered(workerID: response.workerID)))
        // What goes on is ours also on this connection.
        let ids = jobs.keys.sorted()
        if !ids.isEmpty { put(.send(.migrateJob(.with { $0.jobIds = ids }))) }
        for update in held { put(.send(.updateJob(update))) }
        held = []
        changed()
    }

    private mutating func offered(_ request: LiveKitAvailabilityRequest, at now: Instant) {
        let job = AgentJob(request.job, isResumed: request.resuming)
        guard !isDraining, jobs.count < options.maximumJobs, jobs[job.id] == nil else {
            return put(.send(.availability(.with { $0.jobID = job.id })))
        }
        jobs[job.id] = Place(job: job, standing: .asked(until: now + Self.offerTime))
        put(.ask(job))
    }

    private mutating func assigned(_ assignment: LiveKitJobAssignment) {
        let id = assignment.job.id
        guard let place = jobs[id], case .accepted = place.standing else {
            // It came too late, or was never offered: somebody else is to do it. Of one that runs, nothing is new.
            guard jobs[id] == nil else { return }
            return say(id, .jsFailed, "the worker does not wait for this job any more")
        }
        jobs[id]?.standing = .running
        say(id, .jsRunning, "")
        put(.tell(.jobStarted(place.job)))
        put(.start(place.job, url: assignment.url.isEmpty ? nil : assignment.url, token: assignment.token))
    }

    private mutating func terminated(_ id: String) {
        guard let place = jobs[id] else { return }
        if case .running = place.standing { return put(.cancel(jobID: id)) }
        remove(id)
        changed()
    }

    // MARK: From the owner

    /// What it says to a job that it was asked about.
    mutating func answer(_ id: String, _ answer: AgentJobAnswer, at now: Instant) {
        guard let place = jobs[id], case .asked = place.standing else { return }
        var response = LiveKitAvailabilityResponse()
        response.jobID = id
        switch answer {
        case .accept(let agent):
            response.available = true
            response.participantIdentity = (agent.identity ?? ParticipantIdentity("agent-\(id)")).rawValue
            response.participantName = agent.name
            response.participantMetadata = agent.metadata
            response.participantAttributes = agent.attributes
            jobs[id]?.standing = .accepted(until: now + Self.offerTime)
        case .decline: jobs[id] = nil
        case .dismiss:
            response.terminate = true
            jobs[id] = nil
        }
        put(.send(.availability(response)))
        changed()
    }

    /// It is over: with an error it counts as failed, which may bring another agent.
    mutating func ended(_ id: String, error: String?) {
        guard let place = jobs[id], case .running = place.standing else { return }
        jobs[id] = nil
        say(id, error == nil ? .jsSuccess : .jsFailed, error ?? "")
        put(.tell(.jobEnded(place.job, error: error)))
        changed()
    }

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
            put(.send(.availability(.with { $0.jobID = id })))
        }
        changed()
    }

    // MARK: Time

    var nextWake: Instant? {
        let due: Instant? =
            switch phase {
            case .idle, .connecting, .ended: nil
            case .registering(let until), .waiting(let until): until
            case .registered: min(nextPing, lastHeard + Self.silence)
            }
        return jobs.values.reduce(due) { earliest, place in
            guard let until = place.until else { return earliest }
            return earliest.map { min($0, until) } ?? until
        }
    }

    mutating func tick(at now: Instant) {
        let former = jobs.count
        for (id, place) in jobs {
            guard let until = place.until, until <= now else { continue }
            remove(id)
        }
        if jobs.count < former { changed() }
        switch phase {
        case .registering(let until) where until <= now: lost(.timedOut, at: now)
        case .registered where lastHeard + Self.silence <= now: lost(.timedOut, at: now)
        case .registered where nextPing <= now:
            nextPing = now + Self.pingInterval
            put(.send(.ping(.with { $0.timestamp = now.nanoseconds / 1_000_000 })))
        case .waiting(let until) where until <= now: connect()
        case .idle, .connecting, .registering, .registered, .waiting, .ended: return
        }
    }

    // MARK: Parts

    private mutating func put(_ output: Output) { outputs.append(output) }

    /// There are more jobs or fewer, or none are wanted.
    private mutating func changed() {
        guard phase != .ended else { return }
        if isDraining, jobs.isEmpty, phase == .registered || held.isEmpty {
            put(.close)
            return end(nil)
        }
        if phase == .registered { tellStatus() }
    }

    private mutating func say(_ id: String, _ status: LiveKitJobStatus, _ error: String) {
        let update = LiveKitUpdateJobStatus.with {
            $0.jobID = id
            $0.status = status
            $0.error = error
        }
        if phase == .registered { return put(.send(.updateJob(update))) }
        if held.count < Self.heldLimit { held.append(update) }
    }

    /// Says how full it is, where that is news.
    private mutating func tellStatus() {
        let share = Float(jobs.count) / Float(max(options.maximumJobs, 1))
        let load = max(ownLoad ?? 0, share)
        let status = LiveKitUpdateWorkerStatus.with {
            $0.status = isDraining || load >= 1 ? .wsFull : .wsAvailable
            $0.load = min(load, 1)
            $0.jobCount = UInt32(jobs.count)
            $0.draining = isDraining
        }
        guard status != toldStatus else { return }
        toldStatus = status
        put(.send(.updateWorker(status)))
    }

    private mutating func end(_ error: AgentWorkerError?) {
        guard phase != .ended else { return }
        phase = .ended
        put(.end(error))
    }
}
