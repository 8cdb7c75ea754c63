import Logging
import NIOCore
import Synchronization

/// The state of a `SocketIOClient`. Everything but `published` and the streams is touched on `loop` only.
final class ClientCore: @unchecked Sendable {
    typealias AcknowledgementHandler = @Sendable (Result<SocketIOArguments, SocketIOClientError>) -> Void

    private enum Phase {
        case idle
        /// An attempt is under way; `attempt` counts from 0, which is the first connection.
        case connecting(ClientEngine, attempt: Int)
        case connected(ClientEngine)
        /// The next attempt is scheduled.
        case waiting(Scheduled<Void>)
    }

    private struct PendingEmit {
        let name: String
        let arguments: SocketIOArguments
        let acknowledgement: Int?
    }

    private struct PendingAcknowledgement {
        let timer: Scheduled<Void>
        let handler: AcknowledgementHandler
        var wasSent: Bool
    }

    let loop: any EventLoop
    private let url: ServerURL
    private let configuration: SocketIOClientConfiguration
    private let namespace: String
    private let logger: Logger

    private var phase = Phase.idle
    private var parser: SocketIOPacketParser
    private var attemptTimer: Scheduled<Void>?
    private var retriesFirst = false
    private var hasBeenConnected = false
    private var connectWaiters: [@Sendable (Result<Void, SocketIOClientError>) -> Void] = []
    private var buffer: [PendingEmit] = []
    private var acknowledgements: [Int: PendingAcknowledgement] = [:]
    private var nextAcknowledgement = 0

    /// The state for readers on any thread; written on `loop`.
    let published = Mutex(SocketIOClientState.disconnected(nil))
    private let readers = ClientReaders()

    init(url: ServerURL, configuration: SocketIOClientConfiguration, loop: any EventLoop, logger: Logger) {
        self.url = url
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        let name = url.path == "/" ? configuration.namespace : url.path
        namespace = name.hasPrefix("/") ? name : "/" + name
        parser = Self.makeParser(configuration)
    }

    private static func makeParser(_ configuration: SocketIOClientConfiguration) -> SocketIOPacketParser {
        SocketIOPacketParser(attachmentLimit: 1024, attachmentByteLimit: configuration.maxPayload)
    }

    // MARK: Readers

    func makeEventStream() -> AsyncStream<SocketIOEvent> {
        readers.addEvents(limit: configuration.eventBufferLimit)
    }

    func makeStateStream() -> AsyncStream<SocketIOClientState> { readers.addStates(startingWith: published) }

    func makeHappeningStream() -> AsyncStream<SocketIOClientHappening> {
        readers.addHappenings(limit: configuration.eventBufferLimit)
    }

    private func publish(_ state: SocketIOClientState) {
        // Under the lock, so that a reader that starts now gets each state once.
        let isTaken = published.withLock { published in
            published = state
            return readers.yield(state)
        }
        if !isTaken { lost(.readerTooSlow) }
    }

    private func publish(_ event: SocketIOEvent) {
        if !readers.yield(event) { lost(.readerTooSlow) }
    }

    // MARK: Connecting

    func connect(retrying: Bool, completion: @escaping @Sendable (Result<Void, SocketIOClientError>) -> Void) {
        switch phase {
        case .connected: completion(.success(()))
        case .connecting, .waiting: connectWaiters.append(completion)
        case .idle:
            connectWaiters.append(completion)
            retriesFirst = retrying
            hasBeenConnected = false
            publish(.connecting)
            attempt(0)
        }
    }

    private func attempt(_ number: Int) {
        let engine = ClientEngine(url: url, configuration: configuration, loop: loop) { [weak self] engine, fact in
            self?.engineReported(engine, fact)
        }
        phase = .connecting(engine, attempt: number)
        parser = Self.makeParser(configuration)
        attemptTimer = loop.scheduleTask(in: TimeAmount(configuration.connectTimeout)) { [weak self] in
            self?.lost(.timedOut)
        }
        engine.start()
    }

    private func engineReported(_ engine: ClientEngine, _ fact: ClientEngine.Fact) {
        switch phase {
        case .connecting(let current, _), .connected(let current):
            guard current === engine else { return }
        case .idle, .waiting: return
        }
        switch fact {
        case .opened:
            engine.send(SocketIOPacket(kind: .connect, namespace: namespace, payload: configuration.auth))
        case .message(let message): received(message, from: engine)
        case .closed(let reason): lost(SocketIOClientDisconnectReason(reason))
        }
    }

    /// The connection is gone, or did not come about.
    private func lost(_ reason: SocketIOClientDisconnectReason) {
        let attemptsMade: Int
        switch phase {
        case .idle, .waiting: return
        case .connecting(let engine, let attempt):
            // First, so that the engine's own report of its end finds nobody.
            phase = .idle
            engine.close()
            attemptsMade = attempt
        case .connected(let engine):
            phase = .idle
            engine.close()
            attemptsMade = 0
        }
        attemptTimer?.cancel()
        failSentAcknowledgements(reason)
        let mayGoOn = reason.mayReconnect && (hasBeenConnected || retriesFirst)
        guard mayGoOn, configuration.reconnection.attempts.map({ attemptsMade < $0 }) ?? true else {
            return stop(reason)
        }
        let wait = configuration.reconnection.wait(before: attemptsMade, random: Double.random(in: 0..<1))
        phase = .waiting(
            loop.scheduleTask(in: TimeAmount(wait)) { [weak self] in
                self?.attempt(attemptsMade + 1)
            })
        logger.debug("reconnecting", metadata: ["because": "\(reason.sentence)", "wait": "\(wait)"])
        publish(.reconnecting(attempt: attemptsMade + 1, wait: wait, because: reason))
    }

    /// Ends for good: no attempt follows.
    func stop(_ reason: SocketIOClientDisconnectReason) {
        let ending = phase
        phase = .idle
        switch ending {
        case .idle: break
        case .connecting(let engine, _), .connected(let engine): engine.close()
        case .waiting(let timer): timer.cancel()
        }
        attemptTimer?.cancel()
        buffer = []
        let waiters = connectWaiters
        connectWaiters = []
        let pending = acknowledgements
        acknowledgements = [:]
        publish(.disconnected(reason))
        for waiter in waiters { waiter(.failure(.disconnected(reason))) }
        for acknowledgement in pending.values {
            acknowledgement.timer.cancel()
            acknowledgement.handler(.failure(.disconnected(reason)))
        }
    }

    func disconnect(completion: @escaping @Sendable () -> Void) {
        switch phase {
        case .idle: return completion()
        case .waiting: break
        case .connecting(let engine, _), .connected(let engine):
            if case .connected = phase { engine.send(SocketIOPacket(kind: .disconnect, namespace: namespace)) }
            engine.closed.whenComplete { _ in completion() }
            return stop(.local)
        }
        stop(.local)
        completion()
    }

    // MARK: Receiving

    private func received(_ message: EngineIOPacket, from engine: ClientEngine) {
        let packet: SocketIOPacket?
        do throws(SocketIOPacketError) {
            switch message {
            case .text(_, let text): packet = try parser.receive(text: text)
            case .binary(let bytes): packet = try parser.receive(binary: bytes)
            }
        } catch {
            return lost(.protocolError("\(error)"))
        }
        // A connection serves one namespace; packets for others are not ours.
        guard let packet, packet.namespace == namespace else { return }
        switch packet.kind {
        case .connect: joined(packet, engine)
        case .connectError:
            let message = packet.payload?["message"]?.string ?? packet.payload?.string ?? "no reason given"
            lost(.refused(message: explained(message), data: packet.payload?["data"]))
        case .disconnect: lost(.serverDisconnected)
        case .event, .binaryEvent: receivedEvent(packet)
        case .ack, .binaryAck:
            guard let id = packet.id, let arguments = packet.acknowledgement else { return }
            guard let pending = acknowledgements.removeValue(forKey: id) else { return }
            pending.timer.cancel()
            pending.handler(.success(arguments))
        }
    }

    /// The path of a URL is the namespace: not what somebody expects whose server is at that path.
    private func explained(_ refusal: String) -> String {
        guard refusal == "Invalid namespace", url.path != "/" else { return refusal }
        return "\(refusal): the path of the URL, \(url.path), is taken as the namespace"
    }

    private func receivedEvent(_ packet: SocketIOPacket) {
        guard let (name, arguments) = packet.event, let payload = packet.payload else { return }
        // Of this connection: after another one has begun, the number is another event's.
        let current: ClientEngine? = if case .connected(let engine) = phase { engine } else { nil }
        let acknowledge = packet.id.map { id in
            let isUnused = OnceFlag()
            return SocketIOEvent.Acknowledgement { [weak self, weak current] arguments in
                guard let self, let current, isUnused.take() else { return }
                self.loop.execute { self.acknowledge(id, arguments, over: current) }
            }
        }
        publish(SocketIOEvent(name: name, arguments: arguments, acknowledge: acknowledge, payload: payload))
    }

    private func joined(_ packet: SocketIOPacket, _ engine: ClientEngine) {
        guard case .connecting = phase else { return }
        guard let id = packet.payload?["sid"]?.string else { return lost(.protocolError("its CONNECT has no sid")) }
        attemptTimer?.cancel()
        phase = .connected(engine)
        hasBeenConnected = true
        publish(.connected(id: id))
        let waiting = buffer
        buffer = []
        for emit in waiting { send(emit, over: engine) }
        let waiters = connectWaiters
        connectWaiters = []
        for waiter in waiters { waiter(.success(())) }
    }

    // MARK: Sending

    func emit(
        _ name: String, _ arguments: SocketIOArguments,
        acknowledgement: (timeout: Duration, handler: AcknowledgementHandler)?
    ) {
        let isConnected = if case .connected = phase { true } else { false }
        guard isConnected || buffer.count < configuration.emitBufferLimit else {
            logger.warning("emit dropped: too much waits for the connection", metadata: ["event": "\(name)"])
            acknowledgement?.handler(.failure(.bufferFull))
            return
        }
        let id = acknowledgement.map { acknowledgement in
            let id = nextAcknowledgement
            nextAcknowledgement += 1
            let timer = loop.scheduleTask(in: TimeAmount(acknowledgement.timeout)) { [weak self] () -> Void in
                self?.acknowledgementTimedOut(id)
            }
            acknowledgements[id] = PendingAcknowledgement(
                timer: timer, handler: acknowledgement.handler, wasSent: false)
            return id
        }
        let emit = PendingEmit(name: name, arguments: arguments, acknowledgement: id)
        if case .connected(let engine) = phase { send(emit, over: engine) } else { buffer.append(emit) }
    }

    private func acknowledgementTimedOut(_ id: Int) {
        // What was not sent yet is not sent any more: nobody waits for it.
        buffer.removeAll { $0.acknowledgement == id }
        acknowledgements.removeValue(forKey: id)?.handler(.failure(.acknowledgementTimedOut))
    }

    private func send(_ emit: PendingEmit, over engine: ClientEngine) {
        if let id = emit.acknowledgement { acknowledgements[id]?.wasSent = true }
        var text: [UInt8] = []
        SocketIOPacketWriter.writeEvent(
            emit.name, emit.arguments, namespace: namespace, id: emit.acknowledgement, into: &text)
        engine.send([.text(.message, text[...])] + emit.arguments.attachments.map { .binary($0[...]) })
    }

    private func acknowledge(_ id: Int, _ arguments: SocketIOArguments, over former: ClientEngine) {
        guard case .connected(let engine) = phase, engine === former else { return }
        var text: [UInt8] = []
        SocketIOPacketWriter.writeAcknowledgement(arguments, namespace: namespace, id: id, into: &text)
        engine.send([.text(.message, text[...])] + arguments.attachments.map { .binary($0[...]) })
    }

    /// The answer to what was sent over a lost connection never comes.
    private func failSentAcknowledgements(_ reason: SocketIOClientDisconnectReason) {
        for (id, pending) in acknowledgements where pending.wasSent {
            acknowledgements[id] = nil
            pending.timer.cancel()
            pending.handler(.failure(.disconnected(reason)))
        }
    }

    deinit { readers.finish() }
}
