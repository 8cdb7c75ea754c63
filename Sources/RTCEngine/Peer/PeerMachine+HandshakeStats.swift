internal import RTCWire

/// What the DTLS handshake has left in a report.
extension PeerMachine {
    func addHandshake(to transport: inout TransportStats, and report: inout StatsReport, at now: Instant) {
        guard let details = secure.details else { return }
        transport.tlsVersion = Self.hexadecimal([UInt8(details.version >> 8), UInt8(details.version & 0xff)])
        transport.dtlsCipher = details.cipher
        let sides = [
            ("CF_local", negotiator.configuration.fingerprint, details.localCertificate),
            ("CF_remote", remoteFingerprint, details.remoteCertificate),
        ]
        for (id, fingerprint, certificate) in sides {
            guard let fingerprint else { continue }
            report.add(
                .certificate(
                    CertificateStats(
                        id: id, timestamp: now,
                        fingerprint: fingerprint.value.map { Self.hexadecimal([$0]) }.joined(separator: ":"),
                        fingerprintAlgorithm: fingerprint.algorithm, base64Certificate: Base64.encode(certificate))))
        }
        transport.localCertificateID = report["CF_local"]?.id
        transport.remoteCertificateID = report["CF_remote"]?.id
    }

    /// Of several that vouch for the peer's certificate, the one of the hash that browsers show.
    private var remoteFingerprint: Fingerprint? {
        let promised = negotiator.transport.dtls?.fingerprints ?? []
        return promised.first { $0.algorithm == "sha-256" } ?? promised.first
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}

extension ICERole {
    /// W3C RTCIceRole.
    var statistic: String {
        switch self {
        case .controlling: "controlling"
        case .controlled: "controlled"
        }
    }
}

extension DTLSRole {
    /// W3C RTCDtlsRole.
    var statistic: String {
        switch self {
        case .client: "client"
        case .server: "server"
        }
    }
}
