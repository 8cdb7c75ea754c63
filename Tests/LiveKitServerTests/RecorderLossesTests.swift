import RTCEngine
import Testing

@testable import LiveKitRecorder
@testable import LiveKitServer

/// When no other recorder comes, without waiting for it.
@Suite struct RecorderLossesTests {
    private static let loss = RecordingFailure.notInRoom("We were removed from the room.")

    private static func second(_ number: Int64) -> Instant { Instant(nanoseconds: number * 1_000_000_000) }

    @Test func `two that are lost within ten seconds of coming are enough, however many tracks each had`() {
        var losses = RecorderLosses()
        for _ in 0..<3 { losses.trackEnded(Self.loss, recorderCame: Self.second(1), at: Self.second(2)) }
        #expect(losses.count == 1 && !losses.areTooMany)
        losses.trackEnded(Self.loss, recorderCame: Self.second(2), at: Self.second(11))
        #expect(losses.count == 2 && losses.areTooMany && losses.reason == Self.loss)
    }

    @Test func `one that stays for ten seconds is one to begin anew with, whether it is lost or not`() {
        let ends: [RecordingFailure?] = [Self.loss, nil]
        for end in ends {
            var losses = RecorderLosses()
            losses.trackEnded(Self.loss, recorderCame: Self.second(1), at: Self.second(2))
            losses.trackEnded(end, recorderCame: Self.second(2), at: Self.second(12))
            #expect(losses.count == 0)
            losses.trackEnded(Self.loss, recorderCame: Self.second(12), at: Self.second(13))
            #expect(!losses.areTooMany)
        }
    }

    @Test func `a track that ends is no loss, and one of which the file was long in closing does not make one less`() {
        var losses = RecorderLosses()
        losses.trackEnded(nil, recorderCame: Self.second(1), at: Self.second(2))
        #expect(losses.count == 0)
        losses.trackEnded(Self.loss, recorderCame: Self.second(1), at: Self.second(3))
        losses.trackEnded(Self.loss, recorderCame: Self.second(1), at: Self.second(30))
        #expect(losses.count == 1)
    }
}
