import ClientKit
import RTCEngine
import RTCWire
import Testing

@testable import ClientRTC

@Suite struct StatisticsMeterTests {
    @Test func `the share of lost packets is the same at both ends, whatever was sent again`() {
        var (sent, received) = (StatsReport(), StatsReport())
        // A hundred packets, of which twenty were lost and sent again by RTX.
        var outbound = OutboundRTPStreamStats(id: "OT1", timestamp: .zero, ssrc: 1, format: .vp8)
        outbound.ownPacketsSent = 100
        outbound.packetsSent = 125
        outbound.retransmittedPacketsSent = 20
        sent.add(.outboundRTP(outbound))
        var told = RemoteInboundRTPStreamStats(id: "RI1", timestamp: .zero, ssrc: 1, kind: "video", localID: "OT1")
        told.packetsLost = 20
        sent.add(.remoteInboundRTP(told))
        var inbound = InboundRTPStreamStats(id: "IT1", timestamp: .zero, ssrc: 1, kind: "video")
        inbound.ownPacketsReceived = 80
        inbound.packetsReceived = 105
        inbound.packetsLost = 20
        received.add(.inboundRTP(inbound))
        var meter = StatisticsMeter()
        let there = meter.measure(sent).videoSent
        let here = meter.measure(received).videoReceived
        #expect(there?.packets == 100 && there?.lossRatio == 0.2)
        #expect(here?.packets == 80 && here?.lossRatio == 0.2)
    }
}
