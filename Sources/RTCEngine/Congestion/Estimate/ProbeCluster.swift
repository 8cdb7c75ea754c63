/// A few packets sent at a rate, to see whether the path carries it.
public struct ProbeCluster: Sendable, Hashable {
    /// Names the cluster in the feedback; never 0.
    public var id: Int32
    public var rate: Bitrate
    /// How many bytes and packets make it.
    public var bytes: Int
    public var packets: Int
    /// When it was thought of; if nothing can be sent for it for long, it is forgotten.
    public var createdAt: Instant

    /// So long, and at least so many packets, for times are only known to 250 µs.
    static let length = Interval.milliseconds(15)
    static let fewestPackets = 5
    /// And they leave at so many moments, or the loss of one leaves nothing to measure.
    static let fewestPieces = 3

    init(id: Int32, rate: Bitrate, at now: Instant) {
        self.id = id
        self.rate = rate
        self.bytes = Int(rate.bytes(in: Self.length))
        self.packets = Self.fewestPackets
        self.createdAt = now
    }

    /// So much less may seem to arrive than was sent: less than what `ProbeResults` takes for a full path.
    private static let slant = 0.08

    /// Whether what left first is hardly larger than what left last. What is measured is the time between them, in
    /// which all leaves but the last and all arrives but the first: after a large first packet and small others less
    /// seems to arrive than was sent.
    static func isLevel(first: Int, last: Int, of bytes: Int) -> Bool {
        Double(first - last) <= Double(bytes - last) * slant
    }
}

/// What came of the packets of the probes: how fast they left and how fast they arrived.
///
/// Both are taken from the first that left to the last that left, or arrived. What left in one moment is one piece: the
/// first is there when its last packet is.
struct ProbeResults {
    private struct Piece {
        var sentAt: Instant
        var bytes: Int
        var arrivedAt: Instant

        mutating func add(_ piece: Piece) {
            bytes += piece.bytes
            arrivedAt = max(arrivedAt, piece.arrivedAt)
        }
    }

    private struct Record {
        var cluster: ProbeCluster
        var packets = 0
        var bytes = 0
        var first: Piece
        var last: Piece
        var lastArrival: Instant

        init(_ cluster: ProbeCluster, _ piece: Piece) {
            self.cluster = cluster
            packets = 1
            bytes = piece.bytes
            first = piece
            last = piece
            lastArrival = piece.arrivedAt
        }

        mutating func add(_ piece: Piece) {
            packets += 1
            bytes += piece.bytes
            if piece.sentAt < first.sentAt { first = piece } else if piece.sentAt == first.sentAt { first.add(piece) }
            if piece.sentAt > last.sentAt { last = piece } else if piece.sentAt == last.sentAt { last.add(piece) }
            lastArrival = max(lastArrival, piece.arrivedAt)
        }
    }

    /// Of what was planned, so much has to have arrived.
    private static let share = 0.8
    /// Arriving so much faster than it was sent, it was held back on the way and let go at once.
    private static let fastestArrival = 2.0
    /// Arriving so much slower, it has filled the path: then a little less is taken, so that its queue empties.
    private static let saturated = 0.9
    private static let safety = 0.95
    private static let longest = Interval.seconds(Int64(1))
    private static let mostClusters = 8

    private var clusters: [ProbeCluster] = []
    private var records: [Record] = []

    /// A cluster is being sent.
    mutating func expect(_ cluster: ProbeCluster) {
        if clusters.count >= Self.mostClusters { clusters.removeFirst() }
        clusters.append(cluster)
        if records.count >= Self.mostClusters { records.removeFirst() }
    }

    /// A packet of a cluster has arrived.
    ///
    /// - Returns: what the cluster shows so far, when it is enough.
    mutating func add(_ result: TransportFeedbackTracker.PacketResult) -> Bitrate? {
        guard result.probe != 0, let arrivedAt = result.arrivedAt,
            let cluster = clusters.first(where: { $0.id == result.probe })
        else { return nil }
        let piece = Piece(sentAt: result.sentAt, bytes: result.size, arrivedAt: arrivedAt)
        guard let index = records.firstIndex(where: { $0.cluster.id == cluster.id }) else {
            records.append(Record(cluster, piece))
            return nil
        }
        records[index].add(piece)
        return judge(records[index])
    }

    private func judge(_ record: Record) -> Bitrate? {
        guard Double(record.packets) >= Double(record.cluster.packets) * Self.share,
            Double(record.bytes) >= Double(record.cluster.bytes) * Self.share,
            ProbeCluster.isLevel(first: record.first.bytes, last: record.last.bytes, of: record.bytes)
        else { return nil }
        let sending = record.last.sentAt - record.first.sentAt
        let arriving = record.lastArrival - record.first.arrivedAt
        guard sending > .zero, arriving > .zero, sending <= Self.longest, arriving <= Self.longest else { return nil }
        // The last piece's bytes leave after the span has ended, those of the first arrive before it begins.
        let sent = Bitrate(bytes: record.bytes - record.last.bytes, in: sending)
        let arrived = Bitrate(bytes: record.bytes - record.first.bytes, in: arriving)
        guard arriving.seconds * Self.fastestArrival >= sending.seconds else { return nil }
        return arrived < sent * Self.saturated ? arrived * Self.safety : min(sent, arrived)
    }
}
