/* What AES-128 in counter mode with HMAC-SHA1 of one packet costs with OpenSSL, one after the other as SRTP is usually made, and
   with Intel's Multi-Buffer Crypto library, for packets of as many keys as are sealed at once: by the thread's clock, least of
   seven. Why Roost seals packets together: docs/decisions/0041-packets-are-sealed-together.md.

   apt-get install libssl-dev libipsec-mb-dev
   cc -O2 -Wno-deprecated-declarations -I ../../../Sources/CPacketCiphers/include -o cm cm.c \
       ../../../Sources/CPacketCiphers/library.c ../../../Sources/CPacketCiphers/countermode.c -lcrypto && ./cm */
#include <CPacketCiphers.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { KEYS = 96, HEADER = 12, ROOM = 1500, ROUNDS = 1000, RUNS = 7, TAG = 10 };

static uint8_t packets[KEYS][ROOM];
static uint32_t round_number;
static EVP_CIPHER_CTX *ciphers[KEYS];
static SHA_CTX inner[KEYS], outer[KEYS];
static cpacketcm_key *keys[KEYS];
static cpacketcm_sealer *sealer;

static void vector_of(uint64_t *vector) {
    vector[0] = 7;
    vector[1] = (uint64_t)round_number << 16;
}

static void one_by_one(int first, int count, int size) {
    const uint32_t word = 0;
    uint64_t vector[2];
    vector_of(vector);
    for (int i = first; i < first + count; i++) {
        int length;
        uint8_t digest[SHA_DIGEST_LENGTH], *packet = packets[i];
        EVP_EncryptInit_ex(ciphers[i], 0, 0, 0, (const uint8_t *)vector);
        EVP_EncryptUpdate(ciphers[i], packet + HEADER, &length, packet + HEADER, size - HEADER);
        SHA_CTX hash = inner[i];
        SHA1_Update(&hash, packet, size);
        SHA1_Update(&hash, &word, sizeof word);
        SHA1_Final(digest, &hash);
        hash = outer[i];
        SHA1_Update(&hash, digest, sizeof digest);
        SHA1_Final(digest, &hash);
        memcpy(packet + size, digest, TAG);
    }
}

static void together(int first, int count, int size) {
    cpacketcm_packet jobs[KEYS];
    for (int i = 0; i < count; i++) {
        jobs[i] = (cpacketcm_packet){keys[first + i], (size_t)(first + i) * ROOM, HEADER, size - HEADER, {0}, 0};
        vector_of(jobs[i].vector);
    }
    cpacketcm_seal(sealer, jobs, count, packets[0]);
}

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static double least_of(void (*seal)(int, int, int), int count, int size) {
    double least = 1e9;
    for (int run = 0; run < RUNS; run++) {
        double start = nanoseconds();
        for (round_number = 0; round_number < ROUNDS; round_number++)
            for (int first = 0; first + count <= KEYS; first += count) seal(first, count, size);
        double each = (nanoseconds() - start) / ROUNDS / (KEYS / count * count);
        if (each < least) least = each;
    }
    return least;
}

int main(void) {
    sealer = cpacketcm_sealer_make();
    if (!sealer) return fprintf(stderr, "libIPSec_MB is not there, or of no use here\n"), 1;
    for (int i = 0; i < KEYS; i++) {
        uint8_t encryption[16] = {i, 3, 5}, authentication[20] = {i, 7}, block[64];
        ciphers[i] = EVP_CIPHER_CTX_new();
        EVP_EncryptInit_ex(ciphers[i], EVP_aes_128_ctr(), 0, encryption, 0);
        for (int k = 0; k < 64; k++) block[k] = 0x36 ^ (k < 20 ? authentication[k] : 0);
        SHA1_Init(&inner[i]);
        SHA1_Update(&inner[i], block, sizeof block);
        for (int k = 0; k < 64; k++) block[k] ^= 0x36 ^ 0x5c;
        SHA1_Init(&outer[i]);
        SHA1_Update(&outer[i], block, sizeof block);
        keys[i] = cpacketcm_key_make(encryption, authentication);
    }
    static uint8_t first[KEYS][ROOM];
    one_by_one(0, KEYS, 1150);
    memcpy(first, packets, sizeof first);
    memset(packets, 0, sizeof packets);
    together(0, KEYS, 1150);
    if (memcmp(first, packets, sizeof first)) return fprintf(stderr, "they write something else\n"), 1;
    static const int sizes[] = {1150, 100}, counts[] = {1, 2, 4, 8, 16, 32, 96};
    for (int s = 0; s < 2; s++) {
        printf("%4d bytes  OpenSSL, one by one  %4.0f ns\n", sizes[s], least_of(one_by_one, 1, sizes[s]));
        for (int c = 0; c < 7; c++)
            printf("%4d bytes  ipsec-mb, %2d at once  %4.0f ns\n", sizes[s], counts[c], least_of(together, counts[c], sizes[s]));
    }
    return 0;
}
