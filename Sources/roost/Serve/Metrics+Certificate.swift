internal import SocketIO

extension Metrics {
    /// Until when what is shown over TLS is good.
    static func text(_ certificate: ServerCertificate) -> String {
        let name = "roost_tls_certificate_expires_seconds"
        return """
            # HELP \(name) The end of the certificate's time, in seconds since 1970.
            # TYPE \(name) gauge
            \(name) \(certificate.expires)

            """
    }
}
