import LiveKitProtocol
import RTCEngine
import RTCWire
import SFUCore
import SwiftProtobuf

extension SwiftProtobuf.Message {
    /// Without what we do not know: everybody would be sent it, and nobody could check it.
    ///
    /// - Returns: nil when it is longer than that.
    func known(within limit: Int) -> Self? {
        guard let bytes: [UInt8] = try? serializedBytes(), bytes.count <= limit else { return nil }
        var options = BinaryDecodingOptions()
        options.discardUnknownFields = true
        return try? Self(serializedBytes: bytes, options: options)
    }
}

/// What a client says of a track before its media come.
extension LiveKitAddTrackRequest {
    /// Clients drop tracks whose ids do not begin with TR; the letters after it are for people who read logs.
    var sidPrefix: String {
        let source =
            switch source {
            case .camera: "C"
            case .microphone: "M"
            case .screenShare: "S"
            case .screenShareAudio: "s"
            case .unknown, .UNRECOGNIZED: "U"
            }
        return "TR_" + (type == .video ? "V" : "A") + source
    }

    /// Nothing in it is larger than a room keeps.
    func byteCountIsWithin(_ limits: RoomLimits) -> Bool {
        let texts = [cid, name, stream] + simulcastCodecs.flatMap { [$0.cid, $0.codec] } + allLayers.map(\.rid)
        return texts.allSatisfy { $0.utf8.count <= limits.trackNameBytes } && simulcastCodecs.count <= 4
            && allLayers.count <= 32 && audioFeatures.count <= 16 && packetTrailerFeatures.count <= 16
    }

    private var allLayers: [LiveKitVideoLayer] { layers + simulcastCodecs.flatMap(\.layers) }

    /// As everybody will be told of it.
    func info(sid: TrackSID, of quirks: ClientQuirks, backup: LiveKitSimulcastCodec?) -> LiveKitTrackInfo {
        let codec = simulcastCodecs.first
        let layers = codec.map(layers(of:)) ?? self.layers
        let mimeType = mimeType(of: quirks)
        let layerMode = layerMode(of: codec, mimeType)
        return .with {
            $0.sid = sid.rawValue
            $0.type = type
            $0.name = name
            $0.muted = muted
            $0.width = width
            $0.height = height
            // As LiveKit's server has it: several streams, not layers within one. Of those that name no codec it shows
            // when they offer them (`Track.describe`).
            $0.simulcast = codec != nil && layers.count > 1 && layerMode != .multipleSpatialLayersPerStream
            $0.disableDtx = disableDtx
            $0.source = source
            $0.layers = layers
            $0.mimeType = mimeType ?? ""
            $0.codecs = [
                .with {
                    $0.mimeType = mimeType ?? ""
                    $0.cid = cid
                    $0.layers = layers
                    $0.videoLayerMode = layerMode
                }
            ]
            if let backup {
                $0.codecs.append(
                    .with {
                        let mimeType = backup.mimeType(.video)
                        $0.mimeType = mimeType ?? ""
                        $0.cid = backup.cid
                        $0.layers = self.layers(of: backup)
                        $0.videoLayerMode = self.layerMode(of: backup, mimeType)
                    })
            }
            $0.stereo = stereo || audioFeatures.contains(.tfStereo)
            $0.disableRed = disableRed
            $0.encryption = encryption
            $0.stream = stream.isEmpty ? source.stream : stream
            $0.audioFeatures = features
            $0.backupCodecPolicy = backupCodecPolicy
            $0.packetTrailerFeatures = packetTrailerFeatures
        }
    }

    private func layers(of codec: LiveKitSimulcastCodec) -> [LiveKitVideoLayer] {
        codec.layers.isEmpty ? layers : codec.layers
    }

    /// The second codec of pictures, where both are such as a client can publish here.
    func backup(from quirks: ClientQuirks) -> LiveKitSimulcastCodec? {
        guard type == .video, simulcastCodecs.count > 1,
            simulcastCodecs[0].videoFormat != simulcastCodecs[1].videoFormat,
            simulcastCodecs.prefix(2).allSatisfy({ $0.mimeType(.video).map(quirks.mayPublish) == true })
        else { return nil }
        return simulcastCodecs[1]
    }

    /// With those of older clients.
    private var features: [LiveKitAudioTrackFeature] {
        guard type == .audio else { return [] }
        var features = audioFeatures
        if stereo, !features.contains(.tfStereo) { features.append(.tfStereo) }
        if disableDtx, !features.contains(.tfNoDtx) { features.append(.tfNoDtx) }
        return features
    }

    /// Of the codec that the client has chosen, where it says so. In place of one that it is not to publish it is told
    /// another at once, as by LiveKit's server: it chooses its encodings by that.
    private func mimeType(of quirks: ClientQuirks) -> String? {
        guard let chosen = simulcastCodecs.first?.mimeType(type == .video ? .video : .audio) else { return nil }
        return quirks.mayPublish(chosen) ? chosen : CodecParameters.vp8.mimeType
    }

    /// How layers of pictures are sent, where the client says nothing of it as LiveKit's server has it: within one
    /// stream by codecs that can do so, if the client has named its codec.
    private func layerMode(of codec: LiveKitSimulcastCodec?, _ mimeType: String?) -> LiveKitVideoLayer.Mode {
        if let told = codec?.videoLayerMode, told != .unused { return told }
        guard type == .video else { return .unused }
        let isScalable = [CodecParameters.vp9, .av1].contains { $0.mimeType == mimeType }
        return isScalable ? .multipleSpatialLayersPerStream : .oneSpatialLayerPerStream
    }
}

extension LiveKitSimulcastCodec {
    /// Nil for a codec that is not forwarded. LiveKit's Go SDK says the media type, `video/VP8`, and others the name.
    private func parameters(_ kind: MediaKind) -> CodecParameters? {
        let codec = codec.lowercased()
        return MediaCodecs.all(kind).first { codec == $0.name.lowercased() || codec == $0.mimeType.lowercased() }
    }

    /// What it is, of pictures; nil for what is not forwarded.
    var videoFormat: PayloadFormat? { parameters(.video)?.payloadFormat }

    fileprivate func mimeType(_ kind: MediaKind) -> String? { parameters(kind)?.mimeType }
}

extension LiveKitTrackSource {
    /// Of what type its tracks are; nil where a client says nothing of the source.
    var trackType: LiveKitTrackType? {
        switch self {
        case .camera, .screenShare: .video
        case .microphone, .screenShareAudio: .audio
        case .unknown, .UNRECOGNIZED: nil
        }
    }

    /// Which tracks belong together where a client says nothing of it, as LiveKit's server names them.
    var stream: String {
        switch self {
        case .camera, .microphone: "camera"
        case .screenShare, .screenShareAudio: "screen"
        case .unknown, .UNRECOGNIZED: "unknown"
        }
    }
}

extension CodecParameters {
    /// As `video/VP8`.
    var mimeType: String { (payloadFormat?.isVideo == true ? "video/" : "audio/") + name }
}

extension Track {
    /// Which codecs the publisher's section is answered with, the best first.
    ///
    /// - Parameter offered: what the section has, what the publisher likes best first.
    func codecPreferences(_ version: TrackVersion, offered: [PayloadFormat]) -> [CodecParameters] {
        switch kind {
        case .video where version === backup:
            // Nothing in its section says what it is to be, and browsers send the first that is agreed.
            return MediaCodecs.video.filter { $0.payloadFormat == version.announced }
        case .video:
            let codecs = MediaCodecs.video.filter { publisher.quirks.mayPublish($0.mimeType) }
            // The one that the client has announced, whatever its offer names first. Where it has announced none, as
            // those that know nothing of backup codecs, its offer says it: LiveKit's server does not change its order.
            let liked = version.announced.map { [$0] } ?? offered
            return liked.flatMap { format in codecs.filter { $0.payloadFormat == format } }
                + codecs.filter { codec in !liked.contains { $0 == codec.payloadFormat } }
        case .audio:
            var opus = MediaCodecs.opus
            // What an answer says of Opus is what its sender is asked to do (RFC 7587 §6.1).
            if !info.audioFeatures.contains(.tfNoDtx) { opus.parameters.options.append(.init("usedtx", "1")) }
            if info.audioFeatures.contains(.tfStereo) {
                opus.parameters.options.append(.init("stereo", "1"))
                opus.parameters.options.append(.init("maxaveragebitrate", "510000"))
            }
            let redundancy = [CodecParameters.redundantOpus]
            return (prefersRedundancy ? redundancy : [])
                + [opus] + MediaCodecs.audio.filter { $0.name != opus.name && !redundancy.contains($0) }
        }
    }

    /// Whether the client is asked to send earlier packets along (RFC 2198), as LiveKit's server decides it: by what
    /// the client has said of the codec, else unless it does not want to.
    private var prefersRedundancy: Bool {
        // Who takes the sound alone could not be given it out of a packet that is sealed from end to end. LiveKit's
        // clients do not want redundancy then.
        guard request.encryption == .none else { return false }
        guard let named = request.simulcastCodecs.first?.codec.lowercased(), !named.isEmpty else {
            return !request.disableRed
        }
        return named.split(separator: "/").last == Substring(CodecParameters.redundantOpus.name)
    }

    /// It comes with earlier packets (RFC 2198).
    var isRedundant: Bool { info.mimeType == CodecParameters.redundantOpus.mimeType }

    /// What the room is told of the media, and notes what everybody is to be told; nil when there is no codec that can
    /// be forwarded.
    ///
    /// - Parameter actual: what comes; nil for what is to come, the first codec that was agreed.
    func describe(
        _ parameters: ReceiveParameters, of version: TrackVersion, sent actual: PayloadFormat? = nil
    ) -> PublicationDescription? {
        let codecs = parameters.codecs.filter { $0.payloadFormat?.isVideo == (kind == .video) }
        guard let sent = codecs.first(where: { actual == nil || $0.payloadFormat == actual }),
            let format = sent.payloadFormat,
            // What subscribers are offered has all kinds of repair, also where the publisher has none.
            let codec = MediaCodecs.all(kind).first(where: { $0.payloadFormat == format })
        else { return nil }
        version.format = format
        let redundancy = parameters.codecs.redundancy(for: sent) == nil ? nil : CodecParameters.redundantOpus
        let mimeType = (redundancy ?? codec).mimeType
        if version === primary { info.mimeType = mimeType }
        if actual == nil { version.publishedCodec = codec.name.lowercased() }
        if info.codecs.indices.contains(version.place) {
            info.codecs[version.place].mimeType = mimeType
            info.codecs[version.place].mid = version.mid
        }
        guard kind == .video else {
            // What is lost may be asked for also where there is redundancy: that somebody gets the sound alone all the
            // same, as Firefox and Safari do, is known from the answer only.
            var offered = codec
            // RFC 7587 §6.1: what our side is likely to send. LiveKit's SDKs take both channels (`stereo=1`) where they
            // are offered this, and browsers mix them into one otherwise.
            if format == .opus, info.audioFeatures.contains(.tfStereo) {
                offered.parameters.options.append(.init("sprop-stereo", "1"))
            }
            var description = PublicationDescription(codec: offered, format: format, redundancy: redundancy)
            description.isSpeech = info.source != .screenShareAudio
            description.isSealed = info.encryption != .none
            return description
        }
        let streams = Self.spatialLayers(parameters.layers.map(\.rid))
        if version === primary, streams.count > 1 { info.simulcast = true }
        // Also where no layers were announced, as by WHIP: whether there are any is seen when they come.
        let isScalable = streams.isEmpty && (format == .vp9 || format == .av1)
        let isScreenShare = info.source == .screenShare
        var description = PublicationDescription(
            codec: codec, format: format, arrangement: isScalable ? .scalable() : .simulcast, spatialLayers: streams,
            sizes: sizes(max(isScalable ? info.layers.count : streams.count, 1)),
            // Nobody says how many pictures a second there are. Screens have fewer, and who asks for as many is not to
            // get half of them.
            framesPerSecond: isScreenShare ? 15 : 30, isScreenShare: isScreenShare)
        description.hasTrailers = !info.packetTrailerFeatures.isEmpty
        return description
    }

    /// The place of each layer among them, the smallest 0. LiveKit's clients call them f, h and q, with f left out
    /// where there are two; layers told apart by their sources are numbered from the smallest; of others the first is
    /// the largest, as LiveKit's clients have it.
    static func spatialLayers(_ names: [String]) -> [Int] {
        let ranks = ["q": 0, "h": 1, "f": 2]
        let keys: [Int]
        if names.allSatisfy({ ranks[$0] != nil }) {
            keys = names.compactMap { ranks[$0] }
        } else if names.allSatisfy({ Int($0) != nil }) {
            keys = names.compactMap { Int($0) }
        } else {
            keys = names.indices.map { names.count - $0 }
        }
        let order = keys.sorted()
        return keys.map { order.firstIndex(of: $0) ?? 0 }
    }

    /// The layers' sizes, the smallest first: as announced, or by halves of the whole.
    private func sizes(_ count: Int) -> [SubscriberHints.Size] {
        let announced = info.layers.sorted { ($0.quality.rawValue, $0.width) < ($1.quality.rawValue, $1.width) }
        if announced.count >= count, announced.allSatisfy({ $0.width > 0 && $0.height > 0 }) {
            let chosen = count == 1 ? announced.suffix(1) : announced.prefix(count)
            return chosen.map {
                SubscriberHints.Size(width: Int($0.width), height: Int($0.height), quality: VideoQuality($0.quality))
            }
        }
        var (width, height) = (Int(info.width), Int(info.height))
        if width == 0 || height == 0 {
            // Of layers whose sizes nobody has told, those who want a smaller one are to get it all the same.
            guard count > 1 else { return [] }
            (width, height) = (1_280, 720)
        }
        let qualities: [VideoQuality] = count == 1 ? [.high] : [.low, .medium, .high]
        return (0..<count).map { place in
            SubscriberHints.Size(
                width: width >> (count - 1 - place), height: height >> (count - 1 - place),
                quality: qualities[min(place, qualities.count - 1)])
        }
    }
}

extension VideoQuality {
    init(_ quality: LiveKitVideoQuality) {
        switch quality {
        case .low: self = .low
        case .medium: self = .medium
        case .high, .UNRECOGNIZED: self = .high
        case .off: self = .off
        }
    }
}
