internal import LiveKitCore
internal import RTCNetwork

/// What a `PATCH` of a session has brought about.
enum SessionChange {
    case candidates
    /// Our part of the transport, and what it is called from now on.
    case restart(fragment: String, EntityTag)
}

extension MediaWorker {
    /// Looks at the tag and does what is asked for in one step: of two requests with the same one the second has an old
    /// one when the first was a restart.
    func take(
        _ fragment: TrickleFragment, of session: HTTPSession, if condition: IfMatch
    ) -> Result<SessionChange, HTTPRefusal> {
        guard let address = session.address, let room = room(at: address) else {
            return .failure(HTTPRefusal(404, "There is no such session."))
        }
        guard condition.matches(session.tag) else {
            return .failure(HTTPRefusal(412, "The request is about paths that are over."))
        }
        do throws(ExchangeRefusal) {
            let answer = try withRoom(room) { machine, now throws(ExchangeRefusal) in
                // RFC 9725 §4.3.3: who asks for new paths names none.
                try machine.take(fragment, from: address.signal, isRestart: condition == .any, at: now)
            }
            guard let answer else { return .success(.candidates) }
            return .success(.restart(fragment: answer.fragment, answer.isNew ? session.renewTag() : session.tag))
        } catch {
            switch error {
            case .noSuchSession: return .failure(HTTPRefusal(404, "There is no such session."))
            case .former: return .failure(HTTPRefusal(412, "The request is about paths that are over."))
            case .unusable(let reason): return .failure(HTTPRefusal(422, "The fragment cannot be used: \(reason)"))
            }
        }
    }
}
