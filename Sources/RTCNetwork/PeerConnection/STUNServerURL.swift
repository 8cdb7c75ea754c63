internal import CDatagram
internal import RTCWire

/// `stun:host[:port]` (RFC 7064).
struct STUNServerURL: Equatable, Sendable {
    var host: String
    var port: UInt16

    init(_ url: String) throws(PeerConnectionError) {
        guard url.hasPrefix("stun:") else { throw .iceServer(url) }
        var rest = url.dropFirst(5)
        if let query = rest.firstIndex(of: "?") { rest = rest[..<query] }
        var portText: Substring?
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            let tail = rest[rest.index(after: end)...]
            if !tail.isEmpty {
                guard tail.hasPrefix(":") else { throw .iceServer(url) }
                portText = tail.dropFirst()
            }
        } else if let colon = rest.lastIndex(of: ":") {
            host = String(rest[..<colon])
            portText = rest[rest.index(after: colon)...]
        } else {
            host = String(rest)
        }
        // RFC 7064 §3.2: 3478 is the port when none is named.
        guard let port = portText.map({ UInt16($0) }) ?? 3478, port > 0, !host.isEmpty else { throw .iceServer(url) }
        self.port = port
    }

    /// The server's addresses; empty when its name is not known. Asks the system's resolver, which blocks, on a thread
    /// of its own.
    func resolve() async -> [TransportAddress] {
        if let ip = IPAddress(host) { return [TransportAddress(ip, port: port)] }
        return await withCheckedContinuation { continuation in
            LoopThread.start {
                var raw = [cdatagram_address](repeating: cdatagram_address(), count: 8)
                let count = cdatagram_resolve(host, port, &raw, Int32(raw.count))
                continuation.resume(returning: raw.prefix(Int(max(0, count))).compactMap(TransportAddress.init))
            }
        }
    }
}
