import NIOSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension SocketIOServerConfiguration.TLS {
    /// Reads the files; an error names the one at fault.
    ///
    /// - Returns: also the end of the first certificate's time, in seconds since 1970.
    func makeContext() throws(SocketIOServerError) -> (context: NIOSSLContext, expires: Int) {
        try Self.checkReadable(certificateChainFile, "certificate")
        try Self.checkReadable(privateKeyFile, "key")
        let chain = (try? NIOSSLCertificate.fromPEMFile(certificateChainFile)) ?? []
        guard let first = chain.first else {
            throw .cannotUseTLSFile(
                certificateChainFile, "The certificate file \(certificateChainFile) holds no certificate in PEM form.")
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: privateKeyFile, format: .pem)
        } catch {
            throw .cannotUseTLSFile(
                privateKeyFile, "The key file \(privateKeyFile) holds no private key in PEM form without a password.")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.applicationProtocols = ["http/1.1"]
        do {
            return (try NIOSSLContext(configuration: configuration), Int(first.notValidAfter))
        } catch {
            throw .cannotUseTLSFile(
                privateKeyFile,
                "The key in \(privateKeyFile) does not belong to the certificate in \(certificateChainFile).")
        }
    }

    /// The TLS library does not say why it could not open a file; the system does.
    private static func checkReadable(_ path: String, _ kind: String) throws(SocketIOServerError) {
        // A pipe without a writer would be waited for.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw .cannotUseTLSFile(path, "The \(kind) file \(path) cannot be read: \(systemText(of: errno)).")
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw .cannotUseTLSFile(path, "The \(kind) file \(path) is no file.")
        }
    }
}
