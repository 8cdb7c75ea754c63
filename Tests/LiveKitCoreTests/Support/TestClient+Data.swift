import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

@testable import LiveKitCore

extension TestClient {
    /// - Parameter sequence: nil for the next one of a reliable message.
    func say(
        _ text: String, _ label: String = "_reliable", to destinations: [String] = [], sequence number: UInt32? = nil,
        change: (inout LiveKitDataPacket) -> Void = { _ in }
    ) throws {
        if label == "_reliable", number == nil { sequence += 1 }
        var packet = LiveKitDataPacket.with {
            // As the Python client has it: the wrong way round.
            $0.kind = label == "_reliable" ? .lossy : .reliable
            $0.user.payload = .init(text.utf8)
            $0.destinationIdentities = destinations
            $0.sequence = label == "_reliable" ? number ?? sequence : 0
            $0.participantIdentity = "somebody else"
        }
        change(&packet)
        try send(packet, label)
    }

    func send(_ packet: LiveKitDataPacket, _ label: String = "_reliable") throws {
        try sendBytes(try packet.serializedBytes(), label)
    }

    func sendBytes(_ bytes: [UInt8], _ label: String = "_reliable") throws {
        guard let channel = up[label] else { return }
        try publisher.send(.binary(bytes), on: channel, at: venue.now)
    }

    func sendText(_ text: String, _ label: String) throws {
        guard let channel = up[label] else { return }
        try publisher.send(.text(text), on: channel, at: venue.now)
    }

    /// As SDKs do: not more is given to the channel than a little.
    func sayIfThereIsRoom(_ text: String) throws -> Bool {
        guard let channel = up["_reliable"], publisher.bufferedAmount(of: channel) < 128 << 10 else { return false }
        try say(text)
        return true
    }

    /// The one that it hears on.
    func closeReliable() {
        if mode == .dual {
            guard let channel = down.first(where: { $0.value == "_reliable" })?.key else { return }
            return subscriber.closeDataChannel(channel, at: venue.now)
        }
        guard let channel = up["_reliable"] else { return }
        publisher.closeDataChannel(channel, at: venue.now)
    }

    /// Makes another one.
    func openReliable() throws { try open("_reliable") }

    func open(_ label: String) throws {
        up[label] = try publisher.createDataChannel(label, DataChannelInit(), at: venue.now)
    }

    /// What came, as `sender: text`.
    var heard: [String] {
        messages.map { "\($0.packet.participantIdentity): \(String(decoding: $0.packet.user.payload, as: UTF8.self))" }
    }
}
