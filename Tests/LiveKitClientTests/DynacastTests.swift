import LiveKitProtocol
import RTCEngine
import SwiftProtobuf
import Testing

@testable import LiveKitClient

/// What nobody in the room takes is not sent, where that was asked for.
@Suite(.timeLimit(.minutes(1))) struct DynacastTests {
    private static func qualities(_ enabled: Bool...) -> [LiveKitSubscribedQuality] {
        zip([LiveKitVideoQuality.low, .medium, .high], enabled).map { quality, enabled in
            .with { ($0.quality, $0.enabled) = (quality, enabled) }
        }
    }

    private static func update(
        _ qualities: [LiveKitSubscribedQuality], of codec: String? = "vp8", sid: String = "TR_mine"
    ) -> LiveKitSignalResponse.OneOf_Message {
        .subscribedQualityUpdate(
            .with {
                $0.trackSid = sid
                $0.subscribedQualities = qualities
                if let codec { $0.subscribedCodecs = [.with { ($0.codec, $0.qualities) = (codec, qualities) }] }
            })
    }

    private static let nothing = qualities(false, false, false)

    /// In a room with a track of ours, whose publishing connection is up.
    private static func publishing(dynacast: Bool = true, layers: [VideoLayer] = []) -> Dialogue {
        let dialogue = Dialogue.connected { $0.dynacast = dynacast }
        dialogue.publish(layers: layers)
        _ = dialogue.media(.stateChanged(.publisher, .connected))
        _ = dialogue.said()
        return dialogue
    }

    @Test(arguments: ["vp8", "VP8", nil])
    func `a picture waits while nobody takes it, and goes on in whatever quality somebody does`(codec: String?) {
        let dialogue = Self.publishing()
        let waits = dialogue.server(Self.update(Self.nothing, of: codec))
        #expect(waits == ["! 1 waits", "* TR_mine is taken by nobody"])
        // Said again, as it may be.
        #expect(dialogue.server(Self.update(Self.nothing, of: codec)).isEmpty)
        let goesOn = dialogue.server(Self.update(Self.qualities(true, false, false), of: codec))
        #expect(goesOn == ["! 1 up to high", "* TR_mine is taken up to high"])
        #expect(dialogue.server(Self.update(Self.qualities(true, true, true), of: codec)).isEmpty)
    }

    @Test func `of layers those are sent that somebody takes, and nothing where nobody takes any`() {
        let sizes = [(VideoQuality.low, 160), (.medium, 320), (.high, 640)]
        let layers = sizes.map { VideoLayer(quality: $0.0, width: $0.1, height: $0.1 * 9 / 16) }
        let dialogue = Self.publishing(layers: layers)
        let less = dialogue.server(Self.update(Self.qualities(true, true, false)))
        #expect(less == ["! 1 up to medium", "* TR_mine is taken up to medium"])
        #expect(dialogue.server(Self.update(Self.nothing)) == ["! 1 waits", "* TR_mine is taken by nobody"])
        let names = LayerNames(layers)
        func sent(upTo quality: VideoQuality?) -> [VideoQuality] {
            VideoQuality.allCases.filter { names?.isWanted($0, upTo: quality) == true }
        }
        #expect(sent(upTo: nil).isEmpty && sent(upTo: .low) == [.low] && sent(upTo: .high) == [.low, .medium, .high])
        // Who asks for less than there is gets the smallest.
        let large = LayerNames(Array(layers.dropFirst()))
        #expect(large?.isWanted(.medium, upTo: .low) == true && large?.isWanted(.high, upTo: .low) == false)
    }

    @Test func `what is said of other tracks and of other codecs of it is not of it`() {
        let dialogue = Self.publishing()
        #expect(dialogue.server(Self.update(Self.nothing, sid: "TR_other")).isEmpty)
        #expect(dialogue.server(Self.update(Self.nothing, of: "av1")).isEmpty)
    }

    @Test func `it is sent all the same where dynacast was not asked for`() {
        #expect(Self.publishing(dynacast: false).server(Self.update(Self.nothing)).isEmpty)
    }

    @Test func `each connection begins as if it was wanted`() {
        let dialogue = Self.publishing()
        _ = dialogue.server(Self.update(Self.nothing))
        _ = dialogue.signalLost()
        _ = dialogue.pass(.milliseconds(300))
        let resumed = dialogue.server(.reconnect(.init()))
        #expect(resumed.prefix(2) == ["! 1 up to high", "* TR_mine is taken up to high"])
        _ = dialogue.server(Self.update(Self.nothing))
        _ = dialogue.server(.leave(.with { $0.action = .reconnect }))
        _ = dialogue.pass(.seconds(Int64(2)))
        let joined = dialogue.server(Dialogue.join(sid: "PA_again"))
        #expect(joined.contains("! 1 up to high") && joined.contains("! add vp8 as 1"))
        // The new session's track was never said not to be wanted.
        #expect(dialogue.machine.publishing.tracks.map(\.wanted) == [.high])
    }
}
