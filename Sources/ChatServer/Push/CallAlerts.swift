internal import ChatCore
internal import ChatModel

/// Alerts that devices without PushKit show of calls: when one is over for somebody it is replaced by a quiet one that
/// says so, for nothing else takes it off the screen.
struct CallAlerts {
    /// What became of a call for whom it rang.
    enum Ending: Sendable, Equatable {
        case answered, declined, over

        init(_ state: CallParticipantState?) {
            switch state {
            case .joined, .left: self = .answered
            case .declined: self = .declined
            case .ringing, .missed, nil: self = .over
            }
        }
    }

    /// How a call ended, and whose it was.
    struct End: Sendable, Equatable {
        let ending: Ending
        let callerName: String
    }

    private var shown: [PushCenter.Ringing: (addresses: [PushAddress], at: Timestamp)] = [:]
    private var ends: [PushCenter.Ringing: (end: End, at: Timestamp)] = [:]

    /// Apple has taken an alert.
    ///
    /// - Returns: what it is to be replaced by at once: it was on its way when its call was over.
    mutating func delivered(to address: PushAddress, of ringing: PushCenter.Ringing, at now: Timestamp) -> End? {
        if let (end, _) = ends[ringing] { return end }
        shown[ringing, default: ([], now)].addresses.append(address)
        return nil
    }

    /// A call rings no more at somebody's devices.
    ///
    /// - Returns: where it is shown.
    mutating func end(_ ringing: PushCenter.Ringing, _ end: End, at now: Timestamp) -> [PushAddress] {
        ends[ringing] = (end, now)
        return shown.removeValue(forKey: ringing)?.addresses ?? []
    }

    /// It rings anew, or was missed, of which another alert tells in the same place.
    mutating func forget(_ ringing: PushCenter.Ringing) {
        shown[ringing] = nil
        ends[ringing] = nil
    }

    /// What is older than any call rings needs no remembering.
    mutating func forget(before time: Timestamp) {
        shown = shown.filter { $0.value.at >= time }
        ends = ends.filter { $0.value.at >= time }
    }
}
