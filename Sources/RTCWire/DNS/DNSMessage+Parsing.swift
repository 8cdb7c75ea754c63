extension DNSMessage {
    /// Parses an answer from the network. Strict: what is not wholly well-formed tells nothing.
    public init(parsing bytes: RawSpan) throws(ParseError) {
        var reader = ByteReader(bytes)
        guard let id = reader.readUInt16(), let flags = reader.readUInt16(), let questions = reader.readUInt16(),
            let answers = reader.readUInt16(), let authorities = reader.readUInt16(),
            let additional = reader.readUInt16()
        else { throw .length }
        // RFC 6762 §18.2, §18.3, §18.11: QR is 1, and operation and error are 0.
        guard flags & 0xf80f == 0x8000 else { throw .notAnAnswer }
        let records = Int(answers) + Int(authorities) + Int(additional)
        guard Int(questions) + records <= Self.maximumRecords else { throw .tooManyRecords }
        // RFC 6762 §6.7: an answer to a one-shot query repeats the question.
        for _ in 0..<questions {
            _ = try Self.readName(&reader, in: bytes)
            guard reader.readUInt32() != nil else { throw .length }
        }
        var addresses: [Address] = []
        for index in 0..<records {
            let isAuthority = index >= Int(answers) && index < Int(answers) + Int(authorities)
            let record = try Self.readRecord(&reader, in: bytes)
            // Authority records of a response prove what is not there (RFC 6762 §6.1), and name no address.
            if !isAuthority, let record { addresses.append(record) }
        }
        guard reader.remaining == 0 else { throw .length }
        self.init(id: id, addresses: addresses)
    }

    /// Nil for a record of another type or class.
    private static func readRecord(_ reader: inout ByteReader, in message: RawSpan) throws(ParseError) -> Address? {
        let name = try readName(&reader, in: message)
        guard let type = reader.readUInt16(), let recordClass = reader.readUInt16(),
            let timeToLive = reader.readUInt32(), let length = reader.readUInt16(),
            let data = reader.readSpan(Int(length))
        else { throw .length }
        // RFC 6762 §10.2: the topmost bit of the class says "forget what you knew".
        guard recordClass & 0x7fff == classIN, let type = RecordType(rawValue: type) else { return nil }
        var body = ByteReader(data)
        let address: IPAddress
        switch type {
        case .a:
            guard length == 4, let value = body.readUInt32() else { throw .address }
            address = .v4(value)
        case .aaaa:
            guard length == 16, let high = body.readUInt64(), let low = body.readUInt64() else { throw .address }
            address = .v6(high, low)
        }
        // Names of services may hold anything; a host whose name cannot be written with dots is none that we asked for.
        guard let name else { return nil }
        return Address(name: name, address: address, timeToLive: timeToLive)
    }

    /// Reads a name, compressed or not (RFC 1035 §4.1.4); nil when it holds other characters than a host's name.
    private static func readName(_ reader: inout ByteReader, in message: RawSpan) throws(ParseError) -> String? {
        var text: [UInt8] = []
        var isHostName = true
        var length = 1
        // Where the name's parts are read from: in the message as it lies, until a pointer leads back.
        var isBehindPointer = false
        var cursor = reader.offset
        func byte(at offset: Int) throws(ParseError) -> UInt8 {
            guard let value = message.byte(at: offset) else { throw .length }
            return value
        }
        /// Everything from here on has been read once; pointers only lead to before it, so that no two form a ring.
        var ceiling = cursor
        while true {
            let head = try byte(at: cursor)
            switch head {
            case 0:
                cursor += 1
                if !isBehindPointer { try skip(&reader, to: cursor) }
                return isHostName ? String(decoding: text, as: UTF8.self) : nil
            case 1...63:
                length += Int(head) + 1
                guard length <= maximumNameLength else { throw .name }
                if !text.isEmpty { text.append(UInt8(ascii: ".")) }
                for offset in 1...Int(head) {
                    let character = try byte(at: cursor + offset)
                    guard let lower = lowerHostCharacter(character) else {
                        isHostName = false
                        continue
                    }
                    text.append(lower)
                }
                cursor += Int(head) + 1
            case 0xc0...0xff:
                let target = Int(head & 0x3f) << 8 | Int(try byte(at: cursor + 1))
                guard target < ceiling else { throw .name }
                if !isBehindPointer { try skip(&reader, to: cursor + 2) }
                isBehindPointer = true
                ceiling = target
                cursor = target
            // RFC 1035 §4.1.4: 01 and 10 are reserved.
            default: throw .name
            }
        }
    }

    private static func skip(_ reader: inout ByteReader, to offset: Int) throws(ParseError) {
        guard reader.readSpan(offset - reader.offset) != nil else { throw .length }
    }

    /// RFC 4343: names are the same in either case. Nil for what no host's name holds (RFC 952; and `_`, which is met).
    private static func lowerHostCharacter(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            byte
        default: nil
        }
    }
}
