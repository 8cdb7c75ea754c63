/// A packet of a data track, as it lies on the channel `_data_track` (LiveKit's `datatrack.Packet`):
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///     |V    |S|F|X| reserved          | handle                        |
///     | sequence number               | frame number                  |
///     | timestamp                                                     |
///     | words of extensions less 1, if X   | extensions, payload …    |
///
/// A frame is one packet or several that follow each other in sequence: S says that it begins with one, F that it ends.
package struct DataTrackPacket: Sendable, Equatable {
    package var isFrameStart = true
    package var isFrameEnd = true
    /// Of the track: the publisher's own number towards a server, the subscriber's from it. Never 0.
    package var handle: UInt16
    package var sequenceNumber: UInt16 = 0
    package var frameNumber: UInt16 = 0
    /// On a clock of 90 kHz, from anywhere.
    package var timestamp: UInt32 = 0
    /// What a publisher says of a frame, in its first packet; nil without.
    package var userTimestamp: UInt64?
    /// How the payload is encrypted from end to end, as it came (key index and initialization vector); nil if it is
    /// not.
    package var encryption: [UInt8]?
    package var payload: ArraySlice<UInt8>

    package init(handle: UInt16, payload: ArraySlice<UInt8> = []) {
        self.handle = handle
        self.payload = payload
    }
}

extension DataTrackPacket {
    /// Of a packet without extensions.
    package static let headerLength = 12
    private static let handlePlace = 2

    /// What an extension is, before its length and its bytes; a 0 begins the padding.
    private enum ExtensionID: UInt8 {
        case padding = 0
        case encryption = 1
        case userTimestamp = 2
    }

    /// The handle alone: what a server looks at. Nil where there is no header.
    package static func handle(of bytes: [UInt8]) -> UInt16? {
        guard bytes.count >= headerLength else { return nil }
        return bytes[handlePlace...].bigEndian(as: UInt16.self)
    }

    /// The packet under another handle; the rest is not for a server to look at.
    package static func setHandle(_ handle: UInt16, of bytes: inout [UInt8]) {
        guard bytes.count >= headerLength else { return }
        bytes[handlePlace] = UInt8(handle >> 8)
        bytes[handlePlace + 1] = UInt8(truncatingIfNeeded: handle)
    }

    /// Nil for what is none: too short, of a version that is not known, without a handle, or with extensions that do
    /// not fit in. Extensions that are not known are passed over.
    package init?(parsing bytes: [UInt8]) {
        guard bytes.count >= Self.headerLength, bytes[0] >> 5 == 0, let handle = Self.handle(of: bytes), handle > 0
        else { return nil }
        isFrameStart = bytes[0] & 0x10 != 0
        isFrameEnd = bytes[0] & 0x08 != 0
        self.handle = handle
        sequenceNumber = bytes[4...].bigEndian(as: UInt16.self)
        frameNumber = bytes[6...].bigEndian(as: UInt16.self)
        timestamp = bytes[8...].bigEndian(as: UInt32.self)
        guard bytes[0] & 0x04 != 0 else {
            payload = bytes[Self.headerLength...]
            return
        }
        guard bytes.count >= Self.headerLength + 2 else { return nil }
        let words = Int(bytes[Self.headerLength...].bigEndian(as: UInt16.self)) + 1
        let end = Self.headerLength + words * 4
        guard bytes.count >= end else { return nil }
        payload = bytes[end...]
        var place = Self.headerLength + 2
        while place < end, bytes[place] != ExtensionID.padding.rawValue {
            guard place + 2 <= end, place + 2 + Int(bytes[place + 1]) <= end else { return nil }
            let body = bytes[(place + 2)...].prefix(Int(bytes[place + 1]))
            switch ExtensionID(rawValue: bytes[place]) {
            case .encryption: encryption = Array(body)
            case .userTimestamp:
                guard body.count == 8 else { return nil }
                userTimestamp = body.bigEndian(as: UInt64.self)
            case .padding, nil: break
            }
            place += 2 + body.count
        }
    }

    /// As it goes on the wire.
    package var bytes: [UInt8] {
        var extensions: [UInt8] = []
        if let userTimestamp {
            extensions += [ExtensionID.userTimestamp.rawValue, 8]
            extensions += stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: userTimestamp >> $0) }
        }
        if let encryption {
            extensions += [ExtensionID.encryption.rawValue, UInt8(clamping: encryption.count)] + encryption.prefix(255)
        }
        let words = extensions.isEmpty ? 0 : (2 + extensions.count + 3) / 4
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerLength + words * 4 + payload.count)
        bytes.append((isFrameStart ? 0x10 : 0) | (isFrameEnd ? 0x08 : 0) | (words > 0 ? 0x04 : 0))
        bytes.append(0)
        for field in [
            handle, sequenceNumber, frameNumber, UInt16(timestamp >> 16), UInt16(truncatingIfNeeded: timestamp),
        ] {
            bytes += [UInt8(field >> 8), UInt8(truncatingIfNeeded: field)]
        }
        if words > 0 {
            bytes += [UInt8((words - 1) >> 8), UInt8(truncatingIfNeeded: words - 1)] + extensions
            bytes += [UInt8](repeating: 0, count: words * 4 - 2 - extensions.count)
        }
        return bytes + payload
    }
}

extension ArraySlice<UInt8> {
    /// The number that it begins with, which has to be there.
    fileprivate func bigEndian<Number: FixedWidthInteger>(as type: Number.Type) -> Number {
        prefix(Number.bitWidth / 8).reduce(0) { $0 << 8 | Number($1) }
    }
}
