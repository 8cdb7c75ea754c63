import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// What everybody is told of a track.
@Suite struct TrackInfoTests {
    @Test func `of a track whose features change everybody is told, in both forms`() throws {
        let venue = Venue()
        let people = try venue.assemble([("ann", .single), ("bob", .single)])
        let (ann, bob) = (people[0], people[1])
        try ann.publish("music", .audio) { $0.audioFeatures = [.tfStereo] }
        #expect(venue.run { bob.others["ann"]?.tracks.first?.stereo == true })
        let sid = try #require(ann.track("music")).sid
        venue.send(
            .updateAudioTrack(
                .with {
                    $0.trackSid = sid
                    $0.features = [.tfNoDtx]
                }), from: ann)
        let told = try #require(bob.others["ann"]?.tracks.first)
        #expect(told.audioFeatures == [.tfNoDtx] && told.disableDtx && !told.stereo)
    }

    @Test(arguments: [true, false])
    func `a track whose client names no codec is what its offer has first`(_ isH264First: Bool) throws {
        let venue = Venue()
        let ann = try venue.join("ann", codecs: isH264First ? [.h264, .vp8] : [.vp8, .h264])
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        let answer = try SessionDescription(parsing: try #require(ann.answers.last).sdp)
        let section = try #require(answer.media.first { $0.kind == "video" && $0.direction == .recvonly })
        let names = section.all(SDP.RTPMap.self).map(\.encoding).filter { $0 != "rtx" }
        #expect(names == (isH264First ? ["H264", "VP8"] : ["VP8", "H264"]))
        #expect(venue.run { bob.others["ann"]?.tracks.isEmpty == false })
        let mimeType = isH264First ? "video/H264" : "video/VP8"
        #expect(bob.others["ann"]?.tracks.first?.mimeType == mimeType)
        #expect(bob.others["ann"]?.tracks.first?.codecs.map(\.mimeType) == [mimeType])
        let webhook = try #require(venue.webhooks.last { $0.event == "track_published" })
        #expect(webhook.track.mimeType == mimeType)
    }

    @Test(arguments: ["h264", "H264", "video/H264"])
    func `a codec that a client names is the track's, whatever its offer has first`(_ codec: String) throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video) { $0.simulcastCodecs = [.with { $0.codec = codec }] }
        #expect(ann.track("camera")?.mimeType == "video/H264")
        #expect(venue.run { bob.others["ann"]?.tracks.first?.mimeType == "video/H264" })
    }

    struct Layered: Sendable, CustomTestStringConvertible {
        var codec: String?
        var told = LiveKitVideoLayer.Mode.unused
        /// Names of what the section offers.
        var streams: [String] = []
        /// Before there is an offer, and afterwards.
        var isSimulcast: (announced: Bool, offered: Bool)
        var mode: LiveKitVideoLayer.Mode

        var testDescription: String { "\(codec ?? "no codec"), \(told), in \(streams.count) streams" }
    }

    /// By LiveKit's server (`addPendingTrack`, `MaybeSetSimulcast`).
    @Test(arguments: [
        Layered(
            codec: "vp8", streams: ["q", "h", "f"], isSimulcast: (true, true), mode: .oneSpatialLayerPerStream),
        Layered(codec: "vp9", isSimulcast: (false, false), mode: .multipleSpatialLayersPerStream),
        Layered(codec: "av1", isSimulcast: (false, false), mode: .multipleSpatialLayersPerStream),
        Layered(
            codec: "vp9", told: .oneSpatialLayerPerStream, isSimulcast: (true, true), mode: .oneSpatialLayerPerStream),
        Layered(
            codec: "vp9", streams: ["q", "h", "f"], isSimulcast: (false, true),
            mode: .multipleSpatialLayersPerStream),
        Layered(codec: nil, isSimulcast: (false, false), mode: .oneSpatialLayerPerStream),
        Layered(codec: nil, streams: ["q", "h"], isSimulcast: (false, true), mode: .oneSpatialLayerPerStream),
    ])
    func `simulcast is several streams, and not layers within one`(_ row: Layered) throws {
        let venue = Venue()
        let ann = try venue.join("ann", codecs: [.vp8, .vp9, .av1])
        let bob = try venue.join("bob")
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video, layers: row.streams) { request in
            request.layers = [LiveKitVideoQuality.low, .medium, .high].map { quality in .with { $0.quality = quality } }
            if let codec = row.codec {
                request.simulcastCodecs = [
                    .with { ($0.codec, $0.cid, $0.videoLayerMode) = (codec, request.cid, row.told) }
                ]
            }
        }
        let announced = try #require(ann.track("camera"))
        #expect(announced.simulcast == row.isSimulcast.announced)
        #expect(announced.codecs.map(\.videoLayerMode) == [row.mode])
        #expect(venue.run { bob.others["ann"]?.tracks.isEmpty == false })
        let told = try #require(bob.others["ann"]?.tracks.first)
        #expect(told.simulcast == row.isSimulcast.offered)
        #expect(told.codecs.map(\.videoLayerMode) == [row.mode])
    }

    @Test func `tracks of one source belong together unless their client says otherwise`() throws {
        let venue = Venue()
        let ann = try venue.assemble([("ann", .single)])[0]
        try ann.publish("camera", .video)
        try ann.publish("voice", .audio)
        try ann.publish("screen", .video, source: .screenShare)
        try ann.publish("tab", .audio, source: .screenShareAudio)
        try ann.publish("film", .audio, source: .unknown)
        try ann.publish("other", .audio) { $0.stream = "mine" }
        let streams = ["camera", "voice", "screen", "tab", "film", "other"].map { ann.track($0)?.stream }
        #expect(streams == ["camera", "camera", "screen", "screen", "unknown", "mine"])
    }
}
