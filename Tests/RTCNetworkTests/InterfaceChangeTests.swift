import Foundation
import MediaFiles
import ProgramRun
import RTCEngine
import RTCWire
import Testing

@testable import RTCNetwork

/// Addresses that come and go, in a network of the test's own: the loop's thread enters a namespace, and what it opens
/// and starts is there.
@Suite struct InterfaceChangeTests {
    private static let first = IPAddress.v4(0x0a09_0001)
    private static let other = IPAddress.v4(0x0a09_0002)
    private static let second = IPAddress.v4(0x0a09_0003)

    @Test(.enabled(if: PrivateNetwork.isPossible, "only root may make a network namespace"), .timeLimit(.minutes(2)))
    func `a call goes on when its address is taken away and another one comes`() async throws {
        let loop = NetworkLoop(name: "test-moves")
        let network = PrivateNetwork(loop)
        try await network.enter()
        for address in [Self.first, Self.other] { try await network.ip("addr", "add", "\(address)/32", "dev", "lo") }
        let pair = try await ConnectedPair.connected(
            PeerConnectionConfiguration(addresses: .only([Self.first, Self.second])),
            PeerConnectionConfiguration(addresses: .only([Self.other])), on: loop)
        let events = pair.offerer.events
        let frames = pair.answererVideo.receiver.frames
        let payload = try #require(testVideo().frames.first).payload
        let sender = Task {
            var timestamp: UInt32 = 0
            while !Task.isCancelled {
                try await pair.offererVideo.sender.send(
                    EncodedFrame(payload: payload, timestamp: timestamp, isKeyFrame: true, format: .h264))
                timestamp += 3_000
                try await Task.sleep(for: .milliseconds(33))
            }
        }
        var iterator = frames.makeAsyncIterator()
        #expect(await iterator.next() != nil)

        try await network.ip("addr", "del", "\(Self.first)/32", "dev", "lo")
        var told: [String] = []
        for await event in events {
            switch event {
            case .negotiationNeeded: told.append("negotiation is needed")
            case .iceConnectionStateChange(let state, _):
                told.append(state.rawValue)
                if state == .disconnected { try await network.ip("addr", "add", "\(Self.second)/32", "dev", "lo") }
            case .iceCandidate(let candidate) where !candidate.candidate.isEmpty:
                told.append(candidate.candidate.contains(" 10.9.0.3 ") ? "new" : "?")
            default: continue
            }
            if told.last == "connected" { break }
        }
        #expect(told.contains("new") && told.contains("negotiation is needed"), "\(told)")
        // What is sent from the new address arrives.
        var last = await iterator.next()
        while let frame = last, await pair.answerer.selectedRemote != Self.second {
            _ = frame; last = await iterator.next()
        }
        #expect(last != nil)
        for _ in 0..<10 { #expect(await iterator.next() != nil) }
        #expect(await pair.offerer.socketAddresses == [Self.second])
        sender.cancel()
        await pair.close()
    }
}

extension PeerConnection {
    fileprivate var selectedRemote: IPAddress? { machine.selectedPair?.remote.ip }
    fileprivate var socketAddresses: [IPAddress] { sockets.map(\.socket.address.ip) }
}

/// A network namespace that one loop's thread is in.
private actor PrivateNetwork {
    nonisolated let loop: NetworkLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    struct Failure: Error {
        var command: String
    }

    init(_ loop: NetworkLoop) { self.loop = loop }

    static var isPossible: Bool {
        #if os(Linux)
            geteuid() == 0 && FileManager.default.isExecutableFile(atPath: program)
        #else
            false
        #endif
    }

    private static let program = "/usr/sbin/ip"

    /// Swift's view of the C library leaves `unshare` out.
    func enter() throws {
        typealias Unshare = @convention(c) (Int32) -> Int32
        let newNetwork: Int32 = 0x4000_0000
        guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(newNetwork) == 0 else {
            throw Failure(command: "unshare")
        }
        try ip("link", "set", "lo", "up")
    }

    /// On this thread, so that the program is in the same namespace.
    func ip(_ arguments: String...) throws {
        guard try runToEnd(Self.program, arguments) == 0 else {
            throw Failure(command: arguments.joined(separator: " "))
        }
    }
}
