import NIOCore
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A certificate that was not trusted, and what is visibly wrong with it.
struct CertificateFault: Error, Hashable {
    let reasons: [String]

    init(reasons: [String]) { self.reasons = reasons }

    /// Looks at a certificate that has been refused already: this decides nothing, it only explains.
    init(_ certificate: NIOSSLCertificate, at now: time_t) {
        var reasons: [String] = []
        if certificate.notValidAfter < now { reasons.append("has expired") }
        if certificate.notValidBefore > now { reasons.append("is not valid yet") }
        if let bytes = try? certificate.toDERBytes(), let isSelfSigned = Self.isSelfSigned(bytes[...]), isSelfSigned {
            reasons.append("is self-signed")
        }
        self.reasons = [
            "it " + (reasons.isEmpty ? "was issued by someone unknown" : reasons.joined(separator: " and "))
        ]
    }

    /// A part of a sentence.
    var text: String {
        "the server's certificate is not trusted" + (reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", "))
    }

    /// Whether issuer and subject are the same (RFC 5280 §4.1: version, serial number, algorithm, issuer, validity,
    /// subject); nil if the bytes are something else.
    private static func isSelfSigned(_ bytes: ArraySlice<UInt8>) -> Bool? {
        var outer = DERFields(bytes)
        guard let certificate = outer.next() else { return nil }
        var parts = DERFields(certificate.content)
        guard let signed = parts.next() else { return nil }
        var fields = DERFields(signed.content)
        guard var field = fields.next() else { return nil }
        // The version is left out of certificates of version 1.
        if field.tag == 0xa0 {
            guard let serialNumber = fields.next() else { return nil }
            field = serialNumber
        }
        guard field.tag == 0x02, fields.next() != nil, let issuer = fields.next(), fields.next() != nil,
            let subject = fields.next()
        else { return nil }
        return issuer.content == subject.content
    }
}

/// Walks the fields of a DER structure (X.690 §8.1).
private struct DERFields {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            // X.690 §8.1.3.5: the number of bytes that hold the length.
            let count = Int(first & 0x7f)
            guard (1...4).contains(count), rest.count >= count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }
}

/// Stands above TLS and turns its "certificate verify failed" into a `CertificateFault`, while the certificate is
/// still at hand.
final class CertificateFaultHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let tls: NIOSSLClientHandler

    init(above tls: NIOSSLClientHandler) { self.tls = tls }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard Self.isAboutCertificate(error) else { return context.fireErrorCaught(error) }
        let fault = tls.peerCertificate.map { CertificateFault($0, at: time(nil)) } ?? CertificateFault(reasons: [])
        context.fireErrorCaught(fault)
    }

    private static func isAboutCertificate(_ error: any Error) -> Bool {
        switch error {
        case NIOSSLError.unableToValidateCertificate: true
        case NIOSSLError.handshakeFailed(.sslError(let errors)):
            errors.contains { $0.reasonName == "CERTIFICATE_VERIFY_FAILED" }
        default: false
        }
    }
}
