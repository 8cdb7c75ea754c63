/// The arguments of an event or of an acknowledgement, as they were sent.
///
/// Arguments that came from a peer are kept as its own JSON text and are split only when somebody looks; passed on,
/// they leave byte for byte as they came. Binary attachments are beside the text, which holds a placeholder
/// `{"_placeholder":true,"num":N}` where each belongs (Socket.IO protocol revision 5).
///
/// Arguments of our own are written as a literal: `["text", 1, true, .json(raw), .binary(bytes)]`.
public struct SocketIOArguments: Sendable, Hashable {
    /// The JSON text between the array's brackets as it was sent: values with commas between them.
    public let bytes: ArraySlice<UInt8>
    /// The binary parts that placeholders refer to by index.
    public let attachments: [[UInt8]]

    init(checked bytes: ArraySlice<UInt8>, attachments: [[UInt8]] = []) {
        self.bytes = bytes
        self.attachments = attachments
    }

    /// No arguments.
    public init() { self.init(checked: []) }

    /// These arguments, in this order.
    public init(_ arguments: [SocketIOArgument]) {
        var bytes: [UInt8] = []
        var attachments: [[UInt8]] = []
        for (index, argument) in arguments.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            switch argument {
            case .json(let json): bytes += json.bytes
            case .binary(let binary):
                bytes += #"{"_placeholder":true,"num":\#(attachments.count)}"#.utf8
                attachments.append(binary)
            }
        }
        self.init(checked: bytes[...], attachments: attachments)
    }

    /// One argument that is passed on as it is.
    public init(_ json: RawJSON) { self.init(checked: json.bytes) }

    /// One argument encoded by `JSONEncoder`.
    public init(encoding value: some Encodable) throws { self.init(try RawJSON(encoding: value)) }

    /// Arguments whose JSON already holds placeholders, with the attachments they refer to; nil unless `array` is
    /// a JSON array.
    public init?(array: RawJSON, attachments: [[UInt8]]) {
        guard array.kind == .array else { return nil }
        self.init(checked: array.bytes.dropFirst().dropLast(), attachments: attachments)
    }

    /// How many bytes they are: the JSON text and all attachments.
    public var byteCount: Int { attachments.reduce(bytes.count) { $0 + $1.count } }

    /// The JSON text between the array's brackets, as it was sent.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The arguments one by one, each as its own text.
    public var elements: [RawJSON] {
        var elements: [RawJSON] = []
        var scanner = JSONScanner(bytes.span)
        while true {
            scanner.skipWhitespace()
            let start = scanner.position
            guard start < bytes.count, scanner.skipValue() else { return elements }
            elements.append(RawJSON(checked: bytes.part(start..<scanner.position)))
            scanner.skipWhitespace()
            _ = scanner.skip(UInt8(ascii: ","))
        }
    }

    /// The first argument; nil if there is none.
    public var first: RawJSON? { self[0] }

    /// The argument at an index; nil past the end.
    public subscript(index: Int) -> RawJSON? {
        let elements = elements
        return elements.indices.contains(index) ? elements[index] : nil
    }

    /// The bytes of a binary argument; nil if there is none at the index or it is not binary.
    public func binary(at index: Int) -> [UInt8]? { self[index].flatMap(attachment(for:)) }

    /// The attachment that a placeholder stands for; nil if `json` is no placeholder.
    public func attachment(for json: RawJSON) -> [UInt8]? {
        guard let number = json.placeholderNumber, attachments.indices.contains(number) else { return nil }
        return attachments[number]
    }

    /// The argument at an index as a `Decodable`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, at index: Int = 0) throws -> Value {
        guard let json = self[index] else { throw SocketIOArgumentError.missing(index: index) }
        return try json.decode(type)
    }

    /// Equal texts and attachments.
    public static func == (lhs: SocketIOArguments, rhs: SocketIOArguments) -> Bool {
        lhs.bytes == rhs.bytes && lhs.attachments == rhs.attachments
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
        hasher.combine(attachments)
    }
}

/// Why an argument could not be read.
public enum SocketIOArgumentError: Error, Hashable, Sendable {
    /// The peer sent fewer arguments.
    case missing(index: Int)
}

/// One argument to send.
public enum SocketIOArgument: Sendable, Hashable {
    /// A JSON value, passed on as it is.
    case json(RawJSON)
    /// Bytes, sent as an attachment.
    case binary([UInt8])

    /// A value encoded by `JSONEncoder`.
    public static func encoding(_ value: some Encodable) throws -> SocketIOArgument {
        .json(try RawJSON(encoding: value))
    }
}

extension SocketIOArgument: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .json(RawJSON(string: value)) }
    public init(integerLiteral value: Int) { self = .json(RawJSON(value)) }
    public init(booleanLiteral value: Bool) { self = .json(RawJSON(value)) }
    public init(nilLiteral: ()) { self = .json(.null) }
}

extension SocketIOArguments: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: SocketIOArgument...) { self.init(elements) }
}

extension RawJSON {
    /// The attachment's number if this is a placeholder object; nil otherwise.
    var placeholderNumber: Int? {
        guard kind == .object, self["_placeholder"]?.bool == true else { return nil }
        return self["num"]?.int
    }

    /// Whether each placeholder in this value refers to one of `count` attachments.
    func placeholdersAreValid(count: Int) -> Bool {
        var scanner = JSONScanner(bytes.span)
        return scanner.skipPlaceholders(count: count)
    }
}
