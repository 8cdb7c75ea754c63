import Foundation
import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

@testable import LiveKitCore

extension TestClient {
    /// Announces a track; it is offered as soon as the room has answered.
    ///
    /// - Parameter isNamed: false for a client whose ids are not those of its sections.
    func publish(
        _ title: String, _ kind: MediaKind, source: LiveKitTrackSource? = nil, layers: [String] = [],
        isNamed: Bool = true, change: (inout LiveKitAddTrackRequest) -> Void = { _ in }
    ) throws {
        var request = LiveKitAddTrackRequest.with {
            $0.cid = "cid-\(name)-\(title)"
            $0.name = title
            $0.type = kind == .video ? .video : .audio
            $0.source = source ?? (kind == .video ? .camera : .microphone)
            if kind == .video {
                $0.width = 1_280
                $0.height = 720
                let qualities: [LiveKitVideoQuality] = [.low, .medium, .high]
                $0.layers = layers.indices.map { place in
                    .with {
                        $0.quality = qualities[place]
                        $0.width = 1_280 >> UInt32(layers.count - 1 - place)
                        $0.height = 720 >> UInt32(layers.count - 1 - place)
                    }
                }
            }
        }
        change(&request)
        venue.send(.addTrack(request), from: self)
        guard published[request.cid] != nil else { return }
        senders[title] = try publisher.addTransceiver(
            kind, direction: .sendonly, streamIDs: [], trackID: isNamed ? request.cid : "section-of-\(title)",
            encodings: layers.map { SendEncoding(rid: $0) })
        try offer()
    }

    /// Offers a track first, and announces it when the answer is there.
    func publishUnannounced(_ title: String, _ kind: MediaKind, isNamed: Bool = true) throws {
        let cid = "cid-\(name)-\(title)"
        senders[title] = try publisher.addTransceiver(
            kind, direction: .sendonly, streamIDs: [], trackID: isNamed ? cid : "section-of-\(title)")
        try offer()
        let request = LiveKitAddTrackRequest.with {
            $0.cid = cid
            $0.name = title
            $0.type = kind == .video ? .video : .audio
            $0.source = kind == .video ? .camera : .microphone
        }
        venue.send(.addTrack(request), from: self)
    }

    /// Announces a track in two codecs, and offers the first, whose layers lie inside its stream.
    func publish(
        _ title: String, as codecs: [String], layers: [LiveKitVideoQuality] = [],
        policy: LiveKitBackupCodecPolicy = .simulcast
    ) throws {
        try publish(title, .video) { request in
            request.layers = layers.map { quality in .with { $0.quality = quality } }
            request.simulcastCodecs = codecs.enumerated().map { place, codec in
                .with {
                    $0.codec = codec
                    $0.cid = place == 0 ? request.cid : ""
                }
            }
            request.backupCodecPolicy = policy
        }
    }

    /// What browsers' SDKs do when they are told that somebody needs the second codec: another section, of which they
    /// have said under which id it comes. Its title is made of both names.
    ///
    /// - Parameters:
    ///   - isNamed: false for a client whose ids are not those of its sections.
    ///   - isRenewed: it is made anew under another id, and the section that there is ends with the same offer.
    func publishBackup(
        of title: String, as codec: String = "vp8", layers: [String] = [], isNamed: Bool = true,
        isRenewed: Bool = false
    ) throws {
        let cid = "cid-\(name)-\(title)-\(codec)" + (isRenewed ? "-again" : "")
        let request = LiveKitAddTrackRequest.with {
            $0.cid = cid
            $0.sid = track(title)?.sid ?? "TR_none"
            $0.type = .video
            $0.source = .camera
            $0.simulcastCodecs = [.with { ($0.codec, $0.cid) = (codec, cid) }]
        }
        venue.send(.addTrack(request), from: self)
        if isRenewed, let former = senders["\(title)-\(codec)"] {
            try publisher.setDirection(.inactive, of: former, at: venue.now)
        }
        senders["\(title)-\(codec)"] = try publisher.addTransceiver(
            .video, direction: .sendonly, streamIDs: [], trackID: isNamed ? cid : "of-the-section",
            encodings: layers.map { SendEncoding(rid: $0) })
        try offer()
    }

    func unpublish(_ title: String) throws {
        guard let sender = senders.removeValue(forKey: title) else { return }
        try publisher.setDirection(.inactive, of: sender, at: venue.now)
        try offer()
    }

    func track(_ title: String) -> LiveKitTrackInfo? { published["cid-\(name)-\(title)"] }

    /// A picture of each layer, the lowest first; its last byte is its number, before it stands its layer.
    func picture(
        _ number: Int, _ title: String, layers: [String] = [], size: Int = 900, format: PayloadFormat = .vp8
    ) throws {
        guard let sender = senders[title] else { return }
        let isKeyFrame = wantsKeyFrame || number == 0
        wantsKeyFrame = false
        for (layer, rid) in (layers.isEmpty ? [""] : layers).enumerated() {
            let body = [UInt8](repeating: 1, count: size * (layer + 1)) + [UInt8(layer + 1), UInt8(number % 250 + 1)]
            let frame = EncodedFrame(
                payload: Self.tag(of: format, isKeyFrame) + body, timestamp: UInt32(number * 3_000),
                isKeyFrame: isKeyFrame, format: format)
            if rid.isEmpty {
                try publisher.send(frame, on: sender, at: venue.now)
            } else {
                try publisher.send(frame, layer: rid, on: sender, at: venue.now)
            }
        }
    }

    /// What a picture begins with: VP8's frame tag (RFC 6386), or H.264's NAL units and the head of the last of them.
    private static func tag(of format: PayloadFormat, _ isKeyFrame: Bool) -> [UInt8] {
        guard format == .h264 else {
            return isKeyFrame ? [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0x00] : [0x11, 0, 0]
        }
        let parameters: [UInt8] = [0, 0, 0, 1, 0x67, 0x42, 0xe0, 0x1f, 0x8c, 0, 0, 0, 1, 0x68, 0xce, 0x3c, 0x80]
        return isKeyFrame ? parameters + [0, 0, 0, 1, 0x65, 0x88] : [0, 0, 0, 1, 0x41, 0x9a]
    }

    func sound(_ number: Int, _ title: String, level: UInt8 = 20, format: PayloadFormat = .opus) throws {
        guard let sender = senders[title] else { return }
        var frame = EncodedFrame(
            payload: [0x78, UInt8(number % 250 + 1)], timestamp: UInt32(number * 20) * format.clockRate / 1_000,
            isKeyFrame: true, format: format)
        frame.metadata.audioLevel = AudioLevel(isVoice: true, level: level)
        try publisher.send(frame, on: sender, at: venue.now)
    }

    /// Tells how large it shows somebody's track (adaptive stream).
    func show(_ track: LiveKitTrackInfo?, width: UInt32, height: UInt32) {
        venue.send(
            .trackSetting(
                .with {
                    $0.trackSids = [track?.sid ?? ""]
                    $0.width = width
                    $0.height = height
                }), from: self)
    }

    /// How a track of this client's is sent; nil before it has been negotiated.
    func sending(_ title: String) -> SendParameters? {
        guard let sender = senders[title] else { return nil }
        return publisher.transceivers.first { $0.id == sender }?.sendParameters
    }

    /// A packet that somebody else has made of a track of this client's.
    func inject(_ packet: [UInt8]) { venue.up(packet, of: self, from: hosts[0]) }

    /// The numbers of what came of a track.
    func numbers(of track: LiveKitTrackInfo?) -> [UInt8] { frames[track?.sid ?? ""]?.compactMap(\.payload.last) ?? [] }
}
