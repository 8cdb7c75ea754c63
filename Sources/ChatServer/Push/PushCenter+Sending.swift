internal import ChatCore
internal import ChatModel
internal import Logging

/// Sends what is in the queue, so many at a time, and does what the answers ask for.
extension PushCenter {
    func enqueue(_ push: Push) {
        guard !isOver(push) else { return count { $0.failed["call_over", default: 0] += 1 } }
        if queue.add(push) {
            count { _ in }
        } else {
            fail(push, "queue_full")
        }
    }

    /// Sends as much as may be under way at once.
    func pump() {
        let now = service.now()
        while !isBlocked, inFlight < Self.mostInFlight, let item = queue.next(at: now) {
            guard now < item.push.expiresAt else {
                fail(item.push, "expired")
                continue
            }
            do {
                let token = try tokens.token(at: now)
                inFlight += 1
                // Counted by `inFlight`, for which `stop` waits.
                Task { await send(item, bearer: token) }
            } catch {
                logger.error("a provider token could not be made", metadata: ["error": "\(error)"])
                fail(item.push, "not_signed")
            }
        }
        count { _ in }
    }

    /// What waits for longer is looked at again before it is sent.
    private static let freshness = Duration.seconds(5)

    private func send(_ item: PushQueue.Item, bearer: String) async {
        var item = item
        let isLate = item.attempts > 0 || service.now() - item.push.madeAt >= Self.freshness
        item.attempts += 1
        do {
            if let push = isLate ? try await renewed(item.push) : item.push {
                item.push = push
                let outcome = await transport.send(push, bearer: bearer)
                await settle(item, outcome, bearer: bearer)
            } else {
                fail(item.push, "outdated")
                // It may have been read since, by who found the icon taken for clear.
                if item.push.subject == .nothingUnread { readers.insert(item.push.address.user) }
            }
        } catch {
            // Its words may be gone from the chat: it waits until that is known.
            logger.error("a push that waited could not be looked at", metadata: ["error": "\(error)"])
            retry(item, "not_looked_at", after: nil)
        }
        inFlight -= 1
        pump()
    }

    /// What a push that comes late is to say now; nil for nothing.
    private func renewed(_ push: Push) async throws -> Push? {
        let (user, topics) = (push.address.user, topics)
        switch push.subject {
        case nil: return push
        case .nothingUnread: return try await service.read { try $0.badge(of: user) } == 0 ? push : nil
        case .message(let id):
            guard let late = try await service.read({ try LateMessage(id, of: push, topics: topics, in: $0) }) else {
                return nil
            }
            try await iconsGetNumbers(late.reach)
            var push = push
            push.payload = try late.payload
            return push
        }
    }

    private func settle(_ item: PushQueue.Item, _ outcome: APNsOutcome, bearer: String) async {
        let push = item.push
        let now = service.now()
        switch outcome {
        case .delivered:
            count { $0.sent[push.kind.rawValue, default: 0] += 1 }
            finish(push)
            clearing[push.id] = nil
            alertIsShown(push)
        case .tokenGone(let since, let reason):
            await removeToken(of: push, since: since)
            fail(push, reason)
        case .refused(let reason):
            logger.error("a push was refused", metadata: ["reason": "\(reason)", "kind": "\(push.kind.rawValue)"])
            fail(push, reason)
        case .tryAgain(let reason, let after):
            retry(item, reason, after: after)
        case .providerTokenExpired:
            guard tokens.tokenExpired(bearer, at: now) else { return block(item, "ExpiredProviderToken") }
            count { $0.retried += 1 }
            queue.putBack(item, until: now)
        case .providerRefused(let reason):
            block(item, reason)
        }
    }

    private func retry(_ item: PushQueue.Item, _ reason: String, after: Duration?) {
        let now = service.now()
        guard !isOver(item.push) else { return fail(item.push, "call_over") }
        let time = PushRetries.next(
            for: item.push, attempts: item.attempts, after: after, spread: .random(in: 0...1), at: now)
        guard let time else { return fail(item.push, reason) }
        if item.attempts == 1 { logger.notice("a push is tried again later", metadata: ["reason": "\(reason)"]) }
        putBack(item, until: time)
    }

    /// Apple does not let us in, which only whoever runs the server can mend.
    private func block(_ item: PushQueue.Item, _ reason: String) {
        let until = service.now().advanced(by: .seconds(60))
        if !isBlocked {
            logger.error(
                "Apple's push service refuses this server; it is tried again in a minute",
                metadata: ["reason": "\(reason)"])
        }
        blockedUntil = until
        guard until < item.push.expiresAt else { return fail(item.push, reason) }
        putBack(item, until: until)
    }

    private func putBack(_ item: PushQueue.Item, until time: Timestamp) {
        count { $0.retried += 1 }
        var item = item
        if service.now() - item.push.madeAt > PushReading.oldest {
            // After a restart it would be too old to be read again: nothing waits for it.
            finish(item.push)
            item.push.origin = nil
        }
        queue.putBack(item, until: time)
    }

    private func fail(_ push: Push, _ reason: String) {
        count { $0.failed[reason, default: 0] += 1 }
        finish(push)
        iconKeepsNumber(push)
        if let alert = push.fallback(at: service.now()) { enqueue(alert) }
    }

    private func finish(_ push: Push) {
        if let origin = push.origin { positions.finish(origin) }
    }

    private func removeToken(of push: Push, since: Timestamp?) async {
        do {
            let wasThere = try await service.write {
                try $0.removeToken(push.token, push.tokenKind, of: push.address.device, since: since)
            }
            if wasThere { count { $0.tokensRemoved += 1 } }
        } catch {
            logger.error("a push token could not be taken out", metadata: ["error": "\(error)"])
        }
    }
}
