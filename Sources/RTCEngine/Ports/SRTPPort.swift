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
    /// As `protectRTP(_:from:)`, but may leave the cipher's work to a batch: then the packet has room for its tag and
    /// its number is used, and it is neither read nor sent before `batch.seal`. Till then the connection must not end,
    /// for the batch holds none of its keys.
    ///
    /// - Returns: whether it is sealed already; without a batch that is of use to it, always.
    func protectRTP(_ bytes: inout [UInt8], from start: Int, in batch: any SealingBatch) throws(SRTPError) -> Bool
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

/// RTP packets of many connections that are sealed together.
///
/// A hash like SHA-1 is one long chain of steps, which leaves most of a processor idle. Of several messages it takes a
/// step each in the lanes of a vector register, in the time of one. So what is forwarded to many is written first, and
/// sealed when there is enough of it.
///
/// Not thread-safe, as a context is not.
public protocol SealingBatch: AnyObject {
    /// Encrypts the packets that were left to the batch, and gives them their tags, in the buffer that they lie in. The
    /// batch is empty then.
    func seal(_ buffer: inout [UInt8])
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
    /// For packets of such contexts that leave together, on one thread; nil, as by default, where there is nothing to
    /// be gained.
    func makeSealingBatch() -> (any SealingBatch)?
}

extension SecurityProvider {
    public func makeSealingBatch() -> (any SealingBatch)? { nil }
}

extension SRTPPort {
    public func prefetchSealing() {}

    public func protectRTP(
        _ bytes: inout [UInt8], from start: Int, in batch: any SealingBatch
    ) throws(SRTPError) -> Bool {
        try protectRTP(&bytes, from: start)
        return true
    }
}
