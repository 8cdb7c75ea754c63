import Foundation
import LiveKitProtocol
import SwiftProtobuf
import Testing

@testable import LiveKitServer

/// Twirp: errors, grants and forms. What the methods do to rooms is the room's to show.
@Suite(.timeLimit(.minutes(2))) struct RoomServiceTests {
    private struct Failure: Decodable, Equatable {
        let code: String
        let msg: String
    }

    private static func call(
        _ server: TestServer, _ method: String, _ json: String, token: String?, type: String = "application/json"
    ) async throws -> (status: Int, body: String) {
        var headers = ["Content-Type": type]
        headers["Authorization"] = token.map { "Bearer \($0)" }
        let answer = try await server.ask(
            "/twirp/livekit.RoomService/\(method)", method: "POST", headers: headers, body: Array(json.utf8))
        return (answer.status, answer.body)
    }

    /// The status and the code of a call that fails.
    private static func failure(
        _ server: TestServer, _ method: String, _ json: String, token: String?, type: String = "application/json"
    ) async throws -> String {
        let answer = try await call(server, method, json, token: token, type: type)
        return "\(answer.status) \(try JSONDecoder().decode(Failure.self, from: Data(answer.body.utf8)).code)"
    }

    @Test func `rooms are made, listed, changed and ended`() async throws {
        try await TestServer.run { server in
            let maker = try TestServer.serviceToken {
                $0.roomCreate = true
                $0.roomList = true
            }
            let made = try await Self.call(
                server, "CreateRoom", #"{"name":"kitchen","max_participants":4,"metadata":"warm"}"#, token: maker)
            let room = try LiveKitRoom(jsonString: made.body)
            #expect(made.status == 200 && room.name == "kitchen" && room.sid.hasPrefix("RM_"))
            #expect(room.maxParticipants == 4 && room.metadata == "warm")
            // In JSON names are as in the .proto files.
            #expect(made.body.contains("max_participants"))
            // Once more is the same room.
            let again = try await Self.call(server, "CreateRoom", #"{"name":"kitchen"}"#, token: maker)
            #expect(try LiveKitRoom(jsonString: again.body).sid == room.sid)

            let admin = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "kitchen"
            }
            let changed = try await Self.call(
                server, "UpdateRoomMetadata", #"{"room":"kitchen","metadata":"hot"}"#, token: admin)
            #expect(try LiveKitRoom(jsonString: changed.body).metadata == "hot")

            let listed = try await Self.call(server, "ListRooms", "{}", token: maker)
            #expect(try LiveKitListRoomsResponse(jsonString: listed.body).rooms.map(\.name) == ["kitchen"])
            #expect(try await Self.call(server, "DeleteRoom", #"{"room":"kitchen"}"#, token: maker).status == 200)
            let gone = try await Self.call(server, "ListRooms", "{}", token: maker)
            #expect(try LiveKitListRoomsResponse(jsonString: gone.body).rooms.isEmpty)
            #expect(server.livekit.statistics.rooms == 0)
        }
    }

    @Test func `rooms are listed by name, each once, and so many names and no more`() async throws {
        try await TestServer.run { server in
            let token = try TestServer.serviceToken {
                $0.roomCreate = true
                $0.roomList = true
            }
            for name in ["one", "two", "three"] {
                _ = try await Self.call(server, "CreateRoom", #"{"name":"\#(name)"}"#, token: token)
            }
            func list(_ names: [String]) async throws -> (status: Int, body: String) {
                let json = #"{"names":["\#(names.joined(separator: "\",\""))"]}"#
                return try await Self.call(server, "ListRooms", json, token: token)
            }
            let listed = try await list(["three", "nowhere", "one", "three"]).body
            #expect(try LiveKitListRoomsResponse(jsonString: listed).rooms.map(\.name) == ["one", "three"])
            let many = Array(repeating: "two", count: LiveKitServer.nameLimit)
            #expect(try LiveKitListRoomsResponse(jsonString: try await list(many).body).rooms.map(\.name) == ["two"])
            let refused = try await list(many + ["two"])
            #expect(refused.status == 400 && refused.body.contains("invalid_argument"))
        }
    }

    @Test func `in JSON there is what is empty, too`() async throws {
        try await TestServer.run { server in
            let token = try TestServer.serviceToken {
                $0.roomCreate = true
                $0.roomList = true
            }
            #expect(try await Self.call(server, "ListRooms", "{}", token: token).body == #"{"rooms":[]}"#)
            _ = try await Self.call(server, "CreateRoom", #"{"name":"kitchen"}"#, token: token)
            let listed = try await Self.call(server, "ListRooms", "{}", token: token).body
            for part in [
                #""num_participants":0"#, #""active_recording":false"#, #""version":null"#, #""metadata":"""#,
                #""mime":"audio/opus""#, #""fmtp_line":"""#,
            ] { #expect(listed.contains(part)) }
            #expect(try LiveKitListRoomsResponse(jsonString: listed).rooms.map(\.name) == ["kitchen"])
            #expect(try await Self.call(server, "DeleteRoom", #"{"room":"kitchen"}"#, token: token).body == "{}")
        }
    }

    @Test func `in JSON of agents that were sent for there is what is empty, too`() throws {
        let dispatch = LiveKitAgentDispatch.with {
            $0.id = "AD_1"
            $0.state.jobs = [
                .with {
                    $0.id = "AJ_1"
                    $0.state = LiveKitJobState()
                }
            ]
        }
        let answer = LiveKitListAgentDispatchResponse.with { $0.agentDispatches = [dispatch] }
        let text = String(decoding: try TwirpJSON.bytes(answer), as: UTF8.self)
        for part in [
            #""agent_name":"""#, #""restart_policy":"JRP_ON_FAILURE""#, #""attributes":{}"#, #""deleted_at":"0""#,
            #""type":"JT_ROOM""#, #""room":null"#, #""enable_recording":false"#, #""status":"JS_PENDING""#,
            #""started_at":"0""#, #""reason":"JSR_UNSPECIFIED""#,
        ] { #expect(text.contains(part)) }
        #expect(!text.contains(#""participant":"#), "it is there only where there is one")
        #expect(try LiveKitListAgentDispatchResponse(jsonString: text) == answer)
        let none = try TwirpJSON.bytes(LiveKitListAgentDispatchResponse())
        #expect(String(decoding: none, as: UTF8.self) == #"{"agent_dispatches":[]}"#)
        let bare = String(decoding: try TwirpJSON.bytes(LiveKitAgentDispatch()), as: UTF8.self)
        #expect(bare.contains(#""state":null"#))
    }

    @Test func `a body may be large, of those who have a token`() async throws {
        try await TestServer.run { server in
            let token = try TestServer.serviceToken { $0.roomCreate = true }
            // All that a room may have of metadata, and every letter of it escaped.
            let metadata = String(repeating: "\\u0078", count: 512 << 10)
            let json = #"{"name":"kitchen","metadata":"\#(metadata)"}"#
            let made = try await Self.call(server, "CreateRoom", json, token: token)
            #expect(try LiveKitRoom(jsonString: made.body).metadata.count == 512 << 10)
            #expect(try await Self.call(server, "CreateRoom", json, token: nil).status == 413)
            let recorder = try TestServer.serviceToken { $0.roomRecord = true }
            let listed = try await server.ask(
                "//twirp/livekit.Egress/ListEgress", method: "POST",
                headers: ["Content-Type": "application/json", "Authorization": "Bearer \(recorder)"],
                body: Array(#"{"room_name":"\#(metadata)"}"#.utf8))
            #expect(listed.status == 412, "it was read, and nothing is recorded here")
        }
    }

    @Test func `a body that is too large is refused in the form of its path`() async throws {
        try await TestServer.run { server in
            let body = [UInt8](repeating: 120, count: 1_000_001)
            let call = try await server.ask("//twirp/livekit.RoomService/CreateRoom", method: "POST", body: body)
            #expect(call.status == 413 && call.headers.contains("Content-Type: application/json"))
            let failure = try JSONDecoder().decode(Failure.self, from: Data(call.body.utf8))
            #expect(failure == Failure(code: "malformed", msg: "the request's body is too large"))
            let offer = try await server.ask("/whip", method: "POST", body: body)
            #expect(offer.status == 413 && offer.body == "The offer is longer than 262144 bytes.")
            let fragment = try await server.ask("/whep/v1/x", method: "PATCH", body: body)
            #expect(fragment.status == 413 && fragment.body == "The request's body is too large.")
            for answer in [call, offer, fragment] {
                #expect(answer.headers.contains("Access-Control-Allow-Origin: *"))
            }
            #expect(try await server.ask("/elsewhere", method: "POST", body: body).status == 413)
        }
    }

    @Test func `bytes are answered with bytes`() async throws {
        try await TestServer.run { server in
            let token = try TestServer.serviceToken { $0.roomCreate = true }
            let request = LiveKitCreateRoomRequest.with { $0.name = "kitchen" }
            let answer = try await server.ask(
                "/twirp/livekit.RoomService/CreateRoom", method: "POST",
                headers: ["Content-Type": "application/protobuf", "Authorization": "Bearer \(token)"],
                body: try request.serializedBytes())
            #expect(answer.status == 200 && answer.headers.contains("Content-Type: application/protobuf"))
            #expect(answer.body.contains("kitchen"))
        }
    }

    @Test(arguments: [
        ("CreateRoom", #"{"name":"kitchen"}"#), ("DeleteRoom", #"{"room":"kitchen"}"#), ("ListRooms", "{}"),
        ("ListParticipants", #"{"room":"kitchen"}"#),
        ("GetParticipant", #"{"room":"kitchen","identity":"ann"}"#),
        ("RemoveParticipant", #"{"room":"kitchen","identity":"ann"}"#),
        ("MutePublishedTrack", #"{"room":"kitchen","identity":"ann"}"#),
        ("UpdateParticipant", #"{"room":"kitchen","identity":"ann"}"#),
        ("UpdateSubscriptions", #"{"room":"kitchen","identity":"ann"}"#),
        ("SendData", #"{"room":"kitchen"}"#), ("UpdateRoomMetadata", #"{"room":"kitchen"}"#),
        ("PerformRpc", #"{"room":"kitchen","destination_identity":"ann"}"#),
        ("ForwardParticipant", #"{"room":"kitchen","identity":"ann","destination_room":"cellar"}"#),
        ("MoveParticipant", #"{"room":"kitchen","identity":"ann","destination_room":"cellar"}"#),
    ])
    func `every method takes its grant`(method: String, json: String) async throws {
        try await TestServer.run { server in
            #expect(try await Self.failure(server, method, json, token: nil) == "401 unauthenticated")
            let guest = try TestServer.token()
            #expect(try await Self.failure(server, method, json, token: guest) == "401 unauthenticated")
            // Of another room, and all else besides.
            let other = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "cellar"
                $0.roomRecord = true
                $0.ingressAdmin = true
            }
            #expect(try await Self.failure(server, method, json, token: other) == "401 unauthenticated")
        }
    }

    @Test(arguments: ["ForwardParticipant", "MoveParticipant"])
    func `nobody is moved into another room, which who may not ask for it is not told`(method: String) async throws {
        try await TestServer.run { server in
            func answer(to destination: String, token names: String?) async throws -> String {
                let token = try TestServer.serviceToken {
                    $0.roomAdmin = true
                    $0.room = "kitchen"
                    if let names { $0.destinationRoom = names }
                }
                let json = #"{"room":"kitchen","identity":"ann","destination_room":"\#(destination)"}"#
                return try await Self.failure(server, method, json, token: token)
            }
            var answers: [String] = []
            let asked: [(String, String?)] = [
                ("cellar", nil), ("cellar", "attic"), ("kitchen", "kitchen"), ("cellar", "cellar"),
            ]
            for (destination, names) in asked {
                answers.append(try await answer(to: destination, token: names))
            }
            let refused = "401 unauthenticated"
            #expect(answers == [refused, refused, "400 invalid_argument", "501 unimplemented"])
        }
    }

    @Test func `a token with names that are not composed is an argument that cannot be`() async throws {
        try await TestServer.run { server in
            // One that is good, but for an "e" and an accent of its own.
            let token = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "cafe\u{301}"
            }
            let answer = try await Self.failure(server, "ListParticipants", #"{"room":"kitchen"}"#, token: token)
            #expect(answer == "400 invalid_argument")
        }
    }

    @Test(arguments: [
        "GetParticipant", "RemoveParticipant", "MutePublishedTrack", "UpdateParticipant", "UpdateSubscriptions",
        "SendData", "UpdateRoomMetadata", "PerformRpc",
    ])
    func `a room that does not exist is not found`(method: String) async throws {
        try await TestServer.run { server in
            let admin = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "nowhere"
            }
            let json = #"{"room":"nowhere","destination_identity":"ann"}"#
            #expect(try await Self.failure(server, method, json, token: admin) == "404 not_found")
        }
    }

    @Test func `a call says whom`() async throws {
        try await TestServer.run { server in
            let admin = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "nowhere"
            }
            let json = #"{"room":"nowhere","method":"shout"}"#
            let answer = try await Self.call(server, "PerformRpc", json, token: admin)
            #expect(answer.status == 400 && answer.body.contains("destination identity is required"))
        }
    }

    @Test func `nobody is in a room that does not exist, as LiveKit's server has it`() async throws {
        try await TestServer.run { server in
            let admin = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "nowhere"
            }
            let listed = try await Self.call(server, "ListParticipants", #"{"room":"nowhere"}"#, token: admin)
            #expect(listed.status == 200 && listed.body == #"{"participants":[]}"#)
            #expect(server.livekit.statistics.rooms == 0)
        }
    }

    @Test func `what is no such request is refused as Twirp says`() async throws {
        try await TestServer.run { server in
            let token = try TestServer.serviceToken {
                $0.roomCreate = true
                $0.roomList = true
            }
            #expect(try await Self.failure(server, "Dance", "{}", token: token) == "404 bad_route")
            let text = try await Self.failure(server, "ListRooms", "{}", token: token, type: "text/plain")
            #expect(text == "404 bad_route")
            #expect(try await Self.failure(server, "ListRooms", "{", token: token) == "400 malformed")
            #expect(try await Self.failure(server, "CreateRoom", "{}", token: token) == "400 invalid_argument")
            let preset = #"{"name":"kitchen","room_preset":"large"}"#
            #expect(try await Self.failure(server, "CreateRoom", preset, token: token) == "400 invalid_argument")
            #expect(server.livekit.statistics.rooms == 0)
            let get = try await server.ask(
                "/twirp/livekit.RoomService/ListRooms", headers: ["Authorization": "Bearer \(token)"])
            #expect(get.status == 404)
            let ingress = try await server.ask("/twirp/livekit.Ingress/ListIngress", method: "POST")
            #expect(ingress.status == 404)
        }
    }

    @Test func `each code has Twirp's status`() {
        let statuses = TwirpError.Code.allCases.map { "\($0.rawValue) \($0.status)" }
        #expect(
            statuses == [
                "canceled 408", "malformed 400", "invalid_argument 400", "unauthenticated 401", "not_found 404",
                "bad_route 404", "resource_exhausted 429", "failed_precondition 412", "deadline_exceeded 408",
                "unimplemented 501", "unavailable 503", "internal 500",
            ])
    }

    @Test func `each code of a call that has failed has LiveKit's code of Twirp`() {
        let codes: [UInt32] = [
            1_400, 1_401, 1_402, 1_403, 1_404, 1_500, 1_501, 1_502, 1_503, 1_504, 1_505, 7,
        ]
        let errors = codes.map { code in TwirpError(rpcCode: code, message: "no", data: "") }
        #expect(
            errors.map(\.code) == [
                .invalidArgument, .notFound, .malformed, .unimplemented, .unimplemented, .internal, .canceled,
                .canceled, .unavailable, .malformed, .internal, .internal,
            ])
        #expect(errors.first?.message == "RpcError 1400: no")
        #expect(errors.first?.meta == ["rpc_code": "1400", "rpc_data": ""])
        let told = TwirpError(rpcCode: 7, message: "as you like", data: "more")
        #expect(told.message == "RpcError 7: as you like: more" && told.meta == ["rpc_code": "7", "rpc_data": "more"])
    }
}
