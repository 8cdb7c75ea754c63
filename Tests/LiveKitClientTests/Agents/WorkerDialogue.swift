import LiveKitProtocol
import RTCEngine
import SwiftProtobuf

@testable import LiveKitClient

/// A worker's machine, and what was said: `> …` to the server, `! …` of sockets and jobs, `* …` to whoever runs it.
/// Time stands still unless a test lets it pass.
final class WorkerDialogue {
    private var machine: AgentWorkerMachine
    private(set) var now = Instant(nanoseconds: 1_000_000_000_000)
    /// Of the last question about a job.
    private var numbers: [String: Int] = [:]

    init(maximumJobs: Int = 2, _ change: (inout LiveKitRegisterWorkerRequest) -> Void = { _ in }) {
        var options = AgentWorkerMachine.Options()
        options.maximumJobs = maximumJobs
        options.registration.agentName = "clerk"
        change(&options.registration)
        machine = AgentWorkerMachine(options: options)
    }

    /// One that is registered and has said so.
    static func registered(maximumJobs: Int = 2) -> WorkerDialogue {
        let dialogue = WorkerDialogue(maximumJobs: maximumJobs)
        _ = dialogue.begin()
        _ = dialogue.open()
        _ = dialogue.register()
        return dialogue
    }

    func begin() -> [String] { did { $0.begin() } }
    func open() -> [String] { did { [now] in $0.opened(at: now) } }
    func register(_ id: String = "AW_1") -> [String] { server(.register(.with { $0.workerID = id })) }
    func lose(_ failure: RoomError = .unreachable("gone")) -> [String] { did { [now] in $0.lost(failure, at: now) } }
    /// - Parameter number: of the question; nil for the last one about the job.
    func answer(_ id: String, _ answer: AgentJobAnswer, number: Int? = nil) -> [String] {
        let number = number ?? numbers[id] ?? 0
        return did { [now] in $0.answer(id, number: number, answer, at: now) }
    }
    func end(_ id: String, error: String? = nil, wasCancelled: Bool = false) -> [String] {
        let outcome = AgentWorkerMachine.Outcome(error: error, wasCancelled: wasCancelled)
        return did { [now] in $0.ended(id, outcome, at: now) }
    }
    func load(_ load: Double) -> [String] { did { $0.loadChanged(load) } }
    func drain() -> [String] { did { $0.drain() } }
    func stop() -> [String] { did { [now] in $0.stop(at: now) } }
    /// The server has heard all that was said before this.
    func pong() -> [String] {
        now += .milliseconds(1)
        return server(.pong(.with { $0.lastTimestamp = now.nanoseconds / 1_000_000 }))
    }

    func server(_ message: LiveKitServerMessage.OneOf_Message) -> [String] {
        did { [now] in $0.receive(message, at: now) }
    }
    func offer(_ id: String, resuming: Bool = false) -> [String] {
        server(
            .availability(
                .with {
                    $0.job = Self.job(id)
                    $0.resuming = resuming
                }))
    }
    func assign(_ id: String, url: String = "") -> [String] {
        server(
            .assignment(
                .with {
                    $0.job = Self.job(id)
                    $0.token = "token of \(id)"
                    if !url.isEmpty { $0.url = url }
                }))
    }
    func terminate(_ id: String) -> [String] { server(.termination(.with { $0.jobID = id })) }
    /// A job that is being done.
    func run(_ id: String) { _ = offer(id) + answer(id, .accept()) + assign(id) }

    /// Lets time pass, as a clock does that wakes the machine when it asks for it.
    func pass(_ seconds: Double) -> [String] {
        var lines: [String] = []
        let end = now + Interval(nanoseconds: Int64(seconds * 1e9))
        var turns = 0
        while let wake = machine.nextWake, wake <= end, turns < 1_000 {
            turns += 1
            now = max(now, wake)
            lines += did { [now] in $0.tick(at: now) }
        }
        now = end
        if turns == 1_000 { lines.append("no end of wakes") }
        return lines
    }

    private func did(_ body: (inout AgentWorkerMachine) -> Void) -> [String] {
        body(&machine)
        var lines: [String] = []
        while let output = machine.pollOutput() {
            if case .ask(let job, let number) = output { numbers[job.id] = number }
            lines.append(Self.line(output))
        }
        return lines
    }

    private static func job(_ id: String) -> LiveKitJob {
        .with {
            $0.id = id
            $0.room = .with { $0.name = "lounge" }
        }
    }

    private static func line(_ output: AgentWorkerMachine.Output) -> String {
        switch output {
        case .open: "! open"
        case .close: "! close"
        case .send(let message): "> " + said(message)
        case .ask(let job, _): "! ask about \(job.id)" + (job.isResumed ? ", resumed" : "")
        case .forget(let number): "! forget question \(number)"
        case .start(let job, let url, let token):
            "! start \(job.id) in \(job.roomName) at \(url ?? "ours") with \(token)"
        case .leave(let id): "! leave the room of \(id)"
        case .cancel(let id): "! cancel \(id)"
        case .abandon(let id): "! abandon \(id)"
        case .tell(let event): "* \(event)"
        case .end(let failure): "* " + (failure.map { "\($0)" } ?? "It has ended.")
        }
    }

    private static func said(_ message: LiveKitWorkerMessage.OneOf_Message) -> String {
        switch message {
        case .register(let request): "register \(request.agentName)"
        case .availability(let answer) where answer.available: "\(answer.jobID): yes, as \(answer.participantIdentity)"
        case .availability(let answer): "\(answer.jobID): " + (answer.terminate ? "nobody is to" : "no")
        case .updateWorker(let status):
            (status.status == .wsFull ? "full" : "available")
                + " with \(status.jobCount), load \(Int((status.load * 100).rounded())) %"
        case .updateJob(let update):
            "\(update.jobID) \(update.status)" + (update.error.isEmpty ? "" : ": \(update.error)")
        case .ping: "ping"
        case .simulateJob: "simulate"
        case .migrateJob(let request): "mine: \(request.jobIds.joined(separator: ", "))"
        }
    }
}
