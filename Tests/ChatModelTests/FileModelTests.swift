import Foundation
import Testing

@testable import ChatModel

/// What is said of files, as it stands in JSON.
struct FileModelTests {
    private let id: FileID = Sample.id(7)

    @Test func `an upload says where it is`() throws {
        let upload = FileUpload(
            id: id, name: "a.png", mediaType: "image/png", size: 10, offset: 4, partSize: 8, expiresAt: Sample.at)
        let text =
            #"{"expires_at":"\#(Sample.at)","id":"\#(id)","media_type":"image/png","name":"a.png","offset":4,"#
            + #""part_size":8,"size":10}"#
        #expect(try json(upload) == text)
        #expect(try decode(FileUpload.self, text) == upload)
    }

    @Test func `a link says until when it is good`() throws {
        let link = FileLink(url: "/api/v1/files/x", expiresAt: Sample.at)
        let text = #"{"expires_at":"\#(Sample.at)","url":"/api/v1/files/x"}"#
        #expect(try json(link) == text)
        #expect(try decode(FileLink.self, text) == link)
    }

    @Test func `a message may be sent with files, or without a word of them`() throws {
        #expect(try decode(SendMessageRequest.self, #"{"content":""}"#).fileIDs == nil)
        #expect(try decode(SendMessageRequest.self, #"{"content":"","file_ids":null}"#).fileIDs == nil)
        #expect(
            try decode(SendMessageRequest.self, #"{"content":"","file_ids":["\#(id)"]}"#).fileIDs == [id])
        #expect(throws: DecodingError.self) {
            try decode(SendMessageRequest.self, #"{"content":"","file_ids":["../x"]}"#)
        }
    }

    @Test func `nobody needs to know a file's kind to announce it`() throws {
        let request = try decode(BeginUploadRequest.self, #"{"name":"a","size":5}"#)
        #expect(request == BeginUploadRequest(name: "a", size: 5))
        #expect(try decode(AvatarRequest.self, "{}").fileID == nil)
    }
}
