internal import RTCNetwork
internal import RTCWire

/// `--address`: which of this machine's addresses carry media.
enum PeerAddresses {
    static func parse(_ texts: [String]) throws -> PeerConnectionConfiguration.Addresses {
        guard !texts.isEmpty else { return .automatic }
        return .only(
            try texts.map { text in
                guard let address = IPAddress(text) else { throw CommandError("\"\(text)\" is not an IP address.") }
                return address
            })
    }
}
