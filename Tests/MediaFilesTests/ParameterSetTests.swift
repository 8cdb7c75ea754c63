import Foundation
import RTCEngine
import RTCWire
import Testing

@testable import MediaFiles

/// A sender that changes its picture in mid-call, as browsers do: the recording has to decode before and after.
@Suite(.enabled(if: TestMedia.hasFFmpeg)) struct `Recording a picture that changes` {
    /// The test video, encoded anew at another size. Its picture parameter set stays the same.
    private static func encoded(_ width: Int, _ height: Int) throws -> MediaTrack {
        let bytes = try TestMedia.run(
            "ffmpeg",
            [
                "-v", "error", "-i", "INPUT", "-vf", "scale=\(width):\(height)", "-c:v", "libx264", "-profile:v",
                "baseline", "-qp", "24", "-g", "30", "-sc_threshold", "0", "-threads", "1", "-movflags",
                "frag_keyframe+empty_moov", "-f", "mp4", "-",
            ], input: try TestMedia.bytes("webRtcTestVideo.mp4"), fileExtension: "mp4")
        return try #require(try MediaFile(reading: bytes, name: "film.mp4").video)
    }

    /// Leaves out the parameter sets of a frame that the receiver has had as they are.
    private static func withoutKnownSets(_ payload: [UInt8], _ known: inout [[UInt8]]) -> [UInt8] {
        var frame: [UInt8] = []
        var units = AnnexBReader(payload.span.bytes)
        while let range = units.next() {
            let unit = Array(payload[range])
            if NALCodec.h264.isParameterSet(unit) {
                if known.contains(unit) { continue }
                known.removeAll { $0[0] == unit[0] }
                known.append(unit)
            }
            AnnexB.append(unit.span.bytes, to: &frame)
        }
        return frame
    }

    @Test(arguments: [false, true])
    func `every picture decodes, to another size and back`(isSparing: Bool) throws {
        let tracks = [try Self.encoded(640, 360), try Self.encoded(320, 180)]
        let pictureSets = tracks.map { parameterSets(of: $0.frames[0].payload)?.pictureParameterSets }
        #expect(pictureSets[0] == pictureSets[1])
        var recorder = try Recorder(video: .h264, audio: nil)
        var file = MemoryFile()
        var known: [[UInt8]] = []
        for index in 0..<180 {
            let frame = tracks[index / 60 % 2].frames[index]
            let payload = isSparing ? Self.withoutKnownSets(frame.payload, &known) : frame.payload
            recorder.receive(
                EncodedFrame(
                    payload: payload, timestamp: UInt32(index * 3_000), isKeyFrame: frame.isKeyFrame, format: .h264),
                at: .zero + .milliseconds(Int64(index) * 1_000 / 30))
            file.apply(&recorder)
        }
        recorder.finish()
        file.apply(&recorder)
        #expect(try counters(file.bytes) == Array(0..<180))
        // A player that begins in the middle has but the header and the key frame there.
        #expect(try counters(file.bytes, from: "3").last == 179)
        #expect(try counters(file.bytes, from: "3").allSatisfy { $0 != nil })
        #expect(try TestMedia.probe("stream=codec_tag_string", file.bytes, "mp4") == ["avc3"])
        // And we read it as it was sent.
        let read = try #require(try MediaFile(reading: file.bytes, name: "call.mp4").video)
        let sizes = [0, 60, 120].map { index in
            parameterSets(of: read.frames[index].payload)?.sequenceParameterSets.first
                .flatMap { H264SequenceParameterSet($0.span.bytes)?.width }
        }
        #expect(sizes == [640, 320, 640])
    }

    @Test func `a picture that stays the same needs no parameter sets in its samples`() throws {
        let (bytes, _) = try record(video: try TestMedia.track("webRtcTestVideo.mp4"), audio: nil)
        #expect(try TestMedia.probe("stream=codec_tag_string", bytes, "mp4") == ["avc1"])
    }

    @Test func `ids are read from both kinds of sets`() {
        var sets = ParameterSets(.h264)
        let first: [UInt8] = [0, 0, 0, 1, 0x67, 66, 0xe0, 31, 0b1010_0000, 0, 0, 0, 1, 0x68, 0b1000_0000]
        // Picture set 255: eight zeros, then 1 0000 0000; sequence set 1.
        let others: [UInt8] = [
            0, 0, 0, 1, 0x68, 0, 0b1000_0000, 0b0100_0000, 0, 0, 0, 1, 0x67, 66, 0xe0, 31, 0b0101_0000,
        ]
        // Ids beyond what the standard knows, and sets that are cut off.
        let broken: [UInt8] = [0, 0, 0, 1, 0x68, 0, 0, 1, 1, 0, 0, 0, 1, 0x67, 66, 0, 0, 0, 1, 0x67]
        let changes = [first, first, others, broken].map { sets.receive(frame: $0) }
        #expect(changes == [true, false, true, false])
        #expect(sets.units.count == 4)
    }

    @Test func `sets are held in a few kilobytes, whatever a publisher sends`() {
        var sets = ParameterSets(.h264)
        func picture(_ id: Int, size: Int) -> [UInt8] {
            // ue(v): as many zeros as the number plus one has bits behind its first.
            let code = String(id + 1, radix: 2)
            let bits = String(repeating: "0", count: code.count - 1) + code
            let padded = bits.padding(toLength: (bits.count + 7) / 8 * 8, withPad: "1", startingAt: 0)
            let head = stride(from: 0, to: padded.count, by: 8).compactMap {
                UInt8(padded.dropFirst($0).prefix(8), radix: 2)
            }
            return [0x68] + head + [UInt8](repeating: 0xff, count: size)
        }
        for id in 0..<256 {
            sets.receive(frame: [0, 0, 0, 1] + picture(id, size: 60_000))
            sets.receive(frame: [0, 0, 0, 1] + picture(id, size: 900))
        }
        #expect(sets.units.count == 4)
        #expect(sets.units.allSatisfy { $0.count < 1_024 })
        #expect(sets.holdsOne(like: picture(0, size: 900)) && !sets.holdsOne(like: picture(200, size: 900)))
        // One that is held may change within the bounds.
        let isLarger = sets.receive(frame: [0, 0, 0, 1] + picture(0, size: 1_100))
        let isSmaller = sets.receive(frame: [0, 0, 0, 1] + picture(0, size: 20))
        #expect(!isLarger && isSmaller)
        #expect(sets.units.count == 4)
    }
}
