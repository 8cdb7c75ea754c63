import RTCEngine
import RTCWire

/// Writes Opus as Ogg (RFC 7845). A hole in time is filled with packets of silence, 20 ms each: RFC 7845 §4.1 wants
/// every sample accounted for by a packet, and players go by packets, not by granule positions. An hour of silence is
/// less than a megabyte. Beyond half a day the position jumps, as if pages had been lost. Where more sound comes than
/// there is time for, as of a backlog behind a hole that was filled, packets are left out.
struct OggOpusWriter: ContainerWriter {
    private static let maximumSilence = 12 * 3_600 * 50
    private static let silenceSamples: Int64 = 960
    /// How far the position may be beyond the time of a packet for good: 100 ms.
    private static let tolerance: Int64 = 4_800
    /// For so much sound it may be further beyond: a second, for what comes all at once may have time behind it.
    private static let patience: Int64 = 48_000
    /// One stream in one file: any number serves.
    private static let serial: UInt32 = 0x526f_6f73

    private var page = Page()
    private var sequence: UInt32 = 0
    /// Samples so far, silence and skips included.
    private var position: Int64 = 0
    /// Packets are left out until the position is one that their time has come to.
    private var isAhead = false
    /// Where it began to be further beyond its time than is tolerated.
    private var aheadSince: Int64?

    private struct Page {
        var lacing: [UInt8] = []
        var content: [UInt8] = []
    }

    mutating func begin() -> [FileChange] {
        var bytes: [UInt8] = []
        add(RecordedOpus.head)
        // RFC 7845 §3: each header ends its page, with a position of zero.
        endPage(flags: .firstPage, into: &bytes)
        var tags = Array("OpusTags".utf8)
        let vendor = Array("Roost".utf8)
        tags.append(littleEndian32: UInt32(vendor.count))
        tags += vendor
        tags.append(littleEndian32: 0)  // no comments
        add(tags)
        endPage(flags: [], into: &bytes)
        return [.append(bytes)]
    }

    mutating func write(_ samples: [RecordedSample]) -> [FileChange] {
        var bytes: [UInt8] = []
        for sample in samples {
            guard let packet = OpusPacket(sample.payload.span.bytes), hasRoom(at: sample.time) else { continue }
            fillGap(until: sample.time, into: &bytes)
            place(sample.payload, samples: Int64(packet.samples), into: &bytes)
        }
        endPage(flags: [], into: &bytes)
        return bytes.isEmpty ? [] : [.append(bytes)]
    }

    mutating func finish(duration: Interval) -> [FileChange] {
        // RFC 3533 §6: the end-of-stream flag may stand on a page without a packet.
        var bytes: [UInt8] = []
        endPage(flags: .lastPage, into: &bytes)
        return [.append(bytes)]
    }

    /// Whether a packet can be placed. Each one moves the position on by what it lasts, whatever its time: where that
    /// stays beyond, all that follows would be late for good, so packets are dropped until it is right again.
    private mutating func hasRoom(at time: Int64) -> Bool {
        let lead = position - time
        if isAhead {
            isAhead = lead > 0
        } else if lead > Self.tolerance {
            let since = aheadSince ?? position
            aheadSince = since
            isAhead = position - since >= Self.patience
        }
        if isAhead || lead <= Self.tolerance { aheadSince = nil }
        return !isAhead
    }

    private mutating func fillGap(until time: Int64, into bytes: inout [UInt8]) {
        var filled = 0
        while time - position >= Self.silenceSamples, filled < Self.maximumSilence {
            place(OpusPacket.silence, samples: Self.silenceSamples, into: &bytes)
            filled += 1
        }
        guard time - position >= Self.silenceSamples else { return }
        endPage(flags: [], into: &bytes)
        position = time
    }

    private mutating func place(_ packet: [UInt8], samples: Int64, into bytes: inout [UInt8]) {
        // A page has 255 segments at most (RFC 3533 §6); packets are kept whole within one.
        if page.lacing.count + packet.count / 255 + 1 > 255 { endPage(flags: [], into: &bytes) }
        guard packet.count / 255 + 1 <= 255 else { return }
        add(packet)
        position += samples
    }

    /// RFC 3533 §5: as many segments of 255 bytes as fit, then a shorter one that ends the packet.
    private mutating func add(_ packet: [UInt8]) {
        page.lacing += [UInt8](repeating: 255, count: packet.count / 255)
        page.lacing.append(UInt8(packet.count % 255))
        page.content += packet
    }

    private mutating func endPage(flags: OggPage.Flags, into bytes: inout [UInt8]) {
        guard !page.lacing.isEmpty || flags.contains(.lastPage) else { return }
        var header = Array("OggS".utf8)
        header.append(0)  // version
        header.append(flags.rawValue)
        header.append(littleEndian64: UInt64(clamping: position))
        header.append(littleEndian32: Self.serial)
        header.append(littleEndian32: sequence)
        let checksumOffset = header.count
        header.append(littleEndian32: 0)
        header.append(UInt8(page.lacing.count))
        var whole = header + page.lacing + page.content
        var checksum = OggChecksum()
        checksum.update(whole.span.bytes)
        whole.set(uint32: checksum.value.byteSwapped, at: checksumOffset)
        bytes += whole
        sequence &+= 1
        page = Page()
    }
}
