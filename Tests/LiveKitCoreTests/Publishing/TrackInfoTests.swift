import LiveKitProtocol
import RTCEngine
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
