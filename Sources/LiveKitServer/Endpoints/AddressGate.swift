package import RTCEngine
internal import RTCNetwork
internal import RTCWire
internal import Synchronization

/// How often one address may ask for what anybody may ask for. From any thread.
package final class AddressGate: Sendable {
    private let state: Mutex<Paces<IPAddress?>>

    /// That are remembered.
    private static let addressLimit = 10_000

    /// - Parameter perMinute: so many, and as many at once after a quiet while.
    package init(perMinute: Int) {
        let pace = Pace(perSecond: Double(perMinute) / 60, burst: perMinute)
        state = Mutex(Paces(pace, limit: Self.addressLimit))
    }

    /// Somebody asks.
    ///
    /// - Parameter address: with a port, as `SocketIOHTTPRequest.remoteAddress` has it.
    /// - Returns: after how many seconds to ask again; nil if this one is answered.
    package func take(_ address: String, at now: Instant = NetworkLoop.now) -> Int? {
        let site = Self.site(of: address)
        return state.withLock { $0.take(site, at: now) }?.wholeSeconds
    }

    /// Those whom nobody knows anything of are one.
    static func site(of address: String) -> IPAddress? {
        guard let colon = address.lastIndex(of: ":") else { return nil }
        let text = address[..<colon].drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" }
        return IPAddress(text)?.site
    }
}
