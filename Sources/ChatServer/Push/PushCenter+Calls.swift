internal import ChatCore
package import ChatModel
internal import Logging

/// Calls ring by PushKit where there is a token for it, and as an alert elsewhere. Quiet hours hold none of it back.
extension PushCenter {
    /// Rings at all devices of these people. Does not wait for it.
    package func ring(_ ring: CallRing) {
        // Whoever did not answer may be rung again.
        for user in ring.users {
            over[Ringing(call: ring.callID, user: user)] = nil
            alerts.forget(Ringing(call: ring.callID, user: user))
        }
        // It would take the place of the alert that rings.
        queue.removeEnds(of: ring.callID, to: Set(ring.users))
        make { await $0.send(ring) }
    }

    /// Only `stop` waits for it.
    private func make(_ pushes: @escaping @Sendable (isolated PushCenter) async -> Void) {
        beingMade += 1
        Task {
            await pushes(self)
            beingMade -= 1
        }
    }

    private func send(_ ring: CallRing) async {
        do {
            let voip = try PushPayload.voip(ring)
            let now = service.now()
            let reach = try await reach(ring.users)
            for person in reach.people.values {
                let alert = try PushPayload.calling(ring, badge: person.badge)
                for address in person.addresses {
                    if let token = address.voipToken {
                        enqueue(
                            Push(
                                kind: .voip, address: address, token: token, madeAt: now, expiresAt: ring.expiresAt,
                                collapseID: ring.callID, payload: voip, call: ring.callID, instead: alert))
                    } else if let token = address.alertToken {
                        enqueue(
                            Push(
                                kind: .alert, address: address, token: token, madeAt: now, expiresAt: ring.expiresAt,
                                collapseID: ring.callID, payload: alert, call: ring.callID))
                    }
                }
            }
            pump()
            // Afterwards: a phone that rings waits for no writer.
            try await iconsGetNumbers(reach)
        } catch {
            logger.error("a call could not ring at devices", metadata: ["error": "\(error)"])
        }
    }

    /// A call rings no more at these people's devices. A call that was missed takes the place of the alert; of any
    /// other end an app hears by its socket, for a VoIP push is a call or nothing, and an alert that is shown is
    /// replaced by one that makes no sound.
    ///
    /// - Parameter states: what they are in the call.
    package func stopRinging(
        callID: String, users: [UserID], missed: Bool, callerName: String,
        states: [UserID: CallParticipantState] = [:]
    ) {
        guard missed else {
            ringingIsOver(callID, users)
            let now = service.now()
            for user in users {
                let ringing = Ringing(call: callID, user: user)
                let end = CallAlerts.End(ending: .init(states[user]), callerName: callerName)
                for address in alerts.end(ringing, end, at: now) { replaceAlert(of: ringing, at: address, end) }
            }
            return pump()
        }
        wasMissed(callID: callID, users: users)
        make { await $0.sendMissed(callID, to: users, from: callerName) }
    }

    /// They have missed a call, and are told so by whoever has found out.
    func wasMissed(callID: String, users: [UserID]) {
        ringingIsOver(callID, users)
        for user in users { alerts.forget(Ringing(call: callID, user: user)) }
    }

    /// What is under way for it leads to nothing else.
    private func ringingIsOver(_ callID: String, _ users: [UserID]) {
        let now = service.now()
        for user in users { over[Ringing(call: callID, user: user)] = now }
        let removed = queue.remove(call: callID, of: Set(users))
        count { $0.failed["call_over", default: 0] += removed }
    }

    /// Apple has taken a call's alert, which may be over by now.
    func alertIsShown(_ push: Push) {
        guard let call = push.call, push.kind == .alert else { return }
        let ringing = Ringing(call: call, user: push.address.user)
        guard let end = alerts.delivered(to: push.address, of: ringing, at: service.now()) else { return }
        replaceAlert(of: ringing, at: push.address, end)
    }

    /// One that comes late could take the place of a newer alert that rings.
    private static let endLifetime = Duration.seconds(60)

    private func replaceAlert(of ringing: Ringing, at address: PushAddress, _ end: CallAlerts.End) {
        guard let token = address.alertToken, let payload = try? PushPayload.callOver(ringing.call, end) else { return }
        let now = service.now()
        enqueue(
            Push(
                kind: .alert, address: address, token: token, madeAt: now,
                expiresAt: now.advanced(by: Self.endLifetime), collapseID: ringing.call, payload: payload))
    }

    /// Whether a push is of a call that rings no more where it would go to.
    func isOver(_ push: Push) -> Bool {
        guard let call = push.call else { return false }
        return over[Ringing(call: call, user: push.address.user)] != nil
    }

    /// What is older than any call rings needs no remembering.
    func forgetCallsThatAreOver() {
        let now = service.now()
        over = over.filter { now - $0.value < .seconds(600) }
        alerts.forget(before: now.advanced(by: .seconds(-600)))
    }

    private func sendMissed(_ callID: String, to users: [UserID], from callerName: String) async {
        do {
            let now = service.now()
            let reach = try await reach(users)
            for person in reach.people.values {
                let payload = try PushPayload.missedCall(callID, from: callerName, badge: person.badge)
                for address in person.addresses {
                    guard let token = address.alertToken else { continue }
                    enqueue(
                        Push(
                            kind: .alert, address: address, token: token, madeAt: now,
                            expiresAt: now.advanced(by: .seconds(86_400)), collapseID: callID, payload: payload))
                }
            }
            pump()
            try await iconsGetNumbers(reach)
        } catch {
            logger.error("a missed call could not be told of", metadata: ["error": "\(error)"])
        }
    }

    private func reach(_ users: [UserID]) async throws -> PushReach {
        let topics = topics
        var reach = try await service.read { try PushReach(of: Set(users), topics: topics, in: $0) }
        reach.people = reach.people.filter { NotificationRule.rings($0.value.settings.pushWhen) }
        return reach
    }
}
