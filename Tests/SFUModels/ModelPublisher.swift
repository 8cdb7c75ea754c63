package import RTCEngine
package import RTCWire
package import SFUCore

/// Whom a frame needs: known to the model, and told to the server only as publishers tell it.
package struct ModelFrame {
    package var id: Int
    package var stream: Int
    package var spatial: Int
    package var temporal: Int
    package var isKey: Bool
    /// Identifiers of frames.
    package var references: [Int]
    package var packetCount: Int
}

/// One packet on its way, and of which frame it is.
package struct ModelPacket {
    package var frame: Int
    package var index: Int
    package var stream: Int
    package var number: UInt16
    package var isPadding = false
    package var bytes: [UInt8]

    package init(frame: Int, index: Int, stream: Int, number: UInt16, isPadding: Bool = false, bytes: [UInt8]) {
        self.frame = frame
        self.index = index
        self.stream = stream
        self.number = number
        self.isPadding = isPadding
        self.bytes = bytes
    }
}

/// How a publication is coded.
package enum ModelCoding: CaseIterable, Sendable {
    /// Three simulcast streams, each with three temporal layers, the numbers of one of them with picture ids of 7 bits.
    case vp8Simulcast
    /// Three spatial layers in one stream that always need each other.
    case vp9Scalable
    /// Three spatial layers in one stream that need each other in key pictures only.
    case vp9KeyScalable
    /// The same in one stream where three were announced, as libwebrtc has it when no scalability mode is named.
    case vp9Encodings
    /// Three spatial layers in one stream, described by dependency descriptors.
    case av1Scalable
    case av1KeyScalable
    /// Three simulcast streams that nothing but their key frames tells about.
    case h264Simulcast

    package var format: PayloadFormat {
        switch self {
        case .vp8Simulcast: .vp8
        case .vp9Scalable, .vp9KeyScalable, .vp9Encodings: .vp9
        case .av1Scalable, .av1KeyScalable: .av1
        case .h264Simulcast: .h264
        }
    }
    package var streams: Int { self == .vp8Simulcast || self == .h264Simulcast ? 3 : 1 }
    /// How many the publisher says there are.
    package var announcedStreams: Int { self == .vp9Encodings ? 3 : streams }
    package var announcedArrangement: LayerArrangement { announcedStreams > 1 ? .simulcast : .scalable() }
    package var isScalable: Bool { streams == 1 }
    package var isKeyScalable: Bool { self == .vp9KeyScalable || self == .vp9Encodings || self == .av1KeyScalable }
}

/// Makes the pictures of a publication: thirty a second, temporal layers 0 2 1 2, key frames when asked.
package struct ModelPublisher {
    private struct Stream {
        var number: UInt16
        var timestamp: UInt32
        var picture: UInt16
        var base: UInt8
        var keyIndex: UInt8
        var frameNumber: UInt16
        var isLong: Bool
        /// Last frame of each spatial and temporal layer.
        var last: [[Int?]] = Array(repeating: Array(repeating: nil, count: 3), count: 3)
        var lastFrameNumber: [[UInt16?]] = Array(repeating: Array(repeating: nil, count: 3), count: 3)
        var lastInChain: [UInt16?] = [nil, nil, nil]
        var wantsKey = true
        var position = 0
        var isActive = true
        /// Since the last key frame, of which layers Y has been said.
        var pictures = 0
    }

    package let coding: ModelCoding
    package private(set) var frames: [ModelFrame] = []
    private var streams: [Stream]
    private var random: EngineRandom

    package init(_ coding: ModelCoding, random: EngineRandom) {
        self.coding = coding
        var random = random
        // Numbers begin shortly before they wrap.
        streams = (0..<coding.streams).map { index in
            Stream(
                number: UInt16(65_400 + Int.random(in: 0...130, using: &random)),
                timestamp: .max - UInt32.random(in: 0...400_000, using: &random),
                picture: UInt16.random(in: 32_700...32_767, using: &random),
                base: UInt8.random(in: 240...255, using: &random),
                keyIndex: UInt8.random(in: 28...31, using: &random),
                frameNumber: UInt16.random(in: 65_400...65_535, using: &random), isLong: true)
        }
        self.random = random
    }

    package func timestamp(of stream: Int) -> UInt32 { streams[stream].timestamp }
    package mutating func askForKey(_ stream: Int) { streams[stream].wantsKey = true }
    package mutating func set(_ stream: Int, isActive: Bool) {
        if isActive, !streams[stream].isActive { streams[stream].wantsKey = true }
        streams[stream].isActive = isActive
    }

    /// A thirtieth of a second has passed: the next picture, of every stream that is on.
    package mutating func picture() -> [ModelPacket] {
        var packets: [ModelPacket] = []
        for stream in streams.indices {
            streams[stream].timestamp &+= 3_000
            guard streams[stream].isActive else { continue }
            if Int.random(in: 0..<40, using: &random) == 0 { packets.append(padding(stream)) }
            packets += picture(stream)
        }
        return packets
    }

    private mutating func padding(_ stream: Int) -> ModelPacket {
        let number = streams[stream].number
        streams[stream].number &+= 1
        return ModelPacket(
            frame: -1, index: 0, stream: stream, number: number, isPadding: true,
            bytes: Packet.padding(number, timestamp: streams[stream].timestamp &- 3_000))
    }

    private mutating func picture(_ stream: Int) -> [ModelPacket] {
        let isKey = streams[stream].wantsKey
        streams[stream].wantsKey = false
        if isKey {
            streams[stream].position = 0
            streams[stream].pictures = 0
            streams[stream].keyIndex = (streams[stream].keyIndex &+ 1) & 0x1f
        }
        let temporal = coding == .h264Simulcast ? 0 : [0, 2, 1, 2][streams[stream].position % 4]
        // Layer 1's second picture after a key frame, and every other one later, refers to the base layer alone.
        let isSync = temporal > 0 && (streams[stream].position / 4) % 2 == 0
        if isKey || temporal == 0 { streams[stream].base &+= 1 }
        streams[stream].picture = (streams[stream].picture &+ 1) & 0x7fff
        let layers = coding.isScalable ? 3 : 1
        var packets: [ModelPacket] = []
        for spatial in 0..<layers {
            packets += frame(stream, spatial, temporal, isKey: isKey, isSync: isSync, isLast: spatial == layers - 1)
        }
        streams[stream].position += 1
        return packets
    }

    private mutating func frame(
        _ stream: Int, _ spatial: Int, _ temporal: Int, isKey: Bool, isSync: Bool, isLast: Bool
    ) -> [ModelPacket] {
        let id = frames.count
        let last = streams[stream].last
        var references: [Int] = []
        var numbers: [UInt16] = []
        if !isKey {
            let below = isSync ? 0...0 : 0...temporal
            // The latest of each layer up to its own; VP9 and AV1 refer to the latest of all of them only.
            var candidates = below.compactMap { layer in
                last[spatial][layer].map { ($0, streams[stream].lastFrameNumber[spatial][layer] ?? 0) }
            }
            if coding.isScalable {
                let lower = (0...temporal).filter { $0 < max(temporal, 1) }
                candidates = lower.compactMap { layer in
                    last[spatial][layer].map { ($0, streams[stream].lastFrameNumber[spatial][layer] ?? 0) }
                }
                candidates = candidates.max { $0.0 < $1.0 }.map { [$0] } ?? []
            }
            references = candidates.map(\.0)
            numbers = candidates.map(\.1)
        }
        let usesLower = spatial > 0 && (isKey || !coding.isKeyScalable)
        streams[stream].frameNumber &+= 1
        let frameNumber = streams[stream].frameNumber
        if usesLower {
            references.append(id - 1)
            numbers.append(frameNumber &- 1)
        }
        let count = Int.random(in: 1...(isKey ? 6 : 3), using: &random)
        frames.append(
            ModelFrame(
                id: id, stream: stream, spatial: spatial, temporal: temporal, isKey: isKey && spatial == 0,
                references: references, packetCount: count))
        let describe = FrameDescription(
            spatial: spatial, temporal: temporal, isKey: isKey, isSync: isSync, usesLower: usesLower, isLast: isLast,
            frameNumber: frameNumber, differences: numbers.map { frameNumber &- $0 })
        let packets = (0..<count).map { index in
            packet(id, stream, describe, index: index, of: count)
        }
        if isKey, spatial == 0 {
            streams[stream].last = Array(repeating: Array(repeating: nil, count: 3), count: 3)
            streams[stream].lastInChain = [nil, nil, nil]
        }
        streams[stream].last[spatial][temporal] = id
        streams[stream].lastFrameNumber[spatial][temporal] = frameNumber
        if temporal == 0 {
            for chain in spatial..<3 where chain == spatial || isKey || !coding.isKeyScalable {
                streams[stream].lastInChain[chain] = frameNumber
            }
        }
        return packets
    }

    struct FrameDescription {
        var spatial: Int
        var temporal: Int
        var isKey: Bool
        var isSync: Bool
        var usesLower: Bool
        var isLast: Bool
        var frameNumber: UInt16
        var differences: [UInt16]
    }

    private mutating func packet(
        _ id: Int, _ stream: Int, _ frame: FrameDescription, index: Int, of count: Int
    ) -> ModelPacket {
        let state = streams[stream]
        let (starts, ends) = (index == 0, index == count - 1)
        // What tells the test which packet it is, wherever it turns up.
        var mark: [UInt8] = []
        mark.append(uint32: UInt32(id))
        mark.append(UInt8(index))
        var payload: [UInt8] = []
        var descriptor: [UInt8]?
        switch coding {
        case .vp8Simulcast:
            payload =
                VP8Payload(
                    isKey: frame.isKey, starts: starts, pictureID: state.picture, isLong: state.isLong,
                    base: state.base,
                    temporal: UInt8(frame.temporal), sync: frame.isSync, keyIndex: state.keyIndex, content: []
                ).bytes
        case .h264Simulcast:
            // A parameter set first, then slices; or slices alone (RFC 6184 §5.6).
            payload =
                frame.isKey && starts ? [0x67] : frame.isKey ? [0x65, starts ? 0x80 : 0] : [0x41, starts ? 0x80 : 0]
        case .vp9Scalable, .vp9KeyScalable, .vp9Encodings:
            var vp9 = VP9PayloadDescriptor()
            vp9.pictureID = state.picture
            vp9.isInterPredicted = !frame.isKey
            vp9.startsLayerFrame = starts
            vp9.endsLayerFrame = ends
            vp9.isUnusedByHigherLayers = frame.spatial == 2 || coding.isKeyScalable && !frame.isKey
            // As libwebrtc has it in flexible mode, where a picture refers to lower temporal layers only; else in all.
            let isSwitchingPoint = coding != .vp9KeyScalable || frame.temporal > 0
            vp9.layers = VP9PayloadDescriptor.Layers(
                temporal: UInt8(frame.temporal), isSwitchingPoint: isSwitchingPoint, spatial: UInt8(frame.spatial),
                usesLowerLayer: frame.usesLower, temporalBaseIndex: state.base)
            vp9.write(into: &payload)
        case .av1Scalable, .av1KeyScalable:
            payload = [0x10 | (starts ? 0 : 0x80) | (frame.isKey && frame.spatial == 0 && starts ? 0x08 : 0)]
            descriptor = dependency(frame, stream, starts: starts, ends: ends)
        }
        payload += mark
        let number = streams[stream].number
        streams[stream].number &+= 1
        return ModelPacket(
            frame: id, index: index, stream: stream, number: number,
            bytes: Packet.rtp(
                number, timestamp: state.timestamp, marker: ends && frame.isLast, descriptor: descriptor, payload))
    }

    // MARK: Dependency descriptors

    /// L3T3 or L3T3_KEY (W3C webrtc-svc): nine decode targets, a chain for each spatial layer. Templates tell the
    /// layers; all else differs from them.
    package static let structure: DependencyStructure = {
        var templates: [DependencyStructure.Template] = []
        for place in 0..<9 {
            let indications: [DecodeTargetIndication] = (0..<9).map { target in
                let isPresent = place / 3 <= target / 3 && place % 3 <= target % 3
                return isPresent ? .required : .notPresent
            }
            templates.append(
                DependencyStructure.Template(
                    spatialLayer: UInt8(place / 3), temporalLayer: UInt8(place % 3), indications: indications,
                    chainDifferences: [0, 0, 0]))
        }
        return DependencyStructure(
            decodeTargetCount: 9, templates: templates, chainCount: 3, targetChains: [0, 0, 0, 1, 1, 1, 2, 2, 2])
    }()

    private func dependency(_ frame: FrameDescription, _ stream: Int, starts: Bool, ends: Bool) -> [UInt8] {
        let indications = (0..<9).map { target in indication(frame, spatial: target / 3, temporal: target % 3) }
        let chains = (0..<3).map { chain -> UInt8 in
            guard !(frame.isKey && frame.spatial == 0), let last = streams[stream].lastInChain[chain] else { return 0 }
            return UInt8(truncatingIfNeeded: frame.frameNumber &- last)
        }
        let descriptor = DependencyDescriptor(
            startsFrame: starts, endsFrame: ends, frameNumber: frame.frameNumber, spatialLayer: UInt8(frame.spatial),
            temporalLayer: UInt8(frame.temporal), indications: indications, frameDifferences: frame.differences,
            chainDifferences: chains, structure: frame.isKey && frame.spatial == 0 && starts ? Self.structure : nil)
        var data: [UInt8] = []
        _ = descriptor.write(Self.structure, into: &data)
        return data
    }

    private func indication(_ frame: FrameDescription, spatial: Int, temporal: Int) -> DecodeTargetIndication {
        guard frame.spatial <= spatial, frame.temporal <= temporal else { return .notPresent }
        if coding.isKeyScalable, !frame.isKey, frame.spatial != spatial { return .notPresent }
        if frame.isKey { return .switching }
        guard frame.spatial == spatial else { return .required }
        return frame.temporal == 2 ? .discardable : .switching
    }
}
