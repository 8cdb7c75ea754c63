import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Pictures with something behind them (`TrackInfo.packet_trailer_features`).
@Suite struct PacketTrailerForwardingTests {
    /// Three bytes, the length with each bit turned, `LKTS`.
    private static let trailer: [UInt8] = [1, 2, 3, 0xf7, 0x4c, 0x4b, 0x54, 0x53]

    /// A key frame of VP8.
    private static func picture(_ number: Int, size: Int) -> [UInt8] {
        [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] + [UInt8](repeating: 1, count: size) + [UInt8(number)]
    }

    @Test(arguments: [900, 3_000], [true, false])
    func `what is behind a picture comes to those who take it off, and of a track that says nothing of it to all`(
        size: Int, isTold: Bool
    ) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", .dual)
        let eve = try venue.join("eve") { _ in
        } claims: { _ in
        } request: { request in
            request.clientInfo.capabilities = [.capPacketTrailer]
        }
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video) { if isTold { $0.packetTrailerFeatures = [.ptfUserTimestamp] } }
        let sid = try #require(ann.track("camera")).sid
        #expect(ann.track("camera")?.packetTrailerFeatures == (isTold ? [.ptfUserTimestamp] : []))
        venue.run(for: .seconds(Int64(1)))
        let sender = try #require(ann.senders["camera"])
        for number in 0..<30 {
            let frame = EncodedFrame(
                payload: Self.picture(number, size: size) + Self.trailer, timestamp: UInt32(number * 3_000),
                isKeyFrame: true, format: .vp8)
            try ann.publisher.send(frame, on: sender, at: venue.now)
            venue.run(for: .milliseconds(33))
        }
        let pictures = (0..<30).map { Self.picture($0, size: size) }
        let (plain, whole) = (Set(pictures), Set(pictures.map { $0 + Self.trailer }))
        let (bobs, eves) = (bob.frames[sid] ?? [], eve.frames[sid] ?? [])
        #expect(bobs.count > 20 && bobs.allSatisfy { (isTold ? plain : whole).contains($0.payload) })
        #expect(eves.count > 20 && eves.allSatisfy { whole.contains($0.payload) })
    }
}
