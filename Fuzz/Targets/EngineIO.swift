import SocketIO

/// Any bytes as a polling body, a frame, a handshake and a query: refused, or the same after a round trip; the
/// sessions' machines take whatever packets come of it.
func fuzzEngineIO(_ bytes: RawSpan) {
    let body = bytes.withUnsafeBytes { Array($0) }[...]
    _ = EngineIOHandshake(body)
    let query = EngineIOQuery(String(decoding: body, as: UTF8.self))
    precondition(EngineIOQuery(query.encoded) == query || query.items.contains { $0.name.isEmpty })
    guard let packets = try? EngineIOPayload.decode(body) else { return }
    let written = EngineIOPayload.encode(packets)
    guard let again = try? EngineIOPayload.decode(written[...]) else { fatalError("what we write must parse") }
    precondition(again == packets)

    let start = ContinuousClock.now
    var server = EngineIOServerSession(transport: .polling, configuration: .init(), at: start)
    var client = EngineIOClientSession(transport: .polling, upgrades: true)
    for (index, packet) in packets.enumerated() {
        let now = start + .seconds(index * 7)
        _ = index % 3 == 0 ? server.pollArrived() : []
        _ = index % 4 == 0 && server.probeArrived(at: now)
        _ = server.probePacketReceived(packet)
        _ = server.packetReceived(packet, at: now)
        server.pollAnswered()
        _ = server.tick(at: now)
        _ = client.packetReceived(packet, at: now)
        _ = client.probeConnected()
        _ = client.probePacketReceived(packet)
        _ = client.pollingPaused()
        _ = client.tick(at: now)
    }
}
