import NIOCore
import Testing

@testable import SocketIO

struct SocketIOPacketTests {
    private func parse(_ text: String) throws(SocketIOPacketError) -> SocketIOPacket? {
        var parser = SocketIOPacketParser()
        return try parser.receive(text: Array(text.utf8)[...])
    }

    @Test(arguments: [
        ("0", SocketIOPacket(kind: .connect)),
        (#"0{"token":"123"}"#, SocketIOPacket(kind: .connect, payload: RawJSON(#"{"token":"123"}"#))),
        (#"0/admin,{"a":1}"#, SocketIOPacket(kind: .connect, namespace: "/admin", payload: RawJSON(#"{"a":1}"#))),
        ("1/admin,", SocketIOPacket(kind: .disconnect, namespace: "/admin")),
        (#"2["foo"]"#, SocketIOPacket(kind: .event, payload: RawJSON(#"["foo"]"#))),
        (
            #"2/admin,12["bar",1.0]"#,
            SocketIOPacket(kind: .event, namespace: "/admin", id: 12, payload: RawJSON(#"["bar",1.0]"#))
        ),
        ("3/admin,13[]", SocketIOPacket(kind: .ack, namespace: "/admin", id: 13, payload: RawJSON("[]"))),
        (
            #"4{"message":"Not authorized"}"#,
            SocketIOPacket(kind: .connectError, payload: RawJSON(#"{"message":"Not authorized"}"#))
        ),
    ])
    func `reads and writes the protocol's examples`(text: String, packet: SocketIOPacket) throws {
        #expect(try parse(text) == packet)
        #expect(String(decoding: packet.encodedText, as: UTF8.self) == text)
    }

    @Test func `takes a query behind the namespace, and a namespace without comma`() throws {
        let packet = try parse("0/admin?token=1234&uid=abcd,{}")
        #expect(packet?.namespace == "/admin" && packet?.query == "token=1234&uid=abcd")
        #expect(try parse("1/admin")?.namespace == "/admin")
    }

    @Test(arguments: [
        ("", SocketIOPacketError.unknownKind), ("7", .unknownKind), ("2", .malformedPayload),
        ("2[]", .malformedPayload),
        ("2[1]", .malformedPayload), (#"2{"a":1}"#, .malformedPayload), (#"2["a""#, .malformedPayload),
        (#"2["a"]x"#, .malformedPayload), ("3[]", .malformedPayload), ("0[]", .malformedPayload),
        ("1{}", .malformedPayload), ("5[\"a\"]", .malformedHeader), ("5x-[\"a\"]", .malformedHeader),
        ("21234567890123456789[\"a\"]", .malformedHeader), (#"2["connect"]"#, .reservedEventName("connect")),
        (#"51-["a",{"_placeholder":true,"num":1}]"#, .illegalAttachments),
        (#"5999-["a"]"#, .illegalAttachments),
    ])
    func `says what is wrong with a packet`(text: String, error: SocketIOPacketError) {
        #expect(throws: error) { try parse(text) }
    }

    @Test func `puts attachments to their packet`() throws {
        var parser = SocketIOPacketParser()
        let text = #"52-/a,7["up",{"_placeholder":true,"num":1},[{"_placeholder":true,"num":0}]]"#
        #expect(try parser.receive(text: Array(text.utf8)[...]) == nil)
        #expect(try parser.receive(binary: [1]) == nil)
        let packet = try #require(try parser.receive(binary: [2, 3]))
        #expect(packet.attachments == [[1], [2, 3]] && packet.id == 7 && packet.namespace == "/a")
        let event = try #require(packet.event)
        #expect(event.name == "up")
        #expect(event.arguments.binary(at: 0) == [2, 3])
        #expect(event.arguments[1]?.elements?.first.flatMap(event.arguments.attachment(for:)) == [1])
    }

    @Test func `refuses attachments that nobody announced, and text in their place`() throws {
        var parser = SocketIOPacketParser()
        #expect(throws: SocketIOPacketError.illegalAttachments) { try parser.receive(binary: [1]) }
        _ = try parser.receive(text: Array(#"51-["a",{"_placeholder":true,"num":0}]"#.utf8)[...])
        #expect(throws: SocketIOPacketError.attachmentsExpected) {
            try parser.receive(text: Array(#"2["b"]"#.utf8)[...])
        }
    }

    @Test func `counts the bytes of a packet's attachments together`() throws {
        var parser = SocketIOPacketParser(attachmentByteLimit: 10)
        let text = Array(#"53-["a",{"_placeholder":true,"num":2}]"#.utf8)[...]
        // As many as are allowed, and then again: each packet is counted by itself.
        for _ in 0..<2 {
            #expect(try parser.receive(text: text) == nil)
            #expect(try parser.receive(binary: [1, 2, 3, 4, 5]) == nil)
            #expect(try parser.receive(binary: []) == nil)
            let event = try #require(try parser.receive(binary: [6, 7, 8, 9, 10])?.event)
            #expect(event.arguments.byteCount == event.arguments.bytes.count + 10)
        }
        #expect(try parser.receive(text: text) == nil)
        #expect(try parser.receive(binary: [1, 2, 3, 4, 5]) == nil)
        #expect(throws: SocketIOPacketError.attachmentsTooLarge) { try parser.receive(binary: [1, 2, 3, 4, 5, 6]) }
    }

    @Test func `arguments are split without being changed`() throws {
        let event = try #require(try parse(#"2["e" , 1.0 ,{"b":[1,2],"a":"ї"},null]"#)?.event)
        #expect(event.arguments.elements.map(\.text) == ["1.0", #"{"b":[1,2],"a":"ї"}"#, "null"])
        #expect(event.arguments[3] == nil)
        #expect(try parse(#"2["e"]"#)?.event?.arguments.elements.isEmpty == true)
    }

    @Test func `arguments of our own are written as a literal`() {
        let arguments: SocketIOArguments = ["a", 1, true, nil, .binary([1])]
        #expect(arguments.text == #""a",1,true,null,{"_placeholder":true,"num":0}"#)
        #expect(arguments.attachments == [[1]])
    }

    @Test func `a relayed event leaves byte for byte, without its acknowledgement's id`() throws {
        let packet = try #require(try parse(#"2/r,5["offer", {"z":1.50,"a" :"\u00e9"} ]"#))
        let (name, arguments) = try #require(packet.event)
        let event = SocketIOEvent(
            name: name, arguments: arguments, acknowledge: nil, payload: try #require(packet.payload))
        let frames = EncodedMessage.relay(event, namespace: "/r").frames
        #expect(
            String(decoding: frames.readableBytesView.dropFirst(2), as: UTF8.self)
                == #"42/r,["offer", {"z":1.50,"a" :"\u00e9"} ]"#)
    }
}
