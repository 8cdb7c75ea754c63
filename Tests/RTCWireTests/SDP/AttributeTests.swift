import RTCWire
import Testing

@Suite struct AttributeTests {
    private func same<Value: SDPAttributeValue>(_ type: Value.Type, _ text: String) -> Bool {
        Value(attributeValue: text)?.attributeValue == text
    }

    @Test func `every attribute is written as it was read`() {
        #expect(same(SDP.Mid.self, "audio-1"))
        #expect(same(SDP.Group.self, "BUNDLE 0 1"))
        #expect(same(SDP.Group.self, "BUNDLE"))
        #expect(same(SDP.RTPMap.self, "111 opus/48000/2"))
        #expect(same(SDP.RTPMap.self, "96 VP8/90000"))
        #expect(same(SDP.FormatParameters.self, "111 minptime=10;useinbandfec=1"))
        #expect(same(SDP.FormatParameters.self, "101 0-15"))
        #expect(same(SDP.RTCPFeedback.self, "96 nack pli"))
        #expect(same(SDP.RTCPFeedback.self, "* ccm fir"))
        #expect(same(SDP.ExtensionMap.self, "4 urn:ietf:params:rtp-hdrext:sdes:mid"))
        #expect(same(SDP.ExtensionMap.self, "2/recvonly urn:x some attributes"))
        #expect(same(SDP.MediaStreamID.self, "- track"))
        #expect(same(SDP.MediaStreamID.self, "stream"))
        #expect(same(SDP.SourceAttribute.self, "1234 cname:a b:c"))
        #expect(same(SDP.SourceAttribute.self, "1234"))
        #expect(same(SDP.SourceGroup.self, "SIM 1 2 3"))
        #expect(same(SDP.RestrictionID.self, "f send max-width=1280;max-fps=30"))
        #expect(same(SDP.Simulcast.self, "send f;h,~q recv 1;2"))
        #expect(same(SDP.Setup.self, "actpass"))
        #expect(same(SDP.ICEOptions.self, "trickle ice2 renomination"))
        #expect(same(SDP.SCTPPort.self, "5000"))
        #expect(same(SDP.MaxMessageSize.self, "262144"))
        let print = Array(repeating: "AF", count: 32).joined(separator: ":")
        #expect(same(SDP.Fingerprint.self, "sha-256 \(print)"))
    }

    @Test func `format parameters are found whatever their case, order and spacing`() throws {
        let value = try #require(
            SDP.FormatParameters(attributeValue: "96 Packetization-Mode=1 ; profile-level-id=42e01f;;x"))
        #expect(value.payloadType == 96)
        #expect(value.parameters["packetization-mode"] == "1")
        #expect(value.parameters["profile-level-id"] == "42e01f")
        #expect(value.parameters["x"] == nil)
        #expect(value.parameters.options.count == 3)
    }

    @Test func `a fingerprint's algorithm is compared in lower case`() throws {
        let print = Array(repeating: "0a", count: 20).joined(separator: ":")
        let value = try #require(SDP.Fingerprint(attributeValue: "SHA-1 \(print)"))
        #expect(value.algorithm == "sha-1")
        #expect(value.bytes == [UInt8](repeating: 10, count: 20))
    }

    @Test(arguments: ["-0", "+1", "0", "000", "0g", "", "0\u{301}"])
    func `two hexadecimal digits stand for each byte of a fingerprint`(_ byte: String) {
        let others = Array(repeating: "0A", count: 19).joined(separator: ":")
        #expect(SDP.Fingerprint(attributeValue: "sha-1 \(others):0a")?.bytes.count == 20)
        #expect(SDP.Fingerprint(attributeValue: "sha-1 \(others):\(byte)") == nil)
    }

    @Test func `numbers are digits alone, and no more than they may be`() {
        #expect(SDP.SourceAttribute(attributeValue: "4294967295 cname:a")?.ssrc == UInt32.max)
        #expect(SDP.MaxMessageSize(attributeValue: "18446744073709551615")?.value == UInt64.max)
        #expect(SDP.MaxMessageSize(attributeValue: "0005")?.value == 5)
        for wrong in ["4294967296", "-1", "+1", "1.", "\u{661}", "1\u{301}"] {
            #expect(SDP.SourceAttribute(attributeValue: "\(wrong) cname:a") == nil, "\(wrong)")
        }
        for wrong in ["18446744073709551616", "18446744073709551620", "99999999999999999999", ""] {
            #expect(SDP.MaxMessageSize(attributeValue: wrong) == nil, "\(wrong)")
        }
    }

    @Test func `fields are what is between spaces, however many`() throws {
        let feedback = try #require(SDP.RTCPFeedback(attributeValue: " 96   nack  pli "))
        #expect(feedback.payloadType == 96 && feedback.feedback == "nack pli")
        // A combining mark does not hide the separator before it.
        #expect(SDP.RTPMap(attributeValue: "96 \u{301}VP8/90000")?.encoding == "\u{301}VP8")
        #expect(SDP.RTPMap(attributeValue: "96") == nil)
    }

    @Test func `directions reverse and intersect`() {
        #expect(SDP.Direction.sendonly.reversed == .recvonly)
        #expect(SDP.Direction.sendrecv.reversed == .sendrecv)
        #expect(SDP.Direction.sendonly.intersection(.recvonly) == .inactive)
        #expect(SDP.Direction.sendrecv.intersection(.recvonly) == .recvonly)
    }

    @Test func `reads what Chromium says about a section`() throws {
        let description = try SessionDescription(parsing: SDPVectors.text("chromium_audio_video_offer"))
        #expect(description.bundleGroups == [["0", "1"]])
        #expect(description.has(.extmapAllowMixed))
        let video = description.media[1]
        #expect(video.kind == "video" && video.mid == "1" && video.direction == .sendrecv)
        #expect(video.has(.rtcpMux) && video.has(.rtcpReducedSize))
        #expect(video.setup == .actpass && video.supportsTrickle)
        #expect(video.first(SDP.RTPMap.self) == SDP.RTPMap(payloadType: 96, encoding: "VP8", clockRate: 90_000))
        #expect(video.all(SDP.SourceGroup.self).map(\.semantics) == ["FID"])
        #expect(video.fingerprints.map(\.algorithm) == ["sha-256"])
    }

    @Test func `reads simulcast layers`() throws {
        let description = try SessionDescription(parsing: SDPVectors.text("py120_dual_publisher_offer"))
        #expect(description.media[0].all(SDP.RestrictionID.self).map(\.id) == ["f", "h", "q"])
        #expect(description.media[0].first(SDP.Simulcast.self)?.send == [["f"], ["h"], ["q"]])
    }

    @Test func `candidates that we cannot use stay in the text and out of the list`() throws {
        var section = MediaDescription(kind: "audio", proto: "UDP/TLS/RTP/SAVPF", formats: ["111"])
        section.append(SDPAttribute("candidate", "1 1 udp 2130706431 192.0.2.1 5000 typ host"))
        section.append(SDPAttribute("candidate", "1 1 quic 2130706431 192.0.2.1 5000 typ host"))
        section.append(SDPAttribute("candidate", "nonsense"))
        #expect(section.candidates.count == 1)
        #expect(section.values(of: "candidate").count == 3)
    }
}
