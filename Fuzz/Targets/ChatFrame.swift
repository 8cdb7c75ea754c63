import ChatServer
import Foundation

/// Any bytes as what a client says on the realtime socket: a frame, or an error.
func fuzzChatFrame(_ bytes: RawSpan) {
    let data = bytes.withUnsafeBytes { Data($0) }
    guard let request = try? JSONDecoder().decode(ClientRequest.self, from: data) else { return }
    precondition(request == (try? JSONDecoder().decode(ClientRequest.self, from: data)))
}
