internal import LiveKitProtocol
internal import RTCEngine
internal import SwiftProtobuf

/// One of the sizes in which a picture is encoded (simulcast): the server passes the one on that a receiver has use and
/// room for.
public struct VideoLayer: Sendable, Hashable {
    /// What receivers ask for it by; each layer of a track has another.
    public var quality: VideoQuality
    /// In pixels.
    public var width: Int
    /// In pixels.
    public var height: Int
    /// About so many bits per second; 0 if it is not known.
    public var bitrate: Int

    public init(quality: VideoQuality, width: Int, height: Int, bitrate: Int = 0) {
        self.quality = quality
        self.width = width
        self.height = height
        self.bitrate = bitrate
    }
}

/// The layers of a track as they are sent, each by its name.
struct LayerNames: Sendable, Hashable {
    /// LiveKit's (quarter, half and full), from the smallest on: where there are two, they are the first two.
    private static let names = ["q", "h", "f"]

    /// From the smallest on; empty for what is encoded once.
    let qualities: [VideoQuality]

    /// Nil for what nobody could be told: a single layer, more than there are names for, or two of one quality.
    init?(_ layers: [VideoLayer]) {
        qualities = layers.map(\.quality).sorted()
        guard
            qualities.isEmpty
                || (2...Self.names.count).contains(qualities.count) && Set(qualities).count == layers.count
        else { return nil }
    }

    /// What frames of a quality are sent under; nil where there is no such layer.
    subscript(quality: VideoQuality) -> String? {
        qualities.firstIndex(of: quality).map { Self.names[$0] }
    }

    /// From the largest on: a server that takes no layers takes the first.
    var encodings: [SendEncoding] {
        qualities.indices.reversed().map { SendEncoding(rid: Self.names[$0]) }
    }

    /// Whether a layer is of use where this is the best that anybody wants: the smallest always is.
    func isWanted(_ quality: VideoQuality, upTo wanted: VideoQuality?) -> Bool {
        guard let wanted else { return false }
        return quality <= max(wanted, qualities.first ?? wanted)
    }
}

extension VideoLayer {
    var message: LiveKitVideoLayer {
        .with {
            $0.quality = quality.message
            $0.width = UInt32(clamping: width)
            $0.height = UInt32(clamping: height)
            $0.bitrate = UInt32(clamping: bitrate)
        }
    }
}
