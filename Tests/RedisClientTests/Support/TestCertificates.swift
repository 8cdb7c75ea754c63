/// PEM texts for tests only, valid for a hundred years; no machine trusts them.
enum TestCertificates {
    /// Self-signed, for `localhost` and 127.0.0.1; belongs to `key`.
    static let selfSigned = """
        -----BEGIN CERTIFICATE-----
        MIIBmjCCAUGgAwIBAgIUSD0m81kqCBR7HQbEqqgf38VEvxswCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTEwMTUyM1oYDzIxMjYxMDI4
        MTAxNTIzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAATeEEpmng9UtchRKGQ7SEMZKbF8vBaWTR2v0YSZoLdyZ/cfj/lNVrxl
        qM5zyqY08oqE93ZfrKOL3oI23SDpB1dlo28wbTAdBgNVHQ4EFgQU9taGB5EEisVz
        K2tAQ7JzQCy7m0EwHwYDVR0jBBgwFoAU9taGB5EEisVzK2tAQ7JzQCy7m0EwDwYD
        VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
        zj0EAwIDRwAwRAIgeTDC8vM+ysrrjF5WiekM1oNwHMWZYBd8KcmhaqOVtpICIHx9
        T2Qy4TArX4M8ico+V8/9DbdetMbVksBSpdft6yBh
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgE9+1tSxWmvym2iV2
        vL+hz9sFdQ9E6bVGaoNPoEcJUFehRANCAATeEEpmng9UtchRKGQ7SEMZKbF8vBaW
        TR2v0YSZoLdyZ/cfj/lNVrxlqM5zyqY08oqE93ZfrKOL3oI23SDpB1dl
        -----END PRIVATE KEY-----
        """
}
