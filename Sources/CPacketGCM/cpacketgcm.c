#define _GNU_SOURCE
#include "CPacketGCM.h"

// With the header of 1.0 or newer; before that other names were used.
#if __has_include(<intel-ipsec-mb.h>)
#include <intel-ipsec-mb.h>
#if defined(IMB_VERSION_NUM) && IMB_VERSION_NUM >= 0x10000
#define HAS_LIBRARY
#endif
#endif

#ifdef HAS_LIBRARY

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 16 };

struct cpacketgcm_key {
    aes_gcm_enc_dec_t seal, open;
    struct gcm_key_data schedule __attribute__((aligned(64)));
};

// The library's table of functions for this processor: made once, read by all, never freed.
static const IMB_MGR *functions;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Not linked: a program that was built beside the library runs where it is not.
static void find_functions(void) {
    char name[40];
    snprintf(name, sizeof name, "libIPSec_MB.so.%d", IMB_VERSION_NUM >> 16);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    unsigned (*version)(void) = (unsigned (*)(void))dlsym(library, "imb_get_version");
    IMB_MGR *(*make)(uint64_t) = (IMB_MGR * (*)(uint64_t)) dlsym(library, "alloc_mb_mgr");
    void (*release)(IMB_MGR *) = (void (*)(IMB_MGR *))dlsym(library, "free_mb_mgr");
    void (*choose)(IMB_MGR *, IMB_ARCH *) = (void (*)(IMB_MGR *, IMB_ARCH *))dlsym(library, "init_mb_mgr_auto");
    int (*fault)(IMB_MGR *) = (int (*)(IMB_MGR *))dlsym(library, "imb_get_errno");
    // Versions of one name differ in the size of a schedule: 1.3's has 1,008 bytes, 1.4 writes 1,264 into it.
    if (!version || !make || !release || !choose || !fault || version() >> 8 != IMB_VERSION_NUM >> 8) return;
    IMB_MGR *manager = make(0);
    if (!manager) return;
    // Without AES instructions the library would compute with tables, in times that depend on the key.
    const uint64_t wanted = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    if ((manager->features & wanted) == wanted) {
        choose(manager, NULL);
        if (fault(manager) == 0) {
            functions = manager;
            return;
        }
    }
    release(manager);
}

cpacketgcm_key *cpacketgcm_key_make(const uint8_t *bytes, size_t length) {
    pthread_once(&once, find_functions);
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
