import RTCWire

extension SendStream {
    /// Goes on under other parameters, after a renegotiation. Numbers and timestamps go on where they were: to the
    /// receiver, and to SRTP, it is the same source.
    ///
    /// - Parameters:
    ///   - next: of the same SSRC.
    ///   - random: for what begins anew.
    /// - Returns: whether the receiver needs a key frame now, for the codec is another one.
    @discardableResult
    public mutating func reconfigure(_ next: SendStreamConfiguration, random: EngineRandom) -> Bool {
        guard next.ssrc == ssrc else { return false }
        let old = configuration
        configuration = next
        if old.redundancy != next.redundancy || old.format != next.format { redundancy = RedundancyEncoder() }
        if next.telephoneEventType == nil { tones = ToneSender() }
        if old.extensions.dependencyDescriptor == nil { dependencies.forget() }
        if old.mid != next.mid { midPacketsLeft = next.mid == nil ? 0 : Self.midPacketCount }
        let looksDifferent =
            old.format != next.format || old.payloadType != next.payloadType || old.mid != next.mid
            || old.rid != next.rid
            || old.extensions != next.extensions || old.maximumPacketSize != next.maximumPacketSize
        if looksDifferent {
            // A packetizer's only memory is the picture number, which RFC 7741 §4.2 lets jump at a key frame alone.
            var random = random
            form = Self.form(next)
            headerRoom = Self.headerRoom(next)
            packetizer = Self.packetizer(next, random: &random)
        }
        // Packets of the old look are of no use under the new parameters.
        if looksDifferent || old.historyCount != next.historyCount || old.historyDuration != next.historyDuration {
            history = Self.history(next)
        }
        return old.format != next.format && next.format.isVideo
    }
}
