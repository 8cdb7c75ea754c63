import RTCEngine
import RTCWire
import SFUModels
import Testing

@testable import SFUCore

/// Packets that bring a dependency structure, and come late (AV1 RTP specification §A.8).
@Suite struct LateStructureTests {
    /// A publisher whose structure has other template numbers with each key frame.
    private final class Publisher {
        var track = PublishedTrack(format: .av1)

        private static func structure(_ firstTemplate: UInt8) -> DependencyStructure {
            var structure = ModelPublisher.structure
            structure.firstTemplateID = firstTemplate
            return structure
        }

        /// One packet, a frame of the lowest layer by templates from `firstTemplate` on.
        func publish(
            _ number: UInt16, template firstTemplate: UInt8, isKey: Bool = false, active: UInt32? = nil
        ) -> PublishedPacket? {
            let structure = Self.structure(firstTemplate)
            let descriptor = DependencyDescriptor(
                startsFrame: true, endsFrame: true, frameNumber: number, spatialLayer: 0, temporalLayer: 0,
                indications: structure.templates[0].indications, chainDifferences: [0, 0, 0],
                structure: isKey ? structure : nil, activeTargets: active)
            var data: [UInt8] = []
            #expect(descriptor.write(structure, into: &data))
            let bytes = Packet.rtp(number, timestamp: UInt32(number) * 3_000, descriptor: data, [0x10, 1, 2])
            guard let header = try? RTPHeader(parsing: bytes.span.bytes) else { return nil }
            return track.receive(
                header, bytes.span.bytes, layer: 0, extensions: Packet.extensions, at: .zero + .seconds(Int64(1)))
        }

        /// What is kept of a packet.
        func kept(_ number: UInt16) -> VideoDescriptor? {
            track.packet(layer: 0, low: 0x1_0000 + UInt32(number), at: .zero + .seconds(Int64(1)))?.video
        }
    }

    @Test func `an earlier key frame's structure and targets, come late, do not take the place of the newer ones`() {
        let publisher = Publisher()
        #expect(publisher.publish(10, template: 0, isKey: true)?.video.startsKeyFrame == true)
        #expect(publisher.publish(14, template: 30, isKey: true, active: 0x07)?.video.startsKeyFrame == true)
        // It says what it is itself, but nobody is to begin there.
        let late = publisher.publish(12, template: 15, isKey: true)
        #expect(late?.video.scheme == .dependency)
        #expect(late?.video.startsFrame == true)
        #expect(late?.video.startsKeyFrame == false)
        #expect(late?.video.dependency.activeTargets == 0x1ff)
        let next = publisher.publish(15, template: 30)
        #expect(next?.video.scheme == .dependency)
        #expect(next?.video.dependency.activeTargets == 0x07)
        // Nor is a mask that comes late.
        #expect(publisher.publish(13, template: 30, active: 0x03)?.video.dependency.activeTargets == 0x03)
        #expect(publisher.publish(16, template: 30)?.video.dependency.activeTargets == 0x07)
    }

    @Test func `packets that came before their structure are understood when it comes, each with its own targets`() {
        let publisher = Publisher()
        for number in 101..<400 as Range<UInt16> {
            let packet = publisher.publish(number, template: 0, active: number == 200 ? 0x3f : nil)
            #expect(packet?.video.scheme == VideoDescriptor.Scheme.none)
        }
        #expect(publisher.publish(100, template: 0, isKey: true)?.video.startsKeyFrame == true)
        for number in 101..<400 as Range<UInt16> {
            #expect(publisher.kept(number)?.scheme == .dependency)
            #expect(publisher.kept(number)?.dependency.activeTargets == (number < 200 ? 0x1ff : 0x3f))
        }
        #expect(publisher.publish(400, template: 0)?.video.dependency.activeTargets == 0x3f)
    }

    @Test func `a packet that comes far ahead of the first structure is understood when that comes`() {
        let publisher = Publisher()
        #expect(publisher.publish(130, template: 0)?.video.scheme == VideoDescriptor.Scheme.none)
        #expect(publisher.publish(100, template: 0, isKey: true)?.video.startsKeyFrame == true)
        #expect(publisher.kept(130)?.scheme == .dependency)
    }

    @Test func `structures that come late one after the other do not have everything read again each time`() {
        let publisher = Publisher()
        for number in 1_500..<2_000 as Range<UInt16> { _ = publisher.publish(number, template: 40) }
        for number in 1_000..<1_500 as Range<UInt16> { _ = publisher.publish(number, template: 0, isKey: true) }
        #expect(publisher.track.reread(of: 0) > 500)
        #expect(publisher.track.reread(of: 0) <= 1_024 + 4 * 1_000)
    }
}
