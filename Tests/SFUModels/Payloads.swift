package import RTCWire
package import SFUCore

/// RTP packets made by hand.
package enum Packet {
    package static func rtp(
        _ number: UInt16, timestamp: UInt32, marker: Bool = true, payloadType: UInt8 = 96,
        ssrc: UInt32 = 77, descriptor: [UInt8]? = nil, _ payload: [UInt8]
    ) -> [UInt8] {
        let header = RTPHeader(
            marker: marker, payloadType: payloadType, sequenceNumber: number, timestamp: timestamp, ssrc: ssrc)
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 300 + payload.count) { out in
            header.write(into: &out)
            if let descriptor {
                let writer = HeaderExtensionWriter(form: .twoByte, in: &out)
                if writer.begin(descriptorID, length: descriptor.count, in: &out) != nil {
                    out.append(contentsOf: descriptor.span.bytes)
                }
                writer.finish(in: &out)
            }
            out.append(contentsOf: payload.span.bytes)
        }
        return bytes
    }

    package static let descriptorID: UInt8 = 9

    package static var extensions: HeaderExtensionIDs {
        var ids = HeaderExtensionIDs()
        ids.dependencyDescriptor = descriptorID
        return ids
    }

    /// What is left of a packet that says how it was padded: header and padding (RFC 3550 §5.1).
    package static func padding(_ number: UInt16, timestamp: UInt32) -> [UInt8] {
        var bytes = rtp(number, timestamp: timestamp, marker: false, [0, 0, 0, 4])
        bytes[0] |= 0x20
        return bytes
    }
}

extension OutgoingPacket {
    /// The whole packet that a subscriber gets, but for extensions.
    ///
    /// - Parameter source: of the published `packet`.
    package func written(_ source: RawSpan, of packet: PublishedPacket) throws -> [UInt8] {
        let header = try RTPHeader(parsing: source)
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: RTPHeader.fixedSize + Self.room(for: source)) { out in
            RTPHeader(
                marker: marker, payloadType: 96, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: 1
            ).write(into: &out)
            if isPadding { out[0] |= 0x20 }
            appendPayload(header.payload(of: source), of: packet, to: &out)
        }
        return bytes
    }
}

/// VP8 payloads (RFC 7741 §4.2): descriptor, then RFC 6386 §9.1's first byte, whose lowest bit is 0 for a key frame.
package struct VP8Payload {
    package var isKey = false
    package var starts = true
    package var pictureID: UInt16? = 0
    package var isLong = true
    package var base: UInt8? = 0
    package var temporal: UInt8? = 0
    package var sync = false
    package var keyIndex: UInt8? = 0
    package var content: [UInt8] = [1, 2, 3]

    package init(
        isKey: Bool = false, starts: Bool = true, pictureID: UInt16? = 0, isLong: Bool = true, base: UInt8? = 0,
        temporal: UInt8? = 0, sync: Bool = false, keyIndex: UInt8? = 0, content: [UInt8] = [1, 2, 3]
    ) {
        self.isKey = isKey
        self.starts = starts
        self.pictureID = pictureID
        self.isLong = isLong
        self.base = base
        self.temporal = temporal
        self.sync = sync
        self.keyIndex = keyIndex
        self.content = content
    }

    package var bytes: [UInt8] {
        var present: UInt8 = 0
        var fields: [UInt8] = []
        if let pictureID {
            present |= 0x80
            if isLong {
                fields.append(uint16: 0x8000 | pictureID & 0x7fff)
            } else {
                fields.append(UInt8(pictureID & 0x7f))
            }
        }
        if let base {
            present |= 0x40
            fields.append(base)
        }
        if temporal != nil || keyIndex != nil {
            if temporal != nil { present |= 0x20 }
            if keyIndex != nil { present |= 0x10 }
            fields.append((temporal ?? 0) << 6 | (sync ? 0x20 : 0) | (keyIndex ?? 0) & 0x1f)
        }
        return [0x80 | (starts ? 0x10 : 0), present] + fields + [isKey ? 0 : 1] + content
    }
}
