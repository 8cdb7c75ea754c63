import COpenSSL
import RTCEngine

extension DTLSSession {
    /// What has to be true of a finished handshake before anything trusts it; nil when all is.
    var defect: DTLSCloseReason? {
        // RFC 7627, and RFC 8827 §6.5 by way of it: without it the exported keys do not bind both certificates.
        guard copenssl_has_extended_master_secret(ssl) == 1 else { return .failed("no extended master secret") }
        return needsSRTP && profile == nil ? .noSRTPProfile : nil
    }

    /// What the hellos agreed on; nil when they did not.
    var profile: SRTPProfile? {
        guard let selected = SSL_get_selected_srtp_profile(ssl) else { return nil }
        return UInt16(exactly: selected.pointee.id).flatMap(SRTPProfile.init(rawValue:))
    }

    /// RFC 5764 §4.2: both directions' keys and salts from one export, split by who is the client.
    func exportKeys() -> SRTPKeyingMaterial? {
        guard let profile else { return nil }
        let keyLength = profile.masterKeyLength
        let saltLength = profile.masterSaltLength
        let label = Array("EXTRACTOR-dtls_srtp".utf8)
        var material = [UInt8](repeating: 0, count: 2 * (keyLength + saltLength))
        let count = material.count
        OpenSSLErrors.clear()
        let exported = label.withUnsafeBytes { label in
            SSL_export_keying_material(
                ssl, &material, count, label.baseAddress?.assumingMemoryBound(to: CChar.self), label.count, nil, 0, 0)
        }
        guard exported == 1 else { return nil }
        defer { OPENSSL_cleanse(&material, count) }

        // client_write_key, server_write_key, client_write_salt, server_write_salt
        var rest = material[...]
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let clientKey = take(keyLength)
        let serverKey = take(keyLength)
        let clientSalt = take(saltLength)
        let serverSalt = take(saltLength)
        return switch role {
        case .client:
            SRTPKeyingMaterial(
                profile: profile, localKey: clientKey, localSalt: clientSalt, remoteKey: serverKey,
                remoteSalt: serverSalt)
        case .server:
            SRTPKeyingMaterial(
                profile: profile, localKey: serverKey, localSalt: serverSalt, remoteKey: clientKey,
                remoteSalt: clientSalt)
        }
    }
}

extension SRTPProfile {
    /// In bytes (RFC 3711 §8.2, RFC 7714 §12).
    var masterKeyLength: Int {
        switch self {
        case .aeadAES128GCM, .aes128CMHMACSHA1_80: 16
        case .aeadAES256GCM: 32
        }
    }

    /// In bytes (RFC 3711 §8.2, RFC 7714 §12).
    var masterSaltLength: Int {
        switch self {
        case .aeadAES128GCM, .aeadAES256GCM: 12
        case .aes128CMHMACSHA1_80: 14
        }
    }
}
