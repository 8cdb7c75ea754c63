import Foundation
import LiveKitClient
import LiveKitCore
import Logging
import RTCNetwork
import RTCWire
import Synchronization
import Testing

@testable import LiveKitServer

/// A host whose addresses change while the server runs.
@Suite(.timeLimit(.minutes(2))) struct MovingHostTests {
    /// The host's addresses, as the test says.
    private final class Host: Sendable {
        let addresses = Mutex<[MediaWorkerConfiguration.Address]>([.init(local: Host.first)])

        static let first = IPAddress.v4(0x7f00_0001)
        static let second = IPAddress.v4(0x7f00_0002)

        func become(_ ips: [IPAddress], _ worker: MediaWorker) async {
            addresses.withLock { $0 = ips.map { .init(local: $0) } }
            await worker.interfacesChanged([])
        }
    }

    private static func run(
        _ body: (TestServer, Host, MediaWorker) async throws -> Void
    ) async throws {
        let host = Host()
        try await TestServer.run({ configuration in
            configuration.media.follow = { _ in host.addresses.withLock { $0 } }
        }) { server in try await body(server, host, server.livekit.workers[0]) }
    }

    @Test func `ports of new addresses are taken, and those of old ones given back`() async throws {
        try await Self.run { server, host, worker in
            let ports = try #require(server.media.first)
            func listening() async -> [IPAddress] { await worker.udpHosts.map(\.ip) }
            func mayBind(_ ip: IPAddress) -> Bool {
                (try? UDPSocket(binding: TransportAddress(ip, port: ports.port))) != nil
            }
            await host.become([Host.first, Host.second], worker)
            #expect(await listening() == [Host.first, Host.second])
            #expect(await worker.transport?.tcpHosts.map(\.ip) == [Host.first, Host.second])
            await host.become([Host.second], worker)
            #expect(await listening() == [Host.second])
            #expect(await worker.transport?.udpHosts == [TransportAddress(Host.second, port: ports.port)])
            #expect(await worker.tcpHosts.map(\.ip) == [Host.second])
            #expect(!mayBind(Host.second))
            // A process that another test starts has the socket for a moment.
            try await until("the port of the first address is free") { mayBind(Host.first) }
            var moves = server.livekit.mediaMoves.makeAsyncIterator()
            #expect(await moves.next() == [.init(local: Host.second)])
        }
    }

    @Test func `an address that cannot be had, or none at all, leaves everything as it is`() async throws {
        try await Self.run { _, host, worker in
            let before = await worker.udpHosts
            // TEST-NET-1: nobody's.
            for ips in [[], [IPAddress.v4(0xc000_0201)]] {
                await host.become(ips, worker)
                #expect(await worker.udpHosts == before)
            }
        }
    }

    @Test func `who is in a room goes on over the new address`() async throws {
        try await Self.run { server, host, worker in
            let url = "ws://127.0.0.1:\(server.port)"
            let (speaker, listener) = (Room(), Room())
            let events = listener.events
            try await listener.connect(url: url, token: try TestServer.token(identity: "ann"))
            try await speaker.connect(url: url, token: try TestServer.token(identity: "bob"))
            func hear(_ topic: String) async {
                for await event in events {
                    if case .dataReceived(let message) = event, message.topic == topic { return }
                }
            }
            try await speaker.publish(data: [1], topic: "before")
            await hear("before")
            await host.become([Host.second], worker)
            try await speaker.publish(data: [2], topic: "after")
            await hear("after")
            await speaker.disconnect()
            await listener.disconnect()
        }
    }
}

extension MediaWorker {
    fileprivate var udpHosts: [TransportAddress] { datagramPorts.map(\.announced) }
    fileprivate var tcpHosts: [TransportAddress] { tcpPorts.map(\.announced) }
}
