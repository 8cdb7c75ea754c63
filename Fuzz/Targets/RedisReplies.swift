import RedisClient

/// Any bytes as what a Redis server answers: the first chooses how they are cut. However they are cut, the same values
/// and the same fault come of them.
func fuzzRedisReplies(_ bytes: RawSpan) {
    let all = bytes.withUnsafeBytes { Array($0) }
    guard let choice = all.first else { return }
    let stream = all.dropFirst()
    let whole = read(stream, pieces: max(1, stream.count))
    let cut = read(stream, pieces: Int(choice) % 13 + 1)
    precondition(whole.values == cut.values && whole.fault == cut.fault)
    for value in whole.values { check(value, depth: 0) }
}

private let limits: RedisDecoder.Limits = {
    var limits = RedisDecoder.Limits()
    (limits.line, limits.content, limits.elements, limits.depth) = (30, 300, 50, 4)
    return limits
}()

private func read(_ stream: ArraySlice<UInt8>, pieces: Int) -> (values: [RedisValue], fault: RedisFault?) {
    var decoder = RedisDecoder(limits: limits)
    var values: [RedisValue] = []
    var rest = stream
    do throws(RedisFault) {
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
            try decoder.receive(piece.span.bytes) { values.append($0) }
        }
    } catch {
        return (values, error)
    }
    return (values, nil)
}

private func check(_ value: RedisValue, depth: Int) {
    switch value {
    // A byte that is no UTF-8 becomes a character of three.
    case .simple(let text), .error(let text): precondition(text.utf8.count <= 3 * limits.line)
    case .bulk(let content): precondition(content.count <= limits.content)
    case .array(let elements):
        precondition(depth < limits.depth && elements.count <= limits.elements)
        for element in elements { check(element, depth: depth + 1) }
    case .integer, .null: break
    }
}
