// SRTP's ciphers by Intel's Multi-Buffer Crypto library: where its header was there when this was compiled, the library of the
// same version is there when it runs, and the processor has what it wants. No logic: keys' schedules, and the library's calls for
// them. Elsewhere no key can be made, and RTCSecurity goes by OpenSSL (docs/decisions/0040-a-packet-is-sealed-in-one-call.md,
// docs/decisions/0041-packets-are-sealed-together.md).
#ifndef ROOST_CPACKETCIPHERS_H
#define ROOST_CPACKETCIPHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: AES-GCM, a packet in one call

/// An expanded key, which no call changes.
typedef struct cpacketgcm_key cpacketgcm_key;

/// The schedule of a key of 16 or 32 bytes. NULL without the library or without a processor for it, for other lengths, and
/// without memory.
cpacketgcm_key *cpacketgcm_key_make(const uint8_t *key, size_t length);

/// Wipes the schedule and frees it.
void cpacketgcm_key_free(cpacketgcm_key *key);

/// Encrypts the body in place and writes its tag of 16 bytes. The vector has 12 bytes.
void cpacketgcm_seal(
    const cpacketgcm_key *key, const uint8_t *vector, const uint8_t *header, size_t header_length, uint8_t *body,
    size_t body_length, uint8_t *tag);

/// Decrypts the body in place. False when it does not belong to the tag: what then lies in the body must not be read.
bool cpacketgcm_open(
    const cpacketgcm_key *key, const uint8_t *vector, const uint8_t *header, size_t header_length, uint8_t *body,
    size_t body_length, const uint8_t *tag);

// MARK: AES-128 in counter mode with HMAC-SHA1, many packets in one call

/// Two expanded keys, that of the cipher and that of the hash; no call changes them.
typedef struct cpacketcm_key cpacketcm_key;

/// The schedules of a cipher's key of 16 bytes and a hash's of 20. NULL without the library or without a processor for it, and
/// without memory.
cpacketcm_key *cpacketcm_key_make(const uint8_t *encryption, const uint8_t *authentication);

/// Wipes the schedules and frees them.
void cpacketcm_key_free(cpacketcm_key *key);

/// A packet that is to be sealed: header and body lie one behind the other, and behind them there is room for a tag of ten bytes.
typedef struct cpacketcm_packet {
    const cpacketcm_key *key;
    /// Where it begins, from the beginning of the buffer that all lie in.
    size_t start;
    /// Neither is 0.
    size_t header_length, body_length;
    /// The counter's first block, as it lies in memory.
    uint64_t vector[2];
    /// Hashed behind the body, in network order, and not part of the packet (RFC 3711 §4.2).
    uint32_t word;
} cpacketcm_packet;

/// What it takes to seal. Of one thread at a time.
typedef struct cpacketcm_sealer cpacketcm_sealer;

/// NULL without the library or without a processor for it, and without memory.
cpacketcm_sealer *cpacketcm_sealer_make(void);
void cpacketcm_sealer_free(cpacketcm_sealer *sealer);

/// Encrypts the bodies of `count` packets in place and writes their tags.
void cpacketcm_seal(cpacketcm_sealer *sealer, const cpacketcm_packet *packets, size_t count, uint8_t *buffer);

#endif
