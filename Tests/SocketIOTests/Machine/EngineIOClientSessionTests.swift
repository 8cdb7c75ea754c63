import Testing

@testable import SocketIO

struct EngineIOClientSessionTests {
    private let start = ContinuousClock.now
    private let handshake = EngineIOHandshake(
        sid: "s", upgrades: ["websocket"], pingInterval: .seconds(25), pingTimeout: .seconds(20), maxPayload: 1_000_000)

    @Test func `polling, probe, pause, upgrade`() {
        var session = EngineIOClientSession(transport: .polling, upgrades: true)
        #expect(session.packetReceived(handshake.packet, at: start) == [.opened(handshake), .openProbe])
        #expect(session.maySend && session.mayPoll)
        #expect(session.probeConnected() == [.sendOnProbe(EngineIOPacket(.ping, "probe"))])
        #expect(session.probePacketReceived(EngineIOPacket(.pong, "probe")) == [.pausePolling])
        #expect(!session.maySend && !session.mayPoll)
        // What the last poll brings still counts.
        let message = EngineIOPacket(.message, "2[\"late\"]")
        #expect(session.packetReceived(message, at: start) == [.deliver(message)])
        #expect(session.pollingPaused() == [.sendOnProbe(EngineIOPacket(.upgrade)), .switchToWebSocket])
        #expect(session.transport == .webSocket)
    }

    @Test func `a WebSocket that fails leaves polling as it was`() {
        var session = EngineIOClientSession(transport: .polling, upgrades: true)
        _ = session.packetReceived(handshake.packet, at: start)
        _ = session.probeConnected()
        _ = session.probePacketReceived(EngineIOPacket(.pong, "probe"))
        #expect(session.probeLost() == [])
        #expect(session.transport == .polling && session.mayPoll && session.maySend)
    }

    @Test func `answers pings, and gives up when none has come for 45 s`() {
        var session = EngineIOClientSession(transport: .webSocket, upgrades: false)
        #expect(session.packetReceived(handshake.packet, at: start) == [.opened(handshake)])
        #expect(
            session.packetReceived(EngineIOPacket(.ping), at: start + .seconds(25)) == [.send(EngineIOPacket(.pong))])
        #expect(session.tick(at: start + .seconds(69)) == [])
        #expect(session.tick(at: start + .seconds(70)) == [.close(.heartbeatMissed)])
        #expect(session.tick(at: start + .seconds(71)) == [])
    }

    @Test(arguments: ["4hi", "0{}", #"0{"sid":""}"#, "0nonsense"])
    func `a server that begins otherwise is refused`(text: String) throws {
        var session = EngineIOClientSession(transport: .webSocket, upgrades: false)
        let actions = session.packetReceived(try EngineIOPacket(textFrame: Array(text.utf8)[...]), at: start)
        #expect(actions == [.close(.protocolError("it did not begin with an Engine.IO handshake"))])
    }

    @Test func `waits double up to the longest, with the random share`() {
        let reconnection = SocketIOClientConfiguration.Reconnection()
        #expect(reconnection.wait(before: 0, random: 0) == .milliseconds(500))
        #expect(reconnection.wait(before: 0, random: 0.5) == .seconds(1))
        #expect(reconnection.wait(before: 1, random: 0.5) == .seconds(2))
        #expect(reconnection.wait(before: 30, random: 0.5) == .seconds(5))
    }

    @Test func `a token bucket lets a burst pass and then its rate`() {
        var bucket = TokenBucket(perSecond: 10, burst: 5, at: start)
        let milliseconds = [0, 0, 0, 0, 0, 0, 101, 102]
        let taken = milliseconds.map { bucket.take(1, at: start + .milliseconds($0)) }
        #expect(taken == [true, true, true, true, true, false, true, false])
    }
}
