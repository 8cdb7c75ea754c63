import CallSignaling
import ClientKit
import SocketIO

/// Any bytes as what somebody says who wants to join a call room, a query and on the next line an auth object: a reason
/// why not, or values within their limits. A name by itself is taken by the server just when the client takes it.
func fuzzCallRoomParameters(_ bytes: RawSpan) {
    let lines = bytes.withUnsafeBytes { Array($0) }
        .split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let query = String(decoding: lines[0], as: UTF8.self)
    let auth = lines.count > 1 ? RawJSON(lines[1]) : nil
    do throws(CallRoomRefusal) {
        let parameters = try CallRoomParameters(
            SocketIOHandshake(namespace: "/", query: EngineIOQuery(query), auth: auth))
        precondition(CallRoomID(parameters.roomId) != nil)
        precondition(CallName.problem(with: parameters.username) == nil)
        precondition(parameters.client.map { (1...64).contains($0.utf8.count) } ?? true)
    } catch {
        precondition(error.message.hasPrefix(error.field.rawValue) || error.code == "room_full")
    }

    let items: [EngineIOQuery.Item] = [
        .init(name: "roomId", value: "1"), .init(name: "username", value: query), .init(name: "isCaller", value: "1"),
    ]
    let isTaken: Bool
    do throws(CallRoomRefusal) {
        let parameters = try CallRoomParameters(
            SocketIOHandshake(namespace: "/", query: EngineIOQuery(items: items)))
        isTaken = parameters.username == query
    } catch {
        isTaken = false
    }
    precondition(isTaken == (CallName.problem(with: query) == nil))
}
