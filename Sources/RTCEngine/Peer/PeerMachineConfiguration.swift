/// What a `PeerMachine` is made with.
public struct PeerMachineConfiguration: Sendable {
    /// Times and limits of connectivity checks.
    public var ice: ICEConfiguration
    /// Codecs, header extensions, names.
    public var negotiation: NegotiatorConfiguration
    /// What to add to an `Instant` to get the time since 1970: sender reports carry wall-clock time (RFC 3550 §6.4.1).
    public var wallClockOffset: Interval
    /// How many earlier packets of sound go with each where redundancy was negotiated (RFC 2198).
    public var redundancyDepth = 1
    /// Frames go in and out, or packets: `PeerMachine.takePacket` and `forward`.
    public var unit = MediaUnit.frames
    /// Packets come in, whatever goes out: `PeerMachine.takePacket`.
    public var receivesPackets = false
    /// Bitrates and pacing.
    public var congestion: CongestionConfiguration

    public init(
        ice: ICEConfiguration, negotiation: NegotiatorConfiguration, wallClockOffset: Interval,
        congestion: CongestionConfiguration = CongestionConfiguration()
    ) {
        self.ice = ice
        self.negotiation = negotiation
        self.wallClockOffset = wallClockOffset
        self.congestion = congestion
    }

    /// What the received streams give.
    var receivedUnit: MediaUnit { receivesPackets ? .packets : unit }
}
