import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// The room's candidates, told beside its descriptions as LiveKit's server tells its own.
@Suite struct TrickleTests {
    /// Descriptions and candidates, as they came.
    private static func told(_ client: TestClient) -> [String] {
        client.responses.compactMap { response -> String? in
            switch response {
            case .answer: "answer"
            case .offer: "offer"
            case .trickle(let candidate): candidate.final ? "last of \(candidate.target)" : "\(candidate.target)"
            case _: nil
            }
        }
    }

    private static func candidates(_ client: TestClient) throws -> [TestClient.Candidate] {
        try client.trickled.map {
            try JSONDecoder().decode(TestClient.Candidate.self, from: Data($0.candidateInit.utf8))
        }
    }

    @Test func `a client of one connection has them after each answer that has others, and after no other`() throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann")
        let beginning = ["answer", "publisher", "last of publisher"]
        #expect(Self.told(ann) == beginning)
        #expect(venue.run { venue.room.participants.first?.state == .active })
        try ann.publish("camera", .video)
        #expect(venue.run { ann.answers.count == 2 })
        #expect(Self.told(ann) == beginning + ["answer"])
        // ICE is restarted.
        try venue.comeBack(ann)
        #expect(Self.told(ann) == beginning + ["answer"] + beginning)
        let pairs = try Self.candidates(ann).map { $0.candidate.split(separator: " ufrag ").last }
        #expect(Set(pairs).count == 2, "each has the credential of its description")
        #expect(!ann.lines.contains { $0.hasPrefix("!") })
    }

    @Test func `a client of two connections has those of each after its first description, and after a restart`() throws
    {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann", .dual)
        let receiving = ["offer", "subscriber", "last of subscriber"]
        #expect(Self.told(ann) == receiving)
        try ann.offer()
        let sending = ["answer", "publisher", "last of publisher"]
        #expect(Self.told(ann) == receiving + sending)
        #expect(venue.run { ann.states == [.connected, .connected] })
        // The room may be a moment behind, and who has never been in it cannot come back.
        #expect(venue.run { venue.room.participants.first?.state == .active })
        try venue.comeBack(ann)
        #expect(Self.told(ann) == receiving + sending + receiving + sending)
        #expect(!ann.lines.contains { $0.hasPrefix("!") })
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `they are those of the description, with all that SDKs read of them`(_ mode: ConnectionMode) throws {
        let venue = Venue(tcpHosts: [Venue.tcpPort])
        let ann = try venue.join("ann", mode)
        let description = try #require(mode == .single ? ann.answers.first : ann.offers.first)
        let media = try SessionDescription(parsing: description.sdp).media
        let index = try #require(media.firstIndex(where: { !$0.values(of: "candidate").isEmpty }))
        let told = try Self.candidates(ann)
        #expect(told.map(\.candidate) == media[index].values(of: "candidate").map { "candidate:\($0)" })
        #expect(told.allSatisfy { $0.sdpMid == media[index].mid && $0.sdpMLineIndex == index })
        // What the connection check of LiveKit's browser SDK looks for.
        let parsed = try told.map { try ICECandidate(parsing: $0.candidate) }
        #expect(parsed.contains { $0.transport == .udp && $0.address == .ip(Venue.port) })
        #expect(
            parsed.contains {
                $0.transport == .tcp && $0.tcpType == .passive && $0.address == .ip(Venue.tcpPort)
            })
    }

    @Test func `they are told once where a client says the same again`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        #expect(venue.run { venue.room.participants.first?.state == .active })
        for _ in 0..<3 {
            try ann.offer()
            venue.run(for: .milliseconds(20))
        }
        #expect(ann.answers.count == 4 && ann.trickled.count == 1)
    }
}
