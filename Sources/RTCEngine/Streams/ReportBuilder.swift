public import RTCWire

/// Joins what the streams of a peer connection have to report into compound packets (RFC 3550 §6.1): sender reports,
/// receiver reports, descriptions, and at the end goodbyes.
public struct ReportBuilder: Sendable {
    /// Blocks that a report holds (RFC 3550 §6.4.1: five bits of count).
    private static let blocksPerReport = 31
    /// Sources a compound packet reports for, so that it stays well below 1,200 bytes.
    private static let sourcesPerPacket = 8

    private let localSSRC: UInt32
    private let cname: String
    private var senderReports: [SenderReport] = []
    private var blocks: [ReportBlock] = []
    private var goodbyes: [UInt32] = []

    /// - Parameters:
    ///   - localSSRC: who reports when there is no sender.
    ///   - cname: our canonical name.
    public init(localSSRC: UInt32, cname: String) {
        self.localSSRC = localSSRC
        self.cname = cname
    }

    /// A sender's report; nil (nothing sent yet) is ignored.
    public mutating func add(_ report: SenderReport?) {
        if let report { senderReports.append(report) }
    }

    /// A receiver's block; nil (nothing received yet) is ignored.
    public mutating func add(_ block: ReportBlock?) {
        if let block { blocks.append(block) }
    }

    /// This source leaves.
    public mutating func add(goodbyeOf ssrc: UInt32) { goodbyes.append(ssrc) }

    /// Queues the compound packets: one, but for very many streams. Nothing when there is nothing to say.
    public mutating func write(into queue: inout PacketQueue) {
        while !senderReports.isEmpty || !blocks.isEmpty || !goodbyes.isEmpty {
            queue.appendRTCP { writeCompound(into: &$0) }
        }
    }

    private mutating func writeCompound(into bytes: inout [UInt8]) {
        var sources: [UInt32] = []
        var reports = Array(senderReports.prefix(Self.sourcesPerPacket))
        senderReports.removeFirst(reports.count)
        let share = Array(blocks.prefix(Self.blocksPerReport))
        blocks.removeFirst(share.count)
        if reports.isEmpty {
            // RFC 3550 §6.1: the first packet is a report, an empty one if need be.
            let ssrc = goodbyes.first ?? localSSRC
            sources.append(ssrc)
            RTCPPacket.receiverReport(ReceiverReport(ssrc: ssrc, blocks: share)).write(into: &bytes)
        } else {
            reports[0].blocks = share
            for report in reports {
                sources.append(report.ssrc)
                RTCPPacket.senderReport(report).write(into: &bytes)
            }
        }
        // RFC 3550 §6.5: each source is described, by the same name.
        let chunks = sources.map { SourceDescription.Chunk(ssrc: $0, cname: cname) }
        RTCPPacket.sourceDescription(SourceDescription(chunks: chunks)).write(into: &bytes)
        guard senderReports.isEmpty, blocks.isEmpty, !goodbyes.isEmpty else { return }
        let leaving = Array(goodbyes.prefix(31))
        goodbyes.removeFirst(leaving.count)
        RTCPPacket.goodbye(Goodbye(ssrcs: leaving)).write(into: &bytes)
    }
}
