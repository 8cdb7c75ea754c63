import RTCEngine
import RTCWire
import SFUCore

/// What one subscriber got, and whether a decoder could make anything of it.
package struct ModelReceiver {
    package struct Received {
        var line: Int64
        var timestamp: UInt32
        var marker: Bool
        var bytes: [UInt8]
        /// Nil for padding.
        package var frame: Int?
        package var index: Int
        var numbers: PictureNumbers
        var temporal: Int
        var startsKey: Bool
    }

    package let coding: ModelCoding
    private var unwrapper = SequenceUnwrapper()
    package private(set) var received: [Int64: Received] = [:]
    package private(set) var violations: [String] = []
    private var latest: (line: Int64, timestamp: UInt32)?
    /// The pictures that were on their way when other layers were wanted.
    private var turns: Set<UInt32> = []

    package init(_ coding: ModelCoding) { self.coding = coding }

    package mutating func receive(_ bytes: [UInt8]) {
        let span = bytes.span.bytes
        guard let header = try? RTPHeader(parsing: span) else { return violations.append("a broken packet") }
        let line = unwrapper.unwrap(header.sequenceNumber)
        guard received[line] == nil else { return violations.append("\(line) went out twice") }
        var packet = Received(
            line: line, timestamp: header.timestamp, marker: header.marker, bytes: bytes, index: 0,
            numbers: PictureNumbers(), temporal: 0, startsKey: false)
        if !header.payloadRange.isEmpty {
            var parser = VideoDescriptorParser(format: coding.format)
            let end = header.payloadRange.upperBound
            packet.frame = span.uint32(at: end - 5).map { Int($0) }
            packet.index = Int(span.byte(at: end - 1) ?? 0)
            if let video = parser.read(header, span, at: 0, dependencyDescriptor: nil) {
                packet.numbers = video.numbers
                packet.temporal = Int(video.temporalLayer)
                packet.startsKey = video.startsKeyFrame
            }
        }
        received[line] = packet
        if latest.map({ $0.line < line }) ?? true { latest = (line, header.timestamp) }
    }

    /// Other layers are wanted from now on.
    package mutating func wantsOthers() {
        if let latest { turns.insert(latest.timestamp) }
    }

    package mutating func note(_ violation: String) { violations.append(violation) }

    /// The packet that went out under this number.
    package func bytes(_ number: UInt16) -> [UInt8]? { received[unwrapper.peek(number)]?.bytes }

    /// Looks at the whole stream when all is over.
    ///
    /// - Parameters:
    ///   - frames: what the publisher made.
    ///   - arrived: which packets of each frame have come to the server.
    ///   - lost: how many never did.
    ///   - isInOrder: nothing was lost, repeated or late.
    package mutating func finish(_ frames: [ModelFrame], arrived: [Int: Set<Int>], lost: Int, isInOrder: Bool) {
        let packets = received.values.sorted { $0.line < $1.line }
        guard let first = packets.first, let last = packets.last else { return }
        let missing = Int(last.line - first.line) + 1 - packets.count
        if missing > lost { violations.append("\(missing) numbers are missing, and \(lost) packets were lost") }
        let media = packets.filter { $0.frame != nil }
        checkOrder(media)
        if coding == .vp8Simulcast { checkPictures(media, isLossless: lost == 0, isInOrder: isInOrder) }
        if isInOrder { checkMarkers(media, frames) }
        checkDecoding(media, frames, arrived)
    }

    /// Frames follow each other, each in one piece, each later than the one before; their packets are in order.
    private mutating func checkOrder(_ media: [Received]) {
        var seen: Set<Int> = []
        for (before, packet) in zip(media, media.dropFirst()) {
            let step = Int32(bitPattern: packet.timestamp &- before.timestamp)
            if packet.frame == before.frame {
                if packet.index <= before.index { violations.append("\(packet.line): packets of a frame out of order") }
                if step != 0 { violations.append("\(packet.line): a frame with two timestamps") }
                continue
            }
            if let frame = before.frame, !seen.insert(frame).inserted {
                violations.append("\(packet.line): frame \(frame) in two pieces")
            }
            // Layers of a picture share its timestamp.
            if step < 0 || step == 0 && !coding.isScalable {
                violations.append("\(packet.line): the timestamp went by \(step)")
            }
        }
    }

    /// The marker is on a picture's last packet and on no other (RFC 9628 §4.1; AV1 RTP specification §4.2). But where
    /// a higher layer is joined than the picture before had, or one that was not wanted when the picture began, a lower
    /// one may have ended with it: that another would follow was not known then.
    private mutating func checkMarkers(_ media: [Received], _ frames: [ModelFrame]) {
        var highest = Int.max
        var start = media.startIndex
        while start < media.endIndex {
            let picture = media[start...].prefix { $0.timestamp == media[start].timestamp }
            let layers = picture.map { packet in
                packet.frame.flatMap { frames.indices.contains($0) ? frames[$0].spatial : nil } ?? 0
            }
            let top = layers.max() ?? 0
            if top <= highest, !turns.contains(media[start].timestamp),
                let early = picture.dropLast().first(where: \.marker)
            {
                violations.append("\(early.line): a marker before the picture's end")
            }
            highest = top
            start += picture.count
        }
    }

    private mutating func checkPictures(_ media: [Received], isLossless: Bool, isInOrder: Bool) {
        var ids: [UInt16: Int] = [:]
        var pictures: [Received] = []
        for packet in media {
            if let frame = ids[packet.numbers.pictureID], frame != packet.frame {
                violations.append("\(packet.line): picture id \(packet.numbers.pictureID) again")
            }
            ids[packet.numbers.pictureID] = packet.frame
            if pictures.last?.frame != packet.frame { pictures.append(packet) }
        }
        for (before, picture) in zip(pictures, pictures.dropFirst()) {
            let step = (picture.numbers.pictureID &- before.numbers.pictureID) & 0x7fff
            // A picture of a layer that is left out, all of which came late, leaves its number unused.
            if step == 0 || step > (isInOrder ? 1 : 20) {
                violations.append("\(picture.line): the picture id went by \(step)")
            }
            let base = picture.numbers.temporalBase &- before.numbers.temporalBase
            let isBase = picture.temporal == 0
            if isLossless, base != (isBase ? 1 : 0) {
                violations.append("\(picture.line): TL0PICIDX went by \(base) in layer \(picture.temporal)")
            }
            let key = (picture.numbers.keyIndex &- before.numbers.keyIndex) & 0x1f
            if isLossless, key != (picture.startsKey ? 1 : 0) {
                violations.append("\(picture.line): KEYIDX went by \(key)")
            }
        }
    }

    /// What goes out can be decoded, as far as the publisher's path let it come: a frame goes out whole, after all that
    /// it refers to, and never without.
    private mutating func checkDecoding(_ media: [Received], _ frames: [ModelFrame], _ arrived: [Int: Set<Int>]) {
        var sent: [Int: Set<Int>] = [:]
        for packet in media {
            guard let id = packet.frame, frames.indices.contains(id) else { continue }
            sent[id, default: []].insert(packet.index)
        }
        var stream: Int?
        var seen: Set<Int> = []
        for packet in media {
            guard let id = packet.frame, frames.indices.contains(id), seen.insert(id).inserted else { continue }
            let frame = frames[id]
            if frame.stream != stream {
                if !frame.isKey || packet.index != 0 {
                    violations.append("\(packet.line): stream \(frame.stream) begins with a frame that is no key frame")
                }
                stream = frame.stream
            }
            for reference in frame.references {
                if let parts = sent[reference] {
                    guard parts == arrived[reference] ?? [] else {
                        violations.append("\(packet.line): frame \(id) refers to \(reference), sent in part")
                        continue
                    }
                } else if arrived[reference] != nil {
                    violations.append("\(packet.line): frame \(id) refers to \(reference), which was left out")
                }
            }
        }
        // The last frame of a stream may be cut off when a switch waited for its end in vain.
        for (id, parts) in sent where parts != arrived[id] ?? [] {
            let isLastOfStream =
                media.last { $0.frame == id }.map { last in
                    media.first { $0.line > last.line }.map {
                        frames[$0.frame ?? 0].stream != frames[id].stream || frames[$0.frame ?? 0].isKey
                    } ?? true
                } ?? true
            if !isLastOfStream { violations.append("frame \(id) went out in part: \(parts.sorted())") }
        }
    }
}
