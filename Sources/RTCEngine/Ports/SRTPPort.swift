/// Why a packet could not be protected or unprotected. Such a packet is dropped and counted, never answered.
public enum SRTPError: Error, Sendable, Equatable {
    /// Too short, or a header that does not parse.
    case malformed
    /// The authentication tag is wrong.
    case authenticationFailed
    /// Received before, or too old to tell (RFC 3711 §3.3.2).
    case replayed
    /// The key's lifetime is used up (2^48 RTP or 2^31 RTCP packets), or the cipher failed.
    case keyExhausted
}

/// SRTP and SRTCP of one DTLS association, both directions. Works in place: a packet's storage only grows by the
/// tag, so an array with spare capacity is never reallocated.
public protocol SRTPPort: AnyObject {
    /// A packet is to be protected soon: asks for the memory that it takes (`Prefetch`). A hint; nothing by default.
    func prefetchSealing()

    /// The packet is what lies in `bytes` from `start` on; it grows by the tag, and what is before it stays as it is.
    func protectRTP(_ bytes: inout [UInt8], from start: Int) throws(SRTPError)
    /// Protects once more a packet that is known to be the same, bit for bit.
    ///
    /// Other bytes under the same number would use a keystream twice (RFC 3711 §9.1), so the packet proves itself:
    /// unless its tag ends as the first time, it is emptied and `.replayed` thrown, as for one that was never sent.
    ///
    /// - Parameter seal: the last eight bytes of what `protectRTP` made of it.
    func repeatRTP(_ packet: inout [UInt8], seal: UInt64) throws(SRTPError)
    func protectRTCP(_ packet: inout [UInt8]) throws(SRTPError)
    /// A source of ours has ended, and what is remembered of it goes. Its SSRC must not be used again: the indices, and
    /// with them the keystream, would begin anew (RFC 3711 §9.1).
    func forgetSource(_ ssrc: UInt32)
    func unprotectRTP(_ packet: inout [UInt8]) throws(SRTPError)
    func unprotectRTCP(_ packet: inout [UInt8]) throws(SRTPError)
}

extension SRTPPort {
    /// Protects a packet that has an array to itself.
    public func protectRTP(_ packet: inout [UInt8]) throws(SRTPError) { try protectRTP(&packet, from: 0) }
}

/// Makes the secured parts of a peer connection; one value may serve many.
public protocol SecurityProvider: Sendable {
    /// Our certificate's SHA-256 fingerprint, for the session description.
    var localFingerprint: Fingerprint { get }
    /// A new association that has not begun.
    func makeDTLS() -> any DTLSPort
    /// Contexts for the keys of a finished handshake.
    func makeSRTP(_ keys: SRTPKeyingMaterial) throws(SRTPError) -> any SRTPPort
}

extension SRTPPort {
    public func prefetchSealing() {}
}
