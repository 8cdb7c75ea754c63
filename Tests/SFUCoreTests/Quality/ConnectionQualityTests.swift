import RTCEngine
import Testing

@testable import SFUCore

/// A connection as a word.
@Suite struct ConnectionQualityTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var observation: QualityObservation
        /// Rounded.
        var score: Int
    }

    private static let rows = [
        Row(
            testDescription: "perfect", observation: QualityObservation(media: .audio, expectedPackets: 250), score: 100
        ),
        Row(
            testDescription: "100 ms and 10 ms of jitter",
            observation: QualityObservation(
                media: .audio, expectedPackets: 250, roundTrip: .milliseconds(100), jitter: .milliseconds(10)),
            score: 98),
        Row(
            testDescription: "half a second",
            observation: QualityObservation(media: .audio, expectedPackets: 250, roundTrip: .milliseconds(500)),
            score: 86),
        Row(
            testDescription: "two seconds",
            observation: QualityObservation(media: .audio, expectedPackets: 250, roundTrip: .seconds(Int64(2))),
            score: 0),
        Row(
            testDescription: "sound, 2 % lost",
            observation: QualityObservation(media: .audio, expectedPackets: 250, lostPackets: 5), score: 84),
        Row(
            testDescription: "sound, 10 % lost",
            observation: QualityObservation(media: .audio, expectedPackets: 250, lostPackets: 25), score: 53),
        Row(
            testDescription: "with redundancy, 10 % lost",
            observation: QualityObservation(media: .redundantAudio, expectedPackets: 250, lostPackets: 25), score: 81),
        Row(
            testDescription: "pictures, 2 % lost",
            observation: QualityObservation(media: .video, expectedPackets: 500, lostPackets: 10), score: 76),
        Row(
            testDescription: "a tenth less than expected",
            observation: QualityObservation(
                media: .video, expectedPackets: 500, expectedBitrate: .megabits(1), receivedBitrate: .kilobits(900)),
            score: 100),
        Row(
            testDescription: "half of what was expected",
            observation: QualityObservation(
                media: .video, expectedPackets: 500, expectedBitrate: .megabits(1), receivedBitrate: .kilobits(500)),
            score: 82),
        Row(
            testDescription: "more than expected",
            observation: QualityObservation(
                media: .video, expectedPackets: 500, expectedBitrate: .megabits(1), receivedBitrate: .megabits(2)),
            score: 100),
        Row(
            testDescription: "one layer less",
            observation: QualityObservation(media: .video, expectedPackets: 500, missingLayers: 1), score: 85),
        Row(
            testDescription: "two layers less",
            observation: QualityObservation(media: .video, expectedPackets: 500, missingLayers: 2), score: 70),
        Row(
            testDescription: "all lost",
            observation: QualityObservation(media: .audio, expectedPackets: 250, lostPackets: 250), score: 0),
        Row(
            testDescription: "nothing came", observation: QualityObservation(media: .audio, expectedPackets: 0),
            score: 0),
        Row(
            testDescription: "muted", observation: QualityObservation(media: .audio, expectedPackets: 0, isMuted: true),
            score: 100),
        Row(
            testDescription: "more came than was expected",
            observation: QualityObservation(media: .audio, expectedPackets: 250, lostPackets: -5), score: 100),
    ]

    @Test(arguments: rows)
    func `a score`(row: Row) {
        #expect(Int(row.observation.score.rounded()) == row.score)
    }

    private func sound(lost: Int) -> QualityObservation {
        QualityObservation(media: .audio, expectedPackets: 100, lostPackets: lost)
    }

    @Test func `it falls at once and rises slowly, one word at a time`() {
        var judge = QualityJudge()
        #expect(judge.quality == .excellent)
        #expect(judge.observe([sound(lost: 0)]) == nil)
        #expect(judge.observe([sound(lost: 20)]) == .poor)
        #expect(judge.observe([sound(lost: 0)]) == nil)
        #expect(judge.observe([sound(lost: 0)]) == .good)
        #expect(judge.observe([sound(lost: 0)]) == nil)
        #expect(judge.observe([sound(lost: 0)]) == .excellent)
        #expect(judge.observe([sound(lost: 100)]) == .lost)
        #expect(judge.observe([sound(lost: 20)]) == nil)
        #expect(judge.observe([sound(lost: 20)]) == .poor)
    }

    @Test func `what is only just better does not count`() {
        var judge = QualityJudge()
        // 78.5, then 81.4: above 80, and not by the margin.
        let (below, above) = (
            QualityObservation(media: .audio, expectedPackets: 1_000, lostPackets: 29),
            QualityObservation(media: .audio, expectedPackets: 1_000, lostPackets: 24)
        )
        #expect(judge.observe([below]) == .good)
        for _ in 0..<5 { #expect(judge.observe([above]) == nil) }
        #expect(judge.observe([sound(lost: 0)]) == nil)
        #expect(judge.observe([above]) == nil)
        #expect(judge.observe([sound(lost: 0)]) == nil)
        #expect(judge.observe([sound(lost: 0)]) == .excellent)
    }

    @Test func `the worst track decides, and silence by will is no fault`() {
        var judge = QualityJudge()
        let muted = QualityObservation(media: .audio, expectedPackets: 0, isMuted: true)
        #expect(judge.observe([]) == nil)
        #expect(judge.observe([muted]) == nil)
        #expect(judge.observe([sound(lost: 0), sound(lost: 20), muted]) == .poor)
        // One track that stands still is poor; all of them is lost.
        #expect(judge.observe([sound(lost: 0), sound(lost: 100)]) == nil)
        #expect(judge.observe([sound(lost: 100), sound(lost: 100), muted]) == .lost)
    }
}
