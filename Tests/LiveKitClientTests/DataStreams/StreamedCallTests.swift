import Foundation
import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

/// LiveKit's RPC, version 2: calls and answers are streams.
@Suite struct StreamedCallTests {
    private static func dialogue(_ version: Int32 = 2) -> Dialogue {
        let dialogue = Dialogue.connected([Dialogue.info("ann") { $0.clientProtocol = version }, Dialogue.info("eve")])
        dialogue.publish()
        dialogue.machine.calls.methods = ["shout"]
        return dialogue
    }

    private static func call(_ dialogue: Dialogue, _ payload: String) -> [String] {
        dialogue.machine.performRPC(
            "shout", payload: payload, of: "ann", timeout: nil, request: dialogue.request(), at: dialogue.now)
        return dialogue.said()
    }

    @Test func `a call goes as a stream, and its answer comes as one`() throws {
        let dialogue = Self.dialogue()
        #expect(Self.call(dialogue, "hi") == ["> _reliable stream on lk.rpc_request: hi to ann"])
        let asked = try #require(dialogue.packets.last?.streamHeader.attributes)
        let id = try #require(asked["lk.rpc_request_id"])
        #expect(
            asked == [
                "lk.rpc_request_id": id, "lk.rpc_request_method": "shout",
                "lk.rpc_request_response_timeout_ms": "8000", "lk.rpc_request_version": "2",
            ])
        #expect(dialogue.hears(from: "ann") { $0.rpcAck = .with { $0.requestID = id } }.isEmpty)
        #expect(dialogue.begins("a", topic: "lk.rpc_response") { $0.attributes = ["lk.rpc_request_id": id] }.isEmpty)
        #expect(dialogue.goesOn("a", 0, "H").isEmpty && dialogue.goesOn("a", 1, "I").isEmpty)
        #expect(dialogue.ends("a") == ["= 3 HI"])
    }

    @Test func `to who knows messages alone it goes as a message, up to what one takes`() throws {
        let dialogue = Self.dialogue(0)
        #expect(Self.call(dialogue, "hi") == ["> _reliable call shout(hi) to ann"])
        let long = String(repeating: "x", count: 20_000)
        #expect(Self.call(dialogue, long) == ["= 4 failed: Request payload too large (1402)"])
        #expect(Self.call(Self.dialogue(1), long).first == "> _reliable stream on lk.rpc_request to ann")
        let longest = String(repeating: "x", count: 4 << 20)
        #expect(Self.call(Self.dialogue(2), longest).last?.hasPrefix("= ") == false)
        #expect(Self.call(Self.dialogue(2), longest + "x") == ["= 3 failed: Request payload too large (1402)"])
    }

    @Test func `an answer that begins is as good as a word that it was heard`() throws {
        let dialogue = Self.dialogue()
        _ = Self.call(dialogue, "hi")
        let id = try #require(dialogue.packets.last?.streamHeader.attributes["lk.rpc_request_id"])
        _ = dialogue.begins("a", topic: "lk.rpc_response") { $0.attributes = ["lk.rpc_request_id": id] }
        #expect(dialogue.pass(.milliseconds(14_000)).allSatisfy { !$0.hasPrefix("=") })
        #expect(dialogue.pass(.milliseconds(1_100)).contains("= 3 failed: Response timeout (1502)"))
        #expect(dialogue.ends("a").isEmpty)
    }

    @Test func `nobody else answers, and an error is a message`() throws {
        let dialogue = Self.dialogue()
        _ = Self.call(dialogue, "hi")
        let id = try #require(dialogue.packets.last?.streamHeader.attributes["lk.rpc_request_id"])
        let fake = dialogue.begins("a", topic: "lk.rpc_response", from: "eve") {
            $0.attributes = ["lk.rpc_request_id": id]
            $0.inlineContent = Data("fake".utf8)
        }
        #expect(fake.isEmpty)
        let error = dialogue.hears(from: "ann") {
            $0.rpcResponse = .with {
                $0.requestID = id
                $0.error = .with { $0.code = 1_500 }
            }
        }
        #expect(error.first?.hasPrefix("= 3 failed") == true)
    }

    @Test func `an answer that breaks off is none`() throws {
        for (end, sentence) in [("tired", "Application error in method handler (1500)")] {
            let dialogue = Self.dialogue()
            _ = Self.call(dialogue, "hi")
            let id = try #require(dialogue.packets.last?.streamHeader.attributes["lk.rpc_request_id"])
            _ = dialogue.begins("a", topic: "lk.rpc_response") { $0.attributes = ["lk.rpc_request_id": id] }
            #expect(dialogue.ends("a", reason: end) == ["= 3 failed: \(sentence)"])
        }
        let dialogue = Self.dialogue()
        _ = Self.call(dialogue, "hi")
        let id = try #require(dialogue.packets.last?.streamHeader.attributes["lk.rpc_request_id"])
        _ = dialogue.begins("a", topic: "lk.rpc_response") { $0.attributes = ["lk.rpc_request_id": id] }
        let gone = Dialogue.update(Dialogue.info("ann", version: 2) { $0.state = .disconnected })
        #expect(dialogue.server(gone).contains("= 3 failed: Recipient disconnected (1503)"))
    }

    private static let asking = [
        "lk.rpc_request_id": "r", "lk.rpc_request_method": "shout", "lk.rpc_request_response_timeout_ms": "8000",
        "lk.rpc_request_version": "2",
    ]

    @Test func `a method of ours is called when all has come, and answers in the same form`() {
        let dialogue = Self.dialogue()
        let began = dialogue.begins("c", topic: "lk.rpc_request") { $0.attributes = Self.asking }
        #expect(began == ["> _reliable ack to ann"])
        #expect(dialogue.goesOn("c", 0, "h").isEmpty && dialogue.goesOn("c", 1, "i").isEmpty)
        #expect(dialogue.ends("c") == ["* called shout(hi) by ann"])
        dialogue.machine.answerRPC("r", .success("HI"), at: dialogue.now)
        #expect(dialogue.said() == ["> _reliable stream on lk.rpc_response: HI to ann"])
        #expect(dialogue.packets.last?.streamHeader.attributes == ["lk.rpc_request_id": "r"])
    }

    @Test func `an error of a method is a message in this form too`() {
        let dialogue = Self.dialogue()
        let called = dialogue.begins("c", topic: "lk.rpc_request") {
            $0.attributes = Self.asking
            $0.inlineContent = Data("hi".utf8)
        }
        #expect(called == ["> _reliable ack to ann", "* called shout(hi) by ann"])
        dialogue.machine.answerRPC("r", .failure(RPCError(code: 7, message: "no")), at: dialogue.now)
        #expect(dialogue.said() == ["> _reliable error 7 to ann"])
    }

    @Test(arguments: [
        ("lk.rpc_request_version", "3", 1404), ("lk.rpc_request_version", "", 1404),
        ("lk.rpc_request_method", "whisper", 1400), ("lk.rpc_request_method", "", 1400),
    ])
    func `a call that makes no sense is answered with what is wrong`(name: String, value: String, code: UInt32) {
        let dialogue = Self.dialogue()
        let began = dialogue.begins("c", topic: "lk.rpc_request") {
            $0.attributes = Self.asking
            $0.attributes[name] = value
        }
        #expect(began == ["> _reliable ack to ann", "> _reliable error \(code) to ann"])
        // What follows is for nobody.
        #expect(dialogue.goesOn("c", 0, "h").isEmpty && dialogue.ends("c").isEmpty)
    }

    @Test func `a call without a number has no answer`() {
        let dialogue = Self.dialogue()
        let began = dialogue.begins("c", topic: "lk.rpc_request") {
            $0.attributes = Self.asking
            $0.attributes["lk.rpc_request_id"] = nil
        }
        #expect(began.isEmpty)
    }

    @Test func `a call that is longer than we keep is refused, and one that breaks off fails`() throws {
        let dialogue = Self.dialogue()
        _ = dialogue.begins("c", topic: "lk.rpc_request") { $0.attributes = Self.asking }
        let part = String(repeating: "x", count: 50_000)
        var said: [String] = []
        for index in 0..<84 { said += dialogue.goesOn("c", UInt64(index), part) }
        #expect(said == ["> _reliable error 1402 to ann"])
        _ = dialogue.begins("d", topic: "lk.rpc_request") { $0.attributes = Self.asking }
        #expect(dialogue.ends("d", reason: "tired") == ["> _reliable error 1500 to ann"])
        // A few bytes that become many are counted as many.
        let bomb = try #require(Deflate.compress([UInt8](repeating: 0x61, count: 8 << 20)))
        #expect(bomb.count < 10_000)
        let refused = dialogue.begins("e", topic: "lk.rpc_request") {
            $0.attributes = Self.asking
            $0.compression = .deflateRaw
            $0.inlineContent = Data(bomb)
        }
        #expect(refused == ["> _reliable ack to ann", "> _reliable error 1402 to ann"])
    }

    @Test func `a caller may make us keep so much, and others still call`() throws {
        let dialogue = Self.dialogue()
        let longest = try #require(Deflate.compress([UInt8](repeating: 0x61, count: 4 << 20)))
        func call(_ id: String, from caller: String, with payload: [UInt8]) -> [String] {
            _ = dialogue.begins(id, topic: "lk.rpc_request", from: caller) {
                $0.attributes = Self.asking
                $0.attributes["lk.rpc_request_id"] = id
                $0.compression = .deflateRaw
            }
            return dialogue.hears(from: caller) {
                $0.streamChunk = .with {
                    $0.streamID = id
                    $0.content = Data(payload)
                }
            }
        }
        for number in 0..<4 { #expect(call("r\(number)", from: "ann", with: longest).isEmpty) }
        #expect(call("r4", from: "ann", with: longest) == ["> _reliable error 1402 to ann"])
        #expect(call("s", from: "eve", with: longest).isEmpty)
        #expect(dialogue.ends("s", from: "eve").first?.hasPrefix("* called shout(aaaa") == true)
        // What is called counts until it has answered.
        #expect(dialogue.ends("r0").first?.hasPrefix("* called") == true)
        #expect(call("r5", from: "ann", with: longest) == ["> _reliable error 1402 to ann"])
        dialogue.machine.answerRPC("r0", .success(""), at: dialogue.now)
        _ = dialogue.said()
        #expect(call("r6", from: "ann", with: longest).isEmpty)
    }

    @Test func `nothing is called with what comes too late, and nobody is kept from calling by it`() {
        let dialogue = Self.dialogue()
        for number in 0..<256 {
            _ = dialogue.begins("c\(number)", topic: "lk.rpc_request") {
                $0.attributes = Self.asking
                $0.attributes["lk.rpc_request_id"] = "r\(number)"
            }
        }
        // 256 are all that are kept.
        let refused = dialogue.begins("d", topic: "lk.rpc_request") { $0.attributes = Self.asking }
        #expect(refused.isEmpty)
        #expect(dialogue.pass(.milliseconds(15_100)).count { $0.hasPrefix("! abandon") } == 256)
        #expect(dialogue.ends("c0").isEmpty)
        let called = dialogue.begins("e", topic: "lk.rpc_request") {
            $0.attributes = Self.asking
            $0.inlineContent = Data("hi".utf8)
        }
        #expect(called == ["> _reliable ack to ann", "* called shout(hi) by ann"])
    }

    @Test func `a call that does not fit before there is a channel goes not at all`() {
        let dialogue = Dialogue()
        dialogue.machine.connect(token: "token", request: dialogue.request(), at: dialogue.now)
        _ = dialogue.server(Dialogue.join([Dialogue.info("ann") { $0.clientProtocol = 1 }]))
        _ = dialogue.media(.stateChanged(.subscriber, .connected))
        let long = String(repeating: "x", count: 3 << 20)
        #expect(Self.call(dialogue, long).allSatisfy { !$0.hasPrefix("=") })
        #expect(Self.call(dialogue, long).last == "= 3 failed: Failed to send (1505)")
        let sent = dialogue.media(.channelOpen(.reliable))
        #expect(sent.first == "> _reliable stream on lk.rpc_request to ann" && sent.last == "> _reliable end to ann")
        #expect(sent.count { $0.contains("stream on") } == 1)
    }

    @Test func `an answer that is too long is said to be`() {
        let dialogue = Self.dialogue()
        _ = dialogue.begins("c", topic: "lk.rpc_request") {
            $0.attributes = Self.asking
            $0.inlineContent = Data("hi".utf8)
        }
        let long = String(repeating: "x", count: (4 << 20) + 1)
        dialogue.machine.answerRPC("r", .success(long), at: dialogue.now)
        #expect(dialogue.said() == ["> _reliable error 1504 to ann"])
    }
}
