/// What an SCTP association may be told before it begins. The defaults are those of WebRTC data channels (RFC 8831 §6)
/// over DTLS (RFC 8261).
public struct SCTPConfiguration: Sendable {
    /// RFC 8841 §5.1: `a=sctp-port`, ours and the peer's. 5000 is what every browser uses.
    public var localPort: UInt16 = 5_000
    public var remotePort: UInt16 = 5_000
    /// The largest message that we take, as `a=max-message-size` tells the peer (RFC 8841 §6). A peer that sends a
    /// larger one is aborted. Bytes.
    public var localMaximumMessageSize = 262_144
    /// The largest message that the peer takes; 0 stands for any size (RFC 8841 §6.1). Bytes.
    public var remoteMaximumMessageSize = 65_536
    /// The largest SCTP packet, common header included: what fits a DTLS record over any path. RFC 8831 §5 asks for
    /// 1,200 bytes of UDP payload where the path is not probed; DTLS 1.2 with AES-GCM takes 37 of them.
    public var maximumPacketSize = 1_160
    /// What incomplete and early messages may occupy; offered to the peer as its receive window. A peer that
    /// interleaves begins as many messages as it has (RFC 8260 §2.2.1 sets no bound), and none is whole before nearly
    /// all are: there is room for thirty of the largest. Bytes.
    public var receiveBuffer = 8 << 20
    /// What `send` queues, and what was sent and not acknowledged, over all streams. Bytes.
    public var sendBuffer = 16 << 20
    /// Streams asked for and granted in each direction (RFC 8831 §6.2 asks for 65,535).
    /// Something is remembered only of those that were used.
    public var streams: UInt16 = 65_535
    /// RFC 8260: offers to let fragments of several messages take turns. Used when the peer offers it too.
    public var offersInterleaving = true
    /// RFC 9653: accepts packets without a checksum, since DTLS protects them, and leaves it out where the peer
    /// accepts that.
    public var offersZeroChecksum = true
    /// RFC 9260 §6.3.1 RTO.Initial. ICE and DTLS have just shown that the path works.
    public var initialRTO = Interval.milliseconds(500)
    /// RTO.Min: above the delay by which peers hold back acknowledgments (200 ms).
    public var minimumRTO = Interval.milliseconds(400)
    /// RTO.Max: beyond the 30 s of ICE consent (RFC 7675) nothing is left to wait for.
    public var maximumRTO = Interval.milliseconds(10_000)
    /// How long silence may make the time-out, for which RFC 9260 §6.3.3 has only RTO.Max: a path that comes back is to
    /// be in use within seconds, as libwebrtc has it too.
    public var maximumBackOff = Interval.milliseconds(3_000)
    /// RFC 9260 §16 Association.Max.Retrans: a minute in all, unanswered heartbeats counted. That the path is gone for
    /// good ICE's consent tells earlier (RFC 7675).
    public var maximumRetransmissions = 24
    /// RFC 9260 §16 Max.Init.Retransmits: 36 s in all.
    public var maximumInitRetransmissions = 13
    /// RFC 9260 §6.2: how long an acknowledgment may wait for company (at most 500 ms).
    public var acknowledgmentDelay = Interval.milliseconds(100)
    /// RFC 9260 §16 HB.interval: how often an idle path is probed.
    public var heartbeatInterval = Interval.milliseconds(30_000)
    /// RFC 9260 §16 Valid.Cookie.Life.
    public var cookieLifetime = Interval.milliseconds(60_000)
    /// The first congestion window, in packets (RFC 9260 §7.2.1 says about 4; 10 as TCP has it, RFC 6928).
    public var initialWindowPackets = 10

    public init() {}

    /// With values that could not work raised or lowered to the nearest that can.
    var withinReason: SCTPConfiguration {
        var result = self
        result.maximumPacketSize = min(max(maximumPacketSize, 508), 65_532) & ~3
        // RFC 9260 §3.3.2: a window below 1,500 bytes is refused by the peer.
        result.receiveBuffer = min(max(receiveBuffer, 4_096), 1 << 30)
        result.sendBuffer = max(sendBuffer, 4_096)
        result.localMaximumMessageSize = min(max(localMaximumMessageSize, 1), result.receiveBuffer)
        result.remoteMaximumMessageSize = max(remoteMaximumMessageSize, 0)
        result.streams = max(streams, 1)
        result.minimumRTO = max(minimumRTO, .milliseconds(10))
        result.maximumRTO = min(max(maximumRTO, result.minimumRTO), .milliseconds(600_000))
        result.maximumBackOff = min(max(maximumBackOff, result.minimumRTO), result.maximumRTO)
        result.initialRTO = min(max(initialRTO, result.minimumRTO), result.maximumRTO)
        result.maximumRetransmissions = max(maximumRetransmissions, 1)
        result.maximumInitRetransmissions = max(maximumInitRetransmissions, 1)
        result.acknowledgmentDelay = min(max(acknowledgmentDelay, .zero), .milliseconds(500))
        result.heartbeatInterval = min(max(heartbeatInterval, .milliseconds(100)), .milliseconds(86_400_000))
        result.cookieLifetime = min(max(cookieLifetime, .milliseconds(1_000)), .milliseconds(86_400_000))
        result.initialWindowPackets = min(max(initialWindowPackets, 1), 64)
        return result
    }
}
