// AES-GCM of one packet in one call, by Intel's Multi-Buffer Crypto library: where its header was there when this was compiled,
// the library of the same version is there when it runs, and the processor has what it wants. No logic: a key's schedule, and the
// library's calls for it. Elsewhere no key can be made, and RTCSecurity goes by OpenSSL
// (docs/decisions/0040-a-packet-is-sealed-in-one-call.md).
#ifndef ROOST_CPACKETGCM_H
#define ROOST_CPACKETGCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
