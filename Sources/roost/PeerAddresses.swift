internal import RTCNetwork
internal import RTCWire

/// `--address`: which of this machine's addresses carry media.
enum PeerAddresses {
    static func parse(_ texts: [String]) throws -> PeerConnectionConfiguration.Addresses {
        guard !texts.isEmpty else { return .automatic }
        let addresses = try texts.map { text in
            guard let address = IPAddress(text) else { throw CommandError("\"\(text)\" is not an IP address.") }
            return address
        }
        // One that is not there yet may come, with a network; a peer that has none at all reaches nobody. Of loopback
        // all addresses are this machine's, and one is listed.
        let known = try? NetworkInterface.current().map(\.address)
        guard addresses.contains(where: { $0.isLoopback || known?.contains($0) != false }) else {
            throw CommandError(
                addresses.count == 1
                    ? "--address: \(texts[0]) is not an address of this machine."
                    : "--address: none of \(texts.joined(separator: ", ")) is an address of this machine.")
        }
        return .only(addresses)
    }
}
