import RTCEngine
import RTCWire

/// Any bytes: the parser neither crashes nor runs long, what it has understood survives being written and read, and a
/// querier believes nothing but the name it has asked for.
func fuzzMDNS(_ bytes: RawSpan) {
    let name = "1f4712db-ea17-4bcf-a596-105139dfd8bf.local"
    var querier = MDNSQuerier(limit: 1, random: .seeded(1))
    querier.ask(name, at: .zero)
    querier.receive(bytes)
    while let output = querier.pollOutput() {
        switch output {
        case .resolved(let found, _): precondition(found == name)
        case .send, .unknown: continue
        }
    }
    guard let message = try? DNSMessage(parsing: bytes) else { return }
    // A label may hold a dot's neighbour only: every name that was read can be written.
    guard let written = message.encoded() else {
        precondition(message.addresses.contains { $0.name.isEmpty })
        return
    }
    guard let again = try? DNSMessage(parsing: written.span.bytes) else { preconditionFailure("what we wrote") }
    precondition(again == message)
}
