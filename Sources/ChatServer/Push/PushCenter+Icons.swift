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
        var failed: Set<UserID> = []
        defer {
            isClearingIcons = false
            // The next tick asks again.
            readers.formUnion(failed)
        }
        // An icon is taken for clear once its push waits: one that found no room would be forgotten.
        while queue.count < queue.limit / 2, let user = readers.popFirst() {
            do {
                try await clearIcons(of: user)
            } catch {
                failed.insert(user)
                logger.error("numbers on icons could not be taken away", metadata: ["error": "\(error)"])
            }
        }
        pump()
    }

    private func clearIcons(of user: UserID) async throws {
        let topics = topics
        // Of most marks nothing comes: they wait for no writer.
        guard try await !service.read({ try $0.staleIcons(of: user, topics: topics) }).isEmpty else { return }
        let addresses = try await service.write { try $0.clearIcons(of: user, topics: topics) }
        guard !addresses.isEmpty else { return }
        // A message that came in between may have been pushed by who took the icon for one that shows a number.
        guard try await service.read({ try $0.badge(of: user) }) == 0 else {
            return try await service.write { try $0.iconsGetNumber(of: user) }
        }
        let payload = try PushPayload.badge(0)
        let now = service.now()
        for address in addresses {
            guard let token = address.alertToken else { continue }
            enqueue(
                Push(
                    kind: .alert, address: address, token: token, priority: .thrifty, madeAt: now,
                    expiresAt: now.advanced(by: .seconds(86_400)), collapseID: "badge", payload: payload,
                    subject: .nothingUnread))
        }
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
