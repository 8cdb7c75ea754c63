import CPacketCiphers
import RTCEngine

/// Packets of AES_CM_128_HMAC_SHA1_80 that are sealed together, by Intel's Multi-Buffer Crypto library: the more there
/// are, up to some thirty, the less time each of them takes (docs/decisions/0041-packets-are-sealed-together.md).
final class CounterModeBatch: SealingBatch {
    private struct Packet {
        /// Not counted: no connection ends while packets of its wait (`SRTPPort.protectRTP(_:from:in:)`).
        let context: Unmanaged<SRTPContext>
        let key: OpaquePointer
        let start: Int
        let layout: PacketLayout
        let vector: CipherBlock
    }

    /// Of fewer, OpenSSL is done earlier: the lanes that are empty take their time too. Of four pictures' packets it
    /// takes as long, and of sound longer.
    private static let fewest = 4

    private let sealer: OpaquePointer
    private var packets: [Packet] = []
    private var prepared: [cpacketcm_packet] = []

    /// Nil where the library is not there.
    init?() {
        guard let sealer = cpacketcm_sealer_make() else { return nil }
        self.sealer = sealer
    }

    deinit {
        cpacketcm_sealer_free(sealer)
    }

    func append(
        _ layout: PacketLayout, at start: Int, _ vector: CipherBlock, of context: SRTPContext, _ key: OpaquePointer
    ) {
        packets.append(
            Packet(
                context: .passUnretained(context), key: key, start: start, layout: layout, vector: vector))
    }

    func seal(_ buffer: inout [UInt8]) {
        guard !packets.isEmpty else { return }
        buffer.withUnsafeMutableBytes { bytes in
            if packets.count < Self.fewest { sealOneByOne(bytes) } else { sealTogether(bytes) }
        }
        packets.removeAll(keepingCapacity: true)
    }

    private func sealTogether(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        prepared.removeAll(keepingCapacity: true)
        for packet in packets {
            let layout = packet.layout
            // The library writes wherever it is told to.
            precondition(
                packet.start >= 0 && layout.tagOffset == layout.bodyEnd
                    && layout.fits(in: bytes.count - packet.start, tagLength: CounterModeCipher.tagLength))
            prepared.append(
                cpacketcm_packet(
                    key: packet.key, start: packet.start, header_length: layout.headerLength,
                    body_length: layout.bodyLength,
                    vector: (packet.vector.high.bigEndian, packet.vector.low.bigEndian), word: layout.word))
        }
        cpacketcm_seal(sealer, prepared, prepared.count, base.assumingMemoryBound(to: UInt8.self))
    }

    private func sealOneByOne(_ bytes: UnsafeMutableRawBufferPointer) {
        for packet in packets {
            let layout = packet.layout
            let place = packet.start..<packet.start + layout.tagOffset + CounterModeCipher.tagLength
            precondition(place.lowerBound >= 0 && place.upperBound <= bytes.count)
            let bytes = UnsafeMutableRawBufferPointer(rebasing: bytes[place])
            let isSealed = packet.context._withUnsafeGuaranteedRef { $0.seal(bytes, layout) }
            guard !isSealed else { continue }
            // It has its place among others, and leaves; nobody may read it.
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            OpenSSLErrors.clear()
        }
    }
}
