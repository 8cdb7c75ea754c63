/// Chooses temporal layers of a stream whose packets name their layer and say where a higher one can be joined (RFC
/// 7741 §4.2). It is also used for streams without layers, of which everything is layer 0.
///
/// The limit changes only when the first packet of a frame comes in its order. So all packets of a frame are treated
/// alike, and a late one by the limit at the time when its place was kept.
struct TemporalSelector: Sendable {
    private(set) var limit: UInt8 = 0
    private var frame: UInt32?
    private var keepsFrame = false

    mutating func keeps(_ video: VideoDescriptor, timestamp: UInt32, wanted: UInt8) -> Bool {
        if timestamp == frame { return keepsFrame }
        if video.startsKeyFrame {
            // No later frame needs one from before a key frame, so any layer can be joined.
            limit = wanted
        } else if video.startsFrame {
            if wanted < limit {
                limit = wanted
            } else if video.temporalLayer == limit &+ 1, video.temporalLayer <= wanted,
                video.traits.contains(.switchingPoint)
            {
                // RFC 7741 §4.2, Y: the frame depends on the base layer alone. Those above its own layer may depend on
                // others of theirs, so one layer is joined at a time.
                limit += 1
            }
        }
        frame = timestamp
        keepsFrame = video.temporalLayer <= limit
        return keepsFrame
    }

    var admission: StreamRewriter.Admission { UInt16(limit) }

    static func admits(_ video: VideoDescriptor, under admission: StreamRewriter.Admission) -> Bool {
        UInt16(video.temporalLayer) <= admission
    }
}
