import LiveKitProtocol
import SwiftProtobuf
import Testing

@testable import LiveKitRecorder
@testable import LiveKitServer

/// The states of one recording, as services are told of them.
@Suite struct EgressTests {
    private static let room = LiveKitRoom.with {
        $0.name = "kitchen"
        $0.sid = "RM_x"
    }

    private static func egress(_ scope: Egress.Scope) -> Egress {
        Egress(id: "EG_x", scope: scope, template: "film", room: room, index: "index.json", at: 1)
    }

    private static func track(_ sid: String, _ type: LiveKitTrackType = .video) -> LiveKitTrackInfo {
        .with {
            $0.sid = sid
            $0.type = type
        }
    }

    private static let file = RecordedFile(path: "film.webm", startedAt: 2, endedAt: 9, duration: 7, size: 100)

    @Test func `a track is recorded from its first frame until it ends`() {
        var egress = Self.egress(.track("TR_a"))
        #expect(egress.info.status == .egressStarting && egress.isActive && egress.isRunning)
        #expect(egress.info.track.trackID == "TR_a" && egress.info.track.file.filepath == "film")
        _ = egress.took("TR_a", at: 2)
        #expect(!egress.wants(Self.track("TR_a")))
        #expect(egress.fileBegan("film.webm", of: "TR_a", at: 2) == .updated)
        #expect(egress.info.status == .egressActive && egress.info.startedAt == 2)
        egress.fileEnded(Self.file, of: "TR_a")
        #expect(egress.trackEnded("TR_a", nil, at: 10) == .ended)
        #expect(egress.info.status == .egressComplete && !egress.isActive)
        #expect(egress.info.endedAt == 10 && egress.info.updatedAt == 10)
        #expect(egress.info.fileResults == [egress.info.file])
        #expect(egress.info.file.filename == "film.webm" && egress.info.file.size == 100)
        #expect(egress.info.file.startedAt == 2 && egress.info.file.endedAt == 9 && egress.info.file.duration == 7)
    }

    @Test func `who stops it waits for the file`() {
        var egress = Self.egress(.track("TR_a"))
        _ = egress.took("TR_a", at: 2)
        _ = egress.fileBegan("film.webm", of: "TR_a", at: 2)
        #expect(egress.stopRequested(at: 5) == .updated)
        #expect(egress.info.status == .egressEnding && egress.isActive && !egress.isRunning)
        #expect(egress.stopRequested(at: 6) == nil)
        egress.fileEnded(Self.file, of: "TR_a")
        #expect(egress.trackEnded("TR_a", nil, at: 7) == .ended)
        #expect(egress.info.status == .egressComplete)
        #expect(egress.trackEnded("TR_a", .diskFull, at: 8) == nil)
        #expect(egress.info.status == .egressComplete)
    }

    @Test func `a track of which nothing came is aborted`() {
        var egress = Self.egress(.track("TR_a"))
        _ = egress.took("TR_a", at: 2)
        _ = egress.stopRequested(at: 5)
        #expect(egress.trackEnded("TR_a", nil, at: 6) == .ended)
        #expect(egress.info.status == .egressAborted && !egress.info.error.isEmpty && egress.info.errorCode == 412)
    }

    @Test func `a track whose pictures are none to begin a file with is a failure`() {
        var egress = Self.egress(.track("TR_a"))
        _ = egress.took("TR_a", at: 2)
        #expect(egress.trackEnded("TR_a", .noBeginning(codec: "video/H264"), at: 6) == .ended)
        #expect(egress.info.status == .egressFailed && egress.info.fileResults.isEmpty)
        #expect(egress.info.error == "None of its pictures in video/H264 is one that a file can begin with.")
    }

    @Test func `a full disk is a failure, and what was written is still told of`() {
        var egress = Self.egress(.track("TR_a"))
        _ = egress.took("TR_a", at: 2)
        _ = egress.fileBegan("film.webm", of: "TR_a", at: 2)
        egress.fileEnded(Self.file, of: "TR_a")
        #expect(egress.trackEnded("TR_a", .diskFull, at: 6) == .ended)
        #expect(egress.info.status == .egressFailed && egress.info.error == "The disk is full.")
        #expect(egress.info.fileResults.map(\.size) == [100])
    }

    @Test func `a room is recorded without anybody in it, until it is over`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        #expect(egress.info.egress.preset == .passthrough && egress.info.egress.outputs[0].file.filepath == "film")
        #expect(egress.becameActive(at: 2) == .updated)
        #expect(egress.wants(Self.track("TR_a")) && egress.wants(Self.track("TR_b", .audio)))
        for (sid, path) in [("TR_a", "a.webm"), ("TR_b", "b.ogg")] {
            _ = egress.took(sid, at: 2)
            #expect(egress.fileBegan(path, of: sid, at: 3) == nil)
        }
        #expect(egress.trackEnded("TR_a", nil, at: 4) == nil)
        #expect(egress.info.status == .egressActive)
        #expect(egress.orphaned(nil, at: 5) == nil)
        #expect(egress.trackEnded("TR_b", nil, at: 6) == .ended)
        #expect(
            egress.info.status == .egressComplete && egress.info.fileResults.map(\.filename) == ["a.webm", "b.ogg"])
        // The field from before there were several files has none of them.
        #expect(egress.info.result == nil)
    }

    @Test func `a room's recording that is stopped takes no more tracks, and ends with its last file`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        _ = egress.took("TR_a", at: 2)
        #expect(egress.stopRequested(at: 3) == .updated)
        #expect(!egress.wants(Self.track("TR_b")))
        #expect(egress.trackEnded("TR_a", nil, at: 4) == .ended)
        var empty = Self.egress(.room(sound: true, pictures: true))
        _ = empty.becameActive(at: 2)
        #expect(empty.stopRequested(at: 3) == .ended)
        #expect(empty.info.status == .egressComplete)
    }

    @Test func `sound or pictures of a room can be had alone`() {
        let sound = Self.egress(.room(sound: true, pictures: false))
        #expect(sound.info.egress.template.audioOnly && !sound.info.egress.template.videoOnly)
        #expect(!sound.wants(Self.track("TR_a")) && sound.wants(Self.track("TR_b", .audio)))
        let pictures = Self.egress(.room(sound: false, pictures: true))
        #expect(pictures.info.egress.template.videoOnly && !pictures.info.egress.template.audioOnly)
        #expect(pictures.wants(Self.track("TR_a")) && !pictures.wants(Self.track("TR_b", .audio)))
        #expect(!pictures.wants(Self.track("TR_c", .data)))
    }

    @Test func `one track of a room that no file holds is left out, and a full disk ends all`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        _ = egress.took("TR_a", at: 2)
        #expect(egress.trackEnded("TR_a", .unsupported(codec: "video/H265"), at: 3) == .updated)
        #expect(egress.info.details.contains("TR_a: There is no file that holds video/H265."))
        #expect(!egress.wants(Self.track("TR_a")))
        _ = egress.took("TR_b", at: 2)
        _ = egress.took("TR_c", at: 2)
        #expect(egress.trackEnded("TR_b", .diskFull, at: 4) == nil)
        #expect(egress.trackEnded("TR_c", .diskFull, at: 5) == .ended)
        #expect(egress.info.status == .egressFailed && egress.info.error == "The disk is full.")
    }

    @Test func `one that the recorder may not have is left out, and so is what comes when there are too many files`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        for (sid, failure) in [
            ("TR_a", .notAllowed), ("TR_b", .encrypted), ("TR_c", .tooManyFiles(limit: 9)),
            ("TR_d", .tooManyChanges(limit: 9)),
        ] as [(String, RecordingFailure)] {
            _ = egress.took(sid, at: 2)
            #expect(egress.trackEnded(sid, failure, at: 3) == .updated)
            #expect(egress.info.details.contains("\(sid): \(failure)"))
        }
        #expect(egress.info.status == .egressActive)
    }

    @Test func `files in which something is missing are named, also at the end, and the others go on`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        for sid in ["TR_a", "TR_b", "TR_c"] { _ = egress.took(sid, at: 2) }
        let hole = RecordingFailure.fellBehind(frames: 7)
        #expect(egress.trackEnded("TR_a", hole, at: 3) == .updated)
        #expect(egress.info.details == "Not complete: TR_a: \(hole)" && egress.info.status == .egressActive)
        #expect(egress.omit("TR_d", "Full.", at: 3) == .updated)
        #expect(egress.info.details == "Not recorded: TR_d: Full. Not complete: TR_a: \(hole)")
        _ = egress.fileBegan("b.ogg", of: "TR_b", at: 3)
        _ = egress.stopRequested(at: 4)
        _ = egress.trackEnded("TR_b", nil, at: 5)
        #expect(egress.trackEnded("TR_c", hole, at: 5) == .ended)
        #expect(egress.info.details.contains("TR_c: \(hole)") && egress.info.status == .egressComplete)
        var one = Self.egress(.track("TR_a"))
        _ = one.took("TR_a", at: 2)
        _ = one.fileBegan("a.ogg", of: "TR_a", at: 2)
        #expect(one.trackEnded("TR_a", hole, at: 3) == .ended)
        #expect(one.info.status == .egressFailed && one.info.error == hole.description)
    }

    @Test func `one that finds no place waits for it, and is left out no more once it has one`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        #expect(egress.omit("TR_a", "Full.", waits: true, at: 3) == .updated)
        #expect(egress.omit("TR_b", "Secret.", at: 3) == .updated)
        #expect(egress.info.details == "Not recorded: TR_a: Full. TR_b: Secret.")
        #expect(egress.wants(Self.track("TR_a")) && !egress.wants(Self.track("TR_b")))
        #expect(egress.took("TR_a", at: 4) == .updated && egress.info.updatedAt == 4)
        #expect(egress.info.details == "Not recorded: TR_b: Secret." && egress.waiting.isEmpty)
        #expect(!egress.wants(Self.track("TR_a")))
        #expect(egress.took("TR_c", at: 5) == nil && egress.info.updatedAt == 4)
    }

    @Test func `one that goes while it waits is waited for no more, and was left out`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        for number in 0..<Egress.trackLimit * 2 {
            _ = egress.omit("TR_\(number)", "Full.", waits: true, at: 3)
            egress.gone("TR_\(number)")
        }
        #expect(egress.waiting.isEmpty && egress.known.isEmpty && !egress.isFull)
        #expect(egress.info.details.hasPrefix("Not recorded: TR_0: Full. TR_1: Full."))
        // Of the twenty that are named one is back, and has a place: the next one is named instead.
        #expect(!egress.info.details.contains("TR_20:"))
        #expect(egress.took("TR_0", at: 4) == .updated)
        #expect(!egress.info.details.contains("TR_0:") && egress.info.details.contains("TR_20: Full."))
    }

    @Test func `one that is left out twice is named once`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        #expect(egress.omit("TR_a", "Full.", waits: true, at: 3) == .updated)
        egress.gone("TR_a")
        #expect(egress.omit("TR_a", "Full.", waits: true, at: 4) == nil)
        #expect(egress.info.details == "Not recorded: TR_a: Full." && egress.waiting == ["TR_a"])
    }

    @Test(arguments: [true, false])
    func `a room of which all was left out has failed, and says why`(waits: Bool) {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        _ = egress.omit("TR_a", "Full.", waits: waits, at: 3)
        #expect(egress.stopRequested(at: 4) == .ended)
        #expect(egress.info.status == .egressFailed && egress.info.error == "Not recorded: TR_a: Full.")
        var other = Self.egress(.room(sound: true, pictures: true))
        _ = other.becameActive(at: 2)
        _ = other.omit("TR_a", "Full.", waits: waits, at: 3)
        _ = other.took("TR_b", at: 2)
        _ = other.fileBegan("b.webm", of: "TR_b", at: 4)
        #expect(other.orphaned(nil, at: 5) == nil && other.trackEnded("TR_b", nil, at: 6) == .ended)
        #expect(other.info.status == .egressComplete && other.info.details == "Not recorded: TR_a: Full.")
    }

    @Test func `nothing of a recording grows without end`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        for number in 0..<Egress.trackLimit * 2 {
            let sid = "TR_\(number)"
            if egress.isFull {
                _ = egress.omit(sid, "too many", at: 3)
            } else {
                _ = egress.took(sid, at: 2)
                for _ in 0..<2 { _ = egress.fileBegan("\(sid).ogg", of: sid, at: 3) }
                _ = egress.trackEnded(sid, nil, at: 4)
            }
        }
        for number in 0..<Egress.trackLimit * 2 { _ = egress.omit("TR_w\(number)", "full", waits: true, at: 5) }
        #expect(egress.known.count == Egress.trackLimit && egress.waiting.count == Egress.trackLimit)
        #expect(egress.info.fileResults.count == Egress.trackLimit)
        #expect(egress.info.details.utf8.count < 1_000)
    }

    @Test func `a recorder that is sent away is a failure`() {
        var egress = Self.egress(.room(sound: true, pictures: true))
        _ = egress.becameActive(at: 2)
        #expect(egress.orphaned(.notInRoom("We were removed from the room."), at: 3) == .ended)
        #expect(egress.info.status == .egressFailed && egress.info.error == "We were removed from the room.")
    }
}
