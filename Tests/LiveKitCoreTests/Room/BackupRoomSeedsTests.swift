import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Rooms of people who take different codecs, and come, go, publish in two of them, end the second and lose their
/// signaling at random. The seeds are those of `RoomSeedsTests`.
@Suite struct BackupRoomSeedsTests {
    private struct Camera {
        let title: String
        /// The second codec is sent, too.
        var hasBackup = false

        var backup: String { "\(title)-vp8" }
    }

    private static let codecs: [[CodecParameters]] = [[.vp8], [.h264], [.vp8, .h264], [.vp8, .h264]]

    /// What the room has said last of a codec of somebody's camera; nil as long as it has said nothing.
    private static func isWanted(_ codec: String, _ camera: Camera, of client: TestClient) -> Bool? {
        let sid = client.track(camera.title)?.sid
        for case .subscribedQualityUpdate(let update) in client.responses.reversed() where update.trackSid == sid {
            guard let told = update.subscribedCodecs.first(where: { $0.codec == codec }) else { continue }
            return told.qualities.contains { $0.enabled }
        }
        return nil
    }

    @Test(arguments: RoomSeedsTests.seeds.prefix((RoomSeedsTests.seeds.count + 1) / 2))
    func `whoever takes which codec, everybody gets every camera in one of them`(_ seed: UInt64) throws {
        let venue = Venue(seed: seed)
        var random = EngineRandom.seeded(seed &* 7_919)
        var losses = EngineRandom.seeded(seed &* 104_729)
        venue.isLost = { _, bytes in bytes[0] & 0xc0 == 0x80 && losses.next() % 50 == 0 }
        var cameras: [String: Camera] = [:]
        var publishers: Set<String> = []
        var gone: [TestClient] = []
        var number = 0
        func pick<Element>(_ elements: [Element]) -> Element? {
            elements.isEmpty ? nil : elements[Int(random.next() % UInt64(elements.count))]
        }
        /// As browsers' SDKs have it: nothing is encoded that the room does not want, and the second codec is made when
        /// it does.
        func show(_ pictures: Int) throws {
            for client in venue.clients {
                guard let camera = cameras[client.name], !camera.hasBackup,
                    Self.isWanted("vp8", camera, of: client) == true
                else { continue }
                try client.publishBackup(of: camera.title)
                cameras[client.name]?.hasBackup = true
            }
            for _ in 0..<pictures {
                for client in venue.clients {
                    guard let camera = cameras[client.name] else { continue }
                    let isKeyFrame = client.wantsKeyFrame || number % 30 == 0
                    if Self.isWanted("h264", camera, of: client) ?? true {
                        client.wantsKeyFrame = isKeyFrame
                        try client.picture(number, camera.title, size: 300, format: .h264)
                    }
                    if camera.hasBackup, Self.isWanted("vp8", camera, of: client) == true {
                        client.wantsKeyFrame = isKeyFrame
                        try client.picture(number, camera.backup, size: 300)
                    }
                }
                number += 1
                venue.run(for: .milliseconds(32))
            }
        }
        /// Somebody wants the cameras of others, or does not.
        func want(_ isWanted: Bool, _ others: [TestClient], _ client: TestClient) {
            let sids = others.compactMap { other in cameras[other.name].flatMap { other.track($0.title)?.sid } }
            venue.send(
                .subscription(
                    .with {
                        $0.trackSids = sids
                        $0.subscribe = isWanted
                    }), from: client)
        }
        for step in 0..<40 {
            let client = pick(venue.clients.filter { $0.signal != nil && $0.states.contains(.connected) })
            switch random.next() % 10 {
            case 0, 1:
                guard venue.clients.count < 5, let codecs = pick(Self.codecs) else { continue }
                let isSingle = random.next() % 2 == 0
                let newcomer = try venue.join("p\(step)", isSingle ? .single : .dual, codecs: codecs)
                if codecs.count == 2 { publishers.insert(newcomer.name) }
            case 2, 3:
                guard let client, publishers.contains(client.name), cameras[client.name] == nil,
                    let policy = pick([LiveKitBackupCodecPolicy.simulcast, .regression, .preferRegression])
                else { continue }
                let camera = Camera(title: "\(client.name)-\(step)")
                try client.publish(camera.title, as: ["h264", "vp8"], policy: policy)
                cameras[client.name] = camera
            case 4:
                guard let client, let camera = cameras.removeValue(forKey: client.name) else { continue }
                try client.unpublish(camera.title)
                try client.unpublish(camera.backup)
            case 5:
                guard let client, let camera = cameras[client.name], camera.hasBackup else { continue }
                try client.unpublish(camera.backup)
                cameras[client.name]?.hasBackup = false
            case 6, 7:
                guard let client, let other = pick(venue.clients.filter { $0 !== client }) else { continue }
                want(random.next() % 3 > 0, [other], client)
            case 8:
                guard let client else { continue }
                try venue.comeBack(client)
            default:
                guard let client, venue.clients.count > 2 else { continue }
                gone.append(client)
                cameras[client.name] = nil
                venue.send(.leave(.init()), from: client)
                venue.forget(client)
            }
            try show(6)
        }
        for client in venue.clients { want(true, venue.clients.filter { $0 !== client }, client) }
        for _ in 0..<12 { try show(8) }
        try venue.everybodySees({ other in
            cameras[other.name].map { [$0.title] }?.filter { other.track($0) != nil } ?? []
        }) { for _ in 0..<5 { try show(8) } }
        for client in venue.clients + gone {
            #expect(!client.lines.contains { $0.contains("seCodecUnsupported") }, "each takes one of the two")
        }
        venue.endsWithoutFault(gone)
    }
}
