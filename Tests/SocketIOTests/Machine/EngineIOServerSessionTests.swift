import Testing

@testable import SocketIO

struct EngineIOServerSessionTests {
    private let start = ContinuousClock.now
    private func session(_ transport: EngineIOTransport) -> EngineIOServerSession {
        EngineIOServerSession(transport: transport, configuration: .init(), at: start)
    }

    @Test func `pings after 25 s, and again 25 s after the answer`() {
        var session = session(.webSocket)
        #expect(session.nextWake == start + .seconds(25))
        #expect(session.tick(at: start + .seconds(24)) == [])
        #expect(session.tick(at: start + .seconds(25)) == [.send(EngineIOPacket(.ping))])
        #expect(session.nextWake == start + .seconds(45))
        #expect(session.packetReceived(EngineIOPacket(.pong), at: start + .seconds(26)) == [])
        #expect(session.nextWake == start + .seconds(51))
    }

    @Test func `gives up 20 s after a ping without answer`() {
        var session = session(.webSocket)
        _ = session.tick(at: start + .seconds(25))
        #expect(session.tick(at: start + .seconds(45)) == [.close(.pingTimeout)])
        #expect(session.nextWake == nil && session.transport == nil)
        #expect(session.tick(at: start + .seconds(60)) == [])
    }

    @Test func `the upgrade dance: probe, noop, upgrade`() {
        var session = session(.polling)
        #expect(session.pollArrived() == [])
        let isProbed = session.probeArrived(at: start)
        #expect(isProbed)
        let isProbedAgain = session.probeArrived(at: start)
        #expect(!isProbedAgain)
        #expect(
            session.probePacketReceived(EngineIOPacket(.ping, "probe"))
                == [.sendOnProbe(EngineIOPacket(.pong, "probe")), .releasePoll])
        session.pollAnswered()
        #expect(session.transport == .polling)
        #expect(session.probePacketReceived(EngineIOPacket(.upgrade)) == [.switchToWebSocket])
        #expect(session.transport == .webSocket)
    }

    @Test func `a poll is let go at once when the probed WebSocket has been answered, not before`() {
        var session = session(.polling)
        _ = session.probeArrived(at: start)
        #expect(session.pollArrived() == [])
        #expect(
            session.probePacketReceived(EngineIOPacket(.ping, "probe"))
                == [.sendOnProbe(EngineIOPacket(.pong, "probe")), .releasePoll])
        session.pollAnswered()
        #expect(session.pollArrived() == [.releasePoll])
    }

    @Test func `after the upgrade GET and POST are refused, the session goes on`() {
        var session = session(.polling)
        _ = session.probeArrived(at: start)
        _ = session.probePacketReceived(EngineIOPacket(.upgrade))
        #expect(session.pollArrived() == [.refuseRequest])
        #expect(session.postArrived() == [.refuseRequest])
        #expect(session.transport == .webSocket)
    }

    @Test func `an upgrade that does not come to its end is abandoned after 10 s`() {
        var session = session(.polling)
        _ = session.probeArrived(at: start)
        #expect(session.nextWake == start + .seconds(10))
        #expect(session.tick(at: start + .seconds(10)) == [.abandonProbe])
        #expect(session.phase == .polling)
    }

    @Test func `a probe that speaks out of turn is abandoned, polling goes on`() {
        var session = session(.polling)
        _ = session.probeArrived(at: start)
        #expect(session.probePacketReceived(EngineIOPacket(.message, "2[\"a\"]")) == [.abandonProbe])
        #expect(session.transport == .polling)
    }

    @Test func `two polls at once end the session, and the second is refused`() {
        var polls = session(.polling)
        #expect(polls.pollArrived() == [])
        #expect(polls.pollArrived() == [.refuseRequest, .close(.transportError("two polls at once"))])
    }

    @Test func `a lost poll ends the session`() {
        var session = session(.polling)
        _ = session.pollArrived()
        #expect(session.pollLost() == [.close(.transportClosed)])
    }

    @Test func `messages pass, a client's ping and its close do not`() {
        var session = session(.webSocket)
        let message = EngineIOPacket(.message, "hi")
        #expect(session.packetReceived(message, at: start) == [.deliver(message)])
        #expect(session.packetReceived(EngineIOPacket(.close), at: start) == [.close(.transportClosed)])
        #expect(session.packetReceived(message, at: start) == [])
    }
}
