import Foundation
import RTCWire
import Testing

@testable import RTCNetwork

@Suite(.timeLimit(.minutes(2))) struct HostResolverTests {
    private static let address = TransportAddress(.v4(0xc000_0201), port: 1)

    /// A system resolver whose name servers do not answer until they are let.
    private final class SlowNames: Sendable {
        let gate = DispatchSemaphore(value: 0)
        let asked = Counter()

        func lookup(_ host: String, _ port: UInt16) -> [TransportAddress] {
            asked.increment()
            gate.wait()
            return [HostResolverTests.address]
        }
    }

    private func server(_ host: String) throws -> STUNServerURL { try STUNServerURL("stun:\(host)") }

    private func answer(_ resolver: HostResolver, _ host: String) async throws -> [TransportAddress] {
        let server = try server(host)
        return await withCheckedContinuation { continuation in
            resolver.resolve(server, if: { true }) { continuation.resume(returning: $0) }
        }
    }

    @Test func `an address needs no lookup, and localhost is known`() async throws {
        let none = HostResolver(threadLimit: 1) { _, _ in [] }
        #expect(try await answer(none, "192.0.2.1:99") == [TransportAddress(.v4(0xc000_0201), port: 99)])
        #expect(none.threads == 0)
        #expect(try await answer(.shared, "localhost:7").contains(TransportAddress(.v4(0x7f00_0001), port: 7)))
        #expect(try await answer(.shared, "no-such-host.invalid") == [])
    }

    @Test func `many questions have few threads, which end`() async throws {
        let names = SlowNames()
        let resolver = HostResolver(threadLimit: 2, lookup: { names.lookup($0, $1) })
        let (answers, continuation) = AsyncStream<[TransportAddress]>.makeStream()
        for number in 0..<20 {
            resolver.resolve(try server("host\(number).example"), if: { true }) { continuation.yield($0) }
        }
        #expect(resolver.threads == 2)
        for _ in 0..<20 { names.gate.signal() }
        var count = 0
        for await answer in answers {
            #expect(answer == [Self.address])
            count += 1
            if count == 20 { break }
        }
        while resolver.threads > 0 { await Task.yield() }
    }

    @Test func `what nobody waits for any longer is not asked`() async throws {
        let names = SlowNames()
        let resolver = HostResolver(threadLimit: 1, lookup: { names.lookup($0, $1) })
        let isUnwanted = Counter()
        let answered = Counter()
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            do {
                resolver.resolve(try server("first.example"), if: { true }) { _ in done.resume() }
                for _ in 0..<5 {
                    resolver.resolve(try server("next.example"), if: { isUnwanted.value == 0 }) { _ in
                        answered.increment()
                    }
                }
                isUnwanted.increment()
                names.gate.signal()
            } catch {
                done.resume(throwing: error)
            }
        }
        while resolver.threads > 0 { await Task.yield() }
        #expect(names.asked.value == 1)
        #expect(answered.value == 0)
    }
}
