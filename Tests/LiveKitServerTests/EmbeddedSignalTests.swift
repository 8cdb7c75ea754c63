import LiveKitProtocol
import RTCWire
import SocketIO
import SwiftProtobuf
import Testing

@testable import LiveKitServer

/// What a participant in the server's own process is told.
@Suite(.timeLimit(.minutes(2))) struct EmbeddedSignalTests {
    @Test func `behind a NAT it is told local candidates alone, and none beside its descriptions`() async throws {
        try await TestServer.run({
            $0.media.addresses = [.init(local: .v4(0x7f00_0001), announced: .v4(0xcb00_7109))]
        }) { server in
            let (facts, told) = AsyncStream<BinarySocket.Fact>.makeStream()
            let link = EmbeddedSignal(server.livekit.workers[0], tell: { _ = told.yield($0) })
            let candidate = "candidate:1 1 udp 1 203.0.113.9 7882 typ host"
            link.send(.with { $0.offer.sdp = "a=\(candidate)\r\n" })
            link.send(.with { $0.trickle.candidateInit = #"{"candidate":"\#(candidate)"}"# })
            told.finish()
            var said: [LiveKitSignalResponse] = []
            for await fact in facts {
                guard case .message(let bytes) = fact else { continue }
                said.append(try LiveKitSignalResponse(serializedBytes: bytes))
            }
            #expect(said.map(\.offer.sdp) == ["a=candidate:1 1 udp 1 127.0.0.1 7882 typ host\r\n"])
        }
    }
}
