import RTCEngine
import RTCSecurity

/// Made once: a certificate takes longer than a whole input.
private let security: OpenSSLSecurity = {
    guard let security = try? OpenSSLSecurity() else { fatalError("no OpenSSL") }
    return security
}()

/// Datagrams, each after two bytes with its length, to a server association; it may refuse them, not fall over.
func fuzzDTLS(_ bytes: RawSpan) {
    let input = bytes.withUnsafeBytes { [UInt8]($0) }
    let server = security.makeDTLS()
    server.start(role: .server, remoteFingerprints: [security.localFingerprint], at: .zero)
    var rest = input[...]
    var outputs = 0
    while rest.count > 2 {
        let count = rest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        let datagram = Array(rest.dropFirst(2).prefix(count))
        rest = rest.dropFirst(2 + count)
        server.receive(datagram.span.bytes, at: .zero)
    }
    server.tick(at: .zero + .milliseconds(100))
    server.close(at: .zero + .milliseconds(100))
    while let output = server.pollOutput() {
        outputs += 1
        if case .connected = output { fatalError("connected without the private key") }
    }
    guard outputs <= 1_024 else { fatalError("outputs without bound") }
}
