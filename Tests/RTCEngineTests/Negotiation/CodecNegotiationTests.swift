import RTCWire
import Testing

@testable import RTCEngine

@Suite struct CodecNegotiationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var ours: String
        var offered: String
        /// Nil: no match.
        var answer: String?

        init(_ ours: String, _ offered: String, _ answer: String?) {
            self.ours = ours
            self.offered = offered
            self.answer = answer
        }

        var testDescription: String { "\(ours) meets \(offered)" }
    }

    private static let asymmetric = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id="
    private static let symmetric = "packetization-mode=1;profile-level-id="

    static let h264: [Row] = [
        // Constrained Baseline has many spellings (RFC 6184 §8.1, table 5); the answer uses the offer's.
        Row(asymmetric + "42e01f", asymmetric + "42e01f", asymmetric + "42e01f"),
        Row(asymmetric + "42e01f", asymmetric + "42c01f", asymmetric + "42c01f"),
        Row(asymmetric + "42e01f", asymmetric + "42C01F", asymmetric + "42C01F"),
        Row(asymmetric + "42e01f", asymmetric + "42401f", asymmetric + "42401f"),
        Row(asymmetric + "42e01f", asymmetric + "4d801f", asymmetric + "4d801f"),
        Row(asymmetric + "42e01f", asymmetric + "58c01f", asymmetric + "58c01f"),
        // Other profiles.
        Row(asymmetric + "42e01f", asymmetric + "42001f", nil),
        Row(asymmetric + "42e01f", asymmetric + "42801f", nil),
        Row(asymmetric + "42e01f", asymmetric + "4d001f", nil),
        Row(asymmetric + "42e01f", asymmetric + "58801f", nil),
        Row(asymmetric + "42e01f", asymmetric + "64001f", nil),
        Row(asymmetric + "640c1f", asymmetric + "64001f", nil),
        Row(asymmetric + "64001f", asymmetric + "640028", asymmetric + "64001f"),
        Row(asymmetric + "42801f", asymmetric + "42001f", asymmetric + "42001f"),
        // Levels may differ where both allow it; otherwise the lower one holds (§8.2.2).
        Row(asymmetric + "42e01f", asymmetric + "42c034", asymmetric + "42c01f"),
        Row(asymmetric + "42e034", asymmetric + "42c01f", asymmetric + "42c034"),
        Row(asymmetric + "42e01f", symmetric + "42e034", symmetric + "42e01f"),
        Row(asymmetric + "42e034", symmetric + "42e01f", symmetric + "42e01f"),
        Row(symmetric + "42e034", asymmetric + "42c01f", symmetric + "42c01f"),
        // Level 1b lies between 1 and 1.1, and has a constraint bit of its own.
        Row(asymmetric + "42e01f", symmetric + "42f00b", symmetric + "42f00b"),
        Row(symmetric + "42f00b", symmetric + "42e00b", symmetric + "42f00b"),
        Row(symmetric + "42f00b", symmetric + "42e00a", symmetric + "42e00a"),
        // The packetization mode has to be the same; 0 when it is missing.
        Row(asymmetric + "42e01f", "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f", nil),
        Row(asymmetric + "42e01f", "level-asymmetry-allowed=1;profile-level-id=42e01f", nil),
        Row("profile-level-id=42e01f", "packetization-mode=0;profile-level-id=42e01f", "profile-level-id=42e01f"),
        // Without a profile, browsers mean 42e01f; and nonsense matches nothing.
        Row(asymmetric + "42e01f", "packetization-mode=1", symmetric + "42e01f"),
        Row(asymmetric + "42e01f", asymmetric + "42e0", nil),
        Row(asymmetric + "42e01f", asymmetric + "+2e01f", nil),
        Row(asymmetric + "42e01f", asymmetric + "ffe01f", nil),
    ]

    @Test(arguments: h264)
    func `H264 is matched by profile and packetization mode`(row: Row) {
        func codec(_ parameters: String) -> CodecParameters {
            CodecParameters(
                payloadType: 100, name: "H264", clockRate: 90_000, parameters: SDP.CodecOptions(parameters))
        }
        let ours = codec(row.ours)
        let offered = codec(row.offered)
        #expect(ours.matches(offered) == (row.answer != nil))
        #expect(offered.matches(ours) == (row.answer != nil))
        if let answer = row.answer { #expect(ours.answering(offered).parameters.text == answer) }
    }

    @Test func `an answer asks for what was not offered only where that is insisted on`() {
        var ours = CodecParameters.repairedOpus
        let offered = CodecParameters.opus
        #expect(ours.answering(offered).feedback == ["transport-cc"])
        ours.unofferedFeedback = ["nack"]
        let answer = ours.answering(offered)
        #expect(answer.feedback == ["transport-cc", "nack"])
        let received = CodecNegotiation.receiving(local: [answer], remote: [offered], isAnswerLocal: true)
        let sent = CodecNegotiation.sending(local: [answer], remote: [offered], isAnswerLocal: true)
        #expect(received.map(\.feedback) == [answer.feedback])
        #expect(sent.map(\.feedback) == [answer.feedback])
        // Who has not offered it does not take it from an answer.
        let taken = CodecNegotiation.sending(local: [offered], remote: [answer], isAnswerLocal: false)
        #expect(taken.map(\.feedback) == [["transport-cc"]])
    }

    @Test func `codecs are called as their payload formats are, in upper or lower case`() {
        let codecs: [CodecParameters] = [.h264, .vp8, .opus, .vp9, .av1, .h265, .pcmu, .pcma]
        #expect(codecs.map(\.payloadFormat) == PayloadFormat.allCases)
        #expect(codecs.map(\.name) == PayloadFormat.allCases.map(\.encodingName))
        #expect(PayloadFormat(encodingName: "Av1")?.mimeType == "video/AV1")
        #expect(PayloadFormat(encodingName: "OPUS")?.mimeType == "audio/opus")
        #expect(PayloadFormat(encodingName: "red") == nil)
    }

    @Test func `other codecs are matched by name, clock and channels`() {
        func codec(_ name: String, _ clock: UInt32, _ channels: UInt8 = 1, _ options: String = "") -> CodecParameters {
            CodecParameters(
                payloadType: 1, name: name, clockRate: clock, channels: channels,
                parameters: SDP.CodecOptions(options))
        }
        #expect(CodecParameters.vp8.matches(codec("vp8", 90_000, 1, "max-fr=30")))
        #expect(!CodecParameters.vp8.matches(codec("VP9", 90_000)))
        #expect(CodecParameters.opus.matches(codec("OPUS", 48_000, 2, "stereo=1")))
        #expect(!CodecParameters.opus.matches(codec("opus", 48_000, 1)))
        #expect(!CodecParameters.opus.matches(codec("opus", 24_000, 2)))
        #expect(codec("VP9", 90_000, 1, "profile-id=0").matches(codec("VP9", 90_000, 1, "profile-id=0")))
        #expect(!codec("VP9", 90_000, 1, "profile-id=0").matches(codec("VP9", 90_000, 1, "profile-id=2")))
    }

    /// An answer to a video section with these lines after `a=rtcp-mux`.
    private func answer(
        formats: String, _ lines: [String], _ configure: (inout NegotiatorConfiguration) -> Void = { _ in },
        preferring: [CodecParameters] = []
    ) throws -> MediaDescription {
        var bob = Party("bob", configure)
        _ = try bob.takes(Self.offer(formats: formats, lines))
        try bob.negotiator.setCodecPreferences(preferring, of: bob.negotiator.transceivers[0].id)
        return try bob.answers().sdp.media[0]
    }

    static func offer(formats: String, _ lines: [String]) throws -> SessionDescription {
        let print = Array(repeating: "AB", count: 32).joined(separator: ":")
        let text =
            ([
                "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE v",
                "a=fingerprint:sha-256 \(print)", "a=ice-ufrag:abcd", "a=ice-pwd:0123456789012345678901",
                "a=extmap-allow-mixed", "m=video 9 UDP/TLS/RTP/SAVPF \(formats)", "a=mid:v", "a=setup:actpass",
                "a=sendrecv", "a=rtcp-mux",
            ] + lines).joined(separator: "\n")
        return try SessionDescription(parsing: text)
    }

    @Test func `the answer has the offer's payload types and order`() throws {
        let section = try answer(
            formats: "50 100 101 120",
            [
                "a=rtpmap:50 AV1/90000", "a=rtpmap:100 VP8/90000", "a=rtpmap:101 rtx/90000", "a=fmtp:101 apt=100",
                "a=rtpmap:120 H264/90000", "a=fmtp:120 packetization-mode=1;profile-level-id=42e01f",
            ])
        #expect(section.formats == ["100", "120", "101"])
        #expect(section.codecs.map(\.rtxPayloadType) == [101, nil])
    }

    @Test func `our preferences go before the offer's order, and leave out the rest`() throws {
        let lines = [
            "a=rtpmap:100 VP8/90000", "a=rtpmap:120 H264/90000",
            "a=fmtp:120 packetization-mode=1;profile-level-id=42e01f",
        ]
        #expect(try answer(formats: "100 120", lines).formats == ["100", "120"])
        #expect(try answer(formats: "100 120", lines, preferring: [.h264, .vp8]).formats == ["120", "100"])
        #expect(try answer(formats: "100 120", lines, preferring: [.h264]).formats == ["120"])
    }

    @Test func `of several offered H264 formats the one that fits is taken`() throws {
        let section = try answer(
            formats: "103 107 109",
            [
                "a=rtpmap:103 H264/90000", "a=fmtp:103 packetization-mode=1;profile-level-id=42001f",
                "a=rtpmap:107 H264/90000", "a=fmtp:107 packetization-mode=0;profile-level-id=42e01f",
                "a=rtpmap:109 H264/90000", "a=fmtp:109 packetization-mode=1;profile-level-id=42e01f",
            ])
        #expect(section.formats == ["109"])
    }

    @Test func `Baseline is taken for Constrained Baseline where that is not offered, and answered as Baseline`() throws
    {
        func answered(_ parameters: String, takesBaseline: Bool = true) throws -> MediaDescription {
            try answer(
                formats: "106", ["a=rtpmap:106 H264/90000", "a=fmtp:106 \(parameters)"],
                { $0.takesBaseline = takesBaseline })
        }
        let section = try answered(Self.asymmetric + "42001e")
        #expect(section.formats == ["106"])
        #expect(section.codecs.map(\.parameters.text) == [Self.asymmetric + "42001f"])
        #expect(try answered("packetization-mode=0;profile-level-id=42001e").isRejected)
        #expect(try answered(Self.asymmetric + "4d001e").isRejected)
        // Level 1b is spelled together with the profile (H.264 §A.3.4.1), so one of them could not be answered.
        #expect(try answered(Self.asymmetric + "42100b").isRejected)
        // Who may offer later would offer Constrained Baseline alone.
        #expect(try answered(Self.asymmetric + "42001e", takesBaseline: false).isRejected)
    }

    @Test func `feedback is what both know, and * is for all`() throws {
        let section = try answer(
            formats: "100",
            [
                "a=rtpmap:100 VP8/90000", "a=rtcp-fb:* nack", "a=rtcp-fb:100 nack pli", "a=rtcp-fb:100 nack x-new",
                "a=rtcp-fb:99 ccm fir",
            ])
        #expect(section.all(SDP.RTCPFeedback.self).map(\.attributeValue) == ["100 nack", "100 nack pli"])
    }

    @Test func `retransmissions need an apt that is offered, at the same clock`() throws {
        let rows: [([String], UInt8?)] = [
            (["a=rtpmap:101 rtx/90000", "a=fmtp:101 apt=100"], 101),
            (["a=rtpmap:101 rtx/90000", "a=fmtp:101 rtx-time=3000;apt=100"], 101),
            (["a=rtpmap:101 rtx/90000"], nil),
            (["a=rtpmap:101 rtx/90000", "a=fmtp:101 apt=99"], nil),
            (["a=rtpmap:101 rtx/48000", "a=fmtp:101 apt=100"], nil),
        ]
        for (lines, expected) in rows {
            let section = try answer(formats: "100 101", ["a=rtpmap:100 VP8/90000"] + lines)
            #expect(section.codecs.map(\.rtxPayloadType) == [expected])
        }
        let without = try answer(formats: "100 101", ["a=rtpmap:100 VP8/90000"] + rows[0].0) { configuration in
            for index in configuration.videoCodecs.indices { configuration.videoCodecs[index].rtxPayloadType = nil }
        }
        #expect(without.formats == ["100"])
        #expect(without.all(SDP.SourceGroup.self).isEmpty)
    }

    @Test func `a section without a common codec is rejected`() throws {
        let section = try answer(formats: "50 0", ["a=rtpmap:50 AV1/90000"])
        #expect(section.isRejected)
        #expect(section.formats == ["50", "0"])
    }

    @Test func `header extensions keep the offer's identifiers`() throws {
        let mid = HeaderExtensionURI.mid
        let sequence = HeaderExtensionURI.transportSequence
        let section = try answer(
            formats: "100",
            [
                "a=rtpmap:100 VP8/90000", "a=extmap:9 \(mid)", "a=extmap:9 \(mid)", "a=extmap:3 urn:x-unknown",
                "a=extmap:20/sendonly \(sequence)", "a=extmap:5 \(HeaderExtensionURI.audioLevel)",
                "a=extmap:4096 \(HeaderExtensionURI.absoluteSendTime)",
            ])
        // The level of sound is not for video; 4096 is a placeholder.
        #expect(section.all(SDP.ExtensionMap.self).map(\.attributeValue) == ["9 \(mid)", "20/recvonly \(sequence)"])
    }

    @Test func `identifiers above 14 need extmap-allow-mixed`() throws {
        var offer = try Self.offer(
            formats: "100",
            [
                "a=rtpmap:100 VP8/90000", "a=extmap:15 \(HeaderExtensionURI.mid)",
                "a=extmap:14 \(HeaderExtensionURI.absoluteSendTime)",
                "a=extmap:16 \(HeaderExtensionURI.transportSequence)",
            ])
        func answered() throws -> SessionDescription {
            var bob = Party("bob")
            _ = try bob.takes(offer)
            return try bob.answers().sdp
        }
        #expect(try answered().media[0].all(SDP.ExtensionMap.self).map(\.id) == [14, 16])
        #expect(try answered().has(.extmapAllowMixed))
        // libwebrtc refuses another identifier for what has one.
        var bob = Party("bob")
        _ = try bob.takes(offer)
        _ = try bob.answers()
        let maps = try bob.offers().sdp.media[0].all(SDP.ExtensionMap.self)
        #expect(maps.first { $0.uri == HeaderExtensionURI.transportSequence }?.id == 16)
        offer.removeAttributes(named: SDP.Flag.extmapAllowMixed.rawValue)
        #expect(try answered().media[0].all(SDP.ExtensionMap.self).map(\.id) == [14])
        #expect(try !answered().has(.extmapAllowMixed))
    }

    @Test func `extmap-allow-mixed may stand in the section, and is answered there`() throws {
        let uri = HeaderExtensionURI.transportSequence
        var offer = try Self.offer(formats: "100", ["a=rtpmap:100 VP8/90000", "a=extmap:16 \(uri)"])
        offer.removeAttributes(named: SDP.Flag.extmapAllowMixed.rawValue)
        offer.media[0].append(.extmapAllowMixed)
        var bob = Party("bob")
        _ = try bob.takes(offer)
        let answer = try bob.answers().sdp
        #expect(answer.media[0].has(.extmapAllowMixed) && !answer.has(.extmapAllowMixed))
        #expect(bob.negotiator.transceivers[0].receiveParameters?.extensions == [uri: 16])
        // libwebrtc refuses another identifier for what has one.
        let maps = try bob.offers().sdp.media[0].all(SDP.ExtensionMap.self)
        #expect(maps.first { $0.uri == uri }?.id == 16)
    }

    @Test func `reduced-size RTCP is answered where it is offered`() throws {
        let lines = ["a=rtpmap:100 VP8/90000"]
        #expect(try !answer(formats: "100", lines).has(.rtcpReducedSize))
        #expect(try answer(formats: "100", lines + ["a=rtcp-rsize"]).has(.rtcpReducedSize))
    }

    @Test func `single packets of RTCP are agreed on where all sections that carry media say so`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.audio, direction: .sendrecv)
        let video = try alice.negotiator.addTransceiver(.video, direction: .sendrecv)
        var offer = try alice.offers().sdp
        offer.media[1].removeAttributes(named: SDP.Flag.rtcpReducedSize.rawValue)
        _ = try bob.takes(offer)
        let answer = try bob.answers().sdp
        _ = try alice.negotiator.setRemote(.answer, answer)
        #expect(!alice.negotiator.allowsReducedSizeRTCP && !bob.negotiator.allowsReducedSizeRTCP)
        _ = try alice.negotiator.setDirection(.inactive, of: video)
        try negotiate(&alice, &bob)
        #expect(alice.negotiator.allowsReducedSizeRTCP && bob.negotiator.allowsReducedSizeRTCP)
    }

    @Test func `one-way extensions go one way`() throws {
        var bob = Party("bob")
        let uri = HeaderExtensionURI.absoluteSendTime
        _ = try bob.takes(
            Self.offer(
                formats: "100",
                ["a=rtpmap:100 VP8/90000", "a=extmap:1/sendonly \(uri)", "a=extmap:2 \(HeaderExtensionURI.mid)"]))
        _ = try bob.negotiator.addTrack(.video)
        _ = try bob.answers()
        let transceiver = bob.negotiator.transceivers[0]
        #expect(transceiver.receiveParameters?.extensions == [uri: 1, HeaderExtensionURI.mid: 2])
        #expect(transceiver.sendParameters?.extensions == [HeaderExtensionURI.mid: 2])
    }

    @Test func `an answerer with payload types of its own is sent to by those`() throws {
        var alice = Party("alice")
        var bob = Party("bob")
        let id = try alice.negotiator.addTransceiver(.video)
        _ = try bob.takes(alice.offers().sdp)
        _ = try bob.negotiator.addTrack(.video)
        let text = try bob.answers().sdp.text.replacing("102", with: "112").replacing(" 103", with: " 113")
            .replacing(":103", with: ":113")
        _ = try alice.negotiator.setRemote(.answer, SessionDescription(parsing: text))
        #expect(alice.transceiver(id)?.sendParameters?.codec.payloadType == 112)
        #expect(alice.transceiver(id)?.sendParameters?.codec.rtxPayloadType == 113)
        #expect(alice.transceiver(id)?.receiveParameters?.codecs.first?.payloadType == 102)
    }

    @Test func `preferences have to be of the configuration`() throws {
        var alice = Party("alice")
        let id = try alice.negotiator.addTransceiver(.video)
        let other = CodecParameters(payloadType: 98, name: "AV1", clockRate: 90_000)
        #expect(throws: NegotiationError.unknownCodec) {
            try alice.negotiator.setCodecPreferences([other], of: id)
        }
        try alice.negotiator.setCodecPreferences([.vp8], of: id)
        #expect(try alice.offers().sdp.outline == ["0 video sendrecv VP8+rtx"])
    }

    @Test func `a payload type that would be taken for RTCP is not agreed to`() throws {
        var alice = Party("alice") { $0.videoCodecs[0].payloadType = 72 }
        var bob = Party("bob")
        _ = try alice.negotiator.addTransceiver(.video)
        var offer = try alice.offers().sdp
        #expect(offer.media[0].formats.contains("72"))
        _ = try bob.takes(offer)
        #expect(try bob.answers().sdp.outline == ["0 video recvonly VP8+rtx"])
        // With nothing else there is nothing to receive.
        offer.media[0].formats = ["72"]
        var cyd = Party("cyd")
        _ = try cyd.takes(offer)
        #expect(try cyd.answers().sdp.outline == ["0 video rejected"])
    }

    @Test func `preferences have one that carries media, and each once`() throws {
        var alice = Party("alice") { $0.audioCodecs = CodecParameters.defaultAudio }
        let id = try alice.negotiator.addTransceiver(.audio)
        for codecs in [[CodecParameters.redundantOpus], [.telephoneEvent], [.redundantOpus, .telephoneEvent]] {
            #expect(throws: NegotiationError.noMediaCodec) {
                try alice.negotiator.setCodecPreferences(codecs, of: id)
            }
        }
        #expect(NegotiationError.noMediaCodec.w3cName == .invalidModification)
        try alice.negotiator.setCodecPreferences([.pcmu, .opus, .pcmu], of: id)
        #expect(try alice.offers().sdp.media[0].formats == ["0", "111"])
    }

    // MARK: Codecs of later documents

    static let profiles: [Row] = [
        // VP9 (RFC 9628 §6.1): profile 0 when nothing is said.
        Row("VP9", "", ""), Row("VP9 profile-id=0", "", "profile-id=0"), Row("VP9 profile-id=2", "", nil),
        Row("VP9 profile-id=2", "profile-id=2;max-fr=30", "profile-id=2"), Row("VP9 profile-id=x", "profile-id=y", nil),
        // AV1: profile and tier stay, the level is each receiver's own.
        Row("AV1 level-idx=5;profile=0;tier=0", "", "level-idx=5;profile=0;tier=0"),
        Row("AV1 level-idx=5;profile=0;tier=0", "level-idx=8", "level-idx=5;profile=0;tier=0"),
        Row("AV1", "profile=1", nil), Row("AV1", "tier=1", nil),
        // H.265 (RFC 7798 §7.2.2): the lower level; one stream only.
        Row("H265 level-id=93;profile-id=1", "level-id=120", "level-id=93;profile-id=1"),
        Row("H265 level-id=93;profile-id=1", "level-id=60;tx-mode=SRST", "level-id=60;profile-id=1"),
        Row("H265", "profile-id=2", nil), Row("H265", "tx-mode=MRST", nil), Row("H265", "tier-flag=1", nil),
        Row("H265", "sprop-max-don-diff=0", "level-id=93"), Row("H265", "sprop-max-don-diff=2", nil),
    ]

    @Test(arguments: profiles)
    func `VP9, AV1 and H265 are matched by profile`(row: Row) {
        let parts = row.ours.split(separator: " ", maxSplits: 1)
        func codec(_ parameters: String) -> CodecParameters {
            CodecParameters(
                payloadType: 100, name: String(parts[0]), clockRate: 90_000,
                parameters: SDP.CodecOptions(parameters))
        }
        let ours = codec(parts.count > 1 ? String(parts[1]) : "")
        let offered = codec(row.offered)
        #expect(ours.matches(offered) == (row.answer != nil))
        #expect(offered.matches(ours) == (row.answer != nil))
        if let answer = row.answer { #expect(ours.answering(offered).parameters.text == answer) }
    }

    private func section(_ lines: [String], formats: String) throws -> MediaDescription {
        let text =
            (["v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "m=audio 9 UDP/TLS/RTP/SAVPF \(formats)"] + lines)
            .joined(separator: "\r\n") + "\r\n"
        return try #require(try SessionDescription(parsing: text).media.first)
    }

    @Test func `redundancy names the payload type of the answer's Opus, and goes when there is none`() throws {
        let offered = try section(
            [
                "a=rtpmap:109 opus/48000/2", "a=rtpmap:61 red/48000/2", "a=fmtp:61 109/109",
                "a=rtpmap:101 telephone-event/8000", "a=fmtp:101 0-16",
            ], formats: "61 109 0 101"
        ).codecs
        let answer = CodecNegotiation.answer(
            offered: offered, supported: CodecParameters.defaultAudio, isOurOrder: false)
        #expect(answer.map(\.name) == ["red", "opus", "PCMU", "telephone-event"])
        #expect(answer.map(\.payloadType) == [61, 109, 0, 101])
        #expect(answer[0].parameters.text == "109/109")
        let narrow = CodecNegotiation.answer(
            offered: offered, supported: [.pcmu, .redundantOpus], isOurOrder: false)
        #expect(narrow.map(\.name) == ["PCMU"])
        #expect(CodecNegotiation.answer(offered: offered, supported: [.telephoneEvent], isOurOrder: false).isEmpty)
    }

    @Test func `redundancy is sent where it is preferred to Opus alone`() throws {
        var opus = CodecParameters.opus
        opus.payloadType = 109
        let red = CodecParameters.redundantOpus
        #expect([red, opus].redundancy(for: opus) == red)
        #expect([opus, red].redundancy(for: opus) == nil)
        #expect([red, .pcmu].redundancy(for: .pcmu) == nil)
        #expect([red, opus, .telephoneEvent].firstMedia == opus)
        #expect([opus, .narrowbandTelephoneEvent, .telephoneEvent].telephoneEvent(for: opus) == .telephoneEvent)
        #expect([CodecParameters.pcma, .telephoneEvent].telephoneEvent(for: .pcma) == nil)
    }

    @Test func `by default all codecs are offered but H265, with numbers of their own`() throws {
        var alice = Party("alice") {
            $0.audioCodecs = CodecParameters.defaultAudio
            $0.videoCodecs = CodecParameters.defaultVideo
        }
        _ = try alice.negotiator.addTransceiver(.audio)
        _ = try alice.negotiator.addTransceiver(.video)
        let offer = try alice.offers().sdp
        #expect(
            offer.outline == [
                "0 audio sendrecv opus red PCMU PCMA telephone-event telephone-event",
                "1 video sendrecv H264+rtx VP8+rtx VP9+rtx AV1+rtx",
            ])
        #expect(offer.media[0].formats == ["111", "63", "0", "8", "110", "126"])
        #expect(offer.media[0].values(of: "fmtp").contains("63 111/111"))
        #expect(Set(offer.media.flatMap(\.formats)).count == 14)
    }

    @Test func `G711 needs no rtpmap`() throws {
        let codecs = try section([], formats: "0 8 18").codecs
        #expect(codecs.map(\.name) == ["PCMU", "PCMA"])
        let other = try section(["a=rtpmap:0 opus/48000/2"], formats: "0").codecs
        #expect(other.map(\.name) == ["opus"])
    }
}
