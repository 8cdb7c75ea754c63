public import RTCWire

/// A TURN server (RFC 8656) whose name has been looked up, with the credential for it.
public struct TURNServer: Hashable, Sendable {
    /// How the server is reached; between it and the peer it is always UDP.
    public enum Transport: UInt8, Hashable, Sendable {
        case udp, tcp, tls
    }

    public var address: TransportAddress
    public var transport: Transport
    /// The name that a certificate has to show (TLS).
    public var host: String
    public var username: String
    public var password: String
    /// As the application wrote it, for errors.
    public var url: String

    public init(
        address: TransportAddress, transport: Transport, host: String, username: String, password: String, url: String
    ) {
        self.address = address
        self.transport = transport
        self.host = host
        self.username = username
        self.password = password
        self.url = url
    }
}

extension TURNServer: CustomStringConvertible, CustomDebugStringConvertible {
    /// Names the server only: the credential would end up in logs otherwise.
    public var description: String { "TURNServer(\(url))" }
    public var debugDescription: String { description }
}

/// Times and limits of relays.
public struct TURNConfiguration: Sendable, Hashable {
    /// Until a request over UDP is sent again; doubled for each further one (RFC 8489 §6.2.1).
    public var rto = Interval.milliseconds(250)
    /// Doubling ends here.
    public var longestInterval = Interval.milliseconds(2_000)
    /// How often a request is sent in all.
    public var sends = 7
    /// How long an answer is waited for over TCP and TLS, connecting included (RFC 8489 §6.2.2 allows 39.5 s, by when
    /// the people have hung up).
    public var streamTimeout = Interval.milliseconds(10_000)
    /// RFC 8656 §9: a permission lasts five minutes.
    public var permissionLifetime = Interval.milliseconds(300_000)
    /// RFC 8656 §12: a channel lasts ten.
    public var channelLifetime = Interval.milliseconds(600_000)
    /// How long before its end each of these is renewed, and an allocation.
    public var margin = Interval.milliseconds(60_000)
    /// How often the way to a server over UDP is kept open, for as long as there is an allocation (RFC 8445 §11).
    public var keepaliveInterval = Interval.milliseconds(15_000)
    /// Ask for a ticket with which an allocation moves to another address of ours (RFC 8016). Off by default: a server
    /// that does not like it answers 405, which costs every call a round trip.
    public var mobility = false
    /// Allocations of one connection.
    public var maximumAllocations = 8
    /// Peers' addresses with a permission, of one allocation.
    public var maximumPermissions = 100
    /// Datagrams of one allocation that wait for a permission.
    public var maximumHeld = 32

    public init() {}

    /// With values that would make an allocation spin or flood raised to the least that makes sense.
    var withinReason: TURNConfiguration {
        var result = self
        result.margin = max(margin, .milliseconds(1_000))
        result.permissionLifetime = max(permissionLifetime, .milliseconds(4_000))
        result.channelLifetime = max(channelLifetime, .milliseconds(4_000))
        result.keepaliveInterval = max(keepaliveInterval, .milliseconds(100))
        return result
    }
}
