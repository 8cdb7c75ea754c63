/// Packets that a receiver misses (RFC 4585 §6.2.1).
public struct GenericNACK: Sendable, Hashable {
    /// One word: a missing packet and a mask over the sixteen that follow it.
    public struct Entry: Sendable, Hashable {
        public var packetID: UInt16
        /// Bit 0 stands for `packetID` + 1.
        public var followingLost: UInt16

        public init(packetID: UInt16, followingLost: UInt16) {
            self.packetID = packetID
            self.followingLost = followingLost
        }
    }

    public var senderSSRC: UInt32
    public var mediaSSRC: UInt32
    public var entries: [Entry]

    public init(senderSSRC: UInt32, mediaSSRC: UInt32, entries: [Entry]) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
        self.entries = entries
    }

    /// Packs sequence numbers, given in order, into as few entries as they need.
    public init(senderSSRC: UInt32, mediaSSRC: UInt32, missing: some Sequence<UInt16>) {
        self.init(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, entries: [])
        for number in missing {
            if let last = entries.last, (1...16).contains(number &- last.packetID) {
                entries[entries.count - 1].followingLost |= 1 << (number &- last.packetID &- 1)
            } else if entries.last?.packetID != number {
                entries.append(Entry(packetID: number, followingLost: 0))
            }
        }
    }

    /// Every sequence number that is asked for.
    public var missing: [UInt16] {
        entries.flatMap { entry in
            [entry.packetID]
                + (0..<16).compactMap { bit in
                    entry.followingLost & (1 << bit) != 0 ? entry.packetID &+ bit &+ 1 : nil
                }
        }
    }
}

/// A receiver cannot decode and wants a key frame (RFC 4585 §6.3.1).
public struct PictureLossIndication: Sendable, Hashable {
    public var senderSSRC: UInt32
    public var mediaSSRC: UInt32

    public init(senderSSRC: UInt32, mediaSSRC: UInt32) {
        self.senderSSRC = senderSSRC
        self.mediaSSRC = mediaSSRC
    }
}

/// A command to send a key frame (RFC 5104 §4.3.1).
public struct FullIntraRequest: Sendable, Hashable {
    /// One source that shall send a key frame.
    public struct Entry: Sendable, Hashable {
        public var ssrc: UInt32
        /// Counts commands: a repetition has the same number.
        public var sequenceNumber: UInt8

        public init(ssrc: UInt32, sequenceNumber: UInt8) {
            self.ssrc = ssrc
            self.sequenceNumber = sequenceNumber
        }
    }

    public var senderSSRC: UInt32
    public var entries: [Entry]

    public init(senderSSRC: UInt32, entries: [Entry]) {
        self.senderSSRC = senderSSRC
        self.entries = entries
    }
}

/// How much a receiver thinks the path carries (draft-alvestrand-rmcat-remb-03 §2.2).
public struct ReceiverEstimatedBitrate: Sendable, Hashable {
    public var senderSSRC: UInt32
    /// Bits a second; 18 significant bits survive the wire.
    public var bitrate: UInt64
    /// The streams that share it, at most 255.
    public var ssrcs: [UInt32]

    public init(senderSSRC: UInt32, bitrate: UInt64, ssrcs: [UInt32]) {
        self.senderSSRC = senderSSRC
        self.bitrate = bitrate
        self.ssrcs = ssrcs
    }
}

// Bodies behind the two SSRCs that all feedback begins with (RFC 4585 §6.1).

extension GenericNACK {
    init?(reading reader: inout ByteReader, senderSSRC: UInt32, mediaSSRC: UInt32) {
        // RFC 4585 §6.2.1: at least one entry.
        guard reader.remaining >= 4, reader.remaining % 4 == 0 else { return nil }
        self.init(senderSSRC: senderSSRC, mediaSSRC: mediaSSRC, entries: [])
        entries.reserveCapacity(reader.remaining / 4)
        while let id = reader.readUInt16(), let mask = reader.readUInt16() {
            entries.append(Entry(packetID: id, followingLost: mask))
        }
    }

    func writeBody(into packet: inout [UInt8]) {
        packet.append(uint32: senderSSRC)
        packet.append(uint32: mediaSSRC)
        for entry in entries {
            packet.append(uint16: entry.packetID)
            packet.append(uint16: entry.followingLost)
        }
    }
}

extension PictureLossIndication {
    func writeBody(into packet: inout [UInt8]) {
        packet.append(uint32: senderSSRC)
        packet.append(uint32: mediaSSRC)
    }
}

extension FullIntraRequest {
    init?(reading reader: inout ByteReader, senderSSRC: UInt32) {
        guard reader.remaining >= 8, reader.remaining % 8 == 0 else { return nil }
        self.init(senderSSRC: senderSSRC, entries: [])
        while let ssrc = reader.readUInt32(), let number = reader.readUInt8(), reader.skip(3) {
            entries.append(Entry(ssrc: ssrc, sequenceNumber: number))
        }
    }

    func writeBody(into packet: inout [UInt8]) {
        packet.append(uint32: senderSSRC)
        // RFC 5104 §4.3.1.2: the media source of the common head is unused and 0.
        packet.append(uint32: 0)
        for entry in entries {
            packet.append(uint32: entry.ssrc)
            packet.append(entry.sequenceNumber)
            packet.append(uint24: 0)
        }
    }
}

extension ReceiverEstimatedBitrate {
    /// The characters that tell this from other application layer feedback.
    static let identifier: UInt32 = 0x5245_4d42

    init?(reading reader: inout ByteReader, senderSSRC: UInt32) {
        guard let count = reader.readUInt8(), let packed = reader.readUInt24() else { return nil }
        let mantissa = UInt64(packed & 0x3_ffff)
        let exponent = UInt64(packed >> 18)
        // 6 bits of exponent can shift the mantissa out of 64 bits: such an estimate means "no limit".
        let fits = mantissa == 0 || mantissa.leadingZeroBitCount >= Int(exponent)
        self.init(senderSSRC: senderSSRC, bitrate: fits ? mantissa << exponent : .max, ssrcs: [])
        for _ in 0..<count {
            guard let ssrc = reader.readUInt32() else { return nil }
            ssrcs.append(ssrc)
        }
    }

    func writeBody(into packet: inout [UInt8]) {
        packet.append(uint32: senderSSRC)
        packet.append(uint32: 0)
        packet.append(uint32: Self.identifier)
        let exponent = max(0, 64 - bitrate.leadingZeroBitCount - 18)
        let mantissa = UInt32(truncatingIfNeeded: bitrate >> UInt64(exponent))
        packet.append(UInt8(truncatingIfNeeded: min(ssrcs.count, 255)))
        packet.append(uint24: UInt32(exponent) << 18 | mantissa)
        for ssrc in ssrcs.prefix(255) { packet.append(uint32: ssrc) }
    }
}
