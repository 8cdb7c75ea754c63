import Foundation
import LiveKitProtocol
import RTCEngine
import RTCNetwork
import SwiftProtobuf
import Testing

@testable import LiveKitServer

/// `/whip` and `/whep`, over real sockets on loopback. Media come in `Interop`.
@Suite(.timeLimit(.minutes(2))) struct WHIPTests {
    /// Of who offers.
    static let fragment = "abcd"
    private static let offer = [
        "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 96",
        "c=IN IP4 0.0.0.0", "a=mid:0", "a=sendonly", "a=rtcp-mux", "a=setup:actpass", "a=ice-ufrag:\(fragment)",
        "a=ice-pwd:abcdefghijklmnopqrstuvwx",
        "a=fingerprint:sha-256 " + Array(repeating: "00", count: 32).joined(separator: ":"), "a=rtpmap:96 VP8/90000",
    ].map { $0 + "\r\n" }.joined()

    static func post(
        _ server: TestServer, _ target: String = "/whip", identity: String = "obs", offer: String = offer
    ) async throws -> (status: Int, headers: String, body: String) {
        try await server.ask(
            target, method: "POST",
            headers: [
                "Authorization": "Bearer \(try TestServer.token(identity: identity))",
                "Content-Type": "application/sdp",
            ], body: Array(offer.utf8))
    }

    private static func field(_ name: String, _ headers: String) -> String? {
        headers.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }.map {
            String($0.dropFirst(name.count + 2))
        }
    }

    @Test func `a session has a place and a tag of its own, which nobody can guess`() async throws {
        try await TestServer.run { server in
            let answers = [
                try await Self.post(server, identity: "one"), try await Self.post(server, identity: "two"),
            ]
            #expect(answers.allSatisfy { $0.status == 201 && $0.body.hasPrefix("v=0\r\n") })
            let places = Set(answers.compactMap { Self.field("Location", $0.headers) })
            let tags = Set(answers.compactMap { Self.field("ETag", $0.headers) })
            #expect(places.count == 2 && tags.count == 2)
            #expect(places.allSatisfy { $0.hasPrefix("/whip/sessions/") && $0.count == "/whip/sessions/".count + 64 })
            let elsewhere = places.first?.replacing("/whip/", with: "/whep/") ?? ""
            let token = try TestServer.token(identity: "one")
            let other = try await server.ask(
                elsewhere, method: "DELETE", headers: ["Authorization": "Bearer \(token)"])
            #expect(other.status == 404)
        }
    }

    @Test func `a server has so many sessions, and says when to try again`() async throws {
        try await TestServer.run {
            $0.maximumHTTPSessions = 1
        } _: { server in
            let first = try await Self.post(server, identity: "one")
            #expect(first.status == 201)
            let second = try await Self.post(server, identity: "two")
            #expect(second.status == 503 && Self.field("Retry-After", second.headers) == "5")
            let token = try TestServer.token(identity: "one")
            let place = try #require(Self.field("Location", first.headers))
            let ended = try await server.ask(place, method: "DELETE", headers: ["Authorization": "Bearer \(token)"])
            #expect(ended.status == 200)
            #expect(try await Self.post(server, identity: "two").status == 201)
        }
    }

    @Test func `a player is seen unless its token hides it, and what it cannot ask for is refused`() async throws {
        try await TestServer.run { server in
            let offer = Self.offer.replacing("sendonly", with: "recvonly")
            #expect(try await Self.post(server, "/whep", identity: "eve", offer: offer).status == 201)
            #expect(try await Self.post(server, "/whep?hidden=true", identity: "dan", offer: offer).status == 201)
            let hidden = try TestServer.token(identity: "ghost") { $0.hidden = true }
            #expect(
                try await server.ask(
                    "/whep", method: "POST",
                    headers: ["Authorization": "Bearer \(hidden)", "Content-Type": "application/sdp"],
                    body: Array(offer.utf8)
                ).status == 201)
            let admin = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "kitchen"
            }
            let listed = try await server.ask(
                "/twirp/livekit.RoomService/ListParticipants", method: "POST",
                headers: ["Authorization": "Bearer \(admin)", "Content-Type": "application/json"],
                body: Array(#"{"room":"kitchen"}"#.utf8))
            #expect(listed.body.components(separatedBy: #""hidden":true"#).count == 2)
            for query in ["source=radio", "quality=best"] {
                #expect(try await Self.post(server, "/whep?\(query)", identity: "eve", offer: offer).status == 400)
            }
        }
    }

    @Test func `who comes too often is told when to try again, and others come meanwhile`() async throws {
        try await TestServer.run({ $0.joinRates.identity = Pace(perSecond: 0.01, burst: 2) }) { server in
            for _ in 0..<2 { #expect(try await Self.post(server).status == 201) }
            for place in ["/whip", "/whep"] {
                let refused = try await Self.post(server, place)
                #expect(refused.status == 429)
                // Of the hundred seconds some may have passed on a busy machine.
                let wait = try #require(Self.field("Retry-After", refused.headers).flatMap { Int($0) })
                #expect((50...100).contains(wait))
            }
            #expect(try await Self.post(server, identity: "other").status == 201)
            #expect(server.livekit.statistics.joins == 3)
        }
        try await TestServer.run({ $0.joinRates.server = Pace(perSecond: 0.1, burst: 1) }) { server in
            #expect(try await Self.post(server, identity: "one").status == 201)
            let refused = try await Self.post(server, identity: "two")
            #expect(refused.status == 503)
            #expect((1...10).contains(try #require(Self.field("Retry-After", refused.headers).flatMap { Int($0) })))
        }
    }

    @Test func `a room that begins with a publisher by WHIP is recorded as its token asks`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roost-whip-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        func publish(_ server: TestServer, _ identity: String, _ template: String) async throws -> PeerConnection {
            let connection = PeerConnection(configuration: try PeerConnectionConfiguration(addresses: .all))
            _ = try await connection.addTransceiver(.video, direction: .sendonly)
            try await connection.setLocalDescription()
            let offer = await connection.localDescription?.sdp ?? ""
            var grants = VideoGrants()
            grants.roomJoin = true
            grants.room = "kitchen"
            var claims = AccessToken.Claims()
            claims.video = grants
            claims.roomConfig = .with { $0.egress.tracks.filepath = template }
            let key = try #require(TestServer.key)
            let token = try AccessToken(identity: identity, claims: claims, at: Date(), validFor: 600).signed(with: key)
            let answer = try await server.ask(
                "/whip", method: "POST",
                headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/sdp"],
                body: Array(offer.utf8))
            #expect(answer.status == 201)
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: answer.body))
            return connection
        }
        try await TestServer.run({ $0.recordings = RecordingConfiguration(folder: folder.path) }) { server in
            let publishers = [
                try await publish(server, "first", "one/"), try await publish(server, "second", "two/"),
            ]
            // There is a track once there is a path for it, and news of it takes its way.
            var infos: [LiveKitEgressInfo] = []
            try await until("both are recorded") {
                infos = await server.livekit.egresses?.list(LiveKitListEgressRequest()).items ?? []
                return infos.count >= 2
            }
            // Of the room that its bearer brings into being.
            #expect(infos.map(\.track.file.filepath) == ["one/", "one/"])
            for publisher in publishers { await publisher.close() }
        }
    }

    @Test func `whoever looks at an endpoint or a session finds nothing, and no fault`() async throws {
        try await TestServer.run { server in
            for path in ["/whip", "/whep/kitchen", "/whip/v1", "/whip/sessions/x", "/whep/v1/x"] {
                for method in ["GET", "HEAD"] {
                    let answer = try await server.ask(path, method: method)
                    #expect(answer.status == 204 && answer.body.isEmpty, "\(method) \(path)")
                    #expect(Self.field("Access-Control-Allow-Origin", answer.headers) == "*")
                }
                let refused = try await server.ask(path, method: "PUT")
                let allowed = path.hasSuffix("/x") ? "DELETE, GET, HEAD, OPTIONS, PATCH" : "GET, HEAD, OPTIONS, POST"
                #expect(refused.status == 405 && Self.field("Allow", refused.headers) == allowed)
                let asked = try await server.ask(path, method: "OPTIONS")
                #expect(Self.field("Access-Control-Allow-Methods", asked.headers) == allowed)
            }
        }
    }

    @Test func `If-Match is read as RFC 9110 has it`() {
        let (one, two) = (EntityTag(value: "one"), EntityTag(value: "two"))
        #expect(IfMatch("*") == .any && IfMatch(" * ") == .any)
        // As RFC 9725 §4.3.3 writes it.
        #expect(IfMatch(#""*""#) == .any && IfMatch(#"W/"*""#) == .one(of: []))
        #expect(IfMatch(#""one""#) == .one(of: [one]))
        #expect(IfMatch(#""one" ,, "two","#) == .one(of: [one, two]))
        #expect(IfMatch(#"W/"one", "two""#) == .one(of: [two]))
        #expect(IfMatch(#"W/"one""#)?.matches(one) == false)
        for malformed in ["", ",", "one", #""one"#, #""one" "two""#, "*, *", #"w/"one""#] {
            #expect(IfMatch(malformed) == nil, "\(malformed)")
        }
        #expect(IfMatch(String(repeating: #""one","#, count: 1_000)) == nil)
    }

    @Test func `paths are endpoints, sessions, or somebody else's`() {
        #expect(ExchangeRoute(path: "/whip") == .endpoint(.whip, room: ""))
        #expect(ExchangeRoute(path: "/whep/living%20room") == .endpoint(.whep, room: "living room"))
        #expect(ExchangeRoute(path: "/whip/sessions/x") == .session(.whip, id: "x"))
        for other in ["/", "/whips", "/whip/a/b", "/whip/sessions/x/y", "/whip/v1/x/y", "whip"] {
            #expect(ExchangeRoute(path: other) == nil, "\(other)")
        }
    }

    @Test(arguments: ["/whip/%zz", "/whip/%ff", "/whep/a%"])
    func `a room's name that is not percent-encoded is refused in words, whatever is asked`(path: String) async throws {
        try await TestServer.run { server in
            for method in ["POST", "GET"] {
                let refused = try await server.ask(path, method: method)
                #expect(refused.status == 400 && refused.body.contains("percent encoding"), "\(method)")
                #expect(Self.field("Access-Control-Allow-Origin", refused.headers) == "*")
            }
        }
    }

    @Test func `LiveKit's own path is an endpoint and no room, with its sessions below it`() async throws {
        #expect(ExchangeRoute(path: "/whip/v1") == .endpoint(.whip, room: "", .liveKits))
        #expect(ExchangeRoute(path: "/whip/%76%31") == .endpoint(.whip, room: "", .liveKits))
        #expect(ExchangeRoute(path: "/whip/v1/PA_x") == .session(.whip, id: "PA_x", .liveKits))
        #expect(ExchangeRoute(path: "/whip/v2") == .endpoint(.whip, room: "v2"))
        try await TestServer.run { server in
            let made = try await Self.post(server, "/whip/v1")
            #expect(made.status == 201)
            let place = try #require(Self.field("Location", made.headers))
            #expect(place.hasPrefix("/whip/v1/") && place.count == "/whip/v1/".count + 64)
            #expect(try await Self.post(server, "/whip", identity: "ours").status == 201)
            let admin = try TestServer.serviceToken {
                $0.roomAdmin = true
                $0.room = "kitchen"
            }
            for (identity, kind) in [("obs", "STANDARD"), ("ours", "INGRESS")] {
                let told = try await server.ask(
                    "/twirp/livekit.RoomService/GetParticipant", method: "POST",
                    headers: ["Authorization": "Bearer \(admin)", "Content-Type": "application/json"],
                    body: Array(#"{"room":"kitchen","identity":"\#(identity)"}"#.utf8))
                #expect(told.body.contains(#""kind":"\#(kind)""#))
            }
            let bearer = ["Authorization": "Bearer \(try TestServer.token(identity: "obs"))"]
            #expect(try await server.ask(place, method: "DELETE", headers: bearer).status == 200)
            #expect(try await server.ask(place, method: "DELETE", headers: bearer).status == 404)
        }
    }
}
