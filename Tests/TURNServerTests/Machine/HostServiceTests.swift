import RTCEngine
import RTCWire
import Testing

@testable import TURNServer

/// Services of the host that are reached through the server, as the media of rooms is, though nothing else of it is.
@Suite struct HostServiceTests {
    private static let data: [UInt8] = [1, 2, 3, 4, 5]
    private static let (local, outside) = (address("10.0.0.1"), address("203.0.113.1"))

    /// A host whose address nobody translates, and one behind a NAT that maps one to one.
    enum Host: CaseIterable {
        case itself, behindNAT

        fileprivate var service: TURNHostService {
            switch self {
            case .itself: TURNHostService(local: TransportAddress(outside, port: 7_882))
            case .behindNAT:
                TURNHostService(
                    local: TransportAddress(local, port: 7_882), announced: TransportAddress(outside, port: 7_882))
            }
        }

        fileprivate func script(_ change: (inout TURNServerConfiguration) -> Void = { _ in }) -> ServerScript {
            let ip = service.local.ip
            var script = ServerScript(hasIPv6: false) {
                $0.relayAddresses = [.init(local: ip, announced: outside)]
                change(&$0)
            }
            script.machine.hostChanged([ip, outside])
            script.machine.hostServes([service])
            return script
        }
    }

    /// Where bytes go that a client sends to a peer, by an indication or on the channel; nil for nowhere.
    private func target(_ script: inout ServerScript, _ bytes: [UInt8], of client: ScriptedClient) -> TransportAddress?
    {
        guard case .toPeer(let peer, _, let range) = script.receive(bytes, from: client.path) else { return nil }
        #expect(Array(bytes[range]) == Self.data)
        return peer
    }

    @Test(arguments: Host.allCases)
    func `a service is reached where it is bound, and answers as from where clients know it`(host: Host) throws {
        let service = host.service
        var script = host.script()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        #expect(relayed.ip == Self.outside)
        let socket = TransportAddress(service.local.ip, port: relayed.port)
        try client.permit(&script, service.announced)
        #expect(
            target(&script, ScriptedClient.indication(Self.data, to: service.announced), of: client) == service.local)
        #expect(try script.receive([9, 8], on: socket, from: service.local) == .none)
        let back = try script.answer(to: client.path).message
        #expect(back.method == .data && back.peerAddress == service.announced && back.relayedData == [9, 8])

        try client.bind(&script, 0x4001, to: service.announced)
        #expect(target(&script, ScriptedClient.channelData(Self.data, on: 0x4001), of: client) == service.local)
        #expect(
            try script.receive([9, 8], on: socket, from: service.local)
                == .toClient(client.path, ChannelDataHeader(number: 0x4001, length: 2), 0..<2))
        let statistics = script.machine.statistics
        #expect(statistics.bytesToPeers == 10 && statistics.bytesToClients == 4 && statistics.drops.isEmpty)
    }

    @Test(arguments: Host.allCases)
    func `every other port of the host is closed, both ways, and counted`(host: Host) throws {
        let service = host.service
        var script = host.script()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        let socket = TransportAddress(service.local.ip, port: relayed.port)
        // Permissions know no ports.
        try client.permit(&script, TransportAddress(Self.outside, port: 22))
        let ports: [UInt16] = [22, 3_478, 7_881, 7_883]
        for (number, port) in zip(UInt16(0x4001)..., ports) {
            let peer = TransportAddress(Self.outside, port: port)
            #expect(target(&script, ScriptedClient.indication(Self.data, to: peer), of: client) == nil)
            try client.bind(&script, number, to: peer)
            #expect(target(&script, ScriptedClient.channelData(Self.data, on: number), of: client) == nil)
            #expect(try script.receive([9], on: socket, from: peer) == .none)
        }
        #expect(script.takeSent().isEmpty)
        #expect(script.machine.statistics.drops == [.forbidden: 3 * ports.count])
        #expect(script.machine.statistics.packetsToPeers == 0 && script.machine.statistics.packetsToClients == 0)
    }

    @Test(arguments: Host.allCases)
    func `whoever has not permitted it neither sends nor hears`(host: Host) throws {
        let service = host.service
        var script = host.script()
        var client = ScriptedClient()
        let relayed = try client.allocate(&script)[0]
        #expect(
            target(&script, ScriptedClient.indication(Self.data, to: service.announced), of: client) == nil)
        let socket = TransportAddress(service.local.ip, port: relayed.port)
        #expect(try script.receive([9], on: socket, from: service.local) == .none)
        #expect(script.takeSent().isEmpty)
        #expect(script.machine.statistics.drops == [.notPermitted: 2])
    }

    @Test func `loopback, and where a service is bound behind a NAT, stay refused`() throws {
        var script = Host.behindNAT.script()
        var client = ScriptedClient()
        try client.allocate(&script)
        for ip in ["127.0.0.1", "10.0.0.1", "10.0.0.2", "169.254.169.254"] {
            let peer = endpoint(ip, 7_882)
            #expect(try client.ask(&script, .createPermission, [.xorPeerAddress(peer)]).errorCode?.code == 403)
            let channel = try client.ask(&script, .channelBind, [.channelNumber(0x4000), .xorPeerAddress(peer)])
            #expect(channel.errorCode?.code == 403)
        }
    }

    @Test func `an address that media alone has is the host's, but for that port`() throws {
        var script = ServerScript(hasIPv6: false)
        let media = endpoint("203.0.113.2", 7_882)
        script.machine.hostServes([TURNHostService(local: endpoint("203.0.113.3", 7_882), announced: media)])
        // What the host has is told again and again; its services stay.
        script.machine.hostChanged([ServerScript.relay])
        var client = ScriptedClient()
        try client.allocate(&script)
        try client.permit(&script, media)
        #expect(
            target(&script, ScriptedClient.indication(Self.data, to: media), of: client)
                == endpoint("203.0.113.3", 7_882))
        let other = endpoint("203.0.113.2", 22)
        #expect(target(&script, ScriptedClient.indication(Self.data, to: other), of: client) == nil)
        let bound = try client.ask(&script, .createPermission, [.xorPeerAddress(endpoint("203.0.113.3", 7_882))])
        #expect(bound.errorCode?.code == 403)
    }

    @Test func `an address that has become the host's is the host's for whoever permits it again`() throws {
        var script = ServerScript(hasIPv6: false)
        let media = endpoint("203.0.113.2", 7_882)
        let other = endpoint("203.0.113.2", 22)
        var client = ScriptedClient()
        try client.allocate(&script)
        try client.permit(&script, media)
        #expect(target(&script, ScriptedClient.indication(Self.data, to: other), of: client) == other)
        script.machine.hostServes([TURNHostService(local: media)])
        try client.permit(&script, media)
        #expect(target(&script, ScriptedClient.indication(Self.data, to: media), of: client) == media)
        #expect(target(&script, ScriptedClient.indication(Self.data, to: other), of: client) == nil)
    }

    @Test func `what is denied is not reached, service or not`() throws {
        var script = Host.itself.script { $0.policy.denied = [IPPrefix("203.0.113.2/32")].compactMap { $0 } }
        let denied = endpoint("203.0.113.2", 7_882)
        script.machine.hostServes([TURNHostService(local: denied)])
        var client = ScriptedClient()
        try client.allocate(&script)
        #expect(try client.ask(&script, .createPermission, [.xorPeerAddress(denied)]).errorCode?.code == 403)
    }

    @Test func `a service that is there no more is not reached any longer`() throws {
        let service = Host.itself.service
        var script = Host.itself.script()
        var client = ScriptedClient()
        try client.allocate(&script)
        try client.bind(&script, 0x4001, to: service.announced)
        script.machine.hostServes([])
        #expect(target(&script, ScriptedClient.channelData(Self.data, on: 0x4001), of: client) == nil)
        #expect(script.machine.statistics.drops == [.forbidden: 1])
    }
}
