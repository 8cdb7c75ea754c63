import Foundation
import MediaFiles
import RTCEngine
import RTCWire
import Testing

@testable import LiveKitRecorder

/// What one side of a call receives, and the files that come of it.
@Suite struct CallRecordingTests {
    private struct Delivery {
        /// Milliseconds.
        let at: Int64
        let format: PayloadFormat
    }

    /// One every 20 ms, between two times in milliseconds.
    private static func frames(_ format: PayloadFormat, _ time: Range<Int64>) -> [Delivery] {
        stride(from: time.lowerBound, to: time.upperBound, by: 20).map { Delivery(at: $0, format: format) }
    }

    /// A key frame, or a packet of 20 ms.
    private static func payload(_ format: PayloadFormat) -> [UInt8] {
        switch format {
        case .h264:
            // The parameter sets of 640 by 360 pixels, and the beginning of a slice.
            [
                0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x1e, 0xd8, 0x90, 0x28, 0x0b, 0xfe, 0x59, 0xa8, 0x10, 0x10, 0x0a, 0x00,
                0x00, 0x03, 0x00, 0x02, 0x00, 0x00, 0x03, 0x00, 0x78, 0x1e, 0x2c, 0x5c, 0x4c, 0, 0, 0, 1, 0x68, 0xc8,
                0x88, 0xcb, 0x20, 0, 0, 0, 1, 0x65, 0x88, 0x84,
            ]
        case .vp8: [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0x68, 0x01, 0, 0, 0]
        case .vp9: [0x83, 0x49, 0x83, 0x42, 0x00, 0x13, 0xf0, 0x0b, 0x38, 0x27, 0xf8, 0, 0, 0, 0, 0]
        case .opus: [0xf8, 1, 2]
        case .pcmu, .pcma: [UInt8](repeating: 0xff, count: 160)
        case .av1, .h265: []
        }
    }

    private static func inFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "roost-call-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    /// What comes at the same time comes in the order in which it is listed.
    private static func receive(_ deliveries: [Delivery], _ recording: CallRecording) throws {
        let inOrder = deliveries.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }
        for (_, delivery) in inOrder {
            let ticks = delivery.at * Int64(delivery.format.clockRate) / 1_000
            try recording.receive(
                EncodedFrame(
                    payload: payload(delivery.format), timestamp: UInt32(ticks), isKeyFrame: true,
                    format: delivery.format), at: .zero + .milliseconds(delivery.at))
        }
    }

    private static func record(_ deliveries: [Delivery], _ body: ([URL]) throws -> Void) throws {
        try inFolder { folder in
            let recording = CallRecording(folder: folder, name: "Ann")
            try receive(deliveries, recording)
            try recording.finish()
            try body(recording.files)
        }
    }

    private static func size(_ file: URL) throws -> Int { try Data(contentsOf: file).count }

    @Test func `picture and sound are one file`() throws {
        try Self.record(Self.frames(.opus, 0..<2_000) + Self.frames(.h264, 400..<2_000)) { files in
            #expect(files.map(\.lastPathComponent) == ["Ann-received.mp4"])
            let film = try MediaFile(path: files[0].path)
            #expect(film.video?.frames.count == 80 && film.audio?.frames.count == 100)
        }
    }

    @Test func `a picture that changes its codec goes on in another file, and the sound with it`() throws {
        let deliveries =
            Self.frames(.h264, 0..<2_000) + Self.frames(.vp8, 2_000..<4_000) + Self.frames(.h264, 4_000..<5_000)
            + Self.frames(.opus, 0..<5_000)
        try Self.record(deliveries) { files in
            #expect(
                files.map(\.lastPathComponent) == ["Ann-received.mp4", "Ann-received.webm", "Ann-received-2.mp4"])
            for (file, seconds) in [(files[0], 2), (files[2], 1)] {
                let film = try MediaFile(path: file.path)
                #expect(film.video?.frames.count == seconds * 50 && film.audio?.frames.count == seconds * 50)
            }
            let size = try Self.size(files[1])
            #expect(size > 100 * 16)
        }
    }

    @Test func `a picture that comes long after the sound begins a file of both`() throws {
        try Self.record(Self.frames(.vp8, 11_000..<12_000) + Self.frames(.opus, 0..<12_000)) { files in
            #expect(files.map(\.lastPathComponent) == ["Ann-received.ogg", "Ann-received.webm"])
            let (sound, size) = (try MediaFile(path: files[0].path).audio, try Self.size(files[1]))
            #expect(sound?.frames.count == 550)
            #expect(size > 50 * 16)
        }
    }

    @Test func `sound alone is an Ogg of Opus or a WAV of G711`() throws {
        for (format, ending) in [(.opus, "ogg"), (.pcmu, "wav"), (.pcma, "wav")] as [(PayloadFormat, String)] {
            try Self.record(Self.frames(format, 0..<1_000)) { files in
                #expect(files.map(\.lastPathComponent) == ["Ann-received.\(ending)"])
                let sound = try #require(try MediaFile(path: files[0].path).audio)
                #expect(sound.format == format && sound.frames.count == 50)
            }
        }
    }

    @Test func `sound that no file holds beside the picture has one of its own`() throws {
        try Self.record(Self.frames(.pcmu, 0..<1_000) + Self.frames(.h264, 0..<1_000)) { files in
            #expect(files.map(\.lastPathComponent) == ["Ann-received.wav", "Ann-received.mp4"])
            let (sound, picture) = (try MediaFile(path: files[0].path).audio, try MediaFile(path: files[1].path).video)
            #expect(sound?.frames.count == 50 && picture?.frames.count == 50)
        }
        try Self.record(Self.frames(.opus, 0..<1_000) + Self.frames(.vp9, 500..<1_000)) { files in
            #expect(files.map(\.lastPathComponent) == ["Ann-received.ogg", "Ann-received.ivf"])
            let (sound, picture) = (try MediaFile(path: files[0].path).audio, try MediaFile(path: files[1].path).video)
            #expect(sound?.frames.count == 50 && picture?.frames.count == 25)
        }
    }

    @Test func `sound that changes its codec goes on in another file, and nothing that was held is lost`() throws {
        try Self.record(Self.frames(.opus, 0..<1_000) + Self.frames(.pcma, 1_000..<2_000)) { files in
            #expect(files.map(\.lastPathComponent) == ["Ann-received.ogg", "Ann-received.wav"])
            for file in files {
                let sound = try MediaFile(path: file.path).audio
                #expect(sound?.frames.count == 50)
            }
        }
    }

    @Test func `pictures that no file can begin with leave none`() throws {
        try Self.inFolder { folder in
            let recording = CallRecording(folder: folder, name: "Ann")
            // An IDR picture without parameter sets.
            let frame = EncodedFrame(
                payload: [0, 0, 0, 1, 0x65, 0x88, 0x84], timestamp: 0, isKeyFrame: true, format: .h264)
            for _ in 0..<3 { try recording.receive(frame, at: .zero) }
            try recording.finish()
            #expect(recording.files.isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @Test func `who changes codecs without end has so many files`() throws {
        let deliveries = (0..<300).map { Delivery(at: $0 * 20, format: $0 % 2 == 0 ? .h264 : .vp8) }
        try Self.record(deliveries) { files in #expect(files.count == CallRecording.fileLimit) }
        // One of them is of sound that had waited for a picture.
        let sounds = (0..<99).map { Delivery(at: $0 * 20, format: $0 % 2 == 0 ? .pcmu : .pcma) }
        let last = [Delivery(at: 1_980, format: .opus), Delivery(at: 2_000, format: .pcma)]
        try Self.record(sounds + last) { files in
            #expect(files.count == CallRecording.fileLimit && files.last?.pathExtension == "ogg")
        }
    }

    @Test func `a file that cannot be written leaves the others whole`() throws {
        try Self.inFolder { folder in
            let recording = CallRecording(folder: folder, name: "Ann")
            try Self.receive(Self.frames(.h264, 0..<1_000) + Self.frames(.pcmu, 0..<1_000), recording)
            let film = try #require(recording.files.first)
            fillDisk(under: film)
            #expect(throws: MediaFileError.diskFull(file: film.path)) { try recording.finish() }
            #expect(recording.files.map(\.lastPathComponent) == ["Ann-received.wav"])
            let sound = try MediaFile(path: recording.files[0].path).audio
            #expect(sound?.frames.count == 50)
        }
    }

    /// Letters and signs that Swift writes together with what follows them (UAX #29, Prepend).
    @Test(arguments: [
        "\u{0600}", "\u{0605}", "\u{06DD}", "\u{070F}", "\u{0890}", "\u{08E2}", "\u{0D4E}", "\u{110BD}", "\u{111C2}",
        "\u{111C3}", "\u{1193F}", "\u{11941}", "\u{11A3A}", "\u{11A84}", "\u{11A89}", "\u{11D46}", "\u{11F02}",
    ])
    func `a name makes no folder and no ending, whatever is written before its slash`(letter: String) throws {
        for name in ["x\(letter)/y", "\(letter)/../../y", "\(letter).", "/\u{301}y"] {
            try Self.inFolder { folder in
                let recording = CallRecording(folder: folder, name: name)
                try recording.receive(
                    EncodedFrame(payload: [0xff], timestamp: 0, isKeyFrame: true, format: .pcmu), at: .zero)
                try recording.finish()
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(names.count == 1)
                let file = try #require(names.first)
                #expect(file.unicodeScalars.filter { $0 == "." }.count == 1)
                #expect(file.hasSuffix("-received.wav"))
            }
        }
    }
}
