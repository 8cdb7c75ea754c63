internal import RTCWire
internal import TURNServer

/// The TURN server of `roost serve`, and where clients find it.
struct CallRelay: Sendable {
    let service: TURNService
    let ports: TURNService.Ports
    let secret: String
    /// The name that clients are told, if it is not the one by which they came.
    let host: String?
    /// Where relayed addresses are.
    let announced: [IPAddress]

    /// Lets clients reach rooms, whose media comes in at each of these UDP ports of each of these addresses.
    func reach(_ addresses: [(local: IPAddress, announced: IPAddress)], ports: [UInt16]) async {
        await service.reach(
            addresses.flatMap { address in
                ports.map { port in
                    TURNHostService(
                        local: TransportAddress(address.local, port: port),
                        announced: TransportAddress(address.announced, port: port))
                }
            })
    }

    /// Where a client finds it that has asked for this host.
    func urls(asked: String?) -> [String] {
        let named = host.map { IPAddress($0).map(Self.text) ?? $0 }
        guard let host = named ?? asked.flatMap(Self.hostName) ?? announced.first.map(Self.text) else { return [] }
        var urls = ["turn:\(host):\(ports.port)", "turn:\(host):\(ports.port)?transport=tcp"]
        if let tlsPort = ports.tlsPort { urls.append("turns:\(host):\(tlsPort)?transport=tcp") }
        return urls
    }

    /// The name in a Host header (RFC 9110 §7.2), as a URL has it. Nil for anything that is no name and no address: it
    /// is not our place to repeat it.
    static func hostName(_ header: String) -> String? {
        if header.hasPrefix("[") {
            guard let end = header.firstIndex(of: "]"),
                let ip = IPAddress(header[header.index(after: header.startIndex)..<end]), ip.isIPv6
            else { return nil }
            return text(ip)
        }
        let name = header.prefix { $0 != ":" }
        let isName = name.utf8.allSatisfy { byte in
            switch UInt8(byte) {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isName && (1...253).contains(name.utf8.count) ? String(name) : nil
    }

    private static func text(_ ip: IPAddress) -> String { ip.isIPv6 ? "[\(ip)]" : "\(ip)" }

    /// 128 bits that nobody guesses, as letters and digits.
    static func randomText() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<2).map { _ in String(UInt64.random(in: .min ... .max, using: &random), radix: 36) }.joined()
    }
}
