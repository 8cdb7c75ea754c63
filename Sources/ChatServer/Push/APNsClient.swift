internal import AsyncHTTPClient
internal import ChatCore
internal import ChatModel
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// What pushes are sent by.
protocol PushTransport: Sendable {
    /// - Parameter bearer: the provider token.
    func send(_ push: Push, bearer: String) async -> APNsOutcome
    func stop() async
}

/// Apple's push service over HTTP/2: one connection carries all pushes side by side, and is made anew when the service
/// sends GOAWAY.
final class APNsClient: PushTransport {
    private let client: HTTPClient
    private let url: String?

    /// - Throws: where the file of certificates is of no use.
    init(_ configuration: APNsConfiguration) throws(APNsFault) {
        // HTTP/2 is agreed upon by ALPN (RFC 9113 §3.2).
        var http = HTTPClient.Configuration(redirectConfiguration: .disallow)
        http.timeout = .init(connect: .seconds(10))
        http.connectionPool.idleTimeout = .seconds(3_600)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let file = configuration.certificatesFile {
            guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
                throw .noCertificates
            }
            tls.trustRoots = .certificates(certificates)
        }
        http.tlsConfiguration = tls
        http.httpVersion = .automatic
        client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: http)
        url = configuration.url
    }

    private func host(of environment: PushEnvironment) -> String {
        if let url { return url }
        switch environment {
        case .production: return "https://api.push.apple.com"
        case .sandbox: return "https://api.sandbox.push.apple.com"
        }
    }

    func send(_ push: Push, bearer: String) async -> APNsOutcome {
        var request = HTTPClientRequest(url: host(of: push.address.environment) + "/3/device/" + push.token)
        request.method = .POST
        request.headers = HTTPHeaders(push.headers.map { ($0.name, $0.value) })
        request.headers.add(name: "authorization", value: "bearer " + bearer)
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(push.payload)
        do {
            let response = try await client.execute(request, timeout: push.kind == .voip ? .seconds(5) : .seconds(20))
            let body = try await response.body.collect(upTo: 4_096)
            return APNsAnswer(
                status: Int(response.status.code), retryAfter: response.headers.first(name: "retry-after"),
                body: Array(body.readableBytesView)
            ).outcome
        } catch {
            // What went wrong names addresses.
            return .tryAgain(reason: "unreachable", after: nil)
        }
    }

    func stop() async { try? await client.shutdown() }
}
