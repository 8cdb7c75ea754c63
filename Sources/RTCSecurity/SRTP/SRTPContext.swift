public import RTCEngine
import RTCWire

/// SRTP and SRTCP of one DTLS association (RFC 3711, RFC 7714), in place over the ciphers of `PacketCipher`.
///
/// Each direction has one key schedule for RTP and one for RTCP, made here; a packet changes only the initialisation
/// vector. Nothing is allocated for a packet of a known sender whose array has room for the tag.
///
/// Not thread-safe: it belongs to the one peer connection that drives it.
public final class SRTPContext: SRTPPort {
    /// RFC 3711 §9.2
    private static let rtpLifetime: UInt64 = 1 << 48
    private static let rtcpLifetime: UInt64 = 1 << 31
    /// RFC 3711 §3.4: the word before or after the tag says whether the packet is encrypted, in its first bit.
    private static let encryptedBit: UInt32 = 1 << 31
    private static let wordLength = 4

    private let profile: SRTPProfile
    private let tagLength: Int
    private let rtpSealer: PacketCipher
    // No call in here comes back to this object, so two accesses never overlap; the check costs 20 ns of 470 a packet.
    @exclusivity(unchecked) private var sentRTP = SourceTable(keyLifetime: SRTPContext.rtpLifetime)
    private let rtpOpener: PacketCipher
    @exclusivity(unchecked) private var receivedRTP = SourceTable(
        keyLifetime: SRTPContext.rtpLifetime, limit: SourceTable.receivedLimit)
    private let rtcpSealer: PacketCipher
    private let rtcpOpener: PacketCipher
    @exclusivity(unchecked) private var sentRTCP = SourceTable(keyLifetime: SRTPContext.rtcpLifetime)
    @exclusivity(unchecked) private var receivedRTCP = SourceTable(
        keyLifetime: SRTPContext.rtcpLifetime, limit: SourceTable.receivedLimit)

    /// Derives the session keys. Throws `.malformed` for keys of a wrong length.
    public convenience init(_ keys: SRTPKeyingMaterial) throws(SRTPError) {
        let local = try SRTPKeyDerivation(masterKey: keys.localKey, masterSalt: keys.localSalt)
        let remote = try SRTPKeyDerivation(masterKey: keys.remoteKey, masterSalt: keys.remoteSalt)
        try self.init(
            keys.profile,
            localRTP: local.rtpKeys(keys.profile), localRTCP: local.rtcpKeys(keys.profile),
            remoteRTP: remote.rtpKeys(keys.profile), remoteRTCP: remote.rtcpKeys(keys.profile))
    }

    /// From session keys, as the test vectors of RFC 7714 give them.
    init(
        _ profile: SRTPProfile, localRTP: SRTPSessionKeys, localRTCP: SRTPSessionKeys, remoteRTP: SRTPSessionKeys,
        remoteRTCP: SRTPSessionKeys, by library: CipherLibrary = .best
    ) throws(SRTPError) {
        self.profile = profile
        self.tagLength = profile.tagLength
        self.rtpSealer = try PacketCipher(profile, kind: .rtp, direction: .seal, keys: localRTP, by: library)
        self.rtcpSealer = try PacketCipher(profile, kind: .rtcp, direction: .seal, keys: localRTCP, by: library)
        self.rtpOpener = try PacketCipher(profile, kind: .rtp, direction: .open, keys: remoteRTP, by: library)
        self.rtcpOpener = try PacketCipher(profile, kind: .rtcp, direction: .open, keys: remoteRTCP, by: library)
    }

    /// How many bytes a protected RTCP packet is longer than a plain one; RTP grows by four fewer.
    public var overhead: Int { tagLength + Self.wordLength }

    /// Encrypts and authenticates an RTP packet, which grows by the tag.
    ///
    /// A second packet with an SSRC and sequence number that were used is refused with `.replayed`: its keystream
    /// would be used twice, which with GCM gives the authentication key away (RFC 7714 §8.4). Who repeats a packet
    /// without RFC 4588 has `repeatRTP`.
    public func protectRTP(_ bytes: inout [UInt8], from start: Int) throws(SRTPError) {
        guard let header = SRTPHeader(rtp: bytes.span.bytes.extracting(droppingFirst: start)) else { throw .malformed }
        let ticket = try sentRTP.ticket(ssrc: header.ssrc, sequenceNumber: header.sequenceNumber)
        try seal(&bytes, from: start, header, index: ticket.index)
        sentRTP.commit(ticket)
    }

    public func protectRTP(
        _ bytes: inout [UInt8], from start: Int, in batch: any SealingBatch
    ) throws(SRTPError) -> Bool {
        // There is one class of them, and to look whether it is that one by a cast takes longer.
        guard profile == .aes128CMHMACSHA1_80, type(of: batch) == CounterModeBatch.self else {
            try protectRTP(&bytes, from: start)
            return true
        }
        let batch = unsafeDowncast(batch, to: CounterModeBatch.self)
        guard let header = SRTPHeader(rtp: bytes.span.bytes.extracting(droppingFirst: start)) else { throw .malformed }
        let ticket = try sentRTP.ticket(ssrc: header.ssrc, sequenceNumber: header.sequenceNumber)
        let isLeft = rtpSealer.leave(
            layout(ofRTP: header, byteCount: bytes.count - start, index: ticket.index), at: start, of: self, to: batch)
        if isLeft {
            bytes.append(addingCapacity: tagLength) { [tagLength] in $0.append(zeros: tagLength) }
        } else {
            try seal(&bytes, from: start, header, index: ticket.index)
        }
        sentRTP.commit(ticket)
        return !isLeft
    }

    /// What was left to a batch that has too little to do.
    func seal(_ packet: UnsafeMutableRawBufferPointer, _ layout: PacketLayout) -> Bool {
        rtpSealer.seal(packet, layout)
    }

    public func prefetchSealing() {
        sentRTP.prefetch()
        rtpSealer.prefetch()
    }

    /// How many of the peer's sources are remembered.
    var receivedSourceCount: Int { receivedRTP.count }
    /// How many sources of ours are remembered.
    var sentSourceCount: Int { sentRTP.count }

    public func forgetSource(_ ssrc: UInt32) {
        sentRTP.forget(ssrc)
        sentRTCP.forget(ssrc)
    }

    public func repeatRTP(_ packet: inout [UInt8], seal former: UInt64) throws(SRTPError) {
        guard let header = SRTPHeader(rtp: packet.span.bytes) else { throw .malformed }
        guard let index = sentRTP.usedIndex(ssrc: header.ssrc, sequenceNumber: header.sequenceNumber) else {
            throw fail(&packet, .replayed)
        }
        try seal(&packet, from: 0, header, index: index)
        guard packet.span.bytes.uint64(at: packet.count - 8) == former else { throw fail(&packet, .replayed) }
    }

    private func seal(_ bytes: inout [UInt8], from start: Int, _ header: SRTPHeader, index: UInt64) throws(SRTPError) {
        let layout = layout(ofRTP: header, byteCount: bytes.count - start, index: index)
        bytes.append(addingCapacity: tagLength) { [tagLength] in $0.append(zeros: tagLength) }
        let isSealed = bytes.withUnsafeMutableBytes { buffer in
            rtpSealer.seal(UnsafeMutableRawBufferPointer(rebasing: buffer[start...]), layout)
        }
        guard isSealed else { throw fail(&bytes, from: start, .keyExhausted) }
    }

    private func layout(ofRTP header: SRTPHeader, byteCount: Int, index: UInt64) -> PacketLayout {
        PacketLayout(
            headerLength: header.length, bodyLength: byteCount - header.length, tagOffset: byteCount,
            word: UInt32(truncatingIfNeeded: index >> 16), ssrc: header.ssrc, index: index)
    }

    /// Authenticates and decrypts an RTP packet, which shrinks by the tag. One that does not authenticate is
    /// emptied, so that no forged plaintext is left to be read.
    public func unprotectRTP(_ packet: inout [UInt8]) throws(SRTPError) {
        guard let header = SRTPHeader(rtp: packet.span.bytes), packet.count >= header.length + tagLength else {
            throw .malformed
        }
        let ticket = try receivedRTP.ticket(ssrc: header.ssrc, sequenceNumber: header.sequenceNumber)
        let layout = layout(ofRTP: header, byteCount: packet.count - tagLength, index: ticket.index)
        guard packet.withUnsafeMutableBytes({ rtpOpener.open($0, layout) }) else {
            throw fail(&packet, .authenticationFailed)
        }
        receivedRTP.commit(ticket)
        packet.removeLast(tagLength)
    }

    /// Encrypts and authenticates a compound RTCP packet, which grows by tag and index.
    public func protectRTCP(_ packet: inout [UInt8]) throws(SRTPError) {
        guard let header = SRTPHeader(rtcp: packet.span.bytes) else { throw .malformed }
        let ticket = try sentRTCP.nextTicket(ssrc: header.ssrc)
        let word = Self.encryptedBit | UInt32(truncatingIfNeeded: ticket.index)
        let plainLength = packet.count
        let places = Places(profile, bodyEnd: plainLength)
        let layout = PacketLayout(
            headerLength: header.length, bodyLength: plainLength - header.length, tagOffset: places.tag, word: word,
            ssrc: header.ssrc, index: ticket.index)
        packet.append(addingCapacity: overhead) { [overhead] in $0.append(zeros: overhead) }
        guard
            packet.withUnsafeMutableBytes({ bytes in
                bytes.storeBytes(of: word.bigEndian, toByteOffset: places.word, as: UInt32.self)
                return rtcpSealer.seal(bytes, layout)
            })
        else { throw fail(&packet, .keyExhausted) }
        sentRTCP.commit(ticket)
    }

    /// Authenticates and decrypts a compound RTCP packet, which shrinks by tag and index.
    public func unprotectRTCP(_ packet: inout [UInt8]) throws(SRTPError) {
        let plainLength = packet.count - overhead
        guard let header = SRTPHeader(rtcp: packet.span.bytes), plainLength >= header.length else { throw .malformed }
        let places = Places(profile, bodyEnd: plainLength)
        // DTLS-SRTP negotiates no unencrypted SRTCP, so nobody may send it (RFC 3711 §3.4, RFC 8827 §6.5).
        guard let word = packet.span.bytes.uint32(at: places.word), word & Self.encryptedBit != 0 else {
            throw .malformed
        }
        let ticket = try receivedRTCP.ticket(ssrc: header.ssrc, index: UInt64(word & ~Self.encryptedBit))
        let layout = PacketLayout(
            headerLength: header.length, bodyLength: plainLength - header.length, tagOffset: places.tag, word: word,
            ssrc: header.ssrc, index: ticket.index)
        guard packet.withUnsafeMutableBytes({ rtcpOpener.open($0, layout) }) else {
            throw fail(&packet, .authenticationFailed)
        }
        receivedRTCP.commit(ticket)
        packet.removeLast(overhead)
    }

    /// Where an SRTCP packet has its tag and its word; see `PacketLayout`.
    private struct Places {
        let tag: Int
        let word: Int

        init(_ profile: SRTPProfile, bodyEnd: Int) {
            switch profile {
            case .aeadAES128GCM, .aeadAES256GCM:
                tag = bodyEnd
                word = bodyEnd + profile.tagLength
            case .aes128CMHMACSHA1_80:
                word = bodyEnd
                tag = bodyEnd + SRTPContext.wordLength
            }
        }
    }

    private func fail(_ bytes: inout [UInt8], from start: Int = 0, _ error: SRTPError) -> SRTPError {
        bytes.removeLast(bytes.count - start)
        // OpenSSL leaves an entry for some failures; see `OpenSSLErrors`.
        OpenSSLErrors.clear()
        return error
    }
}
