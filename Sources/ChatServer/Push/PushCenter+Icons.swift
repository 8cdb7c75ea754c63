internal import ChatCore
internal import ChatModel
internal import Logging

/// The numbers on icons, which have to go when everything is read elsewhere. What a device shows is in the database: a
/// server that starts pushes to nobody whose icon is clear, and of several servers one takes a number away.
extension PushCenter {
    /// Icons whose owners have read everything show no number any more. One look at a time.
    func clearIcons() async {
        guard !isClearingIcons else { return }
        isClearingIcons = true
        defer { isClearingIcons = false }
        do {
            // An icon is taken for clear once its push waits: one that found no room would be forgotten.
            while !notCleared.isEmpty || !readers.isEmpty && queue.count < queue.limit / 2 {
                try await clearNextIcons()
            }
        } catch {
            // Where the database is away everybody fails. The next tick asks again.
            logger.error("numbers on icons could not be taken away", metadata: ["error": "\(error)"])
        }
        pump()
    }

    private func clearNextIcons() async throws {
        // First: whoever has read everything since would find the icon taken for clear.
        guard notCleared.isEmpty else { return try await keepNumbers() }
        guard let user = readers.popFirst() else { return }
        do {
            try await clearIcons(of: user)
        } catch {
            readers.insert(user)
            throw error
        }
    }

    private func clearIcons(of user: UserID) async throws {
        let topics = topics
        // Of most marks nothing comes: they wait for no writer.
        let stale = try await service.read { try $0.staleIcons(of: user, topics: topics) }
        guard !stale.isEmpty else { return }
        do {
            let addresses = try await service.write { try $0.clearIcons(of: user, topics: topics) }
            guard !addresses.isEmpty else { return }
            // A message that came in between may have been pushed by who took the icon for one that shows a number.
            guard try await service.read({ try $0.badge(of: user) }) == 0 else {
                return try await service.write { try $0.iconsGetNumber(of: user) }
            }
            try takeNumbers(from: addresses)
        } catch {
            // An answer that is lost may be that of a transaction that was kept.
            notCleared.formUnion(stale.map(\.device))
            throw error
        }
    }

    private func takeNumbers(from addresses: [PushAddress]) throws {
        let payload = try PushPayload.badge(0)
        let now = service.now()
        for address in addresses {
            guard let token = address.alertToken else { continue }
            let push = Push(
                kind: .alert, address: address, token: token, priority: .thrifty, madeAt: now,
                expiresAt: now.advanced(by: .seconds(86_400)), collapseID: "badge", payload: payload,
                subject: .nothingUnread)
            clearing[push.id] = address.device
            enqueue(push)
        }
    }

    /// A push is given up: if it was to take a number away, the number is still there.
    func iconKeepsNumber(_ push: Push) {
        guard let device = clearing.removeValue(forKey: push.id) else { return }
        notCleared.insert(device)
        // Not kept: one at a time, and `stop` waits until nothing `isAtWork`.
        if !isClearingIcons { Task { await clearIcons() } }
    }

    /// What is on its way, or waits, is not known to come where it goes to when the server ends.
    func giveUpClearing() async {
        notCleared.formUnion(clearing.values)
        clearing = [:]
        do {
            try await keepNumbers()
        } catch {
            logger.error("which icons show a number could not be kept", metadata: ["error": "\(error)"])
        }
    }

    private func keepNumbers() async throws {
        let devices = notCleared
        guard !devices.isEmpty else { return }
        try await service.write { chat in
            for device in devices.sorted() { try chat.iconKeepsNumber(of: device) }
        }
        notCleared.subtract(devices)
    }

    /// Numbers are about to go to these people's devices.
    func iconsGetNumbers(_ reach: PushReach) async throws {
        let users = reach.people.filter { $1.badge > 0 && $1.addresses.contains(where: \.iconIsClear) }.map(\.key)
        guard !users.isEmpty else { return }
        try await service.write { chat in
            for user in users.sorted() { try chat.iconsGetNumber(of: user) }
        }
    }
}
