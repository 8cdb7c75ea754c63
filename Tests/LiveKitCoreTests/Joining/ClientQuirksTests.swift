import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf
import Testing

@testable import LiveKitCore

/// Browsers that do not do what their descriptions say.
@Suite struct ClientQuirksTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var client: (browser: String, version: String, system: String)
        var device = ""
        var reusesSections = true
        var unpublishable: Set<PayloadFormat> = []
        var unplayable: Set<PayloadFormat> = []

        var testDescription: String { "\(client.browser) \(client.version) on \(client.system)" }
    }

    private static let rows = [
        Row(client: ("", "", "")),
        Row(client: ("Chrome", "140.0", "Mac OS X")),
        Row(
            client: ("Safari", "17.6", "Mac OS X"), reusesSections: false, unpublishable: [.av1], unplayable: [.av1]),
        Row(
            client: ("safari", "18.3", "macos"), reusesSections: false, unpublishable: [.av1], unplayable: [.av1]),
        Row(
            client: ("Safari", "18.3.1", "Mac OS X"), reusesSections: false, unpublishable: [.av1, .vp9],
            unplayable: [.av1]),
        Row(
            client: ("Mobile Safari", "26.0", "iOS"), reusesSections: false, unpublishable: [.av1, .vp9],
            unplayable: [.av1]),
        Row(client: ("Firefox", "140.0", "Linux"), unpublishable: [.h264]),
        Row(client: ("Firefox Mobile", "140.0", "Android"), unpublishable: [.h264]),
        Row(client: ("Firefox", "140.0", "Windows")),
        Row(client: ("", "", "android"), device: "Xiaomi 2201117TI", unpublishable: [.h264]),
        Row(client: ("", "", "android"), device: "Pixel 9"),
    ]

    @Test(arguments: rows) func `what a browser is not to do`(_ row: Row) {
        let quirks = ClientQuirks(
            .with {
                $0.browser = row.client.browser
                $0.browserVersion = row.client.version
                $0.os = row.client.system
                $0.deviceModel = row.device
            })
        #expect(quirks.reusesSections == row.reusesSections)
        #expect(quirks.unpublishable == row.unpublishable)
        #expect(quirks.unplayable == row.unplayable)
    }

    @Test(arguments: [("Firefox", false), ("firefox mobile", false), ("Chrome", true), ("Safari", true), ("", true)])
    func `Firefox calls tracks by names of its own`(_ browser: String, _ keeps: Bool) {
        #expect(ClientQuirks(.with { $0.browser = browser }).keepsTrackIDs == keeps)
    }

    @Test(arguments: [LiveKitClientInfo.SDK.unknown, .js, .rust, .python, .swift, .android])
    func `LiveKit's SDK for browsers alone needs dependency descriptors`(_ sdk: LiveKitClientInfo.SDK) {
        #expect(ClientQuirks(.with { $0.sdk = sdk }).needsDescriptors == (sdk == .js))
    }

    private static func safari(_ request: inout LiveKitJoinRequest) {
        request.clientInfo.browser = "Safari"
        request.clientInfo.browserVersion = "18.4"
    }

    @Test func `what a browser is not to publish is neither announced nor answered`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", codecs: [.vp9, .vp8, .av1], request: Self.safari)
        let codecs = try #require(ann.join).enabledPublishCodecs.map(\.mime)
        #expect(codecs.contains("video/VP8") && codecs.contains("video/H264") && codecs.contains("audio/opus"))
        #expect(!codecs.contains("video/VP9") && !codecs.contains("video/AV1"))
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video) { $0.simulcastCodecs = [.with { $0.codec = "vp9" }] }
        // It hears so at once, and chooses its encodings by that.
        #expect(ann.track("camera")?.mimeType == "video/VP8")
        let answer = try SessionDescription(parsing: try #require(ann.answers.last).sdp)
        let section = try #require(answer.media.first { $0.kind == "video" && $0.direction == .recvonly })
        #expect(section.all(SDP.RTPMap.self).map(\.encoding).filter { $0 != "rtx" } == ["VP8"])
    }

    @Test func `a browser is told what it cannot do, also when it comes back, and others are told nothing`() throws {
        let venue = Venue()
        let ann = try venue.join("ann", request: Self.safari)
        let told = try #require(ann.join).clientConfiguration
        #expect(told.disabledCodecs.codecs.map(\.mime) == ["video/AV1"])
        #expect(told.disabledCodecs.publish.map(\.mime) == ["video/VP9"])
        #expect(told.forceRelay == .unset && told.resumeConnection == .unset)
        #expect(try #require(try venue.join("bob").join).hasClientConfiguration == false)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        venue.resume(ann)
        let resumed = ann.responses.compactMap { message in
            if case .reconnect(let response) = message { response } else { nil }
        }
        #expect(resumed.map(\.clientConfiguration) == [told])
    }

    @Test(arguments: [ConnectionMode.single, .dual])
    func `what a browser cannot play it is not sent, and told so`(_ mode: ConnectionMode) throws {
        let venue = Venue()
        let ann = try venue.join("ann", codecs: [.av1])
        let bob = try venue.join("bob", mode, codecs: [.av1], request: Self.safari)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        try ann.publish("camera", .video)
        #expect(venue.run { bob.lines.contains("< subscription_response camera seCodecUnsupported") })
        venue.run(for: .milliseconds(500))
        #expect(!ann.lines.contains("< track_subscribed camera"))
    }

    @Test func `where sections are not to be used again, each track has a section of its own`() throws {
        let venue = Venue()
        let ann = try venue.join("ann")
        let bob = try venue.join("bob", .dual, request: Self.safari)
        #expect(venue.run { venue.room.participants.allSatisfy { $0.state == .active } })
        var sections: [Int] = []
        for round in 1...3 {
            try ann.publish("camera\(round)", .video)
            #expect(venue.run { ann.lines.contains("< track_subscribed camera\(round)") })
            let offer = try SessionDescription(parsing: try #require(bob.offers.last).sdp)
            sections.append(offer.media.count { $0.kind == "video" })
            try ann.unpublish("camera\(round)")
            venue.run(for: .milliseconds(200))
        }
        #expect(sections == [1, 2, 3])
    }
}
