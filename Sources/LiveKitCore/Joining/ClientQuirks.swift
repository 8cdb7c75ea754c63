import LiveKitProtocol
import RTCEngine
import RTCWire
import SwiftProtobuf

/// Where clients do not do what their descriptions say: a table by browser, system, version and device, as LiveKit's
/// server has it.
struct ClientQuirks: Sendable, Equatable {
    /// A section that the room has offered, and that carries nothing any more, may carry another track.
    private(set) var reusesSections = true
    /// What the client is not to publish, whatever it offers.
    private(set) var unpublishable: Set<PayloadFormat> = []
    /// What the client is not sent, whatever it takes.
    private(set) var unplayable: Set<PayloadFormat> = []

    /// What the client receives has the ids that the room's descriptions give it. Firefox has its own.
    private(set) var keepsTrackIDs = true
    /// The client can be reached by TCP (RFC 6544). Pion makes no connections.
    private(set) var takesTCP = true
    /// The client puts no spatial layers of AV1 together without dependency descriptors, as Chromium; and what it
    /// offers to receive in has none. LiveKit's other SDKs do without.
    private(set) var needsDescriptors = false
    /// The client tells of a track when packets of it come: Pion does.
    private(set) var needsPackets = false

    private struct Exception: Sendable {
        /// In small letters, as systems and devices; empty for all.
        var browsers: Set<String> = []
        var systems: Set<String> = []
        var devices: Set<String> = []
        /// The last version that it is not true of; nil for all.
        var after: [Int]?
        var reusesSections = true
        var unpublishable: Set<PayloadFormat> = []
        var unplayable: Set<PayloadFormat> = []
    }

    private static let safari: Set<String> = ["safari", "mobile safari"]

    private static let exceptions = [
        // livekit/livekit#4474: with encoded transforms, tracks of sections that are used again go missing.
        Exception(browsers: safari, reusesSections: false),
        // livekit/client-sdk-js#950: it says that it has AV1 where it cannot do it.
        Exception(browsers: safari, unpublishable: [.av1], unplayable: [.av1]),
        // Since 18.4 it has scalability modes, and LiveKit's server takes no VP9 from it.
        Exception(browsers: safari, after: [18, 3], unpublishable: [.vp9]),
        // Mozilla's bug 1802829: it sends what comes first in its own order, and has trouble with H.264. It plays that.
        Exception(
            browsers: ["firefox", "firefox mobile"], systems: ["linux", "android"], unpublishable: [.h264]),
        // LiveKit's server takes no H.264 from this phone.
        Exception(systems: ["android"], devices: ["xiaomi 2201117ti"], unpublishable: [.h264]),
    ]

    init(_ client: LiveKitClientInfo) {
        takesTCP = client.sdk != .go
        needsPackets = client.sdk == .go
        needsDescriptors = client.sdk == .js
        let (browser, system) = (client.browser.lowercased(), client.os.lowercased())
        keepsTrackIDs = !browser.contains("firefox")
        let version = client.browserVersion.split(separator: ".").map { Int($0) ?? 0 }
        let device = client.deviceModel.lowercased()
        for exception in Self.exceptions {
            guard exception.browsers.isEmpty || exception.browsers.contains(browser),
                exception.systems.isEmpty || exception.systems.contains(system),
                exception.devices.isEmpty || exception.devices.contains(device),
                exception.after.map({ version.isLater(than: $0) }) ?? true
            else { continue }
            reusesSections = reusesSections && exception.reusesSections
            unpublishable.formUnion(exception.unpublishable)
            unplayable.formUnion(exception.unplayable)
        }
    }

    /// What the client is told of itself when it joins and comes back; nil for nothing. SDKs that know of no
    /// `enabled_publish_codecs` leave out by this what they cannot do.
    var configuration: LiveKitClientConfiguration? {
        guard !unpublishable.isEmpty || !unplayable.isEmpty else { return nil }
        func named(_ formats: Set<PayloadFormat>) -> [LiveKitCodec] {
            MediaCodecs.video.filter { $0.payloadFormat.map(formats.contains) ?? false }.map { codec in
                .with { $0.mime = codec.mimeType }
            }
        }
        return .with {
            $0.disabledCodecs.codecs = named(unplayable)
            $0.disabledCodecs.publish = named(unpublishable.subtracting(unplayable))
        }
    }

    /// Whether the client may publish what is called so, as `video/VP8`.
    func mayPublish(_ mimeType: String) -> Bool {
        !unpublishable.contains { "video/\($0)" == mimeType.lowercased() }
    }
}

extension [Int] {
    /// By the parts of a version, the foremost first; what is missing is 0.
    fileprivate func isLater(than other: [Int]) -> Bool {
        for place in 0..<Swift.max(count, other.count) {
            let (own, others) = (place < count ? self[place] : 0, place < other.count ? other[place] : 0)
            if own != others { return own > others }
        }
        return false
    }
}
