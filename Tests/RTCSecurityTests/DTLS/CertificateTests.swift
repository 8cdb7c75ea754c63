import COpenSSL
import RTCEngine
import Testing

@testable import RTCSecurity

struct CertificateTests {
    @Test func `is self-signed, of P-256, with a SHA-256 fingerprint`() throws {
        let certificate = try Certificate()
        #expect(certificate.fingerprint.algorithm == "sha-256")
        #expect(certificate.fingerprint.value.count == 32)
        withExtendedLifetime(certificate) {
            #expect(EVP_PKEY_get_bits(certificate.privateKey) == 256)
            #expect(X509_verify(certificate.certificate, certificate.privateKey) == 1)
        }
    }

    @Test func `is valid from yesterday for thirty days`() throws {
        let certificate = try Certificate()
        withExtendedLifetime(certificate) {
            #expect(days(X509_get0_notBefore(certificate.certificate)) == -1)
            #expect(days(X509_get0_notAfter(certificate.certificate)) == 30)
        }
    }

    @Test func `names nobody`() throws {
        let certificate = try Certificate()
        withExtendedLifetime(certificate) {
            let name = X509_get_subject_name(certificate.certificate)
            #expect(X509_NAME_entry_count(name) == 1)
            #expect(X509_NAME_get_index_by_NID(name, NID_commonName, -1) == -1)
        }
    }

    @Test func `two have nothing in common`() throws {
        let (first, second) = (try Certificate(), try Certificate())
        #expect(first.fingerprint != second.fingerprint)
        withExtendedLifetime((first, second)) {
            let names = [first, second].map { X509_get_subject_name($0.certificate) }
            #expect(X509_NAME_cmp(names[0], names[1]) != 0)
        }
    }

    /// From now, rounded to the nearest.
    private func days(_ time: UnsafePointer<ASN1_TIME>?) -> Int {
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard ASN1_TIME_diff(&days, &seconds, nil, time) == 1 else { return .min }
        return Int((Double(days) + Double(seconds) / 86_400).rounded())
    }
}
