import LiveKitProtocol
import SwiftProtobuf

/// Any bytes as the parameter `join_request`: refused, or a request that is as long after a round trip.
func fuzzLiveKitJoinRequest(_ bytes: RawSpan) {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    guard let request = try? LiveKitJoinRequest(parameter: text, limit: 1 << 16) else { return }
    guard let written: [UInt8] = try? request.serializedBytes(),
        let again = try? LiveKitJoinRequest(serializedBytes: written)
    else { fatalError("what is read can be written and read") }
    // Their number, because a map's entries come in any order, and not the values, because NaN is unlike itself.
    precondition((try? again.serializedBytes() as [UInt8])?.count == written.count)
}
