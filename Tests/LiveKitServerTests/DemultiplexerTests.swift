import RTCEngine
import RTCWire
import SFUCore
import Testing

@testable import LiveKitServer

struct DemultiplexerTests {
    final class Peer {}

    private let ann = Peer()
    private let bob = Peer()
    private var demultiplexer = Demultiplexer<Peer>()
    private var now = Instant.zero

    private static func address(_ port: UInt16) -> TransportAddress { TransportAddress(.v4(0xc000_0201), port: port) }

    private static func check(_ username: String?) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let attributes: [STUNAttribute] = [.priority(1)] + (username.map { [.username($0)] } ?? [])
        return STUNMessage(.request, transactionID: STUNTransactionID(using: &random), attributes: attributes)
            .encoded(key: HMACSHA1(password: "secret"))
    }

    /// DTLS, by its first byte.
    private static let hello: [UInt8] = [22, 254, 253, 0, 0]

    private func receiver(of datagram: [UInt8], from port: UInt16) -> Peer? {
        switch demultiplexer.route(of: datagram.span.bytes, from: Self.address(port)) {
        case .peer(let peer): peer
        case .stranger: nil
        }
    }

    private func drop(of datagram: [UInt8], from port: UInt16) -> Demultiplexer<Peer>.DropReason? {
        switch demultiplexer.route(of: datagram.span.bytes, from: Self.address(port)) {
        case .peer: nil
        case .stranger(let drop): drop
        }
    }

    @Test mutating func `a check goes to whom its user name names first, wherever it comes from`() {
        demultiplexer.add(fragment: "anna", of: ann)
        demultiplexer.add(fragment: "bobb", of: bob)
        #expect(receiver(of: Self.check("anna:theirs"), from: 1) === ann)
        #expect(receiver(of: Self.check("bobb:theirs"), from: 1) === bob)
        #expect(drop(of: Self.check("eve:anna"), from: 1) == .unknownFragment)
        #expect(drop(of: Self.check("anna"), from: 1) == .unknownFragment)
        #expect(drop(of: Self.check(nil), from: 1) == .unknownFragment)
    }

    @Test mutating func `other datagrams go by an address that was learned`() {
        demultiplexer.add(fragment: "anna", of: ann)
        #expect(drop(of: Self.hello, from: 1) == .unknownAddress)
        demultiplexer.learn(Self.address(1), of: ann, at: now)
        #expect(receiver(of: Self.hello, from: 1) === ann)
        #expect(drop(of: Self.hello, from: 2) == .unknownAddress)
        #expect(drop(of: [], from: 2) == .unknownAddress)
    }

    @Test mutating func `a check from an address of somebody else's is its own receiver's`() {
        demultiplexer.add(fragment: "anna", of: ann)
        demultiplexer.add(fragment: "bobb", of: bob)
        demultiplexer.learn(Self.address(1), of: ann, at: now)
        #expect(receiver(of: Self.check("bobb:theirs"), from: 1) === bob)
        // The address changes hands when nothing has been heard of the one before for a while: anybody can write
        // another's address on a datagram.
        now = now + .seconds(Int64(10))
        demultiplexer.learn(Self.address(1), of: ann, at: now)
        now = now + .seconds(Int64(10))
        demultiplexer.learn(Self.address(1), of: bob, at: now)
        #expect(receiver(of: Self.hello, from: 1) === ann)
        now = now + .seconds(Int64(10))
        demultiplexer.learn(Self.address(1), of: bob, at: now)
        #expect(receiver(of: Self.hello, from: 1) === bob)
        demultiplexer.remove(ann)
        #expect(receiver(of: Self.hello, from: 1) === bob)
    }

    /// A host gives a program the port of one that has just ended.
    @Test mutating func `the address of somebody who has said goodbye changes hands at once`() {
        demultiplexer.add(fragment: "anna", of: ann)
        demultiplexer.add(fragment: "bobb", of: bob)
        demultiplexer.learn(Self.address(1), of: ann, at: now)
        demultiplexer.learn(Self.address(1), of: bob, at: now)
        #expect(receiver(of: Self.hello, from: 1) === ann)
        let ann = ann
        demultiplexer.learn(Self.address(1), of: bob, at: now) { $0 === ann ? .over : .unknown }
        #expect(receiver(of: Self.hello, from: 1) === bob)
        demultiplexer.remove(ann)
        #expect(receiver(of: Self.hello, from: 1) === bob)
    }

    /// Pion makes no checks while its media flow.
    @Test mutating func `the address of somebody whose media come from there stays theirs`() {
        demultiplexer.add(fragment: "anna", of: ann)
        demultiplexer.add(fragment: "bobb", of: bob)
        demultiplexer.learn(Self.address(1), of: ann, at: now)
        now = now + .seconds(Int64(60))
        let (ann, heardAt) = (ann, now - .seconds(Int64(2)))
        demultiplexer.learn(Self.address(1), of: bob, at: now) {
            $0 === ann ? .heard(at: Self.address(1), heardAt) : .unknown
        }
        #expect(receiver(of: Self.hello, from: 1) === ann)
        // They are somewhere else.
        demultiplexer.learn(Self.address(1), of: bob, at: now) {
            $0 === ann ? .heard(at: Self.address(2), heardAt) : .unknown
        }
        #expect(receiver(of: Self.hello, from: 1) === bob)
        // Or have not been heard for long.
        demultiplexer.learn(Self.address(3), of: ann, at: now)
        now = now + .seconds(Int64(20))
        demultiplexer.learn(Self.address(3), of: bob, at: now) {
            $0 === ann ? .heard(at: Self.address(3), heardAt) : .unknown
        }
        #expect(receiver(of: Self.hello, from: 3) === bob)
    }

    /// Whoever has seen a check pass can send it again from anywhere.
    @Test mutating func `the address that a peer uses is kept, from however many others its checks come`() {
        demultiplexer.add(fragment: "anna", of: ann)
        demultiplexer.learn(Self.address(7), of: ann, at: now)
        for port in 8...100 as ClosedRange<UInt16> {
            demultiplexer.learn(Self.address(port), of: ann, at: now) { _ in .heard(at: Self.address(7), .zero) }
            #expect(receiver(of: Self.hello, from: 7) === ann)
        }
        #expect(demultiplexer.addressCount == Demultiplexer<Peer>.addressesOfPeer)
        #expect(receiver(of: Self.hello, from: 100) === ann)
        #expect(drop(of: Self.hello, from: 8) == .unknownAddress)
    }

    @Test mutating func `after a restart both fragments lead there`() {
        demultiplexer.add(fragment: "old", of: ann)
        demultiplexer.add(fragment: "new", of: ann)
        #expect(receiver(of: Self.check("old:theirs"), from: 1) === ann)
        #expect(receiver(of: Self.check("new:theirs"), from: 1) === ann)
    }

    @Test mutating func `nothing is left of a peer that is removed`() {
        demultiplexer.add(fragment: "anna", of: ann)
        demultiplexer.learn(Self.address(1), of: ann, at: now)
        demultiplexer.remove(ann)
        #expect(drop(of: Self.check("anna:theirs"), from: 1) == .unknownFragment)
        #expect(drop(of: Self.hello, from: 1) == .unknownAddress)
        // Its last answers may still be on their way out.
        demultiplexer.learn(Self.address(1), of: ann, at: now)
        #expect(demultiplexer.addressCount == 0)
    }

    @Test mutating func `one peer has no more addresses and fragments than it can use`() {
        demultiplexer.add(fragment: "anna", of: ann)
        demultiplexer.learn(Self.address(7), of: ann, at: now)
        for port in 8...100 as ClosedRange<UInt16> {
            demultiplexer.learn(Self.address(port), of: ann, at: now)
            // One that is in use stays.
            #expect(receiver(of: Self.hello, from: 7) === ann)
            demultiplexer.learn(Self.address(7), of: ann, at: now)
        }
        #expect(demultiplexer.addressCount == Demultiplexer<Peer>.addressesOfPeer)
        #expect(receiver(of: Self.hello, from: 100) === ann)
        #expect(drop(of: Self.hello, from: 8) == .unknownAddress)
        for number in 1...10 { demultiplexer.add(fragment: "restart\(number)", of: ann) }
        #expect(drop(of: Self.check("anna:theirs"), from: 1) == .unknownFragment)
        #expect(receiver(of: Self.check("restart10:theirs"), from: 1) === ann)
    }

    @Test(arguments: [19, 20, 22, 24, 27]) mutating func `a check that is cut short is nobody's`(length: Int) {
        demultiplexer.add(fragment: "anna", of: ann)
        #expect(receiver(of: Array(Self.check("anna:theirs").prefix(length)), from: 1) == nil)
    }

    @Test func `only a success is taken for one`() {
        var random = SystemRandomNumberGenerator()
        let id = STUNTransactionID(using: &random)
        #expect(STUNMessage.isBindingSuccess(STUNMessage(.success, transactionID: id).encoded()))
        #expect(!STUNMessage.isBindingSuccess(STUNMessage(.error, transactionID: id).encoded()))
        #expect(!STUNMessage.isBindingSuccess(STUNMessage(.request, transactionID: id).encoded()))
        #expect(!STUNMessage.isBindingSuccess([]))
    }
}
