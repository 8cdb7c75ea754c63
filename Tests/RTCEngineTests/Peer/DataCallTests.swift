import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// Data channels of whole peer connections: descriptions, ICE, DTLS, SCTP, with media and without.
@Suite struct DataCallTests {
    private typealias Side = CallSimulation.Side

    private func create(
        _ label: String, _ call: inout CallSimulation, by side: CallSimulation.Side = .left
    ) throws -> DataChannelID {
        try call.tell(side) { machine, now in try machine.createDataChannel(label, at: now) }
    }

    private func send(
        _ text: String, on id: DataChannelID, _ call: inout CallSimulation, by side: CallSimulation.Side = .left
    ) throws {
        try call.tell(side) { machine, now in try machine.send(.text(text), on: id, at: now) }
    }

    @Test(arguments: [DTLSRole.client, .server])
    func `a connection for data alone connects and carries messages both ways`(answering: DTLSRole) throws {
        var call = CallSimulation { $0.answeringRole = answering }
        let id = try create("chat", &call)
        call.begin([])
        call.connects()
        let isOpen = call.run(within: .seconds(Int64(5))) { !$0[.right].announcedChannels.isEmpty }
        try #require(isOpen)
        let theirs = try #require(call[.right].announcedChannels.first)
        // RFC 8832 §6: even for the DTLS client.
        #expect(call[.left].machine.dataChannel(id)?.options.id == (answering == .client ? 1 : 0))
        try send("from left", on: id, &call)
        try send("from right", on: theirs, &call, by: .right)
        call.run(for: .seconds(Int64(1)))
        #expect(call[.right].messages(of: theirs) == [.text("from left")])
        #expect(call[.left].messages(of: id) == [.text("from right")])
        #expect(call[.left].refusals == [] && call[.right].refusals == [])
        #expect(call.violations == [])
        let report = call[.left].machine.stats(at: call.now)
        #expect(report.dataChannels.map(\.messagesSent) == [1])
        #expect(report.sctpTransport?.transportID == report.transport?.id)
    }

    /// W3C WebRTC §4.4.1.5 with RFC 8832 §6.
    @Test(arguments: [DTLSRole.client, .server])
    func `channels made before have their ids with the answer, and not before it`(answering: DTLSRole) throws {
        var call = CallSimulation { $0.answeringRole = answering }
        let ours = try ["a", "b"].map { try create($0, &call) }
        let theirs = try create("c", &call, by: .right)
        let made = try call.tell(.right) { machine, now in
            try machine.createDataChannel("d", DataChannelInit(negotiated: true, id: 2), at: now)
        }
        func ids(_ side: Side, _ channels: [DataChannelID]) -> [UInt16?] {
            channels.map { call[side].machine.dataChannel($0)?.options.id }
        }
        let offer = try call.tell(.left) { machine, now in
            let offer = try machine.createOffer(iceRestart: false)
            try machine.setLocalDescription(.offer, offer, at: now)
            return offer
        }
        try call.tell(.right) { machine, now in try machine.setRemoteDescription(.offer, offer, at: now) }
        #expect(ids(.left, ours) == [nil, nil])
        #expect(ids(.right, [theirs, made]) == [nil, 2])
        let answer = try call.tell(.right) { machine, now in
            let answer = try machine.createAnswer()
            try machine.setLocalDescription(.answer, answer, at: now)
            return answer
        }
        #expect(ids(.right, [theirs, made]) == [answering == .client ? 0 : 1, 2])
        #expect(ids(.left, ours) == [nil, nil])
        try call.tell(.left) { machine, now in try machine.setRemoteDescription(.answer, answer, at: now) }
        #expect(ids(.left, ours) == (answering == .client ? [1, 3] : [0, 2]))
        // What is made from now on has one at once.
        let late = try create("e", &call)
        #expect(ids(.left, [late]) == [answering == .client ? 5 : 4])
        #expect(call[.left].machine.dataChannel(late)?.state == .connecting)
        #expect(call.violations == [])
    }

    @Test(arguments: [false, true])
    func `what was said before the end is heard, also when both come in one batch`(batched: Bool) throws {
        var call = CallSimulation { _ in }
        let id = try create("chat", &call)
        call.begin([])
        call.connects()
        call.run(within: .seconds(Int64(5))) { !$0[.right].announcedChannels.isEmpty }
        let theirs = try #require(call[.right].announcedChannels.first)
        if batched { call.tell(.right) { machine, _ in machine.beginBatch() } }
        try send("farewell", on: id, &call)
        call.close(.left)
        call.run(for: .milliseconds(200))
        call.tell(.right) { machine, now in machine.endBatch(at: now) }
        #expect(call[.right].messages(of: theirs) == [.text("farewell")])
        #expect(call[.right].machine.connectionState == .closed)
        #expect(call.violations == [])
    }

    @Test func `data and media share a lossy line, and nothing of the data is lost`() throws {
        var call = CallSimulation {
            $0.conditions = LinkConditions(delay: .milliseconds(20), jitter: .milliseconds(10), loss: 0.03)
        }
        let id = try create("chat", &call)
        call.begin([.audio, .video])
        call.connects()
        call.run(within: .seconds(Int64(5))) { !$0[.right].announcedChannels.isEmpty }
        let theirs = try #require(call[.right].announcedChannels.first)
        for number in 0..<100 {
            try send("\(number)", on: id, &call)
            call.run(for: .milliseconds(20))
        }
        call.run(within: .seconds(Int64(20))) { $0[.right].messages(of: theirs).count == 100 }
        #expect(call[.right].messages(of: theirs) == (0..<100).map { .text("\($0)") })
        #expect(call.judge(.video, at: .right).count > 20)
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `either side adds data to a call that goes on`(side: CallSimulation.Side) throws {
        var call = CallSimulation()
        call.begin([.audio])
        call.connects()
        call.signaling.offersWhenNeeded = true
        let id = try create("late", &call, by: side)
        call.run(within: .seconds(Int64(5))) { !$0[side.other].announcedChannels.isEmpty }
        let theirs = try #require(call[side.other].announcedChannels.first)
        try send("x", on: id, &call, by: side)
        call.run(for: .seconds(Int64(1)))
        #expect(call[side.other].messages(of: theirs) == [.text("x")])
        #expect(call.judge(.audio, at: side).skips == 0)
        #expect(call.violations == [])
    }

    @Test(arguments: CallSimulation.Side.allCases)
    func `the end of a connection ends its channels on both sides`(side: CallSimulation.Side) throws {
        var call = CallSimulation()
        let id = try create("chat", &call)
        call.begin([])
        call.connects()
        call.run(within: .seconds(Int64(5))) { !$0[.right].announcedChannels.isEmpty }
        call.close(side)
        call.run(for: .seconds(Int64(2)))
        for end in CallSimulation.Side.allCases {
            #expect(call[end].machine.connectionState == .closed)
            guard case .closed = call[end].channelEvents.last?.event else {
                Issue.record("\(end): \(call[end].channelEvents)")
                continue
            }
            #expect(call[end].machine.dataChannels == [])
        }
        #expect(throws: DataChannelError.connectionClosed) { try send("x", on: id, &call) }
        #expect(throws: DataChannelError.connectionClosed) { try create("y", &call) }
        #expect(call.violations == [])
    }

    /// For a moment, and for longer than SCTP would wait for an answer.
    @Test(arguments: [Int64(3), 180])
    func `an ICE restart and a line that fails for a while lose no message`(seconds: Int64) throws {
        var call = CallSimulation()
        let id = try create("chat", &call)
        call.begin([])
        call.connects()
        call.run(within: .seconds(Int64(5))) { !$0[.right].announcedChannels.isEmpty }
        let theirs = try #require(call[.right].announcedChannels.first)
        call.setConditions(.cut, of: .right)
        for number in 0..<10 { try send("\(number)", on: id, &call) }
        call.run(for: .seconds(seconds))
        call.setConditions(.access, of: .right)
        call.offer(.left, iceRestart: true)
        call.run(within: .seconds(Int64(30))) { $0[.right].messages(of: theirs).count == 10 }
        try send("10", on: id, &call)
        call.run(within: .seconds(Int64(5))) { $0[.right].messages(of: theirs).count == 11 }
        #expect(call[.right].messages(of: theirs) == (0...10).map { .text("\($0)") })
        #expect(call.violations == [])
    }
}

extension CallSimulation.Peer {
    var announcedChannels: [DataChannelID] {
        channelEvents.compactMap { entry in
            if case .announced = entry.event { entry.id } else { nil }
        }
    }

    func messages(of id: DataChannelID) -> [DataChannelMessage] {
        channelEvents.compactMap { entry in
            guard entry.id == id, case .message(let message) = entry.event else { return nil }
            return message
        }
    }
}
