import SocketIO

/// Any bytes as the stream of a WebSocket: the first chooses how they are cut and on which side they are read. However
/// they are cut, the same messages and the same fault come of them.
func fuzzWebSocket(_ bytes: RawSpan) {
    let all = bytes.withUnsafeBytes { Array($0) }
    guard let choice = all.first else { return }
    let side: WebSocketReader.Side = choice & 1 == 0 ? .server : .client
    let stream = all.dropFirst()
    let whole = read(stream, pieces: max(1, stream.count), side)
    let cut = read(stream, pieces: Int(choice >> 1) % 13 + 1, side)
    precondition(whole.messages == cut.messages && whole.fault == cut.fault)
    for message in whole.messages {
        switch message {
        case .text(let text): precondition(String(validating: text, as: UTF8.self) != nil && text.count <= 300)
        case .binary(let bytes): precondition(bytes.count <= 300)
        case .ping(let payload): precondition(payload.count <= 125)
        case .pong, .fragment, .close: break
        }
    }
}

private func read(_ stream: ArraySlice<UInt8>, pieces: Int, _ side: WebSocketReader.Side)
    -> (messages: [WebSocketReader.Message], fault: WebSocketFault?)
{
    var reader = WebSocketReader(side: side, limit: 300)
    var messages: [WebSocketReader.Message] = []
    var rest = stream
    do throws(WebSocketFault) {
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
            try reader.receive(piece.span.bytes) { messages.append($0) }
        }
    } catch {
        return (messages, error)
    }
    return (messages, nil)
}
