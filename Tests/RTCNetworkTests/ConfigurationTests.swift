import RTCEngine
import RTCSecurity
import Testing

@testable import RTCNetwork

/// `setConfiguration` where no server is needed; with one: `TURNServerTests`.
@Suite(.timeLimit(.minutes(2))) struct ConfigurationTests {
    /// Offers, and waits until all candidates stand in the description.
    private func gathered(_ connection: PeerConnection) async throws -> String {
        let events = connection.events
        try await connection.setLocalDescription(await connection.createOffer())
        for await event in events { if case .iceGatheringStateChange(.complete) = event { break } }
        return try #require(await connection.localDescription).sdp
    }

    @Test func `with relays alone the next offer shows no address of ours, and with all again it does`() async throws {
        let configuration = try ConnectedPair.configuration()
        let connection = PeerConnection(configuration: configuration)
        _ = try await connection.addTransceiver(.audio)
        #expect(try await gathered(connection).contains(" typ host"))
        for policy in [ICETransportPolicy.relay, .all] {
            var changed = configuration
            changed.iceTransportPolicy = policy
            try await connection.setConfiguration(changed)
            #expect(await connection.configuration.iceTransportPolicy == policy)
            #expect(try await gathered(connection).contains(" typ host") == (policy == .all))
        }
        await connection.close()
    }

    @Test func `another policy has no server looked up again, and other servers are`() async throws {
        var configuration = try ConnectedPair.configuration()
        configuration.iceServers = [.init(urls: ["stun:127.0.0.1"])]
        let connection = PeerConnection(configuration: configuration)
        _ = try await connection.addTransceiver(.audio)
        try await connection.setLocalDescription(await connection.createOffer())
        let before = await connection.serverGeneration
        configuration.iceTransportPolicy = .relay
        try await connection.setConfiguration(configuration)
        #expect(await connection.serverGeneration == before)
        try await connection.setICEServers([.init(urls: ["stun:127.0.0.1:3479"])])
        #expect(await connection.serverGeneration == before + 1)
        // Their names may not have been found, or lead elsewhere by now.
        try await connection.setICEServers([.init(urls: ["stun:127.0.0.1:3479"])])
        #expect(await connection.serverGeneration == before + 2)
        await connection.close()
    }

    @Test func `what cannot change while a connection lasts is refused by its name, and nothing has changed`()
        async throws
    {
        let changes: [(String, (inout PeerConnectionConfiguration) throws -> Void)] = [
            ("security", { $0.security = try OpenSSLSecurity() }),
            ("addresses", { $0.addresses = .all }),
            ("tcp", { $0.tcp = .active }),
            ("ice", { $0.ice.maximumPairs = 7 }),
            ("audioCodecs", { $0.audioCodecs = [] }),
            ("redundancyDepth", { $0.redundancyDepth = 2 }),
            ("receivesSimulcast", { $0.receivesSimulcast = true }),
            ("receives", { $0.receives = .packets }),
            ("videoCodecs", { $0.videoCodecs = [] }),
            ("congestion", { $0.congestion.pacing = .off }),
            ("dataChannels", { $0.dataChannels.acceptsOffers = false }),
        ]
        let configuration = try ConnectedPair.configuration()
        let connection = PeerConnection(configuration: configuration)
        for (part, change) in changes {
            var changed = configuration
            changed.iceTransportPolicy = .relay
            try change(&changed)
            let refused = changed
            await #expect(throws: PeerConnectionError.fixedConfiguration(part)) {
                try await connection.setConfiguration(refused)
            }
        }
        #expect(await connection.configuration.iceTransportPolicy == .all)
        await connection.close()
    }

    @Test func `servers that are not understood are refused, and a closed connection refuses all`() async throws {
        let configuration = try ConnectedPair.configuration()
        let connection = PeerConnection(configuration: configuration)
        var changed = configuration
        changed.iceTransportPolicy = .relay
        changed.iceServers = [.init(urls: ["http://host"])]
        let refused = changed
        await #expect(throws: PeerConnectionError.iceServer("http://host")) {
            try await connection.setConfiguration(refused)
        }
        #expect(await connection.configuration.iceTransportPolicy == .all)
        #expect(await connection.configuration.iceServers == [])
        try await connection.setICEServers([.init(urls: ["stun:127.0.0.1"])])
        #expect(await connection.configuration.iceServers.map(\.urls) == [["stun:127.0.0.1"]])
        await connection.close()
        await #expect(throws: PeerConnectionError.peer(.closed)) {
            try await connection.setConfiguration(configuration)
        }
    }
}
