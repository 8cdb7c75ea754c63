import Foundation
import RTCEngine
import RTCNetwork
import Synchronization

/// One connection that another program commands by lines of JSON, and that is measured from outside: `run.py` reads the
/// process's CPU clock. The peers speak the same lines.
///
///     {"do": "offer", "kind": "video"}            -> {"sdp": …}       and sends when told to; or "data"
///     {"do": "answer", "sdp": …}                  -> {"sdp": …}       and receives
///     {"do": "accept", "sdp": …}                  the peer's answer
///                                                 -> {"connected": true}
///     {"do": "send", "frames": F, "packets": P}   F frames a second, of P packets each, until told otherwise
///     {"do": "send", "bytes": B}                  messages of B bytes, as fast as they go
///     {"do": "count"}                             -> {"packets": …, "bytes": …}   packets sent, or received and put
///                                                    together, and bytes of messages received so far
actor Subject {
    /// How much of data channels may wait to be sent, and where to go on. The peers are given the same.
    private static let highMark = 1 << 20
    private static let lowMark = 1 << 18

    private let connection: PeerConnection
    private var video: RTPTransceiver?
    private var channel: DataChannel?
    private var sending: Task<Void, any Error>?
    private var receiving: Task<Void, Never>?
    private let received = Received()
    /// Which command to send is obeyed.
    private nonisolated let turn = Atomic(0)

    /// Counted without a hop to anybody's actor.
    private final class Received: Sendable {
        let bytes = Atomic(0)
        let packets = Atomic(0)
    }

    static func run(paces: Bool = true, receives: MediaUnit = .frames) async throws {
        let configuration = try Pair.configuration(paces: paces, receives: receives)
        let subject = Subject(connection: PeerConnection(configuration: configuration))
        let events = subject.connection.events
        let announcements = subject.connection.events
        let watching = Task {
            await Pair.connected(events)
            report(["connected": true])
        }
        let reading = Task { [received = subject.received] in
            guard let channel = await Pair.dataChannel(announcements) else { return }
            for await message in channel.messages { received.bytes.add(message.byteCount, ordering: .relaxed) }
        }
        while let line = readLine() {
            let message = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
            try await subject.obey(
                message["do"] as? String, sdp: message["sdp"] as? String ?? "",
                cargo: (message["kind"] as? String).flatMap { Cargo(rawValue: $0) } ?? .video,
                frames: message["frames"] as? Int ?? 0, packets: message["packets"] as? Int ?? 0,
                bytes: message["bytes"] as? Int ?? 0)
        }
        watching.cancel()
        reading.cancel()
    }

    private init(connection: PeerConnection) { self.connection = connection }

    private func obey(
        _ command: String?, sdp: String, cargo: Cargo, frames: Int, packets: Int, bytes: Int
    ) async throws {
        switch command {
        case "offer":
            switch cargo {
            case .video: video = try await connection.addTransceiver(.video, direction: .sendonly)
            case .data: channel = try await connection.createDataChannel("x")
            }
            try await describe()
        case "answer":
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: sdp))
            try await describe()
            guard let receiver = await connection.transceivers.first?.receiver else { return }
            receiving = Task { for await _ in receiver.frames {} }
            receiver.setPacketHandler { [received] _, _ in received.packets.add(1, ordering: .relaxed) }
        case "accept":
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: sdp))
        case "send":
            sending?.cancel()
            turn.add(1, ordering: .relaxed)
            if let channel, bytes > 0 {
                sending = Task.detached { try await Self.send(bytes, on: channel) }
            } else if let sender = video?.sender, frames > 0 {
                send(frames, packets, by: sender)
            }
        case "count":
            let stats = await connection.getStats()
            let handed = received.packets.load(ordering: .relaxed)
            let packetsReceived = handed > 0 ? handed : Int(stats.inboundRTP.reduce(0) { $0 + $1.packetsReceived })
            let packetsSent = stats.outboundRTP.reduce(0) { $0 + $1.packetsSent }
            report([
                "packets": packetsReceived + Int(packetsSent), "bytes": received.bytes.load(ordering: .relaxed),
            ])
        default:
            return
        }
    }

    private func describe() async throws {
        try await connection.setLocalDescription()
        report(["sdp": await connection.localDescription?.sdp ?? ""])
    }

    private static func send(_ bytes: Int, on channel: DataChannel) async throws {
        let message = [UInt8](repeating: 0x55, count: bytes)
        await channel.setBufferedAmountLowThreshold(lowMark)
        try await channel.waitUntilOpen()
        while !Task.isCancelled {
            if channel.bufferedAmount > highMark { try await channel.waitForBufferedAmountLow() }
            try await channel.send(message)
        }
    }

    /// As an encoder does, on a thread of its own that hands frames over.
    private func send(_ frames: Int, _ packets: Int, by sender: RTPSender) {
        let mine = turn.load(ordering: .relaxed)
        Thread.detachNewThread { [self] in
            let pictures = [true, false].map { EncodedFrame.vp8(bytes: packets * 1_150, timestamp: 0, isKeyFrame: $0) }
            var next = timespec()
            clock_gettime(CLOCK_MONOTONIC, &next)
            var number = 0
            while turn.load(ordering: .relaxed) == mine {
                var frame = pictures[number % frames == 0 ? 0 : 1]
                frame.timestamp = UInt32(truncatingIfNeeded: number * 90_000 / frames)
                sender.enqueue(frame)
                number += 1
                next.tv_nsec += 1_000_000_000 / frames
                if next.tv_nsec >= 1_000_000_000 {
                    next.tv_sec += 1
                    next.tv_nsec -= 1_000_000_000
                }
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nil)
            }
        }
    }
}
