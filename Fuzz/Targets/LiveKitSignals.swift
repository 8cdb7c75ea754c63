import LiveKitProtocol
import SwiftProtobuf

/// Any bytes as a message of the signaling connection, as a client sends it and as a server does, as one of a worker of
/// agents, and as a data packet: refused, or as long after a round trip, and writable as JSON. The same bytes also are
/// a message in JSON.
func fuzzLiveKitSignals(_ bytes: RawSpan) {
    let input = bytes.withUnsafeBytes { Array($0) }
    roundTrip(LiveKitSignalRequest.self, input)
    roundTrip(LiveKitSignalResponse.self, input)
    roundTrip(LiveKitWorkerMessage.self, input)
    roundTrip(LiveKitDataPacket.self, input)
    guard let request = try? LiveKitSignalRequest(jsonUTF8Bytes: input) else { return }
    guard let json = try? request.jsonString(), let again = try? LiveKitSignalRequest(jsonString: json) else {
        fatalError("what is read from JSON can be written and read")
    }
    precondition((try? again.jsonString())?.utf8.count == json.utf8.count)
}

private func roundTrip<Value: SwiftProtobuf.Message>(_: Value.Type, _ input: [UInt8]) {
    guard let message = try? Value(serializedBytes: input) else { return }
    guard let written: [UInt8] = try? message.serializedBytes(), let again = try? Value(serializedBytes: written) else {
        fatalError("what is read can be written and read")
    }
    // Their number, because a map's entries come in any order.
    precondition((try? again.serializedBytes() as [UInt8])?.count == written.count)
    // A data packet may hold a time that JSON has no form for.
    precondition((try? message.jsonString()) != nil || Value.self == LiveKitDataPacket.self)
}
