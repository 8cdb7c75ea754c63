import RTCEngine
import RTCWire

/// What two applications say to each other on one channel: numbered messages both ways, all of which have to come.
struct DataConversation {
    let label: String
    let isOrdered: Bool
    var sent = 0
    private(set) var heard: Set<Int> = []
    private var next = 0

    init(label: String, isOrdered: Bool) {
        self.label = label
        self.isOrdered = isOrdered
    }

    /// So many each way. Every fifth takes several packets.
    static let messages = 6

    var isComplete: Bool { sent == Self.messages && heard.count == Self.messages }

    /// The message of this number; whose it is stands in it.
    static func message(_ number: Int, on label: String, from side: CallSimulation.Side) -> DataChannelMessage {
        let text = "\(side) \(label) \(number) "
        return .text(text + String(repeating: "x", count: number % 5 == 4 ? 4_000 : 40))
    }

    /// What is wrong with a message that came; nil when it is as it should be.
    mutating func judge(_ message: DataChannelMessage, from side: CallSimulation.Side) -> String? {
        guard case .text(let text) = message, let word = text.split(separator: " ").dropFirst(2).first,
            let number = Int(word), message == Self.message(number, on: label, from: side)
        else { return "a message on \(label) is not what was sent" }
        guard heard.insert(number).inserted else { return "message \(number) on \(label) came twice" }
        defer { next = number + 1 }
        if isOrdered, number != next { return "message \(number) on \(label) came instead of \(next)" }
        return nil
    }
}

extension CallSimulation {
    /// Opens a channel on which both sides then talk.
    mutating func openChannel(_ label: String, isOrdered: Bool, by side: Side) {
        let options = DataChannelInit(ordered: isOrdered)
        let id = attempt(side) { machine, now in try machine.createDataChannel(label, options, at: now) }
        guard let id else { return }
        peers[side.rawValue].conversations[id] = DataConversation(label: label, isOrdered: isOrdered)
        // On a connection that has others it opens before it is known here.
        if self[side].machine.dataChannel(id)?.state == .open { talk(side, id) }
    }

    /// Closes what a side has opened; the other side's are closed with it.
    mutating func closeChannels(of side: Side) {
        for id in self[side].conversations.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            tell(side) { machine, now in machine.closeDataChannel(id, at: now) }
        }
    }

    mutating func take(_ event: DataChannelEvent, of id: DataChannelID, at side: Side) {
        switch event {
        case .announced(let channel):
            peers[side.rawValue].conversations[id] = DataConversation(
                label: channel.label, isOrdered: channel.options.ordered)
        case .open:
            talk(side, id)
        case .message(let message):
            if let complaint = peers[side.rawValue].conversations[id]?.judge(message, from: side.other) {
                invariants.note(complaint, side, at: now)
            }
        case .closed:
            peers[side.rawValue].closedChannels.insert(id)
        case .bufferedAmount, .bufferedAmountLow, .closing:
            return
        }
    }

    /// Sends the next message, and the one after it in a moment.
    private mutating func talk(_ side: Side, _ id: DataChannelID) {
        guard let conversation = self[side].conversations[id], conversation.sent < DataConversation.messages,
            self[side].machine.dataChannel(id)?.state == .open
        else { return }
        let message = DataConversation.message(conversation.sent, on: conversation.label, from: side)
        guard attempt(side, { machine, now in try machine.send(message, on: id, at: now) }) != nil else {
            return invariants.note("a message on \(conversation.label) is refused", side, at: now)
        }
        peers[side.rawValue].conversations[id]?.sent += 1
        after(.milliseconds(20)) { $0.talk(side, id) }
    }
}
