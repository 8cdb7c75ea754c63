import CongestionLinks
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SFUModels
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// A random life of a room, the same for the same seed: people come and go, publish, mute, look away, lose their
/// signaling and may do more or less. Every packet to each of them is looked at on its way.
final class RoomStory {
    let venue: Venue
    private var random: EngineRandom
    private var losses: EngineRandom
    private(set) var tracks: [ModelTrack] = []
    /// By the client's name and the SSRC.
    var watches: [String: [UInt32: StreamWatch]] = [:]
    private var gone: [TestClient] = []
    private var mutedAt: [String: Instant] = [:]
    /// Who is subscribed to what, and when such a subscription ended last.
    private var subscribed: [String: [TrackSID: ObjectIdentifier]] = [:]
    private var leftAt: [String: [TrackSID: Instant]] = [:]
    private var forbidden: Set<String> = []
    private var number = 0
    private(set) var events = RoomEvents()
    var violations: [String] = []
    private let isNarrow: Bool
    private var isLossy = true
    /// Packets of the models come to the room.
    private var isArriving = false
    /// Bytes that the narrow path of one client lets through now, and until when that was counted.
    private var allowance: (client: TestClient, bytesPerSecond: Double, left: Double, at: Instant)?

    private static let weights = [150, 400, 1_000]

    init(seed: UInt64) {
        venue = Venue(
            seed: seed, security: NullSecurity(seed: seed), tact: .milliseconds(4), receives: .packets)
        random = .seeded(seed &* 7_919)
        losses = .seeded(seed &* 104_729)
        isNarrow = seed % 12 == 5
        venue.watch = { [unowned self] client, datagram in watch(datagram, to: client) }
        venue.isLost = { [unowned self] client, datagram in isLost(datagram, client) }
    }

    /// The whole life.
    func run() throws {
        try join()
        try join()
        connect()
        for _ in 0..<36 {
            try act()
            show(2)
        }
        try comeTogether()
        checkAll("in the end")
        if isNarrow { narrow() }
        try chooseLayers()
        for client in venue.clients {
            for (source, var stream) in watches[client.name] ?? [:] {
                stream.finish()
                if stream.redundant > 0 {
                    events.note("redundancy")
                    if !client.takesRedundancy { violations.append("\(client.name) does not know redundancy") }
                }
                guard !stream.violations.isEmpty else { continue }
                let told = stream.violations.prefix(4).joined(separator: "; ")
                violations.append("\(client.name), \(stream.track.title) (\(stream.track.coding)), \(source): \(told)")
            }
        }
        for client in venue.clients + gone {
            for line in client.lines where line.hasPrefix("!") || line.contains("mediaFailure") {
                violations.append("\(client.name): \(line)")
            }
            if client.lines.contains("< an update that is not newer") { violations.append("\(client.name): old news") }
        }
        for client in venue.clients { say(.leave(.init()), client) }
        venue.run(for: .milliseconds(50))
        if !venue.room.holdsNothing { violations.append("something is left in the room") }
    }

    // MARK: Acting

    private func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

    private func dice(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }

    private func say(_ message: LiveKitSignalRequest.OneOf_Message, _ client: TestClient) {
        venue.send(message, from: client)
    }

    /// Somebody who is connected and can speak.
    private var somebody: TestClient? {
        pick(venue.clients.filter { $0.signal != nil && $0.states.contains(.connected) })
    }

    private func tracks(of client: TestClient) -> [ModelTrack] { tracks.filter { $0.client === client } }

    private func isMuted(_ track: ModelTrack) -> Bool {
        venue.room.tracks[TrackSID(rawValue: sid(track))]?.info.muted ?? false
    }

    func sid(_ track: ModelTrack) -> String { track.client.track(track.title)?.sid ?? "" }

    private func join() throws {
        let settings = (subscribes: dice(5) > 0, mayPause: dice(2) == 0)
        let client = try venue.join(
            "p\(number)-\(venue.clients.count)", dice(2) == 0 ? .single : .dual, codecs: [.vp8, .h264, .vp9, .av1],
            sound: number % 3 == 1 ? [.opus] : CodecParameters.defaultAudio,
            request: {
                $0.connectionSettings.autoSubscribe = settings.subscribes
                $0.connectionSettings.subscriberAllowPause = settings.mayPause
            })
        watches[client.name] = [:]
        events.note(client.mode == .single ? "one connection" : "two connections")
    }

    private func connect() {
        let isDone = venue.run(atMost: .seconds(Int64(5))) {
            venue.room.participants.allSatisfy { $0.state == .active }
        }
        if !isDone { violations.append("not everybody was connected") }
    }

    private func act() throws {
        guard let client = somebody else { return }
        switch dice(24) {
        case 0, 1: if venue.clients.count < 4 { try join() }
        case 2, 3, 4, 5: if tracks(of: client).count < 2 { try publish(client) }
        case 6:
            guard let track = pick(tracks(of: client)) else { return }
            events.note("unpublish")
            tracks.removeAll { $0 === track }
            forget(track)
            try client.unpublish(track.title)
        case 7, 8:
            guard let track = pick(tracks(of: client)) else { return }
            mute(track, mutedAt[track.title] == nil)
        case 9:
            guard let track = pick(tracks(of: client)), mutedAt[track.title] == nil else { return }
            events.note("server mute")
            _ = try venue.room.muteTrack(
                TrackSID(rawValue: sid(track)), of: client.name, isMuted: true, at: venue.now)
            venue.drain()
            mutedAt[track.title] = venue.now
        case 10, 11, 12:
            guard let track = pick(tracks.filter { $0.client !== client }) else { return }
            let isWanted = dice(3) > 0
            events.note(isWanted ? "subscribe" : "unsubscribe")
            say(
                .subscription(
                    .with {
                        $0.trackSids = [sid(track)]
                        $0.subscribe = isWanted
                    }), client)
        case 13, 14, 15:
            guard let track = pick(tracks.filter { $0.client !== client && $0.kind == .video }) else { return }
            want(dice(4), of: track, client)
        case 16, 17: try comeBack(client)
        case 18: permit(client)
        case 19: try allow(client, forbidden.contains(client.name))
        case 20:
            guard let track = pick(tracks) else { return }
            events.note("layer off")
            track.setLayer(dice(3), isActive: false)
        case 21: for track in tracks where dice(2) == 0 { track.activateLayers() }
        case 22:
            guard venue.clients.count > 2 else { return }
            events.note("leave")
            leave(client)
        case _:
            guard let track = pick(tracks(of: client)), mutedAt[track.title] != nil else { return }
            // Some encoders stop when they are muted, and some do not.
            track.isSending.toggle()
        }
    }

    private func publish(_ client: TestClient) throws {
        guard let coding = pick(ModelTrack.Coding.all) else { return }
        let track = ModelTrack(
            "\(client.name)-\(number)", coding, of: client, weights: isNarrow ? Self.weights : [20, 40, 60],
            random: &random)
        try client.publish(track.title, track.kind, layers: track.layers) { track.describe(&$0) }
        tracks.append(track)
        events.note("\(coding)")
    }

    private func forget(_ track: ModelTrack) {
        mutedAt[track.title] = nil
    }

    private func mute(_ track: ModelTrack, _ isMuted: Bool) {
        events.note(isMuted ? "mute" : "unmute")
        let sid = sid(track)
        say(
            .mute(
                .with {
                    $0.sid = sid
                    $0.muted = isMuted
                }), track.client)
        mutedAt[track.title] = isMuted ? venue.now : nil
        if !isMuted { track.isSending = true }
    }

    /// - Parameter layer: the highest that is wanted; 3 for none.
    private func want(_ layer: Int, of track: ModelTrack, _ client: TestClient) {
        let sid = sid(track)
        let isSize = dice(2) == 0
        events.note(layer == 3 ? "look away" : isSize ? "size" : "quality")
        say(
            .trackSetting(
                .with {
                    $0.trackSids = [sid]
                    $0.disabled = layer == 3
                    if isSize {
                        $0.width = [320, 640, 1_280, 0][layer]
                        $0.height = [180, 360, 720, 0][layer]
                    } else {
                        $0.quality = [.low, .medium, .high, .high][layer]
                    }
                }), client)
    }

    private func comeBack(_ client: TestClient) throws {
        events.note("resume")
        venue.cut(client)
        if dice(2) == 0 { show(1 + dice(4)) }
        venue.resume(client)
        guard client.mode == .single || client.hasOffered else { return }
        client.forgetOffer()
        try client.offer(iceRestart: true)
    }

    /// A publisher says who may have its tracks.
    private func permit(_ client: TestClient, _ isEverybody: Bool? = nil) {
        let names = venue.clients.filter { $0 !== client && dice(2) == 0 }.map(\.name)
        let isEverybody = isEverybody ?? (dice(2) == 0)
        events.note(isEverybody ? "permit all" : "permit some")
        say(
            .subscriptionPermission(
                .with {
                    $0.allParticipants = isEverybody
                    $0.trackPermissions = names.map { name in
                        .with {
                            $0.participantIdentity = name
                            $0.allTracks = true
                        }
                    }
                }), client)
    }

    /// The room service changes whether somebody may subscribe.
    private func allow(_ client: TestClient, _ maySubscribe: Bool) throws {
        events.note(maySubscribe ? "allow" : "forbid")
        _ = try venue.room.updateParticipant(
            .with {
                $0.identity = client.name
                $0.permission.canSubscribe = maySubscribe
                $0.permission.canPublish = true
                $0.permission.canPublishData = true
            }, at: venue.now)
        venue.drain()
        if maySubscribe { forbidden.remove(client.name) } else { forbidden.insert(client.name) }
    }

    private func leave(_ client: TestClient) {
        for track in tracks(of: client) { forget(track) }
        tracks.removeAll { $0.client === client }
        gone.append(client)
        say(.leave(.init()), client)
        venue.forget(client)
    }

    // MARK: Time

    /// So many pictures of everybody, thirty a second.
    func show(_ pictures: Int) {
        for _ in 0..<pictures {
            for track in tracks { track.picture(at: venue.now) }
            number += 1
            for _ in 0..<8 {
                isArriving = true
                for track in tracks {
                    let left = justLeft(track)
                    track.arrive(by: venue.now, isMuted: isMuted(track)) { packet in
                        for (name, source) in left { watches[name]?[source]?.maybeTooLate(packet) }
                    }
                }
                isArriving = false
                venue.run(for: .milliseconds(4))
            }
        }
    }

    /// The streams of those whose subscription to a track has ended as lately as its repaired packets may be late; they
    /// may have another one by now.
    private func justLeft(_ track: ModelTrack) -> [(name: String, source: UInt32)] {
        let sid = TrackSID(rawValue: sid(track))
        var left: [(String, UInt32)] = []
        for person in venue.room.people {
            let name = person.identity
            let present = person.subscriptions[sid].map { ObjectIdentifier($0) }
            if let last = subscribed[name]?[sid], last != present { leftAt[name, default: [:]][sid] = venue.now }
            subscribed[name, default: [:]][sid] = present
            guard let end = leftAt[name]?[sid], venue.now - end < .milliseconds(150) else { continue }
            left += (watches[name] ?? [:]).filter { $0.value.track === track }.map { (name, $0.key) }
        }
        return left
    }

    // MARK: Looking

    private func watch(_ datagram: [UInt8], to client: TestClient) {
        guard datagram.count > 28, datagram[0] & 0xc0 == 0x80 else { return }
        if (192...223).contains(datagram[1]) { return takeFeedback(datagram, client) }
        let packet = Array(datagram.dropLast(16))
        guard let header = try? RTPHeader(parsing: packet.span.bytes) else {
            violations.append("\(client.name): a broken packet")
            return
        }
        if watches[client.name]?[header.ssrc] == nil {
            guard let track = track(ofSource: header.ssrc, client) else { return }
            watches[client.name]?[header.ssrc] = StreamWatch(track)
        }
        watches[client.name]?[header.ssrc]?.receive(packet, header)
        guard !header.payloadRange.isEmpty, let track = watches[client.name]?[header.ssrc]?.track,
            // On a narrow path what came before leaves within a second (`CongestionConfiguration.maximumQueueTime`).
            let since = mutedAt[track.title], venue.now - since > .milliseconds(1_100)
        else { return }
        violations.append("\(client.name): \(track.title) goes out although it is muted")
    }

    /// What the room sends to a client from this source; nil for retransmissions.
    private func track(ofSource ssrc: UInt32, _ client: TestClient) -> ModelTrack? {
        guard let participant = venue.room.people.first(where: { $0.sid.rawValue == client.sid }),
            let connection = participant.subscriber
        else { return nil }
        let transceiver = venue.room.media.withMachine(of: connection.id) { machine in
            machine.transceivers.first { $0.sendParameters?.ssrc == ssrc }?.id
        }
        guard let id = transceiver ?? nil,
            let subscription = participant.subscriptions.values.first(where: { $0.transceiver == id })
        else { return nil }
        return tracks.first { sid($0) == subscription.track.sid.rawValue }
    }

    /// Requests for key frames (RFC 4585 §6.3.1).
    private func takeFeedback(_ datagram: [UInt8], _ client: TestClient) {
        var place = 0
        // `NullSecurity` has sixteen bytes of tag and four of index at the end.
        while place + 12 <= datagram.count - 20 {
            let length = (Int(datagram[place + 2]) << 8 | Int(datagram[place + 3]) + 1) * 4
            if datagram[place] & 0x1f == 1, datagram[place + 1] == 206,
                let ssrc = datagram.span.bytes.uint32(at: place + 8)
            {
                for track in tracks(of: client) { track.askForKey(ssrc) }
            }
            place += length
        }
    }

    private func isLost(_ datagram: [UInt8], _ client: TestClient) -> Bool {
        // What the model's path has let through is not lost again.
        guard datagram[0] & 0xc0 == 0x80, !isArriving else { return false }
        if var narrow = allowance, narrow.client === client {
            let passed = Double((venue.now - narrow.at).nanoseconds) * 1e-9 * narrow.bytesPerSecond
            narrow.left = min(narrow.left + passed, 6_000)
            narrow.at = venue.now
            let isLost = narrow.left < Double(datagram.count)
            if !isLost { narrow.left -= Double(datagram.count) }
            allowance = narrow
            return isLost
        }
        return isLossy && losses.next() % 50 == 0
    }

    // MARK: The end

    /// All can and want to see everything, nothing is lost any more, and nobody does anything.
    private func comeTogether() throws {
        isLossy = false
        for client in venue.clients where client.signal == nil { try comeBack(client) }
        for track in tracks {
            track.calmDown()
            track.activateLayers()
            track.isSending = true
            if mutedAt[track.title] != nil { mute(track, false) }
        }
        for client in venue.clients {
            if forbidden.contains(client.name) { try allow(client, true) }
            permit(client, true)
            let sids = tracks.filter { $0.client !== client }.map { sid($0) }
            say(
                .subscription(
                    .with {
                        $0.trackSids = sids
                        $0.subscribe = true
                    }), client)
            for track in tracks where track.client !== client && track.kind == .video { want(2, of: track, client) }
        }
        wait { self.stuck(at: nil).isEmpty }
    }

    /// Until something is so and stays so for longer than a layer takes to be measured, for so many pictures at most.
    /// Where a first probe was lost, the next one comes five seconds later, and ten after that.
    private func wait(atMost pictures: Int = 500, until isSo: () -> Bool) {
        var looks = 0
        for place in 0..<pictures where looks < 5 {
            if place % 8 == 7 { looks = isSo() ? looks + 1 : 0 }
            show(1)
        }
    }

    /// Everybody chooses another layer of each track, and has it soon.
    private func chooseLayers() throws {
        var wanted: [String: Int] = [:]
        for client in venue.clients {
            for track in tracks where track.client !== client && track.kind == .video {
                let layer = dice(3)
                wanted["\(client.name) \(track.title)"] = layer
                want(layer, of: track, client)
            }
        }
        wait { self.stuck(at: wanted).isEmpty }
        checkAll("after choosing", wanted)
    }

    /// The path of one client becomes too narrow for the highest layers, and wide again.
    private func narrow() {
        let watchers = venue.clients.filter { client in
            tracks.contains { $0.client !== client && $0.kind == .video }
        }
        guard let client = pick(watchers) else { return }
        let seen = tracks.filter { $0.client !== client && $0.kind == .video }
        allowance = (client, Double(seen.count) * 16_000, 0, venue.now)
        var hasFallen = false
        wait(atMost: 400) {
            // Smaller, or a quarter of the pictures.
            hasFallen =
                hasFallen
                || seen.contains { track in
                    self.forwarded(track, to: client).map { $0.spatial != 2 || $0.temporal == 0 } ?? true
                }
            return hasFallen
        }
        if hasFallen { events.note("narrow path") } else { violations.append("\(client.name) is sent too much") }
        show(30)
        allowance = nil
        // A step that was tried in vain while the path was narrow is tried again half a minute later at the latest.
        wait(atMost: 1_000) { self.stuck(at: nil).isEmpty }
        checkAll("on a wide path again")
    }
}
