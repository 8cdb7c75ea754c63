import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// What a call tells about itself.
@Suite struct CallStatisticsTests {
    private func call() -> CallSimulation {
        var call = CallSimulation { $0.conditions = LinkConditions(delay: .milliseconds(15), loss: 0.01) }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(6)))
        return call
    }

    @Test func `the numbers are those of the call`() throws {
        let call = call()
        let left = call[.left].machine.stats(at: call.now)
        let right = call[.right].machine.stats(at: call.now)

        let video = try #require(left.outboundRTP.first { $0.kind == "video" })
        let received = try #require(right.inboundRTP.first { $0.kind == "video" })
        #expect(video.ssrc == received.ssrc)
        #expect(video.mid == received.mid)
        #expect((85...95).contains(Int(video.framesSent)))
        #expect(Int(received.framesReceived) == call.judge(.video, at: .right).count)
        #expect(received.packetsReceived <= video.packetsSent)
        #expect(received.packetsReceived > video.packetsSent * 9 / 10)
        // Of each direction.
        #expect(left.codecs.map(\.mimeType).sorted() == ["audio/opus", "audio/opus", "video/VP8", "video/VP8"])
        #expect(video.codecID != left.inboundRTP.first { $0.kind == "video" }?.codecID)
        #expect(left.codecs.allSatisfy { ($0.sdpFmtpLine == nil) == ($0.mimeType == "video/VP8") })

        // 60 ms there and back, by sender reports and by ICE.
        let remote = try #require(left.remoteInboundRTP.first { $0.kind == "video" })
        #expect((0.058...0.064).contains(remote.roundTripTime ?? 0))
        let transport = try #require(left.transport)
        let pair = try #require(left.candidatePairs.first { $0.id == transport.selectedCandidatePairID })
        #expect((0.058...0.064).contains(pair.currentRoundTripTime ?? 0))
        #expect(pair.state == "succeeded")
        #expect(pair.nominated)
        #expect(transport.dtlsState == "connected")
        #expect(transport.srtpCipher == "SRTP_AEAD_AES_128_GCM")
        #expect(transport.srtpFailures == 0)
        #expect(transport.selectedCandidatePairChanges == 1)
        #expect(Int(transport.packetsSent) == call[.left].sent)
    }

    @Test(arguments: [true, false])
    func `what is sent again is among what is sent and received, under an SSRC of its own as well`(
        usesRTX: Bool
    ) throws {
        var call = CallSimulation {
            $0.conditions = LinkConditions(delay: .milliseconds(10), loss: 0.05)
            $0.usesRTX = usesRTX
        }
        call.begin([.video])
        call.connects()
        call.run(for: .seconds(Int64(5)))
        let sent = try #require(call[.left].machine.stats(at: call.now).outboundRTP.first)
        let received = try #require(call[.right].machine.stats(at: call.now).inboundRTP.first)
        let own = try #require(call[.left].machine.senders.first).stream.counters
        #expect(sent.retransmittedPacketsSent > 5 && (sent.rtxSSRC != nil) == usesRTX)
        #expect(sent.ownPacketsSent == own.packetsSent)
        // And padding, of which there is some only under the other SSRC.
        #expect(sent.packetsSent >= own.packetsSent + (usesRTX ? sent.retransmittedPacketsSent : 0))
        #expect((sent.packetsSent > sent.ownPacketsSent) == usesRTX)
        #expect(sent.bytesSent == own.bytesSent + (usesRTX ? sent.retransmittedBytesSent : 0))
        #expect(0 < received.retransmittedPacketsReceived)
        #expect(received.retransmittedPacketsReceived <= sent.retransmittedPacketsSent)
        #expect(received.packetsReceived <= sent.packetsSent && received.bytesReceived <= sent.bytesSent)
        let stream = try #require(call[.right].machine.receivers.first?.stream)
        #expect(received.ownPacketsReceived == stream.record.packetsReceived)
        let again = usesRTX ? received.retransmittedPacketsReceived : 0
        #expect(received.packetsReceived >= received.ownPacketsReceived + again)
        #expect((received.packetsReceived > received.ownPacketsReceived) == usesRTX)
    }

    @Test func `identifiers stay, counters grow, and every reference leads somewhere`() {
        var call = call()
        for side in CallSimulation.Side.allCases {
            let first = call[side].machine.stats(at: call.now)
            call.run(for: .seconds(Int64(2)))
            let second = call[side].machine.stats(at: call.now)
            #expect(first.all.map(\.id) == second.all.map(\.id))
            for (before, after) in zip(first.outboundRTP, second.outboundRTP) {
                #expect(after.packetsSent > before.packetsSent)
                #expect(after.bytesSent > before.bytesSent)
            }
            for stream in second.outboundRTP {
                #expect(stream.codecID.map { second[$0] != nil } == true)
                #expect(stream.remoteID.map { second[$0] != nil } == true)
            }
            for stream in second.inboundRTP { #expect(stream.codecID.map { second[$0] != nil } == true) }
            for pair in second.candidatePairs {
                #expect(second[pair.localCandidateID] != nil)
                #expect(second[pair.remoteCandidateID] != nil)
            }
        }
    }
}
