import ExampleSupport
import Foundation
import RTCEngine
import RTCNetwork

/// Two programs that talk over data channels. Signaling is a line that a person copies from one terminal to the other,
/// or that a test hands over.
actor Chat {
    private let connection: PeerConnection
    /// Events as JSON, for programs; otherwise words, for people.
    private let speaksJSON: Bool
    private var channels: [String: DataChannel] = [:]
    private var mode = Listening.print
    private var counted = (messages: 0, bytes: 0, first: ContinuousClock.now, last: ContinuousClock.now)

    init(configuration: PeerConnectionConfiguration, speaksJSON: Bool) {
        connection = PeerConnection(configuration: configuration)
        self.speaksJSON = speaksJSON
    }

    /// Begins with a channel and an offer.
    func call() async throws {
        var instruction = Instruction()
        instruction.label = "chat"
        try await create(instruction)
        try await describe()
    }

    /// What happens on the connection, until it ends.
    func follow() async {
        for await event in connection.events {
            switch event {
            case .connectionStateChange(let state, _):
                var report = Report("connection")
                report.state = state.rawValue
                tell(report, "[\(state.rawValue)]")
            case .dataChannel(let channel):
                adopt(channel, "channel")
            case .negotiationNeeded:
                if speaksJSON { Output.say(Report("negotiationneeded")) }
            default: continue
            }
        }
    }

    // MARK: Input

    /// A line that was typed, pasted or piped in. False when it was the last one.
    func take(_ line: String) async -> Bool {
        do {
            guard line.hasPrefix("{") else {
                try await channels["chat"]?.send(line)
                return true
            }
            let instruction = try JSONDecoder().decode(Instruction.self, from: Data(line.utf8))
            if let description = instruction.description {
                try await connection.setRemoteDescription(description)
                if description.type == .offer { try await describe() }
                return true
            }
            return try await perform(instruction)
        } catch {
            var report = Report("error")
            report.reason = "\(error)"
            tell(report, "\(error)")
            return true
        }
    }

    private func perform(_ instruction: Instruction) async throws -> Bool {
        switch instruction.action {
        case .create: try await create(instruction)
        case .send: try await send(instruction)
        case .close: await channels[instruction.label ?? "chat"]?.close()
        case .listen: mode = instruction.mode ?? .print
        case .addAudio: _ = try await connection.addTransceiver(.audio)
        case .offer: try await describe()
        case .getStats: await reportStatistics()
        case .quit:
            await connection.close()
            return false
        case nil: Output.say("A line needs an \"action\" or an \"sdp\".")
        }
        return true
    }

    /// Makes the description that fits the state, and prints it when it has all candidates.
    private func describe() async throws {
        let description = try await connection.completeLocalDescription()
        if !speaksJSON { Output.say("Paste this line into the other terminal:") }
        Output.say(description)
    }

    // MARK: Channels

    private func create(_ instruction: Instruction) async throws {
        let label = instruction.label ?? "chat"
        guard let count = instruction.count else {
            return adopt(try await connection.createDataChannel(label, instruction.options), nil)
        }
        for number in 0..<count {
            adopt(try await connection.createDataChannel("\(label) \(number)", instruction.options), nil)
        }
    }

    private func send(_ instruction: Instruction) async throws {
        guard let channel = channels[instruction.label ?? "chat"] else { return }
        let message: DataChannelMessage =
            if let text = instruction.text {
                .text(text)
            } else if let base64 = instruction.base64 {
                .binary([UInt8](Data(base64Encoded: base64) ?? Data()))
            } else {
                .binary((0..<(instruction.size ?? 0)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
            }
        await channel.setBufferedAmountLowThreshold(1 << 20)
        for _ in 0..<(instruction.count ?? 1) {
            try await channel.send(message)
            try await channel.waitForBufferedAmountLow()
        }
        var report = Report("sent")
        report.label = channel.label
        if speaksJSON { Output.say(report) }
    }

    /// Listens to a channel, ours or the peer's.
    private func adopt(_ channel: DataChannel, _ event: String?) {
        channels[channel.label] = channel
        if let event { tell(Report(event, channel), "[\(channel.label)]") }
        Task {
            for await event in channel.events { happened(event, on: channel) }
        }
        Task {
            for await message in channel.messages { await received(message, on: channel) }
        }
    }

    private func happened(_ event: DataChannel.Event, on channel: DataChannel) {
        switch event {
        case .open: tell(Report("open", channel), "[\(channel.label) is open: type away]")
        case .bufferedAmountLow: return
        case .closing: tell(Report("closing", channel), nil)
        case .close(let failure):
            var report = Report("close", channel)
            report.reason = failure.map { "\($0)" }
            tell(report, "[\(channel.label) is closed]")
        }
    }

    private func received(_ message: DataChannelMessage, on channel: DataChannel) async {
        switch mode {
        case .echo:
            try? await channel.send(message)
        case .count:
            if counted.messages == 0 { counted.first = .now }
            counted.messages += 1
            counted.bytes += message.byteCount
            counted.last = .now
        case .print:
            var report = Report("message", channel)
            report.bytes = message.byteCount
            switch message {
            case .text(let text):
                report.text = text
                tell(report, "\(channel.label)> \(text)")
            case .binary(let bytes):
                report.base64 = Data(bytes).base64EncodedString()
                tell(report, "\(channel.label)> \(bytes.count) bytes")
            }
        }
    }

    // MARK: Output

    private func tell(_ report: Report, _ words: String?) {
        if speaksJSON {
            Output.say(report)
        } else if let words {
            Output.say(words)
        }
    }

    private func reportStatistics() async {
        var report = Report("statistics")
        let stats = await connection.getStats()
        let ours = stats.dataChannels
        let first = counted.first.duration(to: counted.last)
        report.messages = counted.messages > 0 ? counted.messages : ours.reduce(0) { $0 + Int($1.messagesReceived) }
        report.bytes = counted.messages > 0 ? counted.bytes : ours.reduce(0) { $0 + Int($1.bytesReceived) }
        report.seconds = Double(first.components.seconds) + Double(first.components.attoseconds) / 1e18
        tell(report, "\(report.messages ?? 0) messages, \(report.bytes ?? 0) bytes received")
    }
}

extension Report {
    init(_ event: String, _ channel: DataChannel) {
        self.init(event)
        label = channel.label
        id = channel.id
        ordered = channel.ordered
        maxRetransmits = channel.maxRetransmits
        maxPacketLifeTime = channel.maxPacketLifeTime
        self.protocol = channel.protocol
    }
}
