// The floor for SRTP: the same OpenSSL calls on packets of 1,200 bytes, and nothing else: no header is parsed, no sender
// looked up, no replay refused. AES-CM is given what we use, a copied SHA_CTX for HMAC, which is faster than EVP_MAC.
// cc -O2 -o evp evp.c -lcrypto;  evp PACKETS gcm|cm protect|unprotect
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 1200, HEADER = 12, BATCH = 128, ROOM = SIZE + 16 };

static uint8_t ring[BATCH][ROOM];
static EVP_CIPHER_CTX *gcm_seal, *gcm_open, *ctr;
static SHA_CTX inner, outer;
static const uint8_t key[20] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};

static long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static int gcm_protect(uint8_t *p) {
    uint8_t iv[12] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, p[2], p[3]};
    int n;
    return EVP_CipherInit_ex(gcm_seal, NULL, NULL, NULL, iv, -1) && EVP_CipherUpdate(gcm_seal, NULL, &n, p, HEADER) &&
           EVP_CipherUpdate(gcm_seal, p + HEADER, &n, p + HEADER, SIZE - HEADER) &&
           EVP_CipherFinal_ex(gcm_seal, p + SIZE, &n) &&
           EVP_CIPHER_CTX_ctrl(gcm_seal, EVP_CTRL_AEAD_GET_TAG, 16, p + SIZE);
}

static int gcm_unprotect(uint8_t *p) {
    uint8_t iv[12] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, p[2], p[3]};
    int n;
    return EVP_CipherInit_ex(gcm_open, NULL, NULL, NULL, iv, -1) &&
           EVP_CIPHER_CTX_ctrl(gcm_open, EVP_CTRL_AEAD_SET_TAG, 16, p + SIZE) &&
           EVP_CipherUpdate(gcm_open, NULL, &n, p, HEADER) &&
           EVP_CipherUpdate(gcm_open, p + HEADER, &n, p + HEADER, SIZE - HEADER) &&
           EVP_CipherFinal_ex(gcm_open, p + SIZE, &n);
}

static int counter(uint8_t *p) {
    uint8_t iv[16] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, p[2], p[3]};
    int n;
    return EVP_EncryptInit_ex(ctr, NULL, NULL, NULL, iv) &&
           EVP_EncryptUpdate(ctr, p + HEADER, &n, p + HEADER, SIZE - HEADER);
}

static void hmac(const uint8_t *p, uint8_t digest[20]) {
    uint8_t rollover[4] = {0};
    SHA_CTX c = inner;
    SHA1_Update(&c, p, SIZE);
    SHA1_Update(&c, rollover, 4);
    SHA1_Final(digest, &c);
    c = outer;
    SHA1_Update(&c, digest, 20);
    SHA1_Final(digest, &c);
}

static int cm_protect(uint8_t *p) {
    uint8_t digest[20];
    if (!counter(p)) return 0;
    hmac(p, digest);
    memcpy(p + SIZE, digest, 10);
    return 1;
}

static int cm_unprotect(uint8_t *p) {
    uint8_t digest[20];
    hmac(p, digest);
    return CRYPTO_memcmp(digest, p + SIZE, 10) == 0 && counter(p);
}

static void prepare(void) {
    gcm_seal = EVP_CIPHER_CTX_new();
    gcm_open = EVP_CIPHER_CTX_new();
    ctr = EVP_CIPHER_CTX_new();
    if (!EVP_CipherInit_ex(gcm_seal, EVP_aes_128_gcm(), NULL, key, NULL, 1) ||
        !EVP_CipherInit_ex(gcm_open, EVP_aes_128_gcm(), NULL, key, NULL, 0) ||
        !EVP_EncryptInit_ex(ctr, EVP_aes_128_ctr(), NULL, key, NULL))
        fail("EVP_CipherInit_ex");
    uint8_t block[64];
    memset(block, 0x36, 64);
    for (int i = 0; i < 20; i++) block[i] ^= key[i];
    SHA1_Init(&inner);
    SHA1_Update(&inner, block, 64);
    memset(block, 0x5c, 64);
    for (int i = 0; i < 20; i++) block[i] ^= key[i];
    SHA1_Init(&outer);
    SHA1_Update(&outer, block, 64);
}

int main(int count, char **arguments) {
    if (count < 4) fail("usage: evp PACKETS gcm|cm protect|unprotect");
    long packets = atol(arguments[1]) / BATCH * BATCH, spent = 0;
    int is_gcm = !strcmp(arguments[2], "gcm"), opens = !strcmp(arguments[3], "unprotect");
    int (*seal)(uint8_t *) = is_gcm ? gcm_protect : cm_protect;
    int (*open)(uint8_t *) = is_gcm ? gcm_unprotect : cm_unprotect;
    prepare();
    memset(ring, 5, sizeof ring);
    for (long done = 0; done < packets; done += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            ring[i][0] = 0x80;
            ring[i][1] = 96;
            ring[i][2] = (uint8_t)((done + i) >> 8);
            ring[i][3] = (uint8_t)(done + i);
        }
        long begin = now();
        for (int i = 0; i < BATCH; i++)
            if (!seal(ring[i])) fail("protect");
        long sealed = now();
        if (opens)
            for (int i = 0; i < BATCH; i++)
                if (!open(ring[i])) fail("unprotect");
        spent += opens ? now() - sealed : sealed - begin;
    }
    printf("{\"cipher\": \"%s\", \"operation\": \"%s\", \"ns\": %.2f}\n", arguments[2], arguments[3],
           (double)spent / (double)packets);
}
