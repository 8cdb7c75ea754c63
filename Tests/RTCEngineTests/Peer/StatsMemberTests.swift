import RTCWire
import Testing

@testable import RTCEngine
@testable import SimulatedCalls

/// A report as W3C's dictionaries: what a call did, under the names that pages know.
@Suite struct StatsMemberTests {
    private func call(loss: Double = 0) -> CallSimulation {
        var call = CallSimulation { $0.conditions = LinkConditions(delay: .milliseconds(15), loss: loss) }
        call.begin()
        call.connects()
        call.run(for: .seconds(Int64(6)))
        return call
    }

    /// The members of webrtc-stats §8 that a stack which does not encode or decode can know.
    private static let names: [String: [String]] = [
        "codec": ["payloadType", "transportId", "mimeType", "clockRate"],
        "inbound-rtp": [
            "ssrc", "kind", "transportId", "codecId", "trackIdentifier", "mid", "remoteId", "packetsReceived",
            "bytesReceived", "headerBytesReceived", "packetsLost", "jitter", "packetsDiscarded", "nackCount",
            "retransmittedPacketsReceived", "retransmittedBytesReceived", "fecPacketsReceived", "fecBytesReceived",
            "fecPacketsDiscarded", "jitterBufferDelay", "jitterBufferEmittedCount", "lastPacketReceivedTimestamp",
        ],
        "outbound-rtp": [
            "ssrc", "kind", "transportId", "codecId", "mid", "remoteId", "mediaSourceId", "active", "packetsSent",
            "bytesSent", "headerBytesSent", "retransmittedPacketsSent", "retransmittedBytesSent", "nackCount",
            "targetBitrate",
        ],
        "remote-inbound-rtp": [
            "ssrc", "kind", "transportId", "codecId", "localId", "packetsLost", "fractionLost", "jitter",
            "roundTripTime", "totalRoundTripTime", "roundTripTimeMeasurements",
        ],
        "remote-outbound-rtp": [
            "ssrc", "kind", "transportId", "codecId", "localId", "packetsSent", "bytesSent", "remoteTimestamp",
            "reportsSent",
        ],
        "media-source": ["trackIdentifier", "kind"],
        "peer-connection": ["dataChannelsOpened", "dataChannelsClosed"],
        "transport": [
            "packetsSent", "packetsReceived", "bytesSent", "bytesReceived", "iceRole", "iceLocalUsernameFragment",
            "dtlsState", "dtlsRole", "iceState", "srtpCipher", "selectedCandidatePairId",
            "selectedCandidatePairChanges",
        ],
        "candidate-pair": [
            "transportId", "localCandidateId", "remoteCandidateId", "state", "nominated", "packetsSent",
            "packetsReceived", "bytesSent", "bytesReceived", "requestsSent", "requestsReceived", "responsesSent",
            "responsesReceived", "consentRequestsSent", "totalRoundTripTime",
        ],
        "local-candidate": [
            "transportId", "address", "port", "protocol", "candidateType", "priority", "foundation", "usernameFragment",
        ],
        "remote-candidate": [
            "transportId", "port", "protocol", "candidateType", "priority", "foundation", "usernameFragment",
        ],
    ]

    @Test(arguments: CallSimulation.Side.allCases)
    func `every entry of a call has its members`(side: CallSimulation.Side) {
        let call = call()
        let report = call[side].machine.stats(at: call.now)
        var seen: Set<String> = []
        for entry in report.all {
            let members = entry.members
            seen.insert(entry.type)
            #expect(members["type"] == .text(entry.type))
            #expect(members["id"] == .text(entry.id))
            if !entry.type.hasPrefix("remote-") || entry.type == "remote-candidate" {
                #expect(members["timestamp"] == .number(Double(call.now.nanoseconds) / 1e6))
            }
            let missing = (Self.names[entry.type] ?? ["?"]).filter { members[$0] == nil }
            #expect(missing.isEmpty, "\(entry.id)")
            // Whatever points somewhere points at an entry.
            for (name, value) in members where name.hasSuffix("Id") {
                if case .text(let id) = value { #expect(report[id] != nil, "\(entry.id).\(name)") }
            }
        }
        #expect(seen == Set(Self.names.keys))
    }

    /// W3C WebRTC: RTCStats.timestamp.
    @Test func `what the peer has told is of the time at which it came`() {
        let call = call()
        let reports = [
            call[.left].machine.stats(at: call.now), call[.left].machine.stats(at: call.now + .seconds(Int64(1))),
        ]
        let heard = reports.map { $0.remoteInboundRTP.map(\.timestamp) + $0.remoteOutboundRTP.map(\.timestamp) }
        #expect(heard[0] == heard[1] && heard[0].count == 4)
        #expect(heard[0].allSatisfy { $0 <= call.now && call.now - $0 < .seconds(Int64(3)) })
    }

    @Test func `members of pictures are not those of sound`() throws {
        let call = call()
        let report = call[.right].machine.stats(at: call.now)
        let video = try #require(report.inboundRTP.first { $0.kind == "video" })
        let audio = try #require(report.inboundRTP.first { $0.kind == "audio" })
        for name in ["framesReceived", "framesDropped", "pliCount", "firCount", "framesAssembledFromMultiplePackets"] {
            #expect(Stats.inboundRTP(video).members[name] != nil)
            #expect(Stats.inboundRTP(audio).members[name] == nil)
        }
    }

    @Test func `pairs count what went over them, without ICE's checks`() {
        let call = call()
        for side in CallSimulation.Side.allCases {
            let pairs = call[side].machine.stats(at: call.now).candidatePairs
            let others = call[side.other].machine.stats(at: call.now).candidatePairs
            #expect(Int(pairs.reduce(0) { $0 + $1.packetsSent }) == call[side].sentBesidesSTUN)
            let sent = pairs.reduce(0) { $0 + $1.packetsSent }
            let received = others.reduce(0) { $0 + $1.packetsReceived }
            // 15 ms of two streams may be under way.
            #expect(received <= sent && sent - received < 20)
            let bytes = (pairs.reduce(0) { $0 + $1.bytesSent }, others.reduce(0) { $0 + $1.bytesReceived })
            #expect(bytes.1 <= bytes.0 && bytes.0 - bytes.1 < 20 * 1_200)
        }
    }

    @Test func `the two sides tell the same call`() throws {
        let call = call()
        let left = call[.left].machine.stats(at: call.now)
        let right = call[.right].machine.stats(at: call.now)
        let transports = try (#require(left.transport), #require(right.transport))
        #expect(transports.0.iceRole == "controlling" && transports.1.iceRole == "controlled")
        #expect(Set([transports.0.dtlsRole, transports.1.dtlsRole]) == ["client", "server"])
        let fragment = try #require(transports.0.iceLocalUsernameFragment)
        let theirs = right.candidates.filter { $0.side == .remote }
        #expect(!theirs.isEmpty && theirs.allSatisfy { $0.usernameFragment == fragment })
        for stream in left.outboundRTP {
            let source = try #require(left.mediaSources.first { $0.id == stream.mediaSourceID })
            let received = try #require(right.inboundRTP.first { $0.ssrc == stream.ssrc })
            #expect(received.trackIdentifier == source.trackIdentifier)
            #expect(received.kind == source.kind)
            // What the receiver knows of the sender is an earlier moment of what the sender knows.
            let told = try #require(right.remoteOutboundRTP.first { $0.ssrc == stream.ssrc })
            #expect(told.localID == received.id && received.remoteID == told.id)
            #expect(told.packetsSent > 0 && UInt64(told.packetsSent) <= stream.packetsSent)
            #expect(UInt64(told.bytesSent) <= stream.bytesSent)
            #expect(stream.isActive)
        }
    }

    @Test(arguments: [0, 0.05])
    func `the jitter buffer tells how long it held frames`(loss: Double) throws {
        let call = call(loss: loss)
        let report = call[.right].machine.stats(at: call.now)
        let video = try #require(report.inboundRTP.first { $0.kind == "video" })
        #expect(video.jitterBufferEmittedCount == video.framesReceived)
        let held = video.jitterBufferDelay / Double(video.jitterBufferEmittedCount)
        // A frame that nothing is missing of leaves with its last packet; a lost packet takes a round trip of 30 ms.
        #expect(loss > 0 ? (0.001...0.1).contains(held) : held < 0.001)
        #expect(video.framesAssembledFromMultiplePackets <= video.framesReceived)
        // A frame is held from its first packet on, so at least until its last has come.
        #expect(video.totalAssemblyTime <= video.jitterBufferDelay + 1e-9)
        let audio = try #require(report.inboundRTP.first { $0.kind == "audio" })
        #expect(audio.framesAssembledFromMultiplePackets == 0)
    }

    @Test func `a sender that is held is not active`() throws {
        var call = call()
        let id = try #require(call.transceiver(.video, of: .left))
        call.signaling.offersWhenNeeded = true
        call.setDirection(.recvonly, of: id, .left)
        call.run(for: .seconds(Int64(2)))
        let streams = call[.left].machine.stats(at: call.now).outboundRTP
        #expect(streams.first { $0.kind == "video" }?.isActive == false)
        #expect(streams.first { $0.kind == "video" }?.targetBitrate == nil)
        #expect(streams.first { $0.kind == "audio" }?.isActive == true)
        #expect(streams.first { $0.kind == "audio" }?.targetBitrate != nil)
    }
}

/// Counters of paths do not grow with a peer that wanders.
@Suite struct PathCountersTests {
    private func address(_ port: UInt16) -> TransportAddress { TransportAddress(.v4(0x0a00_0001), port: port) }

    @Test func `of too many paths the one that was quiet longest is forgotten`() {
        var paths = PathCounters()
        let base = address(1)
        for number in 0...UInt16(PathCounters.maximumPaths) {
            paths.received(
                10, on: ICERoute(base: base, remote: address(100 + number)), at: .zero + .milliseconds(Int64(number)))
        }
        #expect(paths[ICERoute(base: base, remote: address(100))] == nil)
        #expect(paths[ICERoute(base: base, remote: address(101))]?.bytesReceived == 10)
        let last = address(100 + UInt16(PathCounters.maximumPaths))
        paths.sent(7, on: ICERoute(base: base, remote: last), at: .zero + .seconds(Int64(1)))
        #expect(paths[ICERoute(base: base, remote: last)]?.packetsSent == 1)
        #expect(paths[ICERoute(base: base, remote: last)]?.packetsReceived == 1)
    }
}
