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
        let isOtherStream =
            old.format != next.format || old.payloadType != next.payloadType || old.mid != next.mid
            || old.rid != next.rid
        if isOtherStream || old.extensions != next.extensions || old.maximumPacketSize != next.maximumPacketSize {
            // RFC 7741 §4.2, RFC 9628 §4.2: the picture number runs on, for the receiver knows by it which picture one
            // refers to. A packetizer has no other memory.
            let pictureID = old.format == next.format ? packetizer.nextPictureID : nil
            var random = random
            form = Self.form(next)
            headerRoom = Self.headerRoom(next)
            packetizer = Self.packetizer(next, firstPictureID: pictureID, random: &random)
        }
        // Packets of another payload type are of no use any more, nor are those whose extensions would mean another
        // thing now. What is still missed otherwise can be repeated as it was.
        if isOtherStream || !next.extensions.keepsMeaning(of: old.extensions) || old.historyCount != next.historyCount
            || old.historyDuration != next.historyDuration
        {
            history = Self.history(next)
        }
        return old.format != next.format && next.format.isVideo
    }
}
