import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

/// Ends of all kinds, at all moments.
@Suite(.timeLimit(.minutes(2))) struct ClosingTests {
    @Test func `the peer's goodbye closes the sockets and ends every stream here`() async throws {
        let loop = NetworkLoop(name: "test-goodbye")
        let pair = try await ConnectedPair.connected(on: loop)
        let events = pair.answerer.events
        let frames = pair.answererVideo.receiver.frames
        await pair.offerer.close()
        // Both end without a close on this side.
        for await _ in events {}
        for await _ in frames {}
        #expect(await pair.answerer.connectionState == .closed)
        #expect(await pair.answerer.socketCount == 0)
        for transceiver in await pair.answerer.transceivers { for await _ in transceiver.receiver.frames {} }
        _ = await pair.answerer.getStats()
        await pair.answerer.close()
        for await event in pair.answerer.events { Issue.record("after the end: \(event)") }
    }

    @Test func `everything of a connection is freed, however it ends`() async throws {
        enum Ending: CaseIterable { case closed, closedByPeer, forgotten }
        for ending in Ending.allCases {
            var ends: [AsyncStream<PeerConnectionEvent>] = []
            weak var offerer: PeerConnection?
            weak var answerer: PeerConnection?
            weak var receiver: RTPReceiver?
            let socket: WeakSocket
            do {
                let pair = try await ConnectedPair.connected()
                (offerer, answerer, receiver) = (pair.offerer, pair.answerer, pair.answererVideo.receiver)
                socket = await pair.answerer.watchSocket()
                #expect(socket.isAlive)
                ends = [pair.offerer.events, pair.answerer.events]
                switch ending {
                case .closed: await pair.close()
                case .closedByPeer: await pair.offerer.close()
                case .forgotten: break
                }
            }
            // The streams end when the connections are closed or gone; then the loop may hold them for one more turn.
            for stream in ends { for await _ in stream {} }
            for _ in 0..<1_000 where offerer != nil || answerer != nil || receiver != nil || socket.isAlive {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(offerer == nil && answerer == nil && receiver == nil && !socket.isAlive, "\(ending)")
        }
    }

    @Test func `closing at any moment of a call does no harm`() async throws {
        for moment in 0..<40 {
            let loop = NetworkLoop.shared
            let configuration = try PeerConnectionConfiguration(
                iceServers: [.init(urls: ["stun:no-such-host.invalid"])], addresses: .only([.v4(0x7f00_0001)]))
            let offerer = PeerConnection(configuration: configuration, loop: loop)
            let answerer = PeerConnection(configuration: configuration, loop: loop)
            async let call: Void = {
                _ = try await offerer.addTransceiver(.video)
                let offer = try await offerer.createOffer()
                try await offerer.setLocalDescription(offer)
                try await answerer.setRemoteDescription(offer)
                try await answerer.setLocalDescription()
                guard let answer = await answerer.localDescription else { return }
                try await offerer.setRemoteDescription(answer)
                _ = await offerer.getStats()
            }()
            async let closing: Void = {
                for _ in 0..<moment { await Task.yield() }
                await offerer.close()
                await offerer.close()
                await answerer.close()
            }()
            do {
                try await call
            } catch {
                #expect(error as? PeerConnectionError == .peer(.closed))
            }
            await closing
            #expect(await offerer.connectionState == .closed)
            #expect(await answerer.getStats().inboundRTP.isEmpty)
        }
    }

    @Test func `an ICE server that is none is refused before anything has changed`() async throws {
        let configuration = try PeerConnectionConfiguration(
            iceServers: [.init(urls: ["turns:host?transport=udp"])], addresses: .only([.v4(0x7f00_0001)]))
        let connection = PeerConnection(configuration: configuration)
        _ = try await connection.addTransceiver(.audio)
        await #expect(throws: PeerConnectionError.iceServer("turns:host?transport=udp")) {
            try await connection.setLocalDescription()
        }
        #expect(await connection.signalingState == .stable)
        await connection.close()
    }

    @Test func `addresses that cannot be bound are an error each time, not only the first`() async throws {
        // TEST-NET-1 is nobody's.
        let configuration = try PeerConnectionConfiguration(addresses: .only([.v4(0xc000_0201)]))
        let connection = PeerConnection(configuration: configuration)
        _ = try await connection.addTransceiver(.audio)
        for _ in 0..<2 {
            do {
                try await connection.setLocalDescription()
                Issue.record("sockets were opened on an address that this host has not")
            } catch {
                guard case .noSocket = error else { throw error }
            }
        }
        await connection.close()
    }

    @Test func `a STUN server without an answer keeps nobody waiting`() async throws {
        let configuration = try PeerConnectionConfiguration(
            iceServers: [.init(urls: ["stun:no-such-host.invalid", "stun:127.0.0.1:9"])],
            addresses: .only([.v4(0x7f00_0001)]))
        let connection = PeerConnection(configuration: configuration)
        _ = try await connection.addTransceiver(.audio)
        try await connection.setLocalDescription()
        // The host candidate is there at once.
        #expect(await connection.localDescription?.sdp.contains("typ host") == true)
        #expect(await connection.iceGatheringState == .gathering)
        await connection.close()
    }
}

/// Tells whether a socket still exists.
private final class WeakSocket: @unchecked Sendable {
    private weak let socket: UDPSocket?

    init(_ socket: UDPSocket?) { self.socket = socket }

    var isAlive: Bool { socket != nil }
}

extension PeerConnection {
    fileprivate var socketCount: Int { sockets.count }

    fileprivate func watchSocket() -> WeakSocket { WeakSocket(sockets.first?.socket) }
}
