internal import RTCNetwork
internal import RTCWire

/// `--address`: which of this machine's addresses carry media.
enum PeerAddresses {
    static func parse(_ texts: [String]) throws -> PeerConnectionConfiguration.Addresses {
        guard !texts.isEmpty else { return .automatic }
        let known = try? NetworkInterface.current().map(\.address)
        return .only(
            try texts.map { text in
                guard let address = IPAddress(text) else { throw CommandError("\"\(text)\" is not an IP address.") }
                // Of loopback all addresses are this machine's, and one is listed.
                guard address.isLoopback || known?.contains(address) != false else {
                    throw CommandError("--address: \(text) is not an address of this machine.")
                }
                return address
            })
    }
}
