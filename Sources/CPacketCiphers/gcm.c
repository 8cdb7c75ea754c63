#define _GNU_SOURCE
#include "CPacketCiphers.h"
#include "library.h"

#ifdef HAS_LIBRARY

#include <stdlib.h>
#include <string.h>

enum { TAG = 16 };

struct cpacketgcm_key {
    aes_gcm_enc_dec_t seal, open;
    struct gcm_key_data schedule __attribute__((aligned(64)));
};

cpacketgcm_key *cpacketgcm_key_make(const uint8_t *bytes, size_t length) {
    const IMB_MGR *functions = cpacketciphers_functions();
    if (!functions || (length != IMB_GCM_128_KEY_LEN && length != IMB_GCM_256_KEY_LEN)) return NULL;
    void *room = NULL;
    if (posix_memalign(&room, 64, sizeof(cpacketgcm_key))) return NULL;
    memset(room, 0, sizeof(cpacketgcm_key));
    cpacketgcm_key *key = room;
    if (length == IMB_GCM_128_KEY_LEN) {
        IMB_AES128_GCM_PRE(functions, bytes, &key->schedule);
        key->seal = functions->gcm128_enc;
        key->open = functions->gcm128_dec;
    } else {
        IMB_AES256_GCM_PRE(functions, bytes, &key->schedule);
        key->seal = functions->gcm256_enc;
        key->open = functions->gcm256_dec;
    }
    return key;
}

void cpacketgcm_key_free(cpacketgcm_key *key) {
    if (!key) return;
    explicit_bzero(key, sizeof *key);
    free(key);
}

// The library refuses without a word: null pointers, tags of other lengths, bodies of 2^36 bytes. None of these comes here.
void cpacketgcm_seal(
    const cpacketgcm_key *key, const uint8_t *vector, const uint8_t *header, size_t header_length, uint8_t *body,
    size_t body_length, uint8_t *tag) {
    struct gcm_context_data scratch __attribute__((aligned(64)));
    key->seal(&key->schedule, &scratch, body, body, body_length, vector, header, header_length, tag, TAG);
}

bool cpacketgcm_open(
    const cpacketgcm_key *key, const uint8_t *vector, const uint8_t *header, size_t header_length, uint8_t *body,
    size_t body_length, const uint8_t *tag) {
    struct gcm_context_data scratch __attribute__((aligned(64)));
    uint8_t own[TAG];
    key->open(&key->schedule, &scratch, body, body, body_length, vector, header, header_length, own, TAG);
    // In a time that does not depend on where they differ.
    uint8_t difference = 0;
    for (int i = 0; i < TAG; i++) difference |= own[i] ^ tag[i];
    return difference == 0;
}

#else

cpacketgcm_key *cpacketgcm_key_make(const uint8_t *key, size_t length) {
    (void)key, (void)length;
    return NULL;
}

void cpacketgcm_key_free(cpacketgcm_key *key) { (void)key; }

void cpacketgcm_seal(
    const cpacketgcm_key *key, const uint8_t *vector, const uint8_t *header, size_t header_length, uint8_t *body,
    size_t body_length, uint8_t *tag) {
    (void)key, (void)vector, (void)header, (void)header_length, (void)body, (void)body_length, (void)tag;
}

bool cpacketgcm_open(
    const cpacketgcm_key *key, const uint8_t *vector, const uint8_t *header, size_t header_length, uint8_t *body,
    size_t body_length, const uint8_t *tag) {
    (void)key, (void)vector, (void)header, (void)header_length, (void)body, (void)body_length, (void)tag;
    return false;
}

#endif
