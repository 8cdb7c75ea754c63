import Foundation
import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

@Suite(.timeLimit(.minutes(2))) struct DataTests {
    @Test func `a message waits for its channel, which is made for it`() throws {
        let dialogue = Dialogue()
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.server(Dialogue.join())
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        try dialogue.machine.sendData(
            Array("hello".utf8), isReliable: true, to: ["ann"], topic: "t", at: dialogue.now)
        #expect(dialogue.said() == ["! offer #1"])
        #expect(dialogue.media(.channelOpen(.lossy)).isEmpty)
        #expect(dialogue.media(.channelOpen(.reliable)) == ["> _reliable \"hello\" to ann"])
        #expect(dialogue.packets.map(\.sequence) == [1])
        #expect(dialogue.packets.map(\.user.topic) == ["t"])
    }

    @Test func `reliable messages are counted, and lossy ones are not`() throws {
        let dialogue = Dialogue.connected()
        for isReliable in [true, false, true] {
            try dialogue.machine.sendData([1], isReliable: isReliable, to: [], topic: nil, at: dialogue.now)
        }
        _ = dialogue.said()
        #expect(dialogue.packets.map(\.sequence) == [1, 0, 2])
    }

    @Test func `what is too long, or too much, is refused`() {
        let dialogue = Dialogue.connected()
        #expect(throws: RoomError.dataTooLarge(limit: 64_000)) {
            try dialogue.machine.sendData(
                [UInt8](repeating: 0, count: 64_001), isReliable: false, to: [], topic: nil, at: dialogue.now)
        }
        let early = Dialogue()
        early.machine.connect(token: "token", request: early.request(), at: early.now)
        _ = early.server(Dialogue.join())
        let message = [UInt8](repeating: 0, count: 60_000)
        #expect(throws: RoomError.dataBacklog) {
            for _ in 0..<100 {
                try early.machine.sendData(message, isReliable: false, to: [], topic: nil, at: early.now)
            }
        }
    }

    @Test func `a reliable message that comes twice is heard once`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        func hear(_ sequence: UInt32, _ label: DataLabel = .reliable) -> [String] {
            dialogue.hears(from: "ann", label, sequence: sequence) { $0.user = .with { $0.payload = .init([0x61]) } }
        }
        #expect(hear(1) == ["* \"a\" from ann"])
        #expect(hear(1).isEmpty)
        #expect(hear(2) == ["* \"a\" from ann"])
        #expect(hear(0, .lossy) == ["* \"a\" from ann"])
    }

    @Test func `bytes that are no packet, and packets of other features, are passed over`() {
        let dialogue = Dialogue.connected()
        #expect(dialogue.media(.message(.reliable, [0xff, 0xff, 0xff])).isEmpty)
        #expect(dialogue.hears(from: "ann") { $0.chatMessage = .with { $0.message = "x" } }.isEmpty)
        #expect(dialogue.hears(from: "ann") { _ in }.isEmpty)
    }
}

@Suite struct RPCTests {
    @Test func `a call is heard, answered, and done`() throws {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        call(dialogue)
        #expect(dialogue.said() == ["> _reliable call shout(hi) to ann", "! offer #1"])
        let sent = try #require(dialogue.packets.first?.rpcRequest)
        #expect(sent.version == 1 && sent.responseTimeoutMs == 8_000)
        #expect(dialogue.hears(from: "ann") { $0.rpcAck = .with { $0.requestID = sent.id } }.isEmpty)
        let answer = dialogue.hears(from: "ann") {
            $0.rpcResponse = .with {
                $0.requestID = sent.id
                $0.payload = "HI"
            }
        }
        #expect(answer == ["= 2 HI"])
    }

    @Test func `nobody else answers for who was called`() throws {
        let dialogue = Dialogue.connected([Dialogue.info("ann"), Dialogue.info("eve")])
        call(dialogue)
        _ = dialogue.said()
        let sent = try #require(dialogue.packets.first?.rpcRequest)
        #expect(dialogue.hears(from: "eve") { $0.rpcResponse = .with { $0.requestID = sent.id } }.isEmpty)
    }

    @Test func `who does not say that it heard is not connected, and who does has more time`() throws {
        let deaf = Dialogue.connected([Dialogue.info("ann")])
        deaf.publish()
        call(deaf)
        _ = deaf.said()
        #expect(calls(deaf.pass(.milliseconds(6_900))).isEmpty)
        #expect(calls(deaf.pass(.milliseconds(200))) == ["= 3 failed: Connection timeout (1501)"])
        let slow = Dialogue.connected([Dialogue.info("ann")])
        slow.publish()
        call(slow)
        _ = slow.said()
        let sent = try #require(slow.packets.first?.rpcRequest)
        _ = slow.hears(from: "ann") { $0.rpcAck = .with { $0.requestID = sent.id } }
        #expect(calls(slow.pass(.milliseconds(14_900))).isEmpty)
        #expect(calls(slow.pass(.milliseconds(200))) == ["= 3 failed: Response timeout (1502)"])
    }

    @Test func `a call that cannot reach anybody fails at once`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        call(dialogue, of: "bob")
        #expect(calls(dialogue.said()) == ["= 2 failed: Recipient not found (1401)"])
        call(dialogue, payload: String(repeating: "x", count: 15 * 1024 + 1))
        #expect(calls(dialogue.said()) == ["= 3 failed: Request payload too large (1402)"])
        call(dialogue)
        _ = dialogue.said()
        let gone = Dialogue.update(Dialogue.info("ann", version: 2) { $0.state = .disconnected })
        #expect(calls(dialogue.server(gone)) == ["= 4 failed: Recipient disconnected (1503)"])
    }

    @Test func `a method of ours is called once, and its answer goes to the caller`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        dialogue.machine.calls.methods = ["shout"]
        let heard = called(dialogue, "r1", "shout")
        #expect(heard.contains("> _reliable ack to ann") && heard.contains("* called shout(hi) by ann"))
        #expect(called(dialogue, "r1", "shout").isEmpty)
        dialogue.machine.answerRPC("r1", .success("HI"), at: dialogue.now)
        #expect(dialogue.said() == ["> _reliable answer HI to ann"])
        dialogue.machine.answerRPC("r1", .success("again"), at: dialogue.now)
        #expect(dialogue.said().isEmpty)
    }

    @Test func `of those who call without end so many calls are kept and no more`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        dialogue.machine.calls.methods = ["shout"]
        var heard = 0
        for number in 0..<300 {
            heard += called(dialogue, "r\(number)", "shout").count { $0.hasPrefix("* called") }
        }
        #expect(heard == 256)
        dialogue.machine.answerRPC("r0", .success("HI"), at: dialogue.now)
        #expect(called(dialogue, "r300", "shout").contains("* called shout(hi) by ann"))
    }

    @Test func `calls that are not answered in time make room for others`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        dialogue.publish()
        dialogue.machine.calls.methods = ["shout"]
        for number in 0..<256 { _ = called(dialogue, "r\(number)", "shout") }
        #expect(called(dialogue, "r256", "shout").isEmpty)
        // 15 seconds, and 7 for the way.
        var early = dialogue.pass(.milliseconds(10_000))
        _ = dialogue.server(.pong(0))
        early += dialogue.pass(.milliseconds(11_900))
        #expect(!early.contains { $0.hasPrefix("! abandon") })
        #expect(dialogue.pass(.milliseconds(200)).count { $0.hasPrefix("! abandon") } == 256)
        #expect(called(dialogue, "r256", "shout").contains("* called shout(hi) by ann"))
        dialogue.machine.answerRPC("r0", .success("late"), at: dialogue.now)
        #expect(dialogue.said().isEmpty)
    }

    @Test func `calls that cannot be answered are answered with LiveKit's codes`() {
        let dialogue = Dialogue.connected([Dialogue.info("ann")])
        dialogue.machine.calls.methods = ["shout"]
        #expect(called(dialogue, "r1", "whisper").last == "> _reliable error 1400 to ann")
        #expect(called(dialogue, "r2", "shout", version: 9).last == "> _reliable error 1404 to ann")
        _ = called(dialogue, "r3", "shout")
        dialogue.machine.answerRPC(
            "r3", .success(String(repeating: "x", count: 15 * 1024 + 1)), at: dialogue.now)
        #expect(dialogue.said() == ["> _reliable error 1504 to ann"])
        _ = called(dialogue, "r4", "shout")
        dialogue.machine.answerRPC("r4", .failure(RPCError(code: 7, message: "no")), at: dialogue.now)
        #expect(dialogue.said() == ["> _reliable error 7 to ann"])
    }

    private func call(_ dialogue: Dialogue, of who: ParticipantIdentity = "ann", payload: String = "hi") {
        dialogue.machine.performRPC(
            "shout", payload: payload, of: who, timeout: nil, request: dialogue.request(), at: dialogue.now)
    }

    private func called(
        _ dialogue: Dialogue, _ id: String, _ method: String, version: UInt32 = 1
    ) -> [String] {
        dialogue.hears(from: "ann") {
            $0.rpcRequest = .with {
                $0.id = id
                $0.method = method
                $0.payload = "hi"
                $0.version = version
            }
        }
    }

    private func calls(_ lines: [String]) -> [String] { lines.filter { $0.hasPrefix("=") } }
}
