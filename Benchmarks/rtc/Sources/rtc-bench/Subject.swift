import Foundation
import RTCEngine
import RTCNetwork

/// One connection that another program commands by lines of JSON, and that is measured from outside: `run.py` reads the
/// process's CPU clock. The peers speak the same lines.
///
///     {"do": "offer"}                             -> {"sdp": …}       and sends when told to
///     {"do": "answer", "sdp": …}                  -> {"sdp": …}       and receives
///     {"do": "accept", "sdp": …}                  the peer's answer
///                                                 -> {"connected": true}
///     {"do": "send", "frames": F, "packets": P}   F frames a second, of P packets each, until told otherwise
///     {"do": "count"}                             -> {"packets": …}   sent, or received and put together, so far
actor Subject {
    private let connection: PeerConnection
    private var video: RTPTransceiver?
    private var sending: Task<Void, any Error>?
    private var receiving: Task<Void, Never>?

    static func run() async throws {
        let subject = Subject(connection: PeerConnection(configuration: try Pair.configuration()))
        let events = subject.connection.events
        let watching = Task {
            await Pair.connected(subject.connection, events)
            report(["connected": true])
        }
        while let line = readLine() {
            let message = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
            try await subject.obey(
                message["do"] as? String, sdp: message["sdp"] as? String ?? "", frames: message["frames"] as? Int ?? 0,
                packets: message["packets"] as? Int ?? 0)
        }
        watching.cancel()
    }

    private init(connection: PeerConnection) { self.connection = connection }

    private func obey(_ command: String?, sdp: String, frames: Int, packets: Int) async throws {
        switch command {
        case "offer":
            video = try await connection.addTransceiver(.video, direction: .sendonly)
            try await describe()
        case "answer":
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .offer, sdp: sdp))
            try await describe()
            guard let receiver = await connection.transceivers.first?.receiver else { return }
            receiving = Task { for await _ in receiver.frames {} }
        case "accept":
            try await connection.setRemoteDescription(SessionDescriptionInit(type: .answer, sdp: sdp))
        case "send":
            sending?.cancel()
            guard let sender = video?.sender, frames > 0 else { return }
            sending = Task.detached { try await Self.send(frames, packets, by: sender) }
        case "count":
            let stats = await connection.getStats()
            let received = stats.inboundRTP.reduce(0) { $0 + $1.packetsReceived }
            let sent = stats.outboundRTP.reduce(0) { $0 + $1.packetsSent }
            report(["packets": Int(received) + Int(sent)])
        default:
            return
        }
    }

    private func describe() async throws {
        try await connection.setLocalDescription()
        report(["sdp": await connection.localDescription?.sdp ?? ""])
    }

    private static func send(_ frames: Int, _ packets: Int, by sender: RTPSender) async throws {
        let clock = ContinuousClock()
        let pictures = [true, false].map { EncodedFrame.vp8(bytes: packets * 1_150, timestamp: 0, isKeyFrame: $0) }
        var next = clock.now
        var number = 0
        while !Task.isCancelled {
            var frame = pictures[number % frames == 0 ? 0 : 1]
            frame.timestamp = UInt32(truncatingIfNeeded: number * 90_000 / frames)
            try await sender.send(frame)
            number += 1
            next += .seconds(1) / frames
            try await Task.sleep(until: next, clock: clock)
        }
    }
}
