import Foundation
import RTCWire
import Testing

/// Streams as Chromium describes them: `Tests/Vectors/rtp/chromium-dependency-descriptors.json`, which says how they
/// were captured.
@Suite struct `Dependency descriptors of Chromium` {
    struct Stream: Decodable, CustomTestStringConvertible {
        var codec: String
        var scalabilityMode: String
        var width: Int
        var height: Int
        var descriptors: [String]

        var testDescription: String { "\(codec) \(scalabilityMode)" }

        /// As the mode's name has them: `L3T3_KEY`.
        var spatialLayers: Int { Int(scalabilityMode.dropFirst().prefix(1)) ?? 0 }
        var temporalLayers: Int { Int(scalabilityMode.dropFirst(3).prefix(1)) ?? 0 }

        /// Read in order, each with its bytes.
        func read() throws -> [(bytes: [UInt8], told: DependencyDescriptor)] {
            var reader = DependencyDescriptorReader()
            return try descriptors.map { text in
                let bytes = stride(from: 0, to: text.count, by: 2).compactMap { offset in
                    UInt8(text.dropFirst(offset).prefix(2), radix: 16)
                }
                let told = reader.read(bytes.span.bytes)
                return (bytes, try #require(told))
            }
        }

        /// One for each frame, and the structure in force.
        func frames() throws -> (frames: [DependencyDescriptor], structure: DependencyStructure) {
            let frames = try read().map(\.told).filter(\.startsFrame)
            return (frames, try #require(frames.first?.structure))
        }
    }

    private struct File: Decodable {
        var streams: [Stream]
    }

    static let streams: [Stream] = {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let file = tests.appending(path: "Vectors/rtp/chromium-dependency-descriptors.json")
        do {
            return try JSONDecoder().decode(File.self, from: Data(contentsOf: file)).streams
        } catch {
            fatalError("\(file.path): \(error)")
        }
    }()

    @Test(arguments: streams)
    func `the structure has the layers and targets of the mode, and the picture's size`(stream: Stream) throws {
        let structure = try stream.frames().structure
        #expect(structure.spatialLayerCount == stream.spatialLayers)
        let temporal = (structure.templates.map(\.temporalLayer).max() ?? 0) + 1
        #expect(Int(temporal) == stream.temporalLayers)
        // One for each layer that can be the highest.
        #expect(structure.decodeTargetCount == stream.spatialLayers * stream.temporalLayers)
        // Chromium gives VP8 no chains, and everything else one for each spatial layer.
        #expect(structure.chainCount == (stream.codec == "VP8" ? 0 : stream.spatialLayers))
        guard let sizes = structure.resolutions else { return #expect(stream.codec == "H264") }
        #expect(sizes.last == .init(width: stream.width, height: stream.height))
        #expect(zip(sizes, sizes.dropFirst()).allSatisfy { 2 * $0.width == $1.width && 2 * $0.height == $1.height })
    }

    @Test(arguments: streams)
    func `frames count on, begin and end, and refer to frames of their own layers or lower ones`(
        stream: Stream
    ) throws {
        var previous: DependencyDescriptor?
        var known: [UInt16: DependencyDescriptor] = [:]
        for (_, told) in try stream.read() {
            if let previous {
                #expect(told.startsFrame == previous.endsFrame)
                #expect(told.frameNumber == previous.frameNumber &+ (told.startsFrame ? 1 : 0))
            }
            previous = told
            guard told.startsFrame else { continue }
            // A key frame, and nothing else, brings the structure.
            #expect((told.structure != nil) == told.isIndependent)
            for difference in told.frameDifferences {
                let reference = try #require(known[told.frameNumber &- difference])
                #expect(reference.spatialLayer <= told.spatialLayer)
                #expect(reference.temporalLayer <= told.temporalLayer)
            }
            known[told.frameNumber] = told
        }
        let layers = Set(known.values.map { [$0.spatialLayer, $0.temporalLayer] })
        #expect(layers.count == stream.spatialLayers * stream.temporalLayers)
    }

    /// §A.2: what a target has of frames can be decoded without the others.
    @Test(arguments: streams)
    func `a decode target needs no frame that it has not`(stream: Stream) throws {
        let (frames, structure) = try stream.frames()
        var known: [UInt16: DependencyDescriptor] = [:]
        for frame in frames {
            for target in 0..<structure.decodeTargetCount where frame.indications[target] != .notPresent {
                for difference in frame.frameDifferences {
                    let reference = try #require(known[frame.frameNumber &- difference])
                    #expect([.switching, .required].contains(reference.indications[target]), "target \(target)")
                }
            }
            known[frame.frameNumber] = frame
        }
    }

    /// §A.2: a chain's last frame is the one that it had before, or the frame in between. Of layers that are not sent
    /// Chromium says nothing that means something.
    @Test(arguments: streams)
    func `chains of what is sent go from frame to frame`(stream: Stream) throws {
        let (frames, structure) = try stream.frames()
        for chain in 0..<structure.chainCount {
            let targets = structure.targetChains.indices.filter { Int(structure.targetChains[$0]) == chain }
            var (active, last): (UInt32, UInt16?) = (0, nil)
            for frame in frames {
                active = frame.activeTargets ?? active
                guard targets.contains(where: { active >> UInt32($0) & 1 == 1 }) else { continue }
                let told = frame.frameNumber &- UInt16(frame.chainDifferences[chain])
                if frame.isIndependent {
                    #expect(told == frame.frameNumber, "a key frame begins the chain")
                } else if let last {
                    #expect([last, frame.frameNumber &- 1].contains(told), "chain \(chain), \(frame.frameNumber)")
                }
                last = told
            }
        }
    }

    @Test(arguments: streams)
    func `what was read is written as Chromium wrote it, bit by bit`(stream: Stream) throws {
        let structure = try stream.frames().structure
        for (bytes, told) in try stream.read() {
            var written: [UInt8] = []
            #expect(told.write(structure, into: &written))
            #expect(written == bytes)
        }
    }

    @Test func `one layer has the structure that Chromium gives it`() throws {
        let stream = try #require(Self.streams.first { $0.codec == "AV1" && $0.scalabilityMode == "L1T1" })
        #expect(try stream.frames().structure == .singleLayer(width: stream.width, height: stream.height))
    }
}
