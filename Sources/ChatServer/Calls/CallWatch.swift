internal import ChatCore
internal import ChatModel
internal import Logging

/// Asks a cluster who is in the rooms of calls, at the start and every minute: a call whose end it has told in vain
/// would go on for ever.
actor CallWatch {
    private let service: ChatService
    private let rooms: any CallRooms
    private let logger: Logger
    private let interval: Duration
    private var comparison = CallComparison()
    private var loop: Task<Void, Never>?

    init(service: ChatService, rooms: any CallRooms, logger: Logger, interval: Duration = .seconds(60)) {
        self.service = service
        self.rooms = rooms
        self.logger = logger
        self.interval = interval
    }

    func start() {
        guard loop == nil else { return }
        loop = Task { [weak self, interval] in
            while !Task.isCancelled {
                await self?.look()
                try? await Task.sleep(for: interval)
            }
        }
    }

    func stop() { loop?.cancel() }

    /// One look at all calls.
    func look() async {
        do {
            var looks: [(seats: ChatTransaction.CallSeats, present: [UserID: String]?)] = []
            for seats in try await service.read({ try $0.seatsOfCalls() }) {
                guard !Task.isCancelled else { return }
                // Of a cluster that does not answer nothing follows: it has a check of its own.
                looks.append((seats, try? await rooms.people(in: seats.room)))
            }
            for (room, event) in comparison.compare(looks) {
                logger.notice("a call was out of step with its room", metadata: ["event": "\(event.name)"])
                try await service.write { try $0.reconcile(event, of: room) }
            }
        } catch {
            logger.error("calls could not be compared with their rooms", metadata: ["error": "\(error)"])
        }
    }
}

extension CallRoomEvent {
    /// Without whom it is of.
    fileprivate var name: String {
        switch self {
        case .joined: "joined"
        case .left: "left"
        case .finished: "finished"
        }
    }
}
