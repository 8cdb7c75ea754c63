import SwiftProtobuf
import Testing

@testable import LiveKitProtocol

struct VideoGrantsTests {
    @Test func `publishing, subscribing and data are allowed unless they are denied, the rest is not`() {
        let grants = VideoGrants()
        #expect(grants.mayPublish && grants.maySubscribe && grants.mayPublishData)
        #expect(
            !grants.mayUpdateOwnMetadata && !grants.maySubscribeToMetrics && !grants.mayManageAgentSession
                && !grants.hidden && !grants.roomJoin)
        #expect(
            grants.permission
                == .with {
                    $0.canPublish = true
                    $0.canSubscribe = true
                    $0.canPublishData = true
                })
    }

    @Test(
        arguments: [
            (nil, nil, true), (false, nil, false), (true, nil, true), (false, true, true), (true, false, false),
        ] as [(Bool?, Bool?, Bool)])
    func `data goes with publishing unless it is said by itself`(publish: Bool?, data: Bool?, allowed: Bool) {
        var grants = VideoGrants()
        grants.canPublish = publish
        grants.canPublishData = data
        #expect(grants.mayPublishData == allowed && grants.permission.canPublishData == allowed)
    }

    @Test func `if sources are named nothing else may be published`() {
        var grants = VideoGrants()
        grants.canPublishSources = ["microphone", "screen_share_audio"]
        #expect(grants.mayPublish(.microphone) && grants.mayPublish(.screenShareAudio))
        #expect(!grants.mayPublish(.camera) && !grants.mayPublish(.unknown) && !grants.mayPublish(.screenShare))
        grants.canPublish = false
        #expect(!grants.mayPublish(.microphone))
        #expect(VideoGrants().mayPublish(.camera) && VideoGrants().mayPublish(.unknown))
    }

    @Test func `a source of a newer version allows none that we know`() {
        var grants = VideoGrants()
        grants.canPublishSources = ["hologram"]
        for source in [LiveKitTrackSource.camera, .microphone, .screenShare, .screenShareAudio, .unknown] {
            #expect(!grants.mayPublish(source))
        }
        // An empty list would tell that it may publish all.
        #expect(grants.permission.canPublishSources == [.unknown])
        grants.canPublishSources = ["hologram", "camera"]
        #expect(grants.mayPublish(.camera) && !grants.mayPublish(.unknown))
        #expect(grants.permission.canPublishSources == [.camera])
        grants.canPublishSources = ["unknown"]
        #expect(grants.mayPublish(.unknown) && !grants.mayPublish(.camera))
    }

    @Test func `each grant reaches the permission of its name`() {
        let pairs: [(WritableKeyPath<VideoGrants, Bool?>, KeyPath<LiveKitParticipantPermission, Bool>)] = [
            (\.canPublish, \.canPublish), (\.canSubscribe, \.canSubscribe), (\.canPublishData, \.canPublishData),
            (\.canUpdateOwnMetadata, \.canUpdateMetadata), (\.canSubscribeMetrics, \.canSubscribeMetrics),
            (\.canManageAgentSession, \.canManageAgentSession),
        ]
        for (number, pair) in pairs.enumerated() {
            var grants = VideoGrants()
            for (_, other) in zip(0..., pairs) { grants[keyPath: other.0] = false }
            grants[keyPath: pair.0] = true
            for (other, expected) in pairs.enumerated() {
                #expect(grants.permission[keyPath: expected.1] == (other == number))
            }
        }
        let flags: [(WritableKeyPath<VideoGrants, Bool>, KeyPath<LiveKitParticipantPermission, Bool>)] = [
            (\.hidden, \.hidden), (\.recorder, \.recorder), (\.agent, \.agent),
        ]
        for flag in flags {
            var grants = VideoGrants()
            #expect(!grants.permission[keyPath: flag.1])
            grants[keyPath: flag.0] = true
            #expect(grants.permission[keyPath: flag.1])
        }
    }
}
