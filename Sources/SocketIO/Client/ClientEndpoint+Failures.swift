import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The one place where what a connection failed of becomes words: parts of a sentence, without anything of the
/// libraries below.
extension ClientEndpoint {
    /// Why a connection failed or ended.
    func closeReason(_ error: any Error) -> EngineIOClientCloseReason {
        if error is HTTPClientHandler.ResponseTooLarge { return .protocolError("a response is too large") }
        return (error as? EngineIOClientCloseReason) ?? .transportFailed(failureText(error))
    }

    private var place: String { url.authority }
    private var schemeHint: String { url.usesTLS ? "" : "; it may expect https" }

    private func failureText(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError: return failureText(error)
        case let error as IOError: return Self.failureText(errno: error.errnoCode, place: place)
        case ChannelError.connectTimeout: return "no answer from \(place)"
        case is ChannelError, NIOSSLError.uncleanShutdown: return "\(place) closed the connection"
        case is HTTPClientHandler.ClosedBeforeResponse:
            return "the server closed the connection without an answer" + schemeHint
        case is HTTPParserError: return "the server's answer is not HTTP" + schemeHint
        case let fault as CertificateFault: return fault.text
        case let error as NIOSSLExtraError
        where error == .failedToValidateHostname || error == .serverHostnameImpossibleToMatch:
            return CertificateFault(reasons: ["it is for another name than \(url.host)"]).text
        case NIOSSLError.handshakeFailed(let cause): return "the TLS handshake failed: " + Self.handshakeText(cause)
        default: return "the connection to \(place) failed"
        }
    }

    private func failureText(_ error: NIOConnectionError) -> String {
        if let first = error.connectionErrors.first { return failureText(first.error) }
        let isUnknown = error.dnsAError != nil || error.dnsAAAAError != nil
        return isUnknown ? "the name \(error.host) is not known" : "no connection to \(place)"
    }

    static func failureText(errno code: CInt, place: String) -> String {
        switch code {
        case ECONNREFUSED: "connection refused by \(place)"
        case ETIMEDOUT: "no answer from \(place)"
        case EHOSTUNREACH, ENETUNREACH: "there is no way to \(place) from here"
        case ECONNRESET, EPIPE, ECONNABORTED: "\(place) closed the connection"
        default: "no connection to \(place): \(systemText(of: code))"
        }
    }

    private static func handshakeText(_ cause: BoringSSLError) -> String {
        let stack: NIOBoringSSLErrorStack
        switch cause {
        case .sslError(let errors), .unknownError(let errors), .invalidSNIName(let errors),
            .failedToSetALPN(let errors):
            stack = errors
        case .noError, .zeroReturn, .wantRead, .wantWrite, .wantConnect, .wantAccept, .wantX509Lookup,
            .wantCertificateVerify, .syscallError:
            stack = []
        }
        guard let first = stack.first, first != .eofDuringHandshake, let name = first.reasonName,
            // What plain HTTP looks like to someone who expects TLS records.
            !["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST"].contains(name)
        else { return "the server does not seem to speak TLS on this port" }
        return name.split(separator: "_").joined(separator: " ").lowercased()
    }
}

extension BoringSSLInternalError {
    /// `CERTIFICATE_VERIFY_FAILED` and the like. The library tells it only within a longer text:
    /// `…:OPENSSL_internal:NAME at file:line`.
    var reasonName: Substring? {
        let text = description
        guard let start = text.firstRange(of: "OPENSSL_internal:")?.upperBound else { return nil }
        return text[start...].prefix { $0 != " " }
    }
}

/// The system's words for an error number, as a part of a sentence.
func systemText(of code: CInt) -> String {
    let text = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    return text.prefix(1).lowercased() + text.dropFirst()
}
