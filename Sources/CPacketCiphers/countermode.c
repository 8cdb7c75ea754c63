#define _GNU_SOURCE
#include "CPacketCiphers.h"
#include "library.h"

#ifdef HAS_BURSTS

#include <stdlib.h>
#include <string.h>

enum {
    TAG = 10,
    // What the library makes of it is longer: it has no ten bytes, but IPsec's twelve (RFC 2404) or all twenty.
    LIBRARY_TAG = 12,
    ENCRYPTION_KEY = 16,
    AUTHENTICATION_KEY = 20,
    HASH_BLOCK = 64,
    // As many as are in the library's hands at once: the lanes of the widest registers, twice.
    MOST = 32,
};

struct cpacketcm_key {
    // Of AES-128: eleven round keys.
    uint8_t schedule[11 * 16] __attribute__((aligned(16)));
    // SHA-1 after the key's inner block, and after its outer one (RFC 2104).
    uint32_t inner[5] __attribute__((aligned(16)));
    uint32_t outer[5] __attribute__((aligned(16)));
};

struct cpacketcm_sealer {
    IMB_MGR *manager;
    IMB_JOB jobs[MOST];
    uint8_t tags[MOST][LIBRARY_TAG];
};

cpacketcm_key *cpacketcm_key_make(const uint8_t *encryption, const uint8_t *authentication) {
    const IMB_MGR *functions = cpacketciphers_functions();
    void *room = NULL;
    if (!functions || posix_memalign(&room, 64, sizeof(cpacketcm_key))) return NULL;
    cpacketcm_key *key = room;
    uint8_t for_decryption[sizeof key->schedule] __attribute__((aligned(16)));
    IMB_AES_KEYEXP_128(functions, encryption, key->schedule, for_decryption);
    uint8_t block[HASH_BLOCK];
    for (int i = 0; i < HASH_BLOCK; i++) block[i] = 0x36 ^ (i < AUTHENTICATION_KEY ? authentication[i] : 0);
    IMB_SHA1_ONE_BLOCK(functions, block, key->inner);
    for (int i = 0; i < HASH_BLOCK; i++) block[i] ^= 0x36 ^ 0x5c;
    IMB_SHA1_ONE_BLOCK(functions, block, key->outer);
    explicit_bzero(for_decryption, sizeof for_decryption);
    explicit_bzero(block, sizeof block);
    return key;
}

void cpacketcm_key_free(cpacketcm_key *key) {
    if (!key) return;
    explicit_bzero(key, sizeof *key);
    free(key);
}

cpacketcm_sealer *cpacketcm_sealer_make(void) {
    cpacketcm_sealer *sealer = calloc(1, sizeof *sealer);
    if (!sealer) return NULL;
    sealer->manager = cpacketciphers_manager_make();
    if (sealer->manager) return sealer;
    free(sealer);
    return NULL;
}

void cpacketcm_sealer_free(cpacketcm_sealer *sealer) {
    if (!sealer) return;
    cpacketciphers_manager_free(sealer->manager);
    free(sealer);
}

static void prepare(IMB_JOB *job, const cpacketcm_packet *packet, uint8_t *bytes, uint8_t *tag) {
    const size_t length = packet->header_length + packet->body_length;
    job->src = bytes;
    job->dst = bytes + packet->header_length;
    job->enc_keys = job->dec_keys = packet->key->schedule;
    job->key_len_in_bytes = ENCRYPTION_KEY;
    job->iv = (const uint8_t *)packet->vector;
    job->iv_len_in_bytes = sizeof packet->vector;
    job->cipher_mode = IMB_CIPHER_CNTR;
    job->cipher_direction = IMB_DIR_ENCRYPT;
    job->cipher_start_src_offset_in_bytes = packet->header_length;
    job->msg_len_to_cipher_in_bytes = packet->body_length;
    job->hash_alg = IMB_AUTH_HMAC_SHA_1;
    job->chain_order = IMB_ORDER_CIPHER_HASH;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = length + sizeof packet->word;
    job->u.HMAC._hashed_auth_key_xor_ipad = (const uint8_t *)packet->key->inner;
    job->u.HMAC._hashed_auth_key_xor_opad = (const uint8_t *)packet->key->outer;
    job->auth_tag_output = tag;
    job->auth_tag_output_len_in_bytes = LIBRARY_TAG;
    // The word stands where the tag will be until it is hashed.
    const uint32_t word = __builtin_bswap32(packet->word);
    memcpy(bytes + length, &word, sizeof word);
}

void cpacketcm_seal(cpacketcm_sealer *sealer, const cpacketcm_packet *packets, size_t count, uint8_t *buffer) {
    for (size_t done = 0; done < count;) {
        const uint32_t size = count - done < MOST ? (uint32_t)(count - done) : MOST;
        for (uint32_t i = 0; i < size; i++)
            prepare(sealer->jobs + i, packets + done + i, buffer + packets[done + i].start, sealer->tags[i]);
        // Both end all that they are given. A packet that was not encrypted must not leave, whatever was wrong.
        if (IMB_SUBMIT_CIPHER_BURST(
                sealer->manager, sealer->jobs, size, IMB_CIPHER_CNTR, IMB_DIR_ENCRYPT, IMB_KEY_128_BYTES) != size)
            abort();
        if (IMB_SUBMIT_HASH_BURST(sealer->manager, sealer->jobs, size, IMB_AUTH_HMAC_SHA_1) != size) abort();
        for (uint32_t i = 0; i < size; i++) {
            const cpacketcm_packet *packet = packets + done + i;
            memcpy(buffer + packet->start + packet->header_length + packet->body_length, sealer->tags[i], TAG);
        }
        done += size;
    }
}

#else

cpacketcm_key *cpacketcm_key_make(const uint8_t *encryption, const uint8_t *authentication) {
    (void)encryption, (void)authentication;
    return NULL;
}

void cpacketcm_key_free(cpacketcm_key *key) { (void)key; }

cpacketcm_sealer *cpacketcm_sealer_make(void) { return NULL; }

void cpacketcm_sealer_free(cpacketcm_sealer *sealer) { (void)sealer; }

void cpacketcm_seal(cpacketcm_sealer *sealer, const cpacketcm_packet *packets, size_t count, uint8_t *buffer) {
    (void)sealer, (void)packets, (void)count, (void)buffer;
}

#endif
