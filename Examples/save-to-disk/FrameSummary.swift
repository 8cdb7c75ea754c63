import Foundation
import RTCEngine
import RTCWire

/// What the header extensions said of a track's frames, for the line at its end. What nobody said is left out.
struct FrameSummary {
    private var loudest: AudioLevel?
    private var orientation: VideoOrientation?
    private var playoutDelay: PlayoutDelayLimits?
    private var captureDelay: TimeInterval?
    private var structure: DependencyStructure?
    private var describedFrames = 0

    mutating func add(_ metadata: FrameMetadata) {
        if let level = metadata.audioLevel, level.level < loudest?.level ?? .max { loudest = level }
        orientation = metadata.orientation ?? orientation
        playoutDelay = metadata.playoutDelay ?? playoutDelay
        if let time = metadata.captureTime?.time {
            // Means something where both clocks are set alike.
            captureDelay = Date().timeIntervalSince1970 - time.secondsSince1970
        }
        if let dependency = metadata.dependency {
            describedFrames += 1
            structure = dependency.structure ?? structure
        }
    }

    var fields: [String: String] {
        var fields: [String: String] = [:]
        if let loudest { fields["loudest"] = "-\(loudest.level) dBov" }
        if let orientation { fields["turned"] = "\(90 * Int(orientation.quarterTurns))" }
        if let playoutDelay { fields["playoutDelay"] = "\(playoutDelay.minimum)-\(playoutDelay.maximum) ms" }
        if let captureDelay { fields["captureDelay"] = String(format: "%.1f ms", captureDelay * 1_000) }
        guard let structure else { return fields }
        let temporal = (structure.templates.map(\.temporalLayer).max() ?? 0) + 1
        fields["layers"] = "\(structure.spatialLayerCount)x\(temporal)"
        fields["decodeTargets"] = "\(structure.decodeTargetCount)"
        fields["chains"] = "\(structure.chainCount)"
        fields["described"] = "\(describedFrames)"
        return fields
    }
}

extension NTPTimestamp {
    /// RFC 5905 §6: the wire's seconds begin in 1900.
    fileprivate var secondsSince1970: TimeInterval { Double(value) / 4_294_967_296 - 2_208_988_800 }
}
