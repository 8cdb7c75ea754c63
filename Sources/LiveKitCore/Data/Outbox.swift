import RTCEngine

/// A reliable message that somebody, or several, cannot be sent yet.
final class HeldMessage {
    let bytes: [UInt8]
    /// Who sends no more while too much of theirs is held; nil where nobody can be made to wait.
    weak var sender: Participant?
    /// In so many outboxes.
    fileprivate(set) var holders = 0

    init(_ bytes: [UInt8], sender: Participant?) {
        self.bytes = bytes
        self.sender = sender
    }

    /// In memory: small ones are mostly not their bytes.
    var cost: Int { bytes.count + 128 }
}

/// Reliable messages that wait to be sent to somebody. None in the middle is ever left out: who takes too little for
/// too long is sent away (`isStuck`), and comes back with a connection that is new.
struct Outbox {
    /// None where one was taken: it is not to be kept until the places before `head` go.
    private var messages: [HeldMessage?] = []
    private var head = 0
    private var cost = 0
    /// What the receiver had taken when it was looked at last, and when that was.
    private var mark: (taken: Int, at: Instant)?
    private var taken = 0

    /// Of one who takes nothing, whoever sends: of each sender its window, and of services what they like.
    static let maximumCost = 16 << 20
    /// Of one who cannot be sent anything yet.
    static let maximumCostUnopened = 1 << 20
    /// A receiver that does not take so much in this time is too slow: others wait for it.
    static let leastTaken = 128 << 10
    static let patience = Interval.seconds(Int64(20))

    var isEmpty: Bool { head == messages.count }
    var next: HeldMessage? { isEmpty ? nil : messages[head] }

    /// - Returns: false when there is no room for it.
    mutating func hold(_ message: HeldMessage, limit: Int) -> Bool {
        guard cost + message.cost <= limit else { return false }
        message.holders += 1
        messages.append(message)
        cost += message.cost
        return true
    }

    /// - Returns: the message, if nobody else holds it.
    mutating func removeFirst() -> HeldMessage? {
        guard let message = next else { return nil }
        messages[head] = nil
        head += 1
        cost -= message.cost
        taken += message.bytes.count
        message.holders -= 1
        if isEmpty {
            self = Outbox()
        } else if head >= 1_024 {
            messages.removeSubrange(0..<head)
            head = 0
        }
        return message.holders == 0 ? message : nil
    }

    /// The receiver cannot take anything at present: what it took before says nothing of it afterwards.
    mutating func forgetMark() { mark = nil }

    /// - Parameter waiting: bytes that have left the outbox, and that the receiver has not taken.
    /// - Returns: whether the receiver takes too little.
    mutating func isStuck(waiting: Int, at now: Instant) -> Bool {
        guard !isEmpty else { return false }
        let taken = taken - waiting
        guard let mark else {
            mark = (taken, now)
            return false
        }
        guard now - mark.at >= Self.patience else { return false }
        self.mark = (taken, now)
        return taken - mark.taken < Self.leastTaken
    }
}
