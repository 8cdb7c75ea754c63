internal import Logging
internal import RTCSecurity
internal import SocketIO
internal import TURNServer

/// Has all ports show the certificate that is in the files when that is another one: looks every ten seconds, and when
/// it is asked to.
actor CertificateWatch {
    private let certificate: ServerCertificate
    /// Shows the same; nil without one.
    private let relay: TURNService?
    private let logger: Logger
    /// The files that were of no use and have been told of.
    private var refused: ServerCertificate.Version?

    private static let interval = Duration.seconds(10)

    init(_ certificate: ServerCertificate, relay: TURNService?, logger: Logger) {
        self.certificate = certificate
        self.relay = relay
        self.logger = logger
    }

    /// Looks until it is cancelled, and whenever something is asked for.
    func run(whenAsked requests: AsyncStream<Void>) async {
        async let regularly: Void = lookRegularly()
        for await _ in requests { await look(isAsked: true) }
        await regularly
    }

    private func lookRegularly() async {
        while (try? await Task.sleep(for: Self.interval)) != nil { await look() }
    }

    /// - Parameter isAsked: reads the files also where they seem to be the same.
    func look(isAsked: Bool = false) async {
        let version = ServerCertificate.Version(of: certificate.files)
        guard isAsked || version != certificate.version else { return }
        do {
            // Both are read before either is shown.
            let identity = try relay.map { _ in
                try TLSIdentity(
                    certificateChain: certificate.files.certificateChainFile,
                    privateKey: certificate.files.privateKeyFile)
            }
            try certificate.renew()
            if let identity { await relay?.show(identity) }
            refused = nil
            logger.notice("the TLS certificate was read anew", metadata: ["expires": "\(certificate.expires)"])
        } catch {
            // Somebody may be in the middle of writing: the next look may find more.
            guard isAsked || refused != version else { return }
            refused = version
            logger.warning("the TLS certificate is left as it was", metadata: ["error": "\(error)"])
        }
    }
}
