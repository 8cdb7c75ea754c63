import Foundation
import Testing

@testable import ClientKit

@Suite struct `Payloads of peers` {
    @Test(arguments: [
        #"{"type":"offer","sdp":"v=0\r\n"}"#,
        #"{"sdp":"v=0\r\n"}"#,
        #"{"type":"OFFER","sdp":"v=0\r\n","extra":{"a":[1,2]}}"#,
        #"{"type":0,"sdp":"v=0\r\n"}"#,
        #"{"sdp":{"type":"offer","sdp":"v=0\r\n"}}"#,
        #"{"offer":{"type":"offer","sdp":"v=0\r\n"}}"#,
        #"{"type":"offer","payload":{"sdp":"v=0\r\n"}}"#,
        #""{\"type\":\"offer\",\"sdp\":\"v=0\\r\\n\"}""#,
        #""v=0\r\n""#,
        #"[{"type":"offer","sdp":"v=0\r\n"}]"#,
    ])
    func `are read as an offer`(json: String) {
        #expect(event("offer", json) == .offer(SessionDescriptionPayload(type: .offer, sdp: "v=0\r\n")))
    }

    @Test(arguments: ["null", "{}", "3", #""""#, #"{"sdp":"nonsense"}"#, #"{"sdp":null}"#, "[]"])
    func `are no offer`(json: String) {
        let expected = "The offer of the other side carries no session description."
        #expect(event("offer", json) == .unreadable(detail: expected))
    }

    @Test func `nested without end are no offer`() {
        let json = String(repeating: #"{"sdp":"#, count: 50) + #""v=0""# + String(repeating: "}", count: 50)
        #expect(event("offer", json) != .offer(SessionDescriptionPayload(type: .offer, sdp: "v=0")))
    }

    /// As much as a room passes on. Nested deeply, it cost fifty times as much when every level looked at all below it
    /// several times.
    @Test func `nested deeply cost no more than the same bytes side by side`() {
        #expect(processorTime(depth: 100) < 8 * processorTime(depth: 2))
    }

    /// Seconds of this thread's processor time for lists in lists of 250 kB.
    private func processorTime(depth: Int) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + ","
        let json = "[" + String(repeating: nested, count: 250_000 / nested.utf8.count) + "1]"
        let start = now()
        for name in ["offer", "candidate", "room_users"] { #expect(event(name, json) != nil) }
        return now() - start
    }

    @Test(
        arguments: [
            (#"{"candidate":"candidate:1 1","sdpMid":"0","sdpMLineIndex":0}"#, "0", 0),
            (#"{"candidate":"candidate:1 1","sdpMid":"0","sdpMLineIndex":"0"}"#, "0", 0),
            (#"{"candidate":"candidate:1 1","sdpMid":0,"sdpMLineIndex":0.0}"#, "0", 0),
            (#"{"candidate":"candidate:1 1","sdpMid":"0"}"#, "0", nil),
            (#"{"candidate":"candidate:1 1","sdpMLineIndex":2}"#, nil, 2),
            (#"{"candidate":"candidate:1 1","sdpMLineIndex":-1}"#, nil, nil),
            (#"{"candidate":"candidate:1 1","sdpMLineIndex":65536}"#, nil, nil),
            (#"{"candidate":"candidate:1 1","sdpMid":"0","sdpMid":"1"}"#, "1", nil),
            (#"{"candidate":"a=candidate:1 1\r\n","sdpMid":null,"sdpMLineIndex":null}"#, nil, nil),
            (#"{"sdp":"candidate:1 1","sdpMid":"0","sdpMLineIndex":0,"serverUrl":""}"#, "0", 0),
            (#"{"type":"candidate","candidate":"candidate:1 1","id":"0","label":0}"#, "0", 0),
            (#"{"candidate":{"candidate":"candidate:1 1","sdpMid":"0","sdpMLineIndex":0}}"#, "0", 0),
            (#""{\"candidate\":\"candidate:1 1\",\"sdpMid\":\"0\",\"sdpMLineIndex\":0}""#, "0", 0),
            (#""candidate:1 1""#, nil, nil),
        ] as [(String, String?, Int?)])
    func `are read as a candidate`(json: String, mid: String?, index: Int?) {
        let expected = IceCandidatePayload(candidate: "candidate:1 1", sdpMid: mid, sdpMLineIndex: index)
        #expect(event("candidate", json) == .candidate(expected))
    }

    @Test(arguments: [
        "null", #""""#, #"{"candidate":null}"#, #"{"candidate":""}"#, #"{"candidate":{"candidate":""}}"#,
        #"{"candidate":"end-of-candidates"}"#,
    ])
    func `are read as the end of candidates`(json: String) {
        #expect(event("candidate", json) == .candidate(.endOfCandidates))
    }

    @Test func `without an argument are the end of candidates`() {
        #expect(CallSignalingEvent(wireEvent: "candidate", payload: nil) == .candidate(.endOfCandidates))
    }

    @Test func `that end the candidates of one section keep it`() {
        let json = #"{"candidate":"","sdpMid":"1","sdpMLineIndex":1}"#
        #expect(
            event("candidate", json) == .candidate(IceCandidatePayload(candidate: "", sdpMid: "1", sdpMLineIndex: 1)))
    }

    @Test(arguments: [
        (#"{"candidate":"","sdpMid":"0","sdpMLineIndex":0,"usernameFragment":"abcd"}"#, ""),
        (#"{"candidate":null,"sdpMid":"0","sdpMLineIndex":0,"usernameFragment":"abcd"}"#, ""),
        (#"{"candidate":"candidate:1","sdpMid":"0","sdpMLineIndex":0,"usernameFragment":"abcd"}"#, "candidate:1"),
    ])
    func `keep the generation that they belong to`(json: String, candidate: String) {
        let expected = IceCandidatePayload(
            candidate: candidate, sdpMid: "0", sdpMLineIndex: 0, usernameFragment: "abcd")
        #expect(event("candidate", json) == .candidate(expected))
    }

    @Test(arguments: ["{}", "7", "true", #"{"candidate":"nonsense"}"#, #"{"candidate":7}"#])
    func `are no candidate`(json: String) {
        #expect(event("candidate", json) == .unreadable(detail: "A candidate of the other side cannot be read."))
    }

    @Test(arguments: ["", "candidate:1 1", #"{"candidate":""#, "null null", "undefined"])
    func `that are no JSON are told, and end no candidates`(text: String) {
        for name in ["candidate", "offer", "answer", "room_users"] {
            #expect(
                CallSignalingEvent(event: name, json: text)
                    == .unreadable(detail: "What came as \(name) is no JSON."))
        }
        #expect(CallSignalingEvent(event: "something_else", json: text) == nil)
        #expect(CallSignalingEvent(event: "candidate", json: "null") == .candidate(.endOfCandidates))
    }

    @Test func `of the server say who came and went`() {
        let bob = CallParticipant(username: "Bob", role: .caller)
        #expect(event("room_user_joined", #"{"username":"Bob","roomId":1,"isCaller":true}"#) == .peerJoined(bob))
        #expect(event("room_user_joined", #"{"username":"Bob","roomId":"1","isCaller":"true"}"#) == .peerJoined(bob))
        #expect(
            event("room_user_joined", #"{"username":"Оля 🌿"}"#)
                == .peerJoined(CallParticipant(username: "Оля 🌿", role: .callee)))
        #expect(event("room_user_left", #"{"username":"Bob"}"#) == .peerLeft(username: "Bob"))
        #expect(event("room_user_left", "{}") == .unreadable(detail: "The server's room_user_left names nobody."))
        let eve = CallParticipant(username: "Eve", role: .callee)
        #expect(
            event("room_users", #"{"users":[{"username":"Bob","isCaller":true},{"username":"Eve","isCaller":false}]}"#)
                == .roster([bob, eve]))
        #expect(event("room_users", "[]") == .roster([]))
        #expect(event("room_users", "3") == .unreadable(detail: "The server's room_users names nobody."))
        #expect(event("something_else", "{}") == nil)
    }

    private func event(_ name: String, _ json: String) -> CallSignalingEvent? {
        CallSignalingEvent(wireEvent: name, payload: LooseJSON(text: json))
    }
}
