import RTCEngine
import RTCWire
import SFUModels
import Testing

@testable import SFUCore

/// One subscriber of a stream with spatial layers inside, packet by packet.
@Suite struct ScalableForwarderTests {
    // MARK: VP9 (RFC 9628)

    private struct VP9Subscriber {
        var peer: Subscriber
        var number: UInt16 = 7
        var picture: UInt16 = 40

        /// - Parameter encodings: how many the publisher has announced; with several it has not said that the layers
        ///   are in one stream.
        init(target: LayerTarget, encodings: Int = 1) {
            peer = Subscriber(
                .vp9, streams: encodings, target: target, arrangement: encodings > 1 ? .simulcast : .scalable())
        }

        /// One frame of one packet.
        mutating func frame(
            _ spatial: UInt8, _ temporal: UInt8 = 0, key: Bool = false, lower: Bool? = nil, up: Bool = false,
            unused: Bool = false, isLast: Bool = false, isLost: Bool = false, stream: Int = 0
        ) -> [String] {
            var descriptor = VP9PayloadDescriptor()
            descriptor.pictureID = picture
            descriptor.isInterPredicted = !key
            descriptor.startsLayerFrame = true
            descriptor.endsLayerFrame = true
            descriptor.isUnusedByHigherLayers = unused
            descriptor.layers = VP9PayloadDescriptor.Layers(
                temporal: temporal, isSwitchingPoint: up, spatial: spatial, usesLowerLayer: lower ?? (spatial > 0),
                temporalBaseIndex: 0)
            var payload: [UInt8] = []
            descriptor.write(into: &payload)
            let bytes = Packet.rtp(number, timestamp: UInt32(picture) * 3_000, marker: isLast, payload + [1, 2, 3])
            number += 1
            if isLast { picture += 1 }
            return isLost ? [] : peer.publish(bytes, layer: stream)
        }
    }

    @Test func `VP9: the upper layers are left out, and the picture ends with the last that goes out`() {
        var vp9 = VP9Subscriber(target: LayerTarget(spatial: 1, temporal: 7))
        #expect(vp9.frame(0, key: true) == ["100 @120000 key pid 40 s0t0"])
        #expect(vp9.frame(1, key: true) == ["101 @120000 pid 40 s1t0."])
        #expect(vp9.frame(2, key: true, isLast: true) == [])
        #expect(vp9.frame(0) == ["102 @123000 pid 41 s0t0"])
        #expect(vp9.frame(1) == ["103 @123000 pid 41 s1t0."])
        #expect(vp9.frame(2, isLast: true) == [])
    }

    @Test(arguments: 0..<3)
    func `VP9: of several encodings that come as one stream the layers inside are chosen`(stream: Int) {
        var vp9 = VP9Subscriber(target: .highest, encodings: 3)
        _ = vp9.frame(0, key: true, isLast: true, stream: stream)
        #expect(vp9.peer.track.arrangement == .simulcast)
        #expect(vp9.frame(0, stream: stream) == ["101 @123000 pid 41 s0t0."])
        #expect(vp9.frame(1, key: true, isLast: true, stream: stream) == ["102 @123000 pid 41 s1t0."])
        #expect(vp9.peer.track.arrangement == .scalable(stream: UInt8(stream)))
        vp9.peer.forwarder.target = .lowest
        #expect(vp9.frame(0, stream: stream) == ["103 @126000 pid 42 s0t0."])
        #expect(vp9.frame(1, isLast: true, stream: stream) == [])
        #expect(vp9.peer.track.bitrates.live == 0b11)
        vp9.peer.forwarder.target = .highest
        #expect(vp9.frame(0, stream: stream) == ["104 @129000 pid 43 s0t0."])
        #expect(vp9.frame(1, isLast: true, stream: stream) == [])
        #expect(vp9.peer.wishes() == stream)
        #expect(vp9.frame(0, key: true, stream: stream) == ["105 @132000 key pid 44 s0t0"])
        #expect(vp9.frame(1, key: true, isLast: true, stream: stream) == ["106 @132000 pid 44 s1t0."])
        #expect(vp9.peer.wishes() == nil)
    }

    @Test func `VP9: once several streams have come, each is a layer, whatever is inside`() {
        var vp9 = VP9Subscriber(target: .highest, encodings: 2)
        _ = vp9.frame(0, key: true)
        _ = vp9.frame(1, key: true, isLast: true)
        #expect(vp9.peer.track.arrangement == .scalable())
        _ = vp9.frame(0, key: true, isLast: true, stream: 1)
        #expect(vp9.peer.track.arrangement == .simulcast)
        // Who comes is no reason to take anybody away from the other.
        #expect(vp9.peer.track.bitrates.live == 0b11)
        _ = vp9.frame(0)
        _ = vp9.frame(1, isLast: true)
        #expect(vp9.peer.track.arrangement == .simulcast)
        #expect(vp9.peer.track.bitrates.live == 0b11)
    }

    @Test
    func `VP9: a layer that a key picture with a gap was believed to have takes nothing away from those there are`() {
        var vp9 = VP9Subscriber(target: .highest, encodings: 2)
        #expect(vp9.frame(0, key: true, unused: true, isLast: true) == ["100 @120000 key pid 40 s0t0."])
        _ = vp9.frame(0, unused: true, isLast: true, isLost: true)
        // What is missing could have been of this picture, of whose layers this is the only one that comes.
        #expect(vp9.frame(0, key: true, unused: true, isLast: true) == ["102 @126000 key pid 42 s0t0."])
        #expect(vp9.frame(0, unused: true, isLast: true) == ["103 @129000 pid 43 s0t0."])
        #expect(vp9.frame(0, unused: true, isLast: true) == ["104 @132000 pid 44 s0t0."])
        #expect(vp9.peer.wishes() == nil)
    }

    @Test func `VP9: a stream among several of which nothing can be decoded any more begins anew`() {
        var vp9 = VP9Subscriber(target: .highest, encodings: 2)
        _ = vp9.frame(0, key: true, isLast: true)
        _ = vp9.frame(0, key: true, stream: 1)
        #expect(vp9.frame(1, key: true, isLast: true, stream: 1) == ["102 @120001 pid 41 s1t0."])
        #expect(vp9.peer.wishes() == nil)
        // The upper layer refers to the lower one, of which was said that nobody does.
        #expect(vp9.frame(0, unused: true, stream: 1) == [])
        #expect(vp9.frame(1, isLast: true, stream: 1) == [])
        #expect(vp9.peer.wishes() == 1)
    }

    @Test func `VP9: layers that need each other are left at once, and joined at a key picture`() {
        var vp9 = VP9Subscriber(target: .highest)
        #expect(vp9.frame(0, key: true) == ["100 @120000 key pid 40 s0t0"])
        #expect(vp9.frame(1, key: true, isLast: true) == ["101 @120000 pid 40 s1t0."])
        vp9.peer.forwarder.target = .lowest
        #expect(vp9.frame(0) == ["102 @123000 pid 41 s0t0."])
        #expect(vp9.frame(1, isLast: true) == [])
        #expect(vp9.peer.wishes() == nil)
        vp9.peer.forwarder.target = LayerTarget(spatial: 1, temporal: 0)
        #expect(vp9.frame(0) == ["103 @126000 pid 42 s0t0."])
        #expect(vp9.frame(1, isLast: true) == [])
        #expect(vp9.peer.wishes() == 0)
        #expect(vp9.frame(0, key: true) == ["104 @129000 key pid 43 s0t0"])
        #expect(vp9.frame(1, key: true, isLast: true) == ["105 @129000 pid 43 s1t0."])
        #expect(vp9.peer.wishes() == nil)
    }

    @Test func `VP9: a layer that is not predicted from earlier pictures is joined there`() {
        var vp9 = VP9Subscriber(target: .lowest)
        _ = vp9.frame(0, key: true)
        _ = vp9.frame(1, key: true, isLast: true)
        vp9.peer.forwarder.target = LayerTarget(spatial: 1, temporal: 0)
        #expect(vp9.frame(0) == ["101 @123000 pid 41 s0t0."])
        // P is 0 in this layer's frame alone.
        #expect(vp9.frame(1, key: true, isLast: true) == ["102 @123000 pid 41 s1t0."])
        #expect(vp9.frame(0) == ["103 @126000 pid 42 s0t0"])
        #expect(vp9.frame(1, isLast: true) == ["104 @126000 pid 42 s1t0."])
    }

    @Test func `VP9: lower layers that no other needs are not sent, and to go back to them takes a key picture`() {
        var vp9 = VP9Subscriber(target: .highest)
        #expect(vp9.frame(0, key: true) == ["100 @120000 key pid 40 s0t0"])
        #expect(vp9.frame(1, key: true, isLast: true) == ["101 @120000 pid 40 s1t0."])
        #expect(vp9.peer.forwarder.selector.forwarded(of: vp9.peer.track)?.spatial == 1)
        vp9.peer.forwarder.target = LayerTarget(spatial: 1, temporal: 0)
        _ = vp9.frame(0, key: true)
        _ = vp9.frame(1, key: true, isLast: true)
        #expect(vp9.frame(0, unused: true) == [])
        #expect(vp9.frame(1, lower: false, isLast: true) == ["104 @126000 pid 42 s1t0."])
        vp9.peer.forwarder.target = .lowest
        #expect(vp9.frame(0, unused: true) == [])
        #expect(vp9.frame(1, lower: false, isLast: true) == ["105 @129000 pid 43 s1t0."])
        #expect(vp9.peer.wishes() == 0)
        #expect(vp9.frame(0, key: true) == ["106 @132000 key pid 44 s0t0."])
        #expect(vp9.frame(1, key: true, isLast: true) == [])
    }

    @Test func `VP9: temporal layers are left at any picture and joined after U`() {
        var vp9 = VP9Subscriber(target: .lowest)
        #expect(vp9.frame(0, key: true, isLast: true) == ["100 @120000 key pid 40 s0t0."])
        #expect(vp9.frame(0, 2, isLast: true) == [])
        vp9.peer.forwarder.target = LayerTarget(spatial: 0, temporal: 2)
        // It may refer to the one that was left out.
        #expect(vp9.frame(0, 2, isLast: true) == [])
        #expect(vp9.frame(0, 0, up: true, isLast: true) == ["101 @129000 pid 43 s0t0."])
        #expect(vp9.frame(0, 2, isLast: true) == ["102 @132000 pid 44 s0t2."])
        vp9.peer.forwarder.target = LayerTarget(spatial: 0, temporal: 1)
        #expect(vp9.frame(0, 1, isLast: true) == ["103 @135000 pid 45 s0t1."])
        #expect(vp9.frame(0, 2, isLast: true) == [])
    }

    @Test func `VP9: after U a picture that is missing may be one that the others refer to`() {
        var vp9 = VP9Subscriber(target: .lowest)
        _ = vp9.frame(0, key: true, isLast: true)
        #expect(vp9.frame(0, 0, up: true, isLast: true) == ["101 @123000 pid 41 s0t0."])
        vp9.peer.forwarder.target = LayerTarget(spatial: 0, temporal: 2)
        #expect(vp9.frame(0, 2, isLast: true, isLost: true) == [])
        #expect(vp9.frame(0, 2, isLast: true) == [])
    }

    @Test func `VP9: where the lowest pictures have no U, a temporal layer is joined at one of its own that has it`() {
        var vp9 = VP9Subscriber(target: .lowest)
        #expect(vp9.frame(0, key: true, isLast: true) == ["100 @120000 key pid 40 s0t0."])
        vp9.peer.forwarder.target = LayerTarget(spatial: 0, temporal: 2)
        // It may refer to one of the layer between, which was left out.
        #expect(vp9.frame(0, 2, up: true, isLast: true) == [])
        #expect(vp9.frame(0, 1, isLast: true) == [])
        #expect(vp9.frame(0, 2, up: true, isLast: true) == [])
        #expect(vp9.frame(0, 0, isLast: true) == ["101 @132000 pid 44 s0t0."])
        #expect(vp9.frame(0, 2, up: true, isLast: true) == [])
        #expect(vp9.frame(0, 1, up: true, isLast: true) == ["102 @138000 pid 46 s0t1."])
        #expect(vp9.frame(0, 2, up: true, isLast: true) == ["103 @141000 pid 47 s0t2."])
        #expect(vp9.frame(0, 0, isLast: true) == ["104 @144000 pid 48 s0t0."])
        vp9.peer.forwarder.target = LayerTarget(spatial: 0, temporal: 1)
        #expect(vp9.frame(0, 2, up: true, isLast: true) == [])
        #expect(vp9.frame(0, 1, up: true, isLast: true) == ["105 @150000 pid 50 s0t1."])
    }

    // MARK: Dependency descriptors (AV1 RTP specification, appendix A)

    private struct AV1Subscriber {
        var peer: Subscriber
        var number: UInt16 = 7
        var frameNumber: UInt16 = 90
        var picture: UInt32 = 40

        init(target: LayerTarget) { peer = Subscriber(.av1, target: target, arrangement: .scalable()) }

        /// One frame of one packet; `indications` as in the specification: - D S R, one for each of the nine targets.
        ///
        /// - Parameter starts: without that it is the last packet of its frame, and another is to come before it.
        mutating func frame(
            _ spatial: UInt8, _ temporal: UInt8, _ indications: String, back: [UInt16] = [], chains: [UInt8],
            isKey: Bool = false, active: UInt32? = nil, starts: Bool = true, isLast: Bool = false
        ) -> [String] {
            let kinds: [Character: DecodeTargetIndication] = [
                "-": .notPresent, "D": .discardable, "S": .switching, "R": .required,
            ]
            let descriptor = DependencyDescriptor(
                startsFrame: starts, endsFrame: true, frameNumber: frameNumber, spatialLayer: spatial,
                temporalLayer: temporal, indications: indications.compactMap { kinds[$0] }, frameDifferences: back,
                chainDifferences: chains, structure: isKey ? ModelPublisher.structure : nil, activeTargets: active)
            var data: [UInt8] = []
            #expect(descriptor.write(ModelPublisher.structure, into: &data))
            let bytes = Packet.rtp(number, timestamp: picture * 3_000, marker: isLast, descriptor: data, [0x10, 1, 2])
            number += 1
            frameNumber += 1
            if isLast { picture += 1 }
            return peer.publish(bytes)
        }

        /// A key picture of all layers.
        mutating func key() -> [String] {
            frame(0, 0, "SSSSSSSSS", chains: [0, 0, 0], isKey: true)
                + frame(1, 0, "---SSSSSS", back: [1], chains: [1, 1, 1])
                + frame(2, 0, "------SSS", back: [1], chains: [2, 1, 1], isLast: true)
        }
    }

    @Test func `AV1: a frame goes out when it is present in the chosen target`() {
        var av1 = AV1Subscriber(target: LayerTarget(spatial: 1, temporal: 0))
        #expect(av1.key() == ["100 @120000", "101 @120000."])
        #expect(av1.peer.forwarder.selector.forwarded(of: av1.peer.track) == LayerTarget(spatial: 1, temporal: 0))
        // Where layers need each other in key pictures only, the lower one is not present.
        #expect(av1.frame(0, 0, "SSS------", back: [3], chains: [3, 2, 1]) == [])
        #expect(av1.frame(1, 0, "---SSS---", back: [3], chains: [1, 3, 2]) == ["102 @123000."])
        #expect(av1.frame(2, 0, "------SSS", back: [3], chains: [2, 1, 3], isLast: true) == [])
    }

    @Test func `AV1: a target is joined at a switch whose references and chain went out`() {
        var av1 = AV1Subscriber(target: LayerTarget(spatial: 0, temporal: 0))
        #expect(av1.key() == ["100 @120000."])
        av1.peer.forwarder.target = LayerTarget(spatial: 0, temporal: 2)
        // Present, but no switch.
        #expect(av1.frame(0, 2, "--R--R--R", back: [3], chains: [3, 3, 3], isLast: true) == [])
        // A switch, but it refers to what did not go out.
        #expect(av1.frame(0, 1, "-SS-SS-SS", back: [1], chains: [4, 4, 4], isLast: true) == [])
        #expect(av1.frame(0, 1, "-SS-SS-SS", back: [5], chains: [5, 5, 5], isLast: true) == ["101 @129000."])
        #expect(av1.peer.forwarder.selector.forwarded(of: av1.peer.track) == LayerTarget(spatial: 0, temporal: 2))
        #expect(av1.peer.wishes() == nil)
        av1.peer.forwarder.target = .highest
        // The chain of the upper layer is broken: its last frame did not go out.
        #expect(av1.frame(1, 0, "---SSSSSS", back: [], chains: [6, 5, 5], isLast: true) == [])
        #expect(av1.peer.wishes() == 0)
        #expect(av1.key().count == 3)
        #expect(av1.peer.wishes() == nil)
    }

    @Test func `AV1: to a lower layer that the others need it takes a switch, and no key picture`() {
        var av1 = AV1Subscriber(target: .highest)
        #expect(av1.key().count == 3)
        #expect(av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1]).count == 1)
        av1.peer.forwarder.target = .lowest
        #expect(av1.peer.wishes() == nil)
        #expect(av1.frame(1, 0, "---SSSRRR", back: [1, 3], chains: [1, 1, 1]).count == 1)
        #expect(av1.peer.wishes() == nil)
        #expect(av1.frame(2, 0, "------SSS", back: [1, 3], chains: [2, 1, 1], isLast: true).count == 1)
        #expect(av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1]).count == 1)
        #expect(av1.peer.forwarder.selector.forwarded(of: av1.peer.track)?.spatial == 0)
        #expect(av1.peer.wishes() == nil)
    }

    @Test(arguments: [
        (LayerTarget.highest, LayerTarget(spatial: 1, temporal: 2)),
        (LayerTarget(spatial: 1, temporal: 2), LayerTarget(spatial: 1, temporal: 0)),
    ])
    func `AV1: on the way down no layer below the wanted one is chosen, and a picture has one end`(
        before: LayerTarget, after: LayerTarget
    ) {
        var av1 = AV1Subscriber(target: before)
        let next = 100 + av1.key().count
        av1.peer.forwarder.target = after
        #expect(av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1]) == ["\(next) @123000"])
        #expect(av1.frame(1, 0, "---SSSRRR", back: [1, 3], chains: [1, 1, 1]) == ["\(next + 1) @123000."])
        #expect(av1.frame(2, 0, "------SSS", back: [1, 3], chains: [2, 1, 1], isLast: true) == [])
        #expect(av1.peer.forwarder.selector.forwarded(of: av1.peer.track) == after)
        #expect(av1.peer.wishes() == nil)
    }

    @Test func `AV1: where the first packet of the wanted layer is missing, the way down is taken at the next picture`()
    {
        var av1 = AV1Subscriber(target: .highest)
        #expect(av1.key().count == 3)
        av1.peer.forwarder.target = LayerTarget(spatial: 1, temporal: 2)
        #expect(av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1]) == ["103 @123000"])
        av1.number += 1
        #expect(av1.frame(1, 0, "---SSSRRR", back: [1, 3], chains: [1, 1, 1], starts: false) == ["105 @123000"])
        #expect(
            av1.frame(2, 0, "------SSS", back: [1, 3], chains: [2, 1, 1], isLast: true) == ["106 @123000."])
        #expect(av1.peer.wishes() == nil)
        #expect(av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1]) == ["107 @126000"])
        #expect(av1.frame(1, 0, "---SSSRRR", back: [1, 3], chains: [1, 1, 1]) == ["108 @126000."])
        #expect(av1.peer.wishes() == nil)
    }

    @Test func `AV1: where no frame is marked as a switch down, a key picture is asked for after a while`() {
        var av1 = AV1Subscriber(target: .highest)
        #expect(av1.key().count == 3)
        av1.peer.forwarder.target = .lowest
        var unasked = 0
        while av1.peer.wishes() == nil, unasked < 200 {
            _ = av1.frame(0, 0, "RRRRRRRRR", back: [3], chains: [3, 2, 1])
            _ = av1.frame(1, 0, "---RRRRRR", back: [1, 3], chains: [1, 1, 1])
            _ = av1.frame(2, 0, "------RRR", back: [1, 3], chains: [2, 1, 1], isLast: true)
            unasked += 1
        }
        #expect((30..<40).contains(unasked))
    }

    @Test func `AV1: where layers need each other in key pictures only, a lower one takes a key picture`() {
        var av1 = AV1Subscriber(target: .highest)
        #expect(av1.key().count == 3)
        #expect(av1.frame(0, 0, "SSS------", back: [3], chains: [3, 2, 1]) == [])
        #expect(av1.frame(1, 0, "---SSS---", back: [3], chains: [1, 3, 2]) == [])
        #expect(av1.frame(2, 0, "------SSS", back: [3], chains: [2, 1, 3], isLast: true).count == 1)
        av1.peer.forwarder.target = .lowest
        #expect(av1.peer.wishes() == 0)
    }

    /// A key picture of four packets, whose first brings a structure with other templates: publishers begin one when
    /// their picture's size changes.
    private static func keyPictureOfAnotherStructure(after av1: AV1Subscriber) -> [[UInt8]] {
        let former = ModelPublisher.structure
        let structure = DependencyStructure(
            firstTemplateID: former.firstTemplateID + UInt8(former.templates.count), decodeTargetCount: 9,
            templates: former.templates, chainCount: 3, targetChains: former.targetChains)
        return (0..<4).map { place in
            let descriptor = DependencyDescriptor(
                startsFrame: place == 0, endsFrame: place == 3, frameNumber: av1.frameNumber, spatialLayer: 0,
                temporalLayer: 0, indications: [DecodeTargetIndication](repeating: .switching, count: 9),
                chainDifferences: [0, 0, 0], structure: place == 0 ? structure : nil)
            var data: [UInt8] = []
            #expect(descriptor.write(structure, into: &data))
            return Packet.rtp(
                av1.number + UInt16(place), timestamp: av1.picture * 3_000, marker: place == 3, descriptor: data,
                [0x10, 1, UInt8(place)])
        }
    }

    @Test func `AV1: of a key picture with another structure nothing is lost when its first packet comes last`() {
        var av1 = AV1Subscriber(target: .lowest)
        #expect(av1.key() == ["100 @120000."])
        let packets = Self.keyPictureOfAnotherStructure(after: av1)
        for packet in packets.dropFirst() { #expect(av1.peer.publish(packet) == []) }
        #expect(
            av1.peer.publish(packets[0]) == ["101 @123000", "102 @123000", "103 @123000", "104 @123000."])
        #expect(av1.peer.wishes() == nil)
    }

    @Test func `AV1: a key frame is asked for when the first packet of another structure does not come`() {
        var av1 = AV1Subscriber(target: .lowest)
        #expect(av1.key().count == 1)
        #expect(av1.peer.wishes() == nil)
        for packet in Self.keyPictureOfAnotherStructure(after: av1).dropFirst() {
            #expect(av1.peer.publish(packet) == [])
        }
        #expect(av1.peer.wishes() == 0)
    }

    @Test func `AV1: targets that are no longer sent are left for what is`() {
        var av1 = AV1Subscriber(target: .highest)
        #expect(av1.key().count == 3)
        // The mask says that the upper two layers end; the lowest goes on for those who have it.
        #expect(
            av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1], active: 0x007, isLast: true) == ["103 @123000."])
        #expect(av1.peer.forwarder.selector.forwarded(of: av1.peer.track) == LayerTarget(spatial: 0, temporal: 2))
        #expect(av1.frame(0, 2, "--D------", back: [1], chains: [1, 3, 2], isLast: true) == ["104 @126000."])
        #expect(av1.peer.wishes() == nil)
    }

    @Test func `AV1: where the highest layer ends, the next one goes on, and its picture has one end`() {
        var av1 = AV1Subscriber(target: .highest)
        #expect(av1.key().count == 3)
        #expect(av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1], active: 0x03f) == ["103 @123000"])
        #expect(av1.frame(1, 0, "---SSSRRR", back: [1, 3], chains: [1, 1, 1], isLast: true) == ["104 @123000."])
        #expect(av1.peer.forwarder.selector.forwarded(of: av1.peer.track) == LayerTarget(spatial: 1, temporal: 2))
        #expect(av1.peer.wishes() == nil)
    }

    @Test func `AV1: layers that come again in one picture, each from the one below, are joined one after the other`() {
        var av1 = AV1Subscriber(target: .highest)
        #expect(av1.key().count == 3)
        let alone = av1.frame(0, 0, "SSSRRRRRR", back: [3], chains: [3, 2, 1], active: 0x007, isLast: true)
        #expect(alone == ["103 @123000."])
        // That others would follow was not known at its end.
        #expect(av1.frame(0, 0, "SSSRRRRRR", back: [1], chains: [1, 1, 1], active: 0x1ff) == ["104 @126000."])
        #expect(av1.frame(1, 0, "---SSSRRR", back: [1], chains: [1, 1, 1]) == ["105 @126000."])
        #expect(av1.frame(2, 0, "------SSS", back: [1], chains: [2, 1, 1], isLast: true) == ["106 @126000."])
        #expect(av1.peer.forwarder.selector.forwarded(of: av1.peer.track) == LayerTarget(spatial: 2, temporal: 2))
    }
}
