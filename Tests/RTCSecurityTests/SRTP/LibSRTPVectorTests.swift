import RTCEngine
import Testing

@testable import RTCSecurity

/// Packets that libsrtp made, by pylibsrtp 1.0.0: master key 00…0f, salt 10…, SSRC cafebabe; three RTP packets across
/// a wrap of the sequence number and two RTCP packets. libsrtp counts SRTCP from 1, we from 0 (RFC 3711 §3.4).
struct LibSRTPVectorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let profile: SRTPProfile
        let rtp: [[UInt8]]
        let rtcp: [[UInt8]]
        var testDescription: String { "\(profile)" }
    }

    private static let plainRTP = [
        bytes("8060fffe00000001cafebabe 6265666f7265207468652077726170"),
        bytes("80e0ffff00000001cafebabe 6174207468652077726170"),
        bytes(
            """
            9261000000000002cafebabe1111111122222222bede000210ff310102030000
            61667465722074686520777261702c207769746820736f757263657320616e6420616e20657874656e73696f6e
            """),
    ]
    private static let plainRTCP = [bytes("80c90001cafebabe"), bytes("81cd0003cafebabe 0badcafe11112222")]

    static let rows = [
        Row(
            profile: .aeadAES128GCM,
            rtp: [
                bytes("8060fffe00000001cafebabe c2e5f89820c80dc86107059d4ee9c19d9cb4959c0f099871a0c2da5fe9930b"),
                bytes("80e0ffff00000001cafebabe 2adbe211d9273728d2c6e7f545f1e568bcaba69b35f3d896b2b8a1"),
                bytes(
                    """
                    9261000000000002cafebabe1111111122222222bede000210ff310102030000
                    3efde55417b4dd3ad8c4a47507a498a47853c93075ae4af220db8441c109817d5ba905fc11d400b348c39d34b0
                    dcdc19c233bf0183379f2f2c9fe1d716
                    """),
            ],
            rtcp: [
                bytes("80c90001cafebabe 0724558b85636f2c1a80eafa25f13717 80000001"),
                bytes("81cd0003cafebabe c252e4b42470f0df 7b2ef04a0baf31f31791a536191e16ff 80000002"),
            ]),
        Row(
            profile: .aes128CMHMACSHA1_80,
            rtp: [
                bytes("8060fffe00000001cafebabe 2764e57837597c8bffffabc6d1b4ed2e1cadb31209d7576afd"),
                bytes("80e0ffff00000001cafebabe 7632db289d9d66c4f476e58418acb0163a18530992"),
                bytes(
                    """
                    9261000000000002cafebabe1111111122222222bede000210ff310102030000
                    2d73e2f1888eb8f0494f5583597b8c3bc61a188f3c45b1c4adc05e9559d952fd712249dac41086a9eeabf34de2
                    8a8ff2c35e3b940e6c4b
                    """),
            ],
            rtcp: [
                bytes("80c90001cafebabe 80000001 60f83a56ff40640e0d5b"),
                bytes("81cd0003cafebabe 31865b26c1666341 80000002 9bb7cbd67f83b7af8dff"),
            ]),
    ]

    @Test(arguments: rows)
    func `protects as libsrtp does`(row: Row) throws {
        let pair = try SRTPPair(row.profile)
        #expect(try Self.plainRTP.map { try pair.protected($0) } == row.rtp)
        _ = try pair.protectedRTCP(rtcp())  // index 0
        #expect(try Self.plainRTCP.map { try pair.protectedRTCP($0) } == row.rtcp)
    }

    @Test(arguments: rows)
    func `opens what libsrtp protected`(row: Row) throws {
        let pair = try SRTPPair(row.profile)
        #expect(try row.rtp.map { try pair.opened($0) } == Self.plainRTP)
        #expect(try row.rtcp.map { try pair.openedRTCP($0) } == Self.plainRTCP)
    }
}
