import ChatModel
import Foundation
import Testing

@testable import ChatServer

struct ClientRequestTests {
    private func read(_ text: String) throws -> ClientRequest {
        try JSONDecoder().decode(ClientRequest.self, from: Data(text.utf8))
    }

    private let channel = "0190a5de-0000-7000-8000-000000000001"

    @Test func `reads what the seed's client sends`() throws {
        let id = try #require(ChannelID(channel))
        #expect(
            try read(#"{"type":"join_channel","data":{"channel_id":"\#(channel.uppercased())"}}"#)
                == ClientRequest(id: nil, frame: .joinChannel(id)))
        #expect(
            try read(#"{"type":"send_message","data":{"content":"hello","channel_id":"\#(channel)"}}"#)
                == ClientRequest(id: nil, frame: .sendMessage(id, SendMessageRequest(content: "hello"))))
        #expect(
            try read(#"{"type":"typing","data":{"channel_id":"\#(channel)"}}"#)
                == ClientRequest(id: nil, frame: .typing(id, thread: nil)))
    }

    @Test func `takes names and numbers for a frame`() throws {
        #expect(try read(#"{"type":"ping","id":"a"}"#).id == "a")
        #expect(try read(#"{"type":"ping","id":7}"#).id == "7")
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"type":"no_such_thing"}"#, #"{"type":"typing"}"#,
        #"{"type":"typing","data":{"channel_id":1}}"#,
        #"{"type":"ping","id":{}}"#,
    ])
    func `refuses what it does not know`(text: String) {
        #expect(throws: DecodingError.self) { try read(text) }
    }
}
