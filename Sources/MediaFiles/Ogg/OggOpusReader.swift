import RTCWire

/// Reads the Opus stream of an Ogg file (RFC 7845 over RFC 3533), and those that are chained behind it, as one track.
/// Damaged pages are stepped over and leave a gap in time, as a lost packet would.
///
/// Every packet is part of the track: what a player skips at the start (the pre-skip) and trims at the end (RFC 7845
/// §4.4) belongs to packets that are sent whole.
public enum OggOpusReader {
    /// How much is checked in vain before a file counts as damaged, in bytes beside its own length: capture patterns
    /// that begin no page cost their checksum each time.
    private static let toleratedWaste = 16 << 20

    /// - Throws: `noUsableTrack` when there is no Opus stream, `malformed` when it has no packet, or times that cannot
    ///   be.
    public static func read(_ bytes: [UInt8]) throws(MediaFileError) -> MediaTrack {
        var assembler = OggOpusAssembler()
        let file = bytes.span.bytes
        var offset = 0
        var wasted = 0
        while let found = OggPage.find(in: file, from: offset) {
            if let page = OggPage(file, at: found) {
                try assembler.receive(page, file)
                offset = page.content.upperBound
                guard assembler.frameCount <= MediaFile.maximumFrames else { throw .tooManyFrames(.ogg) }
            } else {
                offset = found + 1
                wasted += OggPage.claimedSize(file, at: found)
                guard wasted <= 2 * bytes.count + toleratedWaste else {
                    throw .malformed(.ogg, detail: "it is full of pages with a wrong checksum")
                }
            }
        }
        guard let track = assembler.finish() else { throw .noUsableTrack(.ogg) }
        guard !track.frames.isEmpty else { throw .malformed(.ogg, detail: "it holds no whole packet") }
        return track
    }
}

/// Turns pages into packets with times.
private struct OggOpusAssembler {
    /// RFC 7845 §3: the identification header, the comment header, then sound.
    private enum Phase {
        case waitingForHead
        case waitingForTags(serial: UInt32)
        case sound(serial: UInt32)
        /// RFC 3533 §4: the stream's last page came; another one may be chained behind it.
        case ended
    }

    /// RFC 7845 §6: a decoder may refuse packets beyond this.
    private static let maximumPacketSize = 61_440

    private var phase = Phase.waitingForHead
    private var track = MediaTrack(format: .opus, frames: [])
    /// The start of a packet that continues on the next page.
    private var partial: [UInt8] = []
    private var expectedSequence: UInt32 = 0
    /// Samples so far, in the stream's granule positions.
    private var cursor: Int64?
    private var firstTime: Int64 = 0
    /// Where the stream begins in the track: behind the ones before it in the chain.
    private var streamStart: Int64 = 0

    var frameCount: Int { track.frames.count }

    mutating func receive(_ page: OggPage, _ file: RawSpan) throws(MediaFileError) {
        switch phase {
        case .waitingForHead, .ended: begin(page, file)
        case .waitingForTags(let serial):
            guard page.serial == serial else { return }
            // RFC 7845 §3: the comment header ends its page, so that sound begins on a fresh one.
            _ = packets(of: page, file)
            if page.lacing.contains(where: { $0 < 255 }) { phase = .sound(serial: serial) }
        case .sound(let serial):
            // RFC 3533 §4: streams side by side all begin before the first page of content. So this is one behind ours,
            // which was cut off before its last page.
            if page.flags.contains(.firstPage) { return begin(page, file) }
            guard page.serial == serial else { return }
            try place(packets(of: page, file), on: page)
            if page.flags.contains(.lastPage) { phase = .ended }
        }
    }

    /// The first page of a stream, if it is one of Opus.
    private mutating func begin(_ page: OggPage, _ file: RawSpan) {
        guard page.flags.contains(.firstPage), readHead(file.extracting(page.content)) else { return }
        phase = .waitingForTags(serial: page.serial)
        expectedSequence = page.sequence &+ 1
        partial.removeAll()
        cursor = nil
        streamStart = track.frames.last.map { $0.decodeTime + $0.duration } ?? 0
    }

    mutating func finish() -> MediaTrack? {
        switch phase {
        case .waitingForHead: return nil
        case .waitingForTags, .sound, .ended:
            track.closeGaps()
            return track
        }
    }

    /// RFC 7845 §5.1.
    private mutating func readHead(_ packet: RawSpan) -> Bool {
        guard packet.uint32(at: 0) == 0x4f70_7573, packet.uint32(at: 4) == 0x4865_6164,  // OpusHead
            let version = packet.byte(at: 8), version < 16, let channels = packet.byte(at: 9), channels > 0,
            let preSkip = packet.littleEndian16(at: 10), let family = packet.byte(at: 18),
            // RFC 7587 sends mono or stereo: family 0.
            family == 0, channels <= 2
        else { return false }
        // A track is described once; the receiver of packets asks them for their channels.
        guard track.frames.isEmpty else { return true }
        track.channels = Int(channels)
        track.preSkip = Int(preSkip)
        return true
    }

    /// The packets that end on this page (RFC 3533 §5: a segment shorter than 255 ends one).
    private mutating func packets(of page: OggPage, _ file: RawSpan) -> [[UInt8]] {
        // A page is missing, or says that it continues nothing: what was begun is lost.
        if page.sequence != expectedSequence || !page.flags.contains(.continued) { partial.removeAll() }
        var isSkipping = page.flags.contains(.continued) && partial.isEmpty
        expectedSequence = page.sequence &+ 1
        var finished: [[UInt8]] = []
        var offset = page.content.lowerBound
        for size in page.lacing {
            let end = offset + Int(size)
            if !isSkipping, partial.count + Int(size) <= Self.maximumPacketSize {
                partial.append(contentsOf: file.extracting(offset..<end))
            } else {
                partial.removeAll()
                isSkipping = true
            }
            offset = end
            guard size < 255 else { continue }
            if !isSkipping { finished.append(partial) }
            partial.removeAll()
            isSkipping = false
        }
        return finished
    }

    /// Gives the packets their times. The granule position counts the samples up to the end of the page's last packet
    /// (RFC 7845 §4); where it runs ahead of the packets, something is missing before them.
    private mutating func place(_ packets: [[UInt8]], on page: OggPage) throws(MediaFileError) {
        let sounds = packets.compactMap { packet in
            OpusPacket(packet.span.bytes).map { (packet: packet, samples: Int64($0.samples)) }
        }
        let total = sounds.reduce(0) { $0 + $1.samples }
        var time = cursor ?? 0
        // RFC 7845 §4.4: on the last page the position may be less, to trim the end.
        if page.granulePosition < MediaClock.limit { time = max(time, Int64(page.granulePosition) - total) }
        if cursor == nil { firstTime = time }
        // Each stream of a chain may claim as much.
        guard streamStart + time - firstTime + total < MediaClock.limit else {
            throw .malformed(.ogg, detail: "a packet's time is out of range")
        }
        for (packet, samples) in sounds {
            track.frames.append(
                MediaTrack.Frame(
                    payload: packet, decodeTime: streamStart + time - firstTime, duration: samples, isKeyFrame: true))
            time += samples
        }
        if !sounds.isEmpty { cursor = time }
    }
}
