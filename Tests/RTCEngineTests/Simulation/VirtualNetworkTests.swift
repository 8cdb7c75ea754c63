import RTCEngine
import RTCWire
import Testing

@testable import SimulatedCalls

/// The test bed itself: a simulation that lies is worse than none.
@Suite struct VirtualNetworkTests {
    private let left = endpoint("192.0.2.1", 1)
    private let right = endpoint("198.51.100.1", 2)

    private func twoHosts(
        seed: UInt64 = 1, uplink: LinkConditions = .lan, downlink: LinkConditions = .lan
    ) -> (VirtualNetwork, HostID, HostID) {
        var network = VirtualNetwork(seed: seed)
        let first = network.addHost(["192.0.2.1"], uplink: uplink)
        let second = network.addHost(["198.51.100.1"], downlink: downlink)
        return (network, first, second)
    }

    private func drain(_ network: inout VirtualNetwork) -> [(bytes: [UInt8], at: Instant)] {
        var arrived: [(bytes: [UInt8], at: Instant)] = []
        while let next = network.nextEvent {
            while let (_, datagram, at) = network.receive(by: next) { arrived.append((datagram.bytes, at)) }
        }
        return arrived
    }

    @Test func `a datagram takes the delays of both lines`() {
        var (network, sender, _) = twoHosts(
            uplink: LinkConditions(delay: .milliseconds(7)), downlink: LinkConditions(delay: .milliseconds(5)))
        network.send([1], from: left, to: right, by: sender, at: .zero)
        let arrived = drain(&network)
        #expect(arrived.map(\.bytes) == [[1]])
        #expect(arrived.map(\.at) == [.zero + .milliseconds(12)])
    }

    @Test func `jitter alone does not change the order; reordering does`() {
        for reordering in [0.0, 0.5] {
            var (network, sender, _) = twoHosts(
                uplink: LinkConditions(
                    delay: .milliseconds(10), jitter: .milliseconds(30), reordering: reordering))
            for index in 0..<100 as Range<UInt8> {
                network.send(
                    [index], from: left, to: right, by: sender, at: .zero + .milliseconds(Int64(index)))
            }
            let order = drain(&network).map { $0.bytes[0] }
            #expect(order.count == 100)
            #expect((order == order.sorted()) == (reordering == 0))
        }
    }

    @Test func `loss and duplication come as often as they are asked for`() {
        var (network, sender, _) = twoHosts(uplink: LinkConditions(loss: 0.25, duplication: 0.1))
        for _ in 0..<4_000 { network.send([1], from: left, to: right, by: sender, at: .zero) }
        let arrived = drain(&network).count
        #expect((900...1_100).contains(network.tally.lost))
        #expect((3_150...3_450).contains(arrived))
        #expect(network.tally.delivered == arrived)
    }

    @Test func `a narrow line makes datagrams wait, and drops those that would wait too long`() {
        var (network, sender, _) = twoHosts(
            uplink: LinkConditions(
                delay: .zero, bitsPerSecond: 1_000_000, queueLimit: .milliseconds(100)),
            downlink: LinkConditions(delay: .zero))
        // 1,250 bytes with their headers: ten milliseconds each.
        let datagram = [UInt8](repeating: 7, count: 1_250 - 28)
        for _ in 0..<50 { network.send(datagram, from: left, to: right, by: sender, at: .zero) }
        let arrived = drain(&network)
        let expected: [Instant] = (1...11).map { (place: Int64) -> Instant in .zero + .milliseconds(10 * place) }
        #expect(arrived.map(\.at) == expected)
        #expect(network.tally.lost == 39)
    }

    @Test func `private addresses and unopened ports are not reached from outside`() {
        var network = VirtualNetwork(seed: 1)
        let nat = network.addNAT(.fullCone, publicAddress: "203.0.113.1")
        _ = network.addHost(["10.0.0.2"], behind: nat)
        let outside = network.addHost(["192.0.2.1"])
        network.send([1], from: left, to: endpoint("10.0.0.2", 5), by: outside, at: .zero)
        network.send([1], from: left, to: endpoint("203.0.113.1", 20_000), by: outside, at: .zero)
        #expect(drain(&network).isEmpty)
        #expect(network.tally.unroutable == 1)
        #expect(network.tally.filtered == 1)
    }

    @Test(arguments: NATKind.allCases)
    func `each kind of NAT lets in whom it should`(kind: NATKind) {
        var nat = VirtualNAT(kind, publicAddress: address("203.0.113.1"))
        let inside = endpoint("10.0.0.2", 5)
        let friend = endpoint("192.0.2.1", 1)
        let outside = nat.outbound(from: inside, to: friend)
        let answers = [friend, endpoint("192.0.2.1", 9), endpoint("198.51.100.1", 1)]
            .map { nat.inbound(to: outside, from: $0) == inside }
        let expected: [Bool] =
            switch kind {
            case .fullCone: [true, true, true]
            case .addressRestricted: [true, true, false]
            case .portRestricted, .symmetric: [true, false, false]
            }
        #expect(answers == expected)
        let second = nat.outbound(from: inside, to: endpoint("198.51.100.1", 1))
        #expect((second == outside) == (kind != .symmetric))
    }
}
