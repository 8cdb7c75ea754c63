internal import Foundation
internal import LiveKitCore
internal import LiveKitProtocol
internal import RTCNetwork
internal import Synchronization

/// A client's signaling connection, as its worker sees it. From any thread.
protocol SignalLink: AnyObject, Sendable {
    /// What the client's next token may not outlive, unless it is short.
    var tokenExpires: Date { get }
    /// The room knows it by this from now on.
    func attached(as address: SignalAddress)
    func send(_ response: LiveKitSignalResponse)
    /// Ends it when all that was sent is out.
    func close()
    /// The worker has taken one of its messages.
    func messageTaken()
}

/// Where a signaling connection leads: it names one of a room's, for as long as both last.
struct SignalAddress: Sendable {
    /// The worker's number for the room, which the next room of that name does not have.
    let room: Int
    let signal: SignalID
}

/// What clients say on their way from the threads of their connections to the worker's, in the order in which each of
/// them said it. The worker is woken for the first and takes all that there are then.
///
/// Guarded by its lock. It cannot grow without end: a connection with much in here is not read from.
final class SignalInbox: LoopCall {
    enum News {
        case message(ClientMessage, from: any SignalLink)
        case closed
    }

    private let entries = Mutex<[(SignalAddress, News)]>([])
    private weak let worker: MediaWorker?
    private let loop: NetworkLoop

    init(_ worker: MediaWorker) {
        self.worker = worker
        loop = worker.loop
    }

    func append(_ news: News, at address: SignalAddress) {
        let mustWake = entries.withLock { entries in
            entries.append((address, news))
            return entries.count == 1
        }
        if mustWake { loop.call(self) }
    }

    func run() {
        let taken = entries.withLock { entries in
            defer { entries = [] }
            return entries
        }
        worker?.assumeIsolated { $0.receive(taken) }
    }
}
