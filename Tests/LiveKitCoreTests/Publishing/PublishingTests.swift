import CongestionLinks
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

@Suite struct PublishingTests {
    /// As LiveKit's SDK for Android, which does both at once.
    @Test(arguments: [ConnectionMode.single, .dual])
    func `a track that is offered before it is announced is published when it is`(mode: ConnectionMode) throws {
        let venue = Venue()
        let people = try venue.assemble([("ann", mode), ("bob", .single)])
        let (ann, bob) = (people[0], people[1])
        try ann.publishUnannounced("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        #expect(venue.room.participants.first { $0.identity == "ann" }?.tracks.map(\.name) == ["camera"])
        for number in 0..<10 {
            try ann.picture(number, "camera")
            venue.run(for: .milliseconds(33))
        }
        #expect(!bob.numbers(of: ann.track("camera")).isEmpty)
        venue.run(for: .seconds(Int64(40)))
        #expect(!ann.lines.contains { $0.hasPrefix("< track_unpublished") })
    }

    @Test func `what another section sends that was offered is not taken for a track`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single), ("bob", .single)])[0]
        try ann.publishUnannounced("camera", .video, isNamed: false)
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.room.participants.first { $0.identity == "ann" }?.tracks.isEmpty == true)
        // It is found with the next offer.
        try ann.offer()
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
    }

    @Test func `a track that is announced anew is found in its new section, not in the one that is over`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single), ("bob", .single)])[0]
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        let track = try #require(venue.room.people.first { $0.identity == "ann" }?.tracks.first)
        let former = try #require(ann.senders["camera"])
        venue.room.withdraw(track, at: venue.now)
        _ = ann.news()
        // The client has heard of it, and begins anew under the same id before it has told that the section is over.
        try ann.publisher.setDirection(.inactive, of: former, at: venue.now)
        try ann.publish("camera", .video)
        #expect(venue.run { ann.news().contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        #expect(venue.room.participants.first { $0.identity == "ann" }?.tracks.map(\.name) == ["camera"])
    }

    @Test(arguments: [ConnectionMode.single, .dual], [ConnectionMode.single, .dual])
    func `sound and pictures go from one to the other, whatever each is`(
        _ publishing: ConnectionMode, _ subscribing: ConnectionMode
    ) throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", publishing), ("bob", subscribing)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.publish("camera", .video)
        #expect(ann.news() == ["> add_track camera", "< track_published camera", "> offer", "< answer"])
        #expect(venue.run { bob.others["ann"]?.isPublisher == true })
        try ann.publish("voice", .audio)
        #expect(venue.run { bob.lines.contains { $0.hasSuffix("with camera, voice") } })
        // The others hear of a track before its media are offered to them.
        let update = try #require(bob.lines.firstIndex(of: "< update ann active [camera]"))
        let offer = try #require(bob.lines.firstIndex { $0.contains("with camera") })
        #expect(update < offer)
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        venue.run(for: .seconds(Int64(1)))
        for number in 0..<60 {
            try ann.picture(number, "camera")
            try ann.sound(number, "voice")
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.numbers(of: ann.track("camera")) == (1...60).map { UInt8($0) })
        #expect(bob.numbers(of: ann.track("voice")) == (1...60).map { UInt8($0) })
        #expect(!(ann.lines + bob.lines).contains { $0.hasPrefix("!") })
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `nobody is told of a track before there is a path for it`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let bob = try venue.join("bob")
        let ann = try venue.join("ann", mode)
        #expect(venue.run { mode == .single || bob.others["ann"]?.state == .active })
        venue.isLost = { client, _ in client === ann }
        try ann.publish("camera", .video)
        venue.run(for: .seconds(Int64(2)))
        #expect(ann.lines.firstIndex(of: "> offer").map { ann.lines[$0 + 1] } == "< answer")
        #expect(bob.others["ann"]?.isPublisher == false)
        #expect(!venue.webhooks.map(\.event).contains("track_published"))
        venue.isLost = { _, _ in false }
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        #expect(venue.webhooks.map(\.event).suffix(2) == ["participant_joined", "track_published"])
    }

    @Test func `over a bad path every picture comes all the same`() throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .single), ("cat", .dual)])
        let (ann, bob, cat) = (clients[0], clients[1], clients[2])
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        var count = 0
        venue.isLost = { _, bytes in
            guard bytes.count > 400, bytes[0] & 0xc0 == 0x80 else { return false }
            count += 1
            return count % 9 == 0
        }
        for number in 0..<90 {
            if number == 89 { venue.isLost = { _, _ in false } }
            try ann.picture(number, "camera", size: 2_500)
            venue.run(for: .milliseconds(32))
        }
        venue.run(for: .milliseconds(500))
        #expect(count > 100)
        for other in [bob, cat] { #expect(other.numbers(of: ann.track("camera")) == (1...90).map { UInt8($0) }) }
    }

    @Test(arguments: [false, true])
    func `a server that loses what it is sent asks for each packet once, if it is told so`(isTold: Bool) throws {
        let venue = Venue(security: NullSecurity(seed: 1))
        let ann = try #require(try venue.assemble([("ann", .dual), ("bob", .dual)]).first)
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        var count = 0
        venue.isLost = { client, bytes in
            guard client === ann, bytes.count > 400, bytes[0] & 0xc0 == 0x80 else { return false }
            count += 1
            return count % 5 < 3
        }
        var asked: [UInt16: Int] = [:]
        venue.watch = { client, bytes in
            if client === ann { for number in Self.numbersAskedFor(in: bytes) { asked[number, default: 0] += 1 } }
        }
        for number in 0..<40 {
            if isTold { venue.room.askOnce(until: venue.now + .milliseconds(500)) }
            try ann.picture(number, "camera", size: 900)
            venue.run(for: .milliseconds(32))
        }
        #expect(asked.count > 10)
        #expect(isTold ? asked.values.allSatisfy { $0 == 1 } : asked.values.contains { $0 > 3 })
    }

    /// Of the NACKs (RFC 4585 §6.2.1) in a datagram of RTCP.
    private static func numbersAskedFor(in datagram: [UInt8]) -> [UInt16] {
        guard datagram.count > 28, datagram[0] & 0xc0 == 0x80, (192...223).contains(datagram[1]) else { return [] }
        // `NullSecurity` has sixteen bytes of tag and four of index at the end.
        let bytes = Array(datagram.dropLast(20))
        var numbers: [UInt16] = []
        var place = 0
        while let words = bytes.span.bytes.uint16(at: place + 2) {
            let end = place + (Int(words) + 1) * 4
            if bytes[place] & 0x1f == 1, bytes[place + 1] == 205 {
                for entry in stride(from: place + 12, to: end, by: 4) {
                    guard let first = bytes.span.bytes.uint16(at: entry),
                        let mask = bytes.span.bytes.uint16(at: entry + 2)
                    else { break }
                    numbers += [first] + (0..<16).filter { mask >> $0 & 1 == 1 }.map { first &+ UInt16($0) &+ 1 }
                }
            }
            place = end
        }
        return numbers
    }

    @Test func `who comes later is offered what is there, and begins at a key frame`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single)])[0]
        try ann.publish("camera", .video)
        venue.run(for: .milliseconds(200))
        for number in 0..<30 {
            try ann.picture(number, "camera")
            venue.run(for: .milliseconds(32))
        }
        let bob = try venue.join("bob")
        let cat = try venue.join("cat", .dual)
        #expect(bob.lines == ["< join bob (ann active [camera])", "< answer with camera", "< update cat joined"])
        #expect(cat.lines == ["< join cat (ann active [camera]) (bob joined)", "< offer #1 with camera"])
        for number in 30..<90 {
            try ann.picture(number, "camera")
            venue.run(for: .milliseconds(32))
        }
        for other in [bob, cat] {
            let frames = try #require(other.frames[ann.track("camera")?.sid ?? ""])
            #expect(frames.first?.isKeyFrame == true)
            #expect(other.numbers(of: ann.track("camera")).last == 90)
            #expect(frames.count > 40)
        }
    }

    @Test(arguments: [["q", "h", "f"], ["q", "h"]])
    func `layers are known by their names, and a size is answered with the layer that fits`(_ layers: [String]) throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        let camera = try LayeredCamera(of: ann, layers: layers, in: venue)
        try camera.film(90)
        #expect(camera.layer(for: bob) == UInt8(layers.count))
        bob.show(ann.track("camera"), width: 200, height: 100)
        try camera.film(60)
        #expect(camera.layer(for: bob) == 1)
        venue.run(for: .seconds(Int64(5)))
        #expect(ann.lines.last == "< subscribed_quality camera low")
        venue.send(
            .trackSetting(
                .with {
                    $0.trackSids = [camera.sid]
                    $0.quality = .medium
                }), from: bob)
        #expect(ann.lines.last == "< subscribed_quality camera low medium")
        try camera.film(60)
        #expect(camera.layer(for: bob) == 2)
        venue.send(
            .trackSetting(
                .with {
                    $0.trackSids = [camera.sid]
                    $0.disabled = true
                }), from: bob)
        let count = camera.count(for: bob)
        try camera.film(20)
        #expect(camera.count(for: bob) == count)
    }

    @Test(arguments: ["sdp/py120_single_vp8_simulcast_reoffer.sdp", "sdp/py120_single_h264_simulcast_reoffer.sdp"])
    func `Python's offer with layers is answered with all three of them, and its tracks are found`(_ file: String)
        throws
    {
        let text = try Vectors.text(file)
        let offer = try SessionDescription(parsing: text)
        let sections = offer.media.filter { $0.direction == .sendonly }
        #expect(sections.map(\.kind).sorted() == ["audio", "video"])
        let venue = Venue()
        let bob = try venue.join("bob")
        let python = try venue.join("python") { _ in
        } claims: { _ in
        } request: { request in
            request.publisherOffer.sdp = text
            request.addTrackRequests = sections.map { section in
                .with {
                    $0.cid = section.first(SDP.MediaStreamID.self)?.track ?? ""
                    $0.name = section.kind
                    $0.type = section.kind == "video" ? .video : .audio
                    $0.source = section.kind == "video" ? .camera : .microphone
                    if section.kind == "video" {
                        $0.simulcastCodecs = [.with { $0.codec = file.contains("h264") ? "h264" : "vp8" }]
                    }
                }
            }
        }
        // Nobody is behind the offer who could check a path.
        venue.findPath(of: python)
        let answer = try SessionDescription(parsing: try #require(python.answers.first).sdp)
        let video = try #require(answer.media.first { $0.kind == "video" && $0.direction == .recvonly })
        #expect(video.first(SDP.Simulcast.self)?.receive == [["f"], ["h"], ["q"]])
        #expect(bob.others["python"]?.tracks.map(\.name).sorted() == ["audio", "video"])
        let track = try #require(bob.others["python"]?.tracks.first { $0.name == "video" })
        #expect(track.mimeType == (file.contains("h264") ? "video/H264" : "video/VP8"))
        #expect(track.sid.hasPrefix("TR_VC"))
        #expect(track.mid == video.mid)
        #expect(track.codecs.first?.cid.isEmpty == false && track.codecs.first?.sdpCid == "")
    }

    @Test func `a muted track is muted for all, and goes on at a key frame`() throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        venue.run(for: .seconds(Int64(1)))
        _ = bob.news()
        let sid = try #require(ann.track("camera")).sid
        for number in 0..<60 {
            if number == 20 || number == 40 {
                venue.send(
                    .mute(
                        .with {
                            $0.sid = sid
                            $0.muted = number == 20
                        }), from: ann)
            }
            try ann.picture(number, "camera")
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.news() == ["< update ann active [camera muted]", "< update ann active [camera]"])
        let numbers = bob.numbers(of: ann.track("camera"))
        #expect(numbers.filter { (21...40).contains($0) }.isEmpty)
        #expect(numbers.last == 60)
        let after = try #require(bob.frames[sid]?.first { ($0.payload.last ?? 0) > 40 })
        #expect(after.isKeyFrame)
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `a track that is no longer offered is over, and the next one takes its place`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", mode), ("bob", mode)])
        let (ann, bob) = (clients[0], clients[1])
        var sections: Set<Int> = []
        for round in 0..<4 {
            try ann.publish("camera\(round)", .video)
            #expect(venue.run { ann.lines.contains("< track_subscribed camera\(round)") })
            venue.run(for: .milliseconds(200))
            for number in 0..<20 {
                try ann.picture(number, "camera\(round)")
                venue.run(for: .milliseconds(32))
            }
            #expect(bob.numbers(of: ann.track("camera\(round)")) == (1...20).map { UInt8($0) })
            _ = bob.news()
            try ann.unpublish("camera\(round)")
            #expect(bob.lines.first == "< update ann active")
            venue.run(for: .milliseconds(200))
            let description = mode == .single ? bob.answers.last : bob.offers.last
            let sdp = try SessionDescription(parsing: try #require(description).sdp)
            sections.insert(sdp.media.count)
            #expect(!sdp.media.contains { $0.direction == .sendonly })
            #expect(description?.midToTrackID.isEmpty == true)
        }
        #expect(sections.count == 1, "sections are used again")
        #expect(venue.webhooks.map(\.event).filter { $0.hasPrefix("track_") }.count == 8)
        #expect(!(ann.lines + bob.lines).contains { $0.hasPrefix("!") })
    }

    @Test func `a track that is announced and never offered is over after a while`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single)])[0]
        func announce(_ name: String) {
            venue.send(
                .addTrack(
                    .with {
                        $0.cid = name
                        $0.name = name
                        $0.source = .microphone
                    }), from: ann)
        }
        announce("voice")
        venue.run(for: .seconds(Int64(29)))
        #expect(!venue.room.tracks.isEmpty)
        venue.run(for: .seconds(Int64(2)))
        #expect(venue.room.tracks.isEmpty && ann.lines.contains("< track_unpublished voice"))
        // While nothing can be offered, no time passes.
        announce("again")
        venue.cut(ann)
        venue.run(for: .seconds(Int64(40)))
        venue.resume(ann)
        venue.run(for: .seconds(Int64(20)))
        #expect(venue.room.tracks.count == 1)
        venue.run(for: .seconds(Int64(11)))
        #expect(venue.room.tracks.isEmpty)
    }

    @Test func `what comes of a track that was taken away is not taken for the next one`() throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .single)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.publish("camera", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed camera") })
        func allow(_ mayPublish: Bool) throws {
            _ = try venue.room.updateParticipant(
                .with {
                    $0.identity = "ann"
                    $0.permission.canPublish = mayPublish
                    $0.permission.canSubscribe = true
                }, at: venue.now)
            venue.drain()
        }
        try allow(false)
        #expect(ann.lines.contains("< track_unpublished camera"))
        try allow(true)
        // The client goes on sending, and offers anew before it offers the track that it has announced.
        venue.send(
            .addTrack(
                .with {
                    $0.cid = "cid-ann-screen"
                    $0.name = "screen"
                    $0.type = .video
                    $0.source = .camera
                }), from: ann)
        try ann.offer()
        venue.run(for: .milliseconds(100))
        #expect(bob.others["ann"]?.tracks.isEmpty == true)
        try ann.publish("screen", .video)
        #expect(venue.run { ann.lines.contains("< track_subscribed screen") })
        venue.run(for: .milliseconds(500))
        for number in 0..<20 {
            try ann.picture(number + 100, "camera")
            try ann.picture(number, "screen")
            venue.run(for: .milliseconds(32))
        }
        #expect(bob.numbers(of: ann.track("screen")) == (1...20).map { UInt8($0) })
    }

    @Test(arguments: [false, true])
    func `sound that is muted ends with silence, unless it is sealed from end to end`(_ isSealed: Bool) throws {
        let venue = Venue()
        let clients = try venue.assemble([("ann", .single), ("bob", .dual)])
        let (ann, bob) = (clients[0], clients[1])
        try ann.publish("voice", .audio) { if isSealed { $0.encryption = .gcm } }
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        venue.run(for: .milliseconds(500))
        for number in 0..<20 {
            try ann.sound(number, "voice")
            venue.run(for: .milliseconds(20))
        }
        let sid = try #require(ann.track("voice")).sid
        venue.send(.mute(.with { ($0.sid, $0.muted) = (sid, true) }), from: ann)
        venue.run(for: .seconds(Int64(2)))
        let frames = try #require(bob.frames[sid])
        #expect(frames.count { $0.payload == OpusPacket.silence } == (isSealed ? 0 : 50))
    }

    @Test func `a stereo track without pauses is asked for as one`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single)])[0]
        try ann.publish("music", .audio) { $0.audioFeatures = [.tfStereo, .tfNoDtx] }
        try ann.publish("voice", .audio)
        venue.run(for: .milliseconds(100))
        let answer = try SessionDescription(parsing: try #require(ann.answers.last).sdp)
        let options = answer.media.filter { $0.direction == .recvonly }.map { section in
            section.all(SDP.FormatParameters.self).map(\.parameters.text).first { $0.contains("useinbandfec") } ?? ""
        }
        #expect(options.count == 2)
        #expect(options[0].contains("stereo=1;maxaveragebitrate=510000") && !options[0].contains("usedtx"))
        #expect(!options[1].contains("stereo") && options[1].contains("usedtx=1"))
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `who is sent a stereo track is told that it is one`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let people = try venue.assemble([("ann", .single), ("bob", mode)])
        let (ann, bob) = (people[0], people[1])
        try ann.publish("music", .audio) { $0.audioFeatures = [.tfStereo] }
        try ann.publish("voice", .audio)
        #expect(venue.run { ann.lines.contains("< track_subscribed music") })
        #expect(venue.run { ann.lines.contains("< track_subscribed voice") })
        let description = try #require(mode == .single ? bob.answers.last : bob.offers.last)
        let media = try SessionDescription(parsing: description.sdp).media
        for (title, isStereo) in [("music", true), ("voice", false)] {
            let mid = description.midToTrackID.first { $0.value == ann.track(title)?.sid }?.key
            let section = try #require(media.first { $0.mid == mid })
            let opus = section.all(SDP.FormatParameters.self).first { $0.parameters.text.contains("useinbandfec") }
            #expect(opus?.parameters.text.contains("sprop-stereo=1") == isStereo)
        }
    }

    @Test func `layers inside a stream that nobody has announced are told apart all the same`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", codecs: [.vp9])
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("film", .video)
        let participant = try #require(venue.room.people.first)
        let track = try #require(participant.tracks.first)
        #expect(venue.run { track.publication != nil })
        let connection = try #require(participant.publisher)
        let parameters = venue.room.media.withMachine(of: connection.id) { machine in
            machine.transceivers.first { $0.id == track.transceiver }?.receiveParameters
        }
        let received = try #require(parameters ?? nil)
        let description = try #require(track.describe(received, of: track.primary))
        #expect(description.arrangement == .scalable())
        #expect(description.sizes.map(\.width) == [1_280])
        #expect(description.framesPerSecond == 30)
    }

    @Test func `layers are in the order of their names`() {
        #expect(Track.spatialLayers(["f", "h", "q"]) == [2, 1, 0])
        #expect(Track.spatialLayers(["h", "q"]) == [1, 0])
        #expect(Track.spatialLayers(["0", "1", "2"]) == [0, 1, 2])
        #expect(Track.spatialLayers(["high", "low"]) == [1, 0])
        #expect(Track.spatialLayers([]) == [])
    }
}
