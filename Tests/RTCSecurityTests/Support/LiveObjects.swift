import COpenSSL
import Synchronization

/// Counts OpenSSL objects that have been tagged and not yet freed, by OpenSSL's own account: its free callback tells.
final class LiveObjects: Sendable {
    private let count = Atomic<Int>(0)

    var remaining: Int { count.load(ordering: .sequentiallyConsistent) }

    func track(ssl: OpaquePointer) { tag { SSL_set_ex_data(ssl, Self.sslIndex, $0) } }
    func track(context: OpaquePointer) { tag { SSL_CTX_set_ex_data(context, Self.contextIndex, $0) } }
    func track(bio: OpaquePointer) { tag { BIO_set_ex_data(bio, Self.bioIndex, $0) } }
    func track(certificate: OpaquePointer) { tag { X509_set_ex_data(certificate, Self.certificateIndex, $0) } }

    private func tag(_ set: (UnsafeMutableRawPointer) -> Int32) {
        guard set(Unmanaged.passRetained(self).toOpaque()) == 1 else { return }
        count.add(1, ordering: .sequentiallyConsistent)
    }

    private static let sslIndex = index(CRYPTO_EX_INDEX_SSL)
    private static let contextIndex = index(CRYPTO_EX_INDEX_SSL_CTX)
    private static let bioIndex = index(CRYPTO_EX_INDEX_BIO)
    private static let certificateIndex = index(CRYPTO_EX_INDEX_X509)

    private static func index(_ kind: Int32) -> Int32 {
        CRYPTO_get_ex_new_index(kind, 0, nil, nil, nil) { _, tag, _, _, _, _ in
            guard let tag else { return }
            let objects = Unmanaged<LiveObjects>.fromOpaque(tag).takeRetainedValue()
            objects.count.subtract(1, ordering: .sequentiallyConsistent)
        }
    }
}
