// OpenSSL 3.x for Swift. Much of its API is function-like macros or variadic functions, which Swift cannot import:
// each such call that we use has a wrapper here, named after the macro. No logic.
#ifndef ROOST_COPENSSL_SHIM_H
#define ROOST_COPENSSL_SHIM_H

// SHA_CTX is used directly (see SHA1Authenticator): it is a plain value that copies without an allocation, which
// the EVP interface of OpenSSL 3 cannot offer. It is deprecated, not removed.
#ifndef OPENSSL_SUPPRESS_DEPRECATED
#define OPENSSL_SUPPRESS_DEPRECATED
#endif

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <sys/time.h>

// Contexts

static inline uint64_t copenssl_dtls_options(void) {
    return SSL_OP_NO_QUERY_MTU | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
           SSL_OP_CIPHER_SERVER_PREFERENCE;
}

static inline int copenssl_set_protocol_versions(SSL_CTX *context, int lowest, int highest) {
    return SSL_CTX_set_min_proto_version(context, lowest) == 1 && SSL_CTX_set_max_proto_version(context, highest) == 1;
}

static inline int copenssl_set_groups(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_groups_list(context, list);
}

static inline long copenssl_disable_session_cache(SSL_CTX *context) {
    return SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

/// No tickets and no renegotiation, our order of ciphers, and no buffers for connections that are silent.
static inline void copenssl_use_server_options(SSL_CTX *context) {
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

// Associations

static inline int copenssl_set_mtu(SSL *ssl, long mtu) { return (int)SSL_set_mtu(ssl, mtu); }

static inline int copenssl_dtls_handle_timeout(SSL *ssl) { return (int)DTLSv1_handle_timeout(ssl); }

/// Microseconds until OpenSSL's own retransmission timer; negative when it is not running.
static inline int64_t copenssl_dtls_timeout_microseconds(SSL *ssl) {
    struct timeval left = {0, 0};
    if (DTLSv1_get_timeout(ssl, &left) != 1) return -1;
    return (int64_t)left.tv_sec * 1000000 + (int64_t)left.tv_usec;
}

static inline int copenssl_has_extended_master_secret(SSL *ssl) { return SSL_get_extms_support(ssl) == 1; }

/// RFC 6066 §3: the name of the server that is meant.
static inline int copenssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}

// BIO

static inline int copenssl_bio_type_source_sink(void) { return BIO_TYPE_SOURCE_SINK; }

static inline void copenssl_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void copenssl_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

// Keys

/// As EVP_EC_gen, but of the kind that a certificate takes as it is: X509_set_pubkey encodes the other kind and
/// decodes it again, for which OpenSSL 3.0 looks up all its decoders: three times what making the key takes. Deprecated,
/// not removed.
static inline EVP_PKEY *copenssl_generate_ec_key(int curve) {
    EVP_PKEY *key = EVP_PKEY_new();
    EC_KEY *pair = EC_KEY_new_by_curve_name(curve);
    if (key && pair && EC_KEY_generate_key(pair) == 1 && EVP_PKEY_assign_EC_KEY(key, pair) == 1) return key;
    EC_KEY_free(pair);
    EVP_PKEY_free(key);
    return NULL;
}

#endif
