/// Chooses temporal layers of a stream whose packets name them and say where one can be joined (RFC 7741 §4.2). Streams
/// without layers go through here too: all of theirs is layer 0.
///
/// Limits change where a frame's first packet comes in its turn, and nowhere else: so all packets of a frame meet the
/// same fate, and a packet that comes late is judged by what held when its place was kept.
struct TemporalSelector: Sendable {
    private(set) var limit: UInt8 = 0
    private var frame: UInt32?
    private var keepsFrame = false

    mutating func keeps(_ video: VideoDescriptor, timestamp: UInt32, wanted: UInt8) -> Bool {
        if timestamp == frame { return keepsFrame }
        if video.startsKeyFrame {
            // Nothing after it needs anything before it.
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
