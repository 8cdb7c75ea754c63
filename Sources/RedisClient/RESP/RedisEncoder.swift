/// Writes commands: an array of bulk strings ("Sending commands to a Redis server" of the specification).
package enum RedisEncoder {
    /// - Parameters:
    ///   - command: the name and its arguments; to an empty one no server answers.
    ///   - payload: one more argument, of any bytes.
    package static func append(_ command: [String], payload: [UInt8]? = nil, to bytes: inout [UInt8]) {
        append("*", command.count + (payload == nil ? 0 : 1), to: &bytes)
        for argument in command { append(argument.utf8, to: &bytes) }
        if let payload { append(payload, to: &bytes) }
    }

    private static func append(_ argument: some Collection<UInt8>, to bytes: inout [UInt8]) {
        append("$", argument.count, to: &bytes)
        bytes.append(contentsOf: argument)
        bytes.append(contentsOf: "\r\n".utf8)
    }

    private static func append(_ kind: Unicode.Scalar, _ number: Int, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: kind))
        bytes.append(contentsOf: String(number).utf8)
        bytes.append(contentsOf: "\r\n".utf8)
    }
}
