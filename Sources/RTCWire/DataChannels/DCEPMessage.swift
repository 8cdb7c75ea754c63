/// A message of the Data Channel Establishment Protocol (RFC 8832 §5), which opens a channel in band.
public enum DCEPMessage: Hashable, Sendable {
    case open(DataChannelOpen)
    case ack

    /// RFC 8832 §8.2.1.
    fileprivate enum MessageType: UInt8 {
        case ack = 0x02
        case open = 0x03
    }
}

/// DATA_CHANNEL_OPEN (RFC 8832 §5.1).
public struct DataChannelOpen: Hashable, Sendable {
    /// How the channel's messages are repeated (RFC 8832 §8.2.2).
    public enum Reliability: Hashable, Sendable {
        case reliable
        /// At most so many retransmissions of a message.
        case retransmissions(UInt32)
        /// For at most so many milliseconds.
        case lifetime(UInt32)
    }

    public var reliability: Reliability
    public var isOrdered: Bool
    /// 128 below normal, 256 normal, 512 high, 1,024 extra high (RFC 8831 §6.4).
    public var priority: UInt16
    /// What the channel is called; need not be unique. At most 65,535 bytes of UTF-8.
    public var label: String
    /// The subprotocol, or empty. At most 65,535 bytes of UTF-8.
    public var subprotocol: String

    public init(
        reliability: Reliability = .reliable, isOrdered: Bool = true, priority: UInt16 = 256, label: String,
        subprotocol: String = ""
    ) {
        self.reliability = reliability
        self.isOrdered = isOrdered
        self.priority = priority
        self.label = label
        self.subprotocol = subprotocol
    }

    /// The longest label and the longest subprotocol: their lengths have 16 bits. Bytes.
    public static let longestText = 65_535

    /// RFC 8832 §5.1: the lower seven bits of the channel type.
    fileprivate enum ChannelType: UInt8 {
        case reliable = 0x00
        case partialReliableRetransmissions = 0x01
        case partialReliableTimed = 0x02
    }

    /// RFC 8832 §5.1: set for channels whose messages may be delivered in another order.
    fileprivate static let unorderedBit: UInt8 = 0x80
}

extension DCEPMessage {
    /// Nil for what is not a message of the protocol: cut off, of an unknown type, with text that is not UTF-8, or
    /// longer than its fields say.
    public init?(parsing bytes: RawSpan) {
        var reader = ByteReader(bytes)
        guard let type = reader.readUInt8().flatMap(MessageType.init(rawValue:)) else { return nil }
        switch type {
        case .ack:
            // RFC 8832 §5.2: the type alone. Bytes behind it would be an extension's, and change nothing.
            self = .ack
        case .open:
            guard let open = DataChannelOpen(reading: &reader), reader.remaining == 0 else { return nil }
            self = .open(open)
        }
    }

    /// The message as it is sent. Text beyond `DataChannelOpen.longestText` is the caller's to refuse; here it is cut.
    public var bytes: [UInt8] {
        switch self {
        case .ack: [MessageType.ack.rawValue]
        case .open(let open): [MessageType.open.rawValue] + open.fields
        }
    }
}

extension DataChannelOpen {
    fileprivate init?(reading reader: inout ByteReader) {
        guard let type = reader.readUInt8(), let priority = reader.readUInt16(), let parameter = reader.readUInt32(),
            let labelLength = reader.readUInt16(), let protocolLength = reader.readUInt16(),
            let label = reader.readBytes(Int(labelLength)).flatMap({ String(validating: $0, as: UTF8.self) }),
            let subprotocol = reader.readBytes(Int(protocolLength)).flatMap({ String(validating: $0, as: UTF8.self) }),
            let channelType = ChannelType(rawValue: type & ~Self.unorderedBit)
        else { return nil }
        let reliability: Reliability
        switch channelType {
        // RFC 8832 §5.1: the parameter is ignored.
        case .reliable: reliability = .reliable
        case .partialReliableRetransmissions: reliability = .retransmissions(parameter)
        case .partialReliableTimed: reliability = .lifetime(parameter)
        }
        self.init(
            reliability: reliability, isOrdered: type & Self.unorderedBit == 0, priority: priority, label: label,
            subprotocol: subprotocol)
    }

    /// Everything behind the message's type.
    fileprivate var fields: [UInt8] {
        let type: ChannelType
        let parameter: UInt32
        switch reliability {
        case .reliable: (type, parameter) = (.reliable, 0)
        case .retransmissions(let count): (type, parameter) = (.partialReliableRetransmissions, count)
        case .lifetime(let milliseconds): (type, parameter) = (.partialReliableTimed, milliseconds)
        }
        let label = Array(label.utf8.prefix(Self.longestText))
        let subprotocol = Array(subprotocol.utf8.prefix(Self.longestText))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(11 + label.count + subprotocol.count)
        bytes.append(type.rawValue | (isOrdered ? 0 : Self.unorderedBit))
        bytes.append(uint16: priority)
        bytes.append(uint32: parameter)
        bytes.append(uint16: UInt16(label.count))
        bytes.append(uint16: UInt16(subprotocol.count))
        bytes += label
        bytes += subprotocol
        return bytes
    }
}
