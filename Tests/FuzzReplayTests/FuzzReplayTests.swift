import Foundation
import Testing

@testable import FuzzTargets

/// Runs every input that a fuzzer starts from, and every input that once crashed one, through its target. A crash is a
/// crash of this test; the name of the argument tells which input it was.
@Suite struct FuzzReplayTests {
    /// One parser with its folder of inputs.
    struct Parser: Sendable, CustomTestStringConvertible {
        let name: String
        let run: @Sendable (RawSpan) -> Void
        var testDescription: String { name }
    }

    static let parsers = [
        Parser(name: "AV1") { fuzzAV1($0) }, Parser(name: "H265") { fuzzH265($0) },
        Parser(name: "RED") { fuzzRED($0) }, Parser(name: "VP9") { fuzzVP9($0) }, Parser(name: "WAV") { fuzzWAV($0) },
        Parser(name: "CallEvents") { fuzzCallEvents($0) },
        Parser(name: "CallRoomParameters") { fuzzCallRoomParameters($0) }, Parser(name: "DCEP") { fuzzDCEP($0) },
        Parser(name: "DependencyDescriptor") { fuzzDependencyDescriptor($0) },
        Parser(name: "DTLS") { fuzzDTLS($0) }, Parser(name: "EngineIO") { fuzzEngineIO($0) },
        Parser(name: "H264") { fuzzH264($0) }, Parser(name: "ICECandidate") { fuzzICECandidate($0) },
        Parser(name: "IVF") { fuzzIVF($0) }, Parser(name: "MP4") { fuzzMP4($0) }, Parser(name: "Ogg") { fuzzOgg($0) },
        Parser(name: "MDNS") { fuzzMDNS($0) },
        Parser(name: "Opus") { fuzzOpus($0) }, Parser(name: "RTCP") { fuzzRTCP($0) },
        Parser(name: "RTP") { fuzzRTP($0) },
        Parser(name: "ReceiveStream") { fuzzReceiveStream($0) }, Parser(name: "SDP") { fuzzSDP($0) },
        Parser(name: "SCTP") { fuzzSCTP($0) },
        Parser(name: "SRTP") { fuzzSRTP($0) }, Parser(name: "STUN") { fuzzSTUN($0) },
        Parser(name: "SocketIO") { fuzzSocketIO($0) }, Parser(name: "TURN") { fuzzTURN($0) },
        Parser(name: "VP8") { fuzzVP8($0) }, Parser(name: "StreamFraming") { fuzzStreamFraming($0) },
        Parser(name: "WebSocket") { fuzzWebSocket($0) },
    ]

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fuzz")

    @Test(arguments: parsers)
    func `every input of the corpus and every past crash is taken`(parser: Parser) throws {
        var inputs = 0
        for folder in ["Corpus", "Crashes"] {
            let files = try? FileManager.default.contentsOfDirectory(
                at: Self.folder.appending(path: "\(folder)/\(parser.name)"), includingPropertiesForKeys: nil)
            for file in files ?? [] {
                let bytes = [UInt8](try Data(contentsOf: file))
                parser.run(bytes.span.bytes)
                inputs += 1
            }
        }
        #expect(inputs > 0, "Fuzz/Corpus/\(parser.name) is empty")
    }

    @Test func `every target is replayed`() throws {
        let targets = try FileManager.default.contentsOfDirectory(atPath: Self.folder.appending(path: "Targets").path)
            .filter { $0.hasSuffix(".swift") }.map { String($0.dropLast(6)) }
        #expect(Set(targets) == Set(Self.parsers.map(\.name)))
    }
}
