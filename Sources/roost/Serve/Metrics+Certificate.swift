internal import ChatServer
internal import SocketIO

extension Metrics {
    /// Until when what is shown over TLS is good.
    static func text(_ certificate: ServerCertificate) -> String {
        var text = MetricsText()
        text.add(
            "roost_tls_certificate_expires_seconds", .gauge,
            "The end of the certificate's time, in seconds since 1970.",
            certificate.expires)
        return text.text
    }
}
