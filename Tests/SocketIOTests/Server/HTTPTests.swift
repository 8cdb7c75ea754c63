import Foundation
import SocketIO
import Testing

struct HTTPTests {
    @Test(arguments: [
        ("/socket.io/?EIO=3&transport=polling", #"{"code":5,"message":"Unsupported protocol version"}"#),
        ("/socket.io/?EIO=4&transport=pigeon", #"{"code":0,"message":"Transport unknown"}"#),
        ("/socket.io/?EIO=4&transport=polling&sid=nobody", #"{"code":1,"message":"Session ID unknown"}"#),
        ("/socket.io/?EIO=4&transport=websocket", #"{"code":3,"message":"Bad request"}"#),
    ])
    func `refuses with the protocol's own errors`(target: String, json: String) async throws {
        try await TestServer.run { server in
            let response = try await RawSocket.get(target, port: server.port)
            #expect(response.hasPrefix("HTTP/1.1 400 Bad Request") && response.hasSuffix(json))
        }
    }

    @Test func `refuses a handshake by POST, and a body that is too large`() async throws {
        try await TestServer.run({ $0.maxPayload = 100 }) { server in
            let post = try await RawSocket.get(
                "/socket.io/?EIO=4&transport=polling", port: server.port, method: "POST", body: "40")
            #expect(post.hasSuffix(#"{"code":2,"message":"Bad handshake method"}"#))
            let large = try await RawSocket.get(
                "/socket.io/?EIO=4&transport=polling&sid=x", port: server.port, method: "POST",
                body: String(repeating: "4", count: 101))
            #expect(large.hasPrefix("HTTP/1.1 413"))
        }
    }

    /// RFC 9112 §9.6.
    @Test func `who is refused a body may send all of it before reading the answer`() async throws {
        let size = 8 << 20
        try await TestServer.run({ $0.fallback = { _ in .text("not to be seen") } }) { server in
            let socket = try await RawSocket(port: server.port, keepsSending: true)
            socket.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
            // By then the answer has come.
            try await Task.sleep(for: .milliseconds(50))
            for _ in 0..<8 { try await socket.sendAll([UInt8](repeating: 120, count: size / 8)) }
            let answer = await socket.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 413") && answer.hasSuffix("The request's body is too large.\n"))
        }
    }

    /// RFC 9112 §9.6, RFC 6585 §5.
    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\nX-Long: ", 431), ("GET /", 431),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", 400), ("NONSENSE\r\n\r\n", 400),
    ])
    func `who sends what cannot be parsed may send all of it before reading the answer`(
        beginning: String, status: Int
    ) async throws {
        let size = 8 << 20
        try await TestServer.run({ $0.fallback = { _ in .text("not to be seen") } }) { server in
            let socket = try await RawSocket(port: server.port, keepsSending: true)
            socket.send(beginning)
            for _ in 0..<8 { try await socket.sendAll([UInt8](repeating: 120, count: size / 8)) }
            let answer = await socket.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 \(status)") && answer.contains("Connection: close\r\n"))
            #expect(answer.ranges(of: "HTTP/1.1 4").count == 1)
        }
    }

    /// RFC 9112 §9.6: over TLS the connection stays open in both directions for a while.
    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "NONSENSE\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n",
    ])
    func `nothing is answered after the answer to a request that was refused`(request: String) async throws {
        let files = ["chain.pem": TestCertificates.selfSigned, "key.pem": TestCertificates.key]
        let next = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"
        try await TestCertificates.withFiles(files) { directory in
            try await TestServer.run({
                $0.tls = .init(in: directory)
                $0.fallback = { .text("\($0.path)\n") }
            }) { server in
                // Right behind it and later; what is well-formed and what is not.
                for (behind, later) in [(next + next + "ZZ\r\n\r\n", next), ("", "ZZ\r\n\r\n" + next)] {
                    let socket = try await RawSocket(
                        port: server.port, context: try TestCertificates.credulousContext())
                    socket.send(request + behind)
                    let answer = await socket.read(until: ".\n")
                    #expect(answer.hasPrefix("HTTP/1.1 4") && answer.hasSuffix(".\n"))
                    socket.send(later)
                    #expect(await socket.readToEnd().isEmpty)
                }
            }
        }
    }

    @Test func `what is malformed behind a request is told after that request's answer`() async throws {
        try await TestServer.run({ $0.fallback = { .text("\($0.path)\n") } }) { server in
            let socket = try await RawSocket(port: server.port)
            socket.send("GET /one HTTP/1.1\r\nHost: a\r\n\r\nNONSENSE\r\n\r\n")
            let answers = await socket.readToEnd()
            #expect(answers.hasPrefix("HTTP/1.1 200") && answers.contains("\r\n\r\n/one\nHTTP/1.1 400"))
        }
    }

    @Test func `who is refused a body and never ends it is not read from without end`() async throws {
        try await TestServer.run({ $0.fallback = { _ in .text("not to be seen") } }) { server in
            let socket = try await RawSocket(port: server.port, keepsSending: true)
            socket.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(1 << 40)\r\n\r\n")
            let piece = [UInt8](repeating: 120, count: 1 << 20)
            await #expect(throws: (any Error).self) {
                // Three times what is read and dropped.
                for _ in 0..<96 { try await socket.sendAll(piece) }
            }
        }
    }

    @Test func `refuses more sessions than it may have, and takes the next one when one has gone`() async throws {
        let target = "/socket.io/?EIO=4&transport=polling"
        try await TestServer.run({ $0.sessionLimit = 1 }) { server in
            let opened = try await RawSocket.get(target, port: server.port)
            let sid = try #require(opened.firstMatch(of: /"sid":"([^"]+)"/)?.1)
            #expect(try await RawSocket.get(target, port: server.port).hasPrefix("HTTP/1.1 503"))
            let left = try await RawSocket.get("\(target)&sid=\(sid)", port: server.port, method: "POST", body: "1")
            #expect(left.hasPrefix("HTTP/1.1 200"))
            while server.server.statistics.connections > 0 { await Task.yield() }
            #expect(try await RawSocket.get(target, port: server.port).hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func `pages of other origins may connect if they are listed`() async throws {
        let target = "/socket.io/?EIO=4&transport=polling"
        try await TestServer.run({
            $0.origins = .these(["https://chat.example"])
            $0.allowsCredentials = true
        }) { server in
            let listed = try await RawSocket.get(target, port: server.port, headers: "Origin: https://chat.example\r\n")
            #expect(listed.contains("Access-Control-Allow-Origin: https://chat.example\r\n"))
            #expect(listed.contains("Access-Control-Allow-Credentials: true\r\n"))
            let other = try await RawSocket.get(target, port: server.port, headers: "Origin: https://evil.example\r\n")
            #expect(other.hasPrefix("HTTP/1.1 403") && other.hasSuffix(#"{"code":4,"message":"Forbidden"}"#))
            let own = try await RawSocket.get(
                target, port: server.port, headers: "Origin: http://127.0.0.1:\(server.port)\r\n")
            #expect(own.hasPrefix("HTTP/1.1 200"))
            let preflight = try await RawSocket.get(
                target, port: server.port, method: "OPTIONS", headers: "Origin: https://chat.example\r\n")
            #expect(preflight.hasPrefix("HTTP/1.1 204") && preflight.contains("Access-Control-Allow-Methods: GET,POST"))
        }
    }

    @Test func `two polls at once end the session`() async throws {
        try await TestServer.run { server in
            let opened = try await RawSocket.get("/socket.io/?EIO=4&transport=polling", port: server.port)
            let sid = try #require(opened.firstMatch(of: /"sid":"([^"]+)"/)?.1)
            async let first = RawSocket.get("/socket.io/?EIO=4&transport=polling&sid=\(sid)", port: server.port)
            async let second = RawSocket.get("/socket.io/?EIO=4&transport=polling&sid=\(sid)", port: server.port)
            // The session's end for the first, an error for the second: the protocol's own tests ask for it.
            let responses = try await [first, second].sorted()
            #expect(responses[0].hasPrefix("HTTP/1.1 200") && responses[0].hasSuffix("\r\n\r\n1"))
            #expect(responses[1].hasPrefix("HTTP/1.1 400"))
            #expect(responses[1].hasSuffix(#"{"code":3,"message":"Bad request"}"#))
            #expect(server.server.statistics.closedByReason["transport_error"] == 1)
        }
    }

    @Test func `every other path is answered by the fallback, with a file if it likes`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "roost-\(UUID().uuidString)")
        let content = String(repeating: "0123456789", count: 20_000)
        try content.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        try await TestServer.run({
            $0.fallback = { request in
                switch request.path {
                case "/file": SocketIOHTTPResponse(body: .file(path: file.path))
                case "/none": SocketIOHTTPResponse(body: .file(path: "/nonexistent"))
                default: .text("\(request.method) \(request.path) \(request.query["q"] ?? "") \(request.body.count)")
                }
            }
        }) { server in
            let text = try await RawSocket.get("/health?q=a%20b", port: server.port, method: "POST", body: "12345")
            #expect(text.hasPrefix("HTTP/1.1 200 OK") && text.hasSuffix("\r\n\r\nPOST /health a b 5"))
            let streamed = try await RawSocket.get("/file", port: server.port)
            #expect(streamed.contains("Content-Length: 200000\r\n") && streamed.hasSuffix("\r\n\r\n" + content))
            let head = try await RawSocket.get("/file", port: server.port, method: "HEAD")
            #expect(head.hasSuffix("\r\n\r\n") && head.contains("Content-Length: 200000"))
            let none = try await RawSocket.get("/none", port: server.port)
            #expect(none.hasPrefix("HTTP/1.1 404"))
        }
    }

    /// RFC 9110 §8.6: a length would have to be that of what has not changed.
    @Test(arguments: [204, 304])
    func `an answer without content has no length, and none is sent`(status: Int) async throws {
        try await TestServer.run({
            $0.fallback = { request in
                request.path == "/empty" ? .text("nobody reads this", status: status) : .text("next")
            }
        }) { server in
            let socket = try await RawSocket(port: server.port)
            socket.send("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n")
            socket.send("GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let answers = await socket.readToEnd()
            let (head, rest) = try #require(
                answers.firstRange(of: "\r\n\r\n").map { end in
                    (answers[..<end.lowerBound].lowercased(), answers[end.upperBound...])
                })
            #expect(head.hasPrefix("http/1.1 \(status)"))
            #expect(!head.contains("content-length") && !head.contains("transfer-encoding"))
            #expect(rest.hasPrefix("HTTP/1.1 200 OK") && rest.hasSuffix("\r\n\r\nnext"))
        }
    }

    /// RFC 9293 §3.6.
    @Test func `who sends no more after the requests gets the answers, and the connection ends`() async throws {
        try await TestServer.run({ $0.fallback = { .text("\($0.path)\n") } }) { server in
            for _ in 0..<20 {
                let socket = try await RawSocket(port: server.port)
                socket.send("GET /one HTTP/1.1\r\nHost: a\r\n\r\nGET /two HTTP/1.1\r\nHost: a\r\n\r\n")
                socket.closeOutput()
                let answers = await socket.readToEnd()
                #expect(answers.contains("\r\n\r\n/one\n") && answers.hasSuffix("\r\n\r\n/two\n"))
            }
            let socket = try await RawSocket(port: server.port)
            socket.send("GET /one HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(await socket.read(until: "/one\n").hasSuffix("/one\n"))
            socket.closeOutput()
            #expect(await socket.readToEnd().isEmpty)
        }
    }

    @Test func `who sends no more while a long answer comes gets all of it`() async throws {
        let length = 16 << 20
        try await TestServer.run({
            $0.fallback = { _ in SocketIOHTTPResponse(body: .bytes([UInt8](repeating: 65, count: length))) }
        }) { server in
            let socket = try await RawSocket(port: server.port)
            socket.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let begin = await socket.read(until: "\r\n\r\n")
            socket.closeOutput()
            let rest = await socket.read(count: .max)
            let head = try #require(begin.firstRange(of: "\r\n\r\n"))
            #expect(begin[head.upperBound...].utf8.count + rest == length)
        }
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"])
    func `who sends no more before the request is whole is let go`(request: String) async throws {
        try await TestServer.run({ $0.fallback = { _ in .text("not to be seen") } }) { server in
            let socket = try await RawSocket(port: server.port)
            socket.send(request)
            socket.closeOutput()
            let answer = await socket.readToEnd()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400"))
        }
    }

    @Test func `who sends no more is not waited for longer than a request takes`() async throws {
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        try await TestServer.run({
            $0.requestTimeout = .milliseconds(100)
            $0.fallback = { _ in
                for await _ in held {}
                return .text("late\n")
            }
        }) { server in
            let socket = try await RawSocket(port: server.port)
            socket.send("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n")
            socket.closeOutput()
            #expect(await socket.readToEnd().isEmpty)
            release.finish()
        }
    }

    @Test func `who asks for another protocol and sends no more gets an answer in this one`() async throws {
        try await TestServer.run({ $0.fallback = { .text("\($0.path)\n") } }) { server in
            let socket = try await RawSocket(port: server.port)
            socket.send("GET /one HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n")
            socket.closeOutput()
            #expect(await socket.readToEnd().hasSuffix("/one\n"))
        }
    }

    @Test func `a poll and a WebSocket end when the client sends no more`() async throws {
        try await TestServer.run { server in
            let target = "/socket.io/?EIO=4&transport=polling"
            let opened = try await RawSocket.get(target, port: server.port)
            let sid = try #require(opened.firstMatch(of: /"sid":"([^"]+)"/)?.1)
            let poll = try await RawSocket(port: server.port)
            poll.send("GET \(target)&sid=\(sid) HTTP/1.1\r\nHost: a\r\n\r\n")
            poll.closeOutput()
            #expect(await poll.readToEnd().isEmpty)
            let webSocket = try await RawSocket.webSocket(port: server.port)
            webSocket.closeOutput()
            #expect(await webSocket.readToEnd().isEmpty)
            while server.server.statistics.connections > 0 { await Task.yield() }
        }
    }

    @Test func `broken HTTP gets 400 and disturbs nobody`() async throws {
        try await TestServer.run { server in
            let socket = try await RawSocket(port: server.port)
            socket.send("NONSENSE\r\n\r\n")
            #expect(await socket.readToEnd().hasPrefix("HTTP/1.1 400"))
            let next = try await RawSocket.get("/", port: server.port)
            #expect(next.hasPrefix("HTTP/1.1 404"))
        }
    }

    /// RFC 9110 §5.5.
    @Test(arguments: ["", "  ", "\t", " \t "])
    func `white space behind a field's value is no part of it`(space: String) async throws {
        try await TestServer.run({
            $0.fallback = { .text("[\($0.header("X-Name") ?? "none")][\($0.header("X-None") ?? "none")]\n") }
        }) { server in
            // Behind a length NIO's parser takes no tab.
            let length = space.filter { $0 == " " }
            let socket = try await RawSocket(port: server.port)
            socket.send(
                """
                POST / HTTP/1.1\r\nHost: a\(space)\r\nX-Name: \(space)Zo\u{eb} M\u{e9}\(space)\r\nX-None:\(space)\r\n\
                Expect: 100-continue\(space)\r\nConnection: close\(space)\r\nContent-Length: 2\(length)\r\n\r\n
                """)
            #expect(await socket.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100"))
            socket.send("{}")
            #expect(await socket.readToEnd().hasSuffix("\r\n\r\n[Zo\u{eb} M\u{e9}][]\n"))
            // By the length that is announced, before anything of the body has come.
            let large = try await RawSocket(port: server.port)
            large.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\(length)\r\n\r\n")
            #expect(await large.read(until: "large.\n").hasPrefix("HTTP/1.1 413"))
        }
    }

    /// RFC 9112 §3.2.2.
    @Test(arguments: [
        ("http://chat.example:8080/health?q=1", "/health 1 chat.example:8080"),
        ("HTTPS://chat.example/a/b", "/a/b  chat.example"), ("http://chat.example", "/  chat.example"),
        ("http://me@chat.example?q=2", "/ 2 chat.example"), ("/http://a.example/", "/http://a.example/  127.0.0.1"),
    ])
    func `a target may be a whole URL`(target: String, answer: String) async throws {
        try await TestServer.run({
            $0.fallback = { .text("\($0.path) \($0.query["q"] ?? "") \($0.header("Host") ?? "")\n") }
        }) { server in
            let socket = try await RawSocket(port: server.port)
            socket.send("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            #expect(await socket.readToEnd().hasSuffix("\r\n\r\n\(answer)\n"))
            // Of Socket.IO as well.
            let opened = try await RawSocket.get(
                "http://127.0.0.1/socket.io/?EIO=4&transport=polling", port: server.port)
            #expect(opened.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400"), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400"),
        ("GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 404"),
    ])
    func `HTTP 1 1 needs one Host`(request: String, answer: String) async throws {
        try await TestServer.run { server in
            let socket = try await RawSocket(port: server.port)
            socket.send(request)
            #expect(await socket.readToEnd().hasPrefix(answer))
        }
    }
}
