import Foundation
import RTCEngine
import RTCNetwork
import Testing

/// What two real connections tell about themselves.
@Suite(.timeLimit(.minutes(2))) struct StatisticsTests {
    @Test func `each side shows both certificates, and what the handshake agreed on`() async throws {
        let pair = try await ConnectedPair.connected()
        let reports = [await pair.offerer.getStats(), await pair.answerer.getStats()]
        let described = [await pair.offerer.localDescription, await pair.answerer.localDescription]
        for (place, report) in reports.enumerated() {
            let transport = try #require(report.transport)
            #expect(transport.tlsVersion == "FEFD")
            #expect(transport.dtlsCipher?.hasPrefix("TLS_ECDHE_ECDSA_WITH_") == true)
            let local = try #require(report.certificates.first { $0.id == transport.localCertificateID })
            let theirs = try #require(reports[1 - place].transport?.remoteCertificateID)
            let seen = try #require(reports[1 - place].certificates.first { $0.id == theirs })
            #expect(local.base64Certificate == seen.base64Certificate)
            #expect(local.fingerprint == seen.fingerprint)
            #expect(described[place]?.sdp.contains("a=fingerprint:sha-256 \(local.fingerprint)\r\n") == true)
            // DER of a certificate: a sequence.
            #expect(Data(base64Encoded: local.base64Certificate)?.first == 0x30)
        }
        #expect(reports[0].certificates.map(\.base64Certificate) != reports[1].certificates.map(\.base64Certificate))
        await pair.close()
    }

    @Test func `a report in JSON is what a page makes of its own`() async throws {
        let pair = try await ConnectedPair.connected()
        let json = try JSONEncoder().encode(await pair.offerer.getStats())
        let report = try #require(try JSONSerialization.jsonObject(with: json) as? [String: [String: Any]])
        #expect(report.allSatisfy { $0.key == $0.value["id"] as? String })
        let transport = try #require(report.values.first { $0["type"] as? String == "transport" })
        let selected = try #require(transport["selectedCandidatePairId"] as? String)
        let candidate = try #require(report[selected]?["localCandidateId"] as? String)
        #expect(report[candidate]?["type"] as? String == "local-candidate")
        #expect(report[candidate]?["address"] as? String == "127.0.0.1")
        #expect((report[selected]?["packetsSent"] as? Int ?? 0) > 0)
        await pair.close()
    }
}
