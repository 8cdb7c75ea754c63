import Foundation
import Testing

@testable import LiveKitRecorder

@Suite struct RecordingPathTests {
    private static var subject: RecordingPath.Subject {
        var subject = RecordingPath.Subject(time: Date(timeIntervalSince1970: 1_136_214_245))
        subject.roomName = "stand up"
        subject.roomID = "RM_x"
        subject.publisherIdentity = "ann"
        subject.trackID = "TR_VCx"
        subject.trackType = "video"
        subject.trackSource = "screen_share"
        return subject
    }

    private func path(_ template: String, _ change: (inout RecordingPath.Subject) -> Void = { _ in }) -> String {
        var subject = Self.subject
        change(&subject)
        return RecordingPath(template, of: subject).description
    }

    @Test(arguments: [
        ("{room_name}/{publisher_identity}", "stand_up/ann"),
        ("{room_id}-{track_id}-{track_type}-{track_source}", "RM_x-TR_VCx-video-screen_share"),
        ("at {time}", "at 2006-01-02T150405"), ("{utc}", "20060102150405"),
        ("", "stand_up-RM_x/ann-screen_share-TR_VCx"), ("monday/", "monday/ann-screen_share-TR_VCx"),
        ("/", "ann-screen_share-TR_VCx"),
    ])
    func `names stand for what is recorded, and what says no name gets the usual one`(template: String, path: String) {
        #expect(self.path(template) == path)
    }

    @Test(arguments: [
        ("film.mp4", "film"), ("film.MP4", "film"), ("v1.2", "v1.2"), (".webm", "_webm"), ("a.mp4/b", "a.mp4/b"),
    ])
    func `an extension of a container is left to the container`(template: String, path: String) {
        #expect(self.path(template) == path)
    }

    @Test(arguments: [
        ("../../etc/passwd", "_./_./etc/passwd"), ("/etc/passwd", "etc/passwd"), ("a//b", "a/b"), ("..", "_."),
        (".ssh/key", "_ssh/key"), ("a\\..\\b", "a_.._b"), ("a\u{0}b\nc\u{7f}", "a_b_c_"), ("{nothing}", "_nothing_"),
        ("a{b", "a_b"), ("~", "_"),
    ])
    func `a template leads nowhere but down`(template: String, path: String) {
        #expect(self.path(template) == path)
    }

    @Test(arguments: [
        ("../..", "_____"), ("/root", "_root"), ("a/b", "a_b"), ("\u{0}\u{1b}[31m", "___31m"), (".", "_"),
        ("{track_id}", "_track_id_"), ("Zoë", "Zoë"), ("Zoe\u{308}", "Zoe\u{308}"), ("नमस्ते", "नमस्ते"),
        ("x\u{0D4E}/y", "x\u{0D4E}_y"), ("x/\u{301}y", "x_\u{301}y"), ("x\u{200D}y\u{202E}z", "x_y_z"),
    ])
    func `a name of others' choice makes neither folders nor names of its own`(identity: String, path: String) {
        #expect(self.path("{publisher_identity}") { $0.publisherIdentity = identity } == path)
    }

    @Test func `a slash is one, and a dot in front is one, whatever is written around it`() {
        // One character to Swift, two to a file system: U+0D4E is written together with what follows it.
        #expect(RecordingPath("x\u{0D4E}/y", of: Self.subject).components == ["x\u{0D4E}", "y"])
        #expect(RecordingPath("x/\u{301}y", of: Self.subject).components == ["x", "_\u{301}y"])
        // And U+093E with what comes before it.
        #expect(path(".{room_name}") { $0.roomName = "\u{093E}" } == "_\u{093E}")
        #expect(path("a/..{room_name}") { $0.roomName = "\u{093E}" } == "a/_.\u{093E}")
        #expect(path("films\u{0D4E}/") == "films\u{0D4E}/ann-screen_share-TR_VCx")
    }

    @Test func `overlong names leave what tells tracks apart, and fit file systems`() {
        let long = path("{publisher_identity}-{track_source}-{track_id}") {
            $0.publisherIdentity = String(repeating: "ä", count: 4_000)
        }
        #expect(long.hasSuffix("-screen_share-TR_VCx"))
        #expect(long.utf8.count <= 160)
        let path = RecordingPath(String(repeating: "x", count: 5_000), of: Self.subject)
        #expect(path.components.map(\.utf8.count) == [RecordingPath.componentLimit])
        let deep = RecordingPath(String(repeating: "x/", count: 500) + "y", of: Self.subject)
        #expect(deep.components.count == RecordingPath.depthLimit && deep.components.last == "y")
    }
}
