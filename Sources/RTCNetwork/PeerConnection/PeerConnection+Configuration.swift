internal import RTCEngine
internal import RTCSecurity

extension PeerConnection {
    /// Uses other ICE servers, another policy of which candidates are used, or both (W3C WebRTC §4.4.1.6).
    ///
    /// Servers, and the authorities that vouch for them, are asked by the gathering that is under way, or by the next
    /// one, that of an ICE restart: it waits for their names to be looked up. Another policy waits for the next
    /// gathering in any case, and makes the next offer an ICE restart (RFC 8829 §5.2.2). What was gathered before stays
    /// in use meanwhile. A relayed address goes on under the credential that it was given for, and the new one is shown
    /// when it is lost.
    ///
    /// A restart that finds no pair leaves the one before in use for as long as the peer answers over it, also where
    /// relays alone were wanted and it is a direct one (RFC 8445 §9). `connectionState` is `connected` then: which pair
    /// is used stands in the statistics.
    ///
    /// - Throws: `.peer(.closed)`; `.fixedConfiguration` where anything else differs from `configuration`, the
    ///   certificate above all; and what servers are refused with (`ICEServer.check`). Then nothing has changed.
    public func setConfiguration(_ new: PeerConnectionConfiguration) throws(PeerConnectionError) {
        guard machine.connectionState != .closed else { throw .peer(.closed) }
        if let part = configuration.fixedPart(differingFrom: new) { throw .fixedConfiguration(part) }
        let parsed = try servers(new.iceServers)
        try refusing { () throws(PeerError) in try machine.setTransportPolicy(new.iceTransportPolicy) }
        // Where the policy alone is another one nobody is looked up again; otherwise also those who stay the same,
        // whose names may not have been found, or lead elsewhere by now.
        let isOtherPolicyAlone =
            new.iceServers == configuration.iceServers
            && new.turnCertificateAuthorities == configuration.turnCertificateAuthorities
            && new.iceTransportPolicy != configuration.iceTransportPolicy
        configuration = new
        guard gathering == .started, !isOtherPolicyAlone else { return }
        ask(parsed)
        flush()
    }

    /// Uses other ICE servers, or other credentials for the same ones, as when those of a long call run out:
    /// `setConfiguration` with nothing else changed, and with its refusals.
    public func setICEServers(_ servers: [PeerConnectionConfiguration.ICEServer]) throws(PeerConnectionError) {
        var new = configuration
        new.iceServers = servers
        try setConfiguration(new)
    }
}

extension PeerConnectionConfiguration {
    /// The first property that cannot change while a connection lasts, and is another one there. W3C names the
    /// certificate, the bundle policy and the RTCP multiplexing policy, of which this has one each; the others here are
    /// its own. Security is the same where it shows the same certificate: the connection goes on with what it has.
    func fixedPart(differingFrom other: Self) -> String? {
        if security.localFingerprint != other.security.localFingerprint { return "security" }
        if addresses != other.addresses { return "addresses" }
        if tcp != other.tcp { return "tcp" }
        if ice != other.ice { return "ice" }
        if audioCodecs != other.audioCodecs { return "audioCodecs" }
        if redundancyDepth != other.redundancyDepth { return "redundancyDepth" }
        if receivesSimulcast != other.receivesSimulcast { return "receivesSimulcast" }
        if receives != other.receives { return "receives" }
        if videoCodecs != other.videoCodecs { return "videoCodecs" }
        if congestion != other.congestion { return "congestion" }
        if dataChannels != other.dataChannels { return "dataChannels" }
        return nil
    }
}
