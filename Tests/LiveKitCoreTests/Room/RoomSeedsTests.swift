import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Rooms in which people come, go, publish, mute, look away and lose their signaling at random, over paths that lose
/// packets.
///
/// More of them, or one again: `ROOST_ROOM_SEEDS=100 ROOST_FIRST_SEED=1 swift test --filter RoomSeedsTests`, as
/// `make simulate` does.
@Suite struct RoomSeedsTests {
    static let seeds: Range<UInt64> = {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["ROOST_FIRST_SEED"].flatMap { UInt64($0) } ?? 1
        return first..<first + (environment["ROOST_ROOM_SEEDS"].flatMap { UInt64($0) } ?? 200)
    }()

    @Test(arguments: seeds)
    func `whatever people do, descriptions fit, pictures come, and nothing is left in the end`(_ seed: UInt64) throws {
        let venue = Venue(seed: seed)
        var random = EngineRandom.seeded(seed &* 7_919)
        var losses = EngineRandom.seeded(seed &* 104_729)
        venue.isLost = { _, bytes in bytes[0] & 0xc0 == 0x80 && losses.next() % 50 == 0 }
        var gone: [TestClient] = []
        var titles: [String: [String]] = [:]
        var muted: Set<String> = []
        var number = 0
        func pick<Element>(_ elements: [Element]) -> Element? {
            elements.isEmpty ? nil : elements[Int(random.next() % UInt64(elements.count))]
        }
        func show(_ pictures: Int) throws {
            for _ in 0..<pictures {
                for client in venue.clients {
                    let wantsKeyFrame = client.wantsKeyFrame
                    for title in titles[client.name] ?? [] {
                        client.wantsKeyFrame = wantsKeyFrame || number % 30 == 0
                        try client.picture(number, title, size: 300)
                    }
                }
                number += 1
                venue.run(for: .milliseconds(32))
            }
        }
        for step in 0..<40 {
            let client = pick(venue.clients.filter { $0.signal != nil && $0.states.contains(.connected) })
            switch random.next() % 10 {
            case 0, 1:
                if venue.clients.count < 5 { try venue.join("p\(step)", random.next() % 2 == 0 ? .single : .dual) }
            case 2, 3:
                guard let client, (titles[client.name]?.count ?? 0) < 3 else { continue }
                let title = "\(client.name)-\(step)"
                try client.publish(title, .video)
                titles[client.name, default: []].append(title)
            case 4:
                guard let client, let title = pick(titles[client.name] ?? []) else { continue }
                try client.unpublish(title)
                titles[client.name]?.removeAll { $0 == title }
            case 5:
                guard let client, let title = pick(titles[client.name] ?? []), let sid = client.track(title)?.sid
                else { continue }
                let isMuted = muted.insert(title).inserted
                if !isMuted { muted.remove(title) }
                venue.send(
                    .mute(
                        .with {
                            $0.sid = sid
                            $0.muted = isMuted
                        }), from: client)
            case 6, 7:
                guard let client,
                    let sid = pick(
                        venue.clients.flatMap { other in
                            (titles[other.name] ?? []).compactMap { other === client ? nil : other.track($0)?.sid }
                        })
                else { continue }
                venue.send(
                    .subscription(
                        .with {
                            $0.trackSids = [sid]
                            $0.subscribe = random.next() % 3 > 0
                        }), from: client)
            case 8:
                guard let client else { continue }
                try venue.comeBack(client)
            default:
                guard let client, venue.clients.count > 2 else { continue }
                gone.append(client)
                titles[client.name] = nil
                venue.send(.leave(.init()), from: client)
                venue.forget(client)
            }
            try show(6)
        }
        // Everybody gets everything that is published and not muted, once all ask for it.
        for client in venue.clients {
            let sids = venue.clients.filter { $0 !== client }.flatMap { other in
                (titles[other.name] ?? []).compactMap { other.track($0)?.sid }
            }
            venue.send(
                .subscription(
                    .with {
                        $0.trackSids = sids
                        $0.subscribe = true
                    }), from: client)
        }
        try show(60)
        try venue.everybodySees({ other in titles[other.name]?.filter { !muted.contains($0) } ?? [] }) { try show(40) }
        for client in venue.clients + gone { #expect(!client.lines.contains("< an update that is not newer")) }
        venue.endsWithoutFault(gone)
    }
}
