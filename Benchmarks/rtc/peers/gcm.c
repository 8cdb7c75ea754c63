/* What AES-128-GCM of one packet costs with libraries that Debian has: a loop over a hundred keys, by the thread's clock, least of
   seven. Why Roost takes the one that it takes: docs/decisions/0040-a-packet-is-sealed-in-one-call.md.

   apt-get install libssl-dev libgcrypt20-dev nettle-dev libipsec-mb-dev
   cc -O2 -o gcm gcm.c -lcrypto -lgcrypt -lnettle -lIPSec_MB && ./gcm */
#include <gcrypt.h>
#include <intel-ipsec-mb.h>
#include <nettle/gcm.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEYS = 100, HEADER = 12, ROUNDS = 2000, RUNS = 7 };

static uint8_t packets[KEYS][1500], vector[12];
static EVP_CIPHER_CTX *openssl[KEYS];
static gcry_cipher_hd_t gcrypt[KEYS];
static struct gcm_aes128_ctx nettle[KEYS];
static struct gcm_key_data *schedules[KEYS];
static IMB_MGR *manager;

static void seal_openssl(int i, uint8_t *packet, int size) {
    int length;
    EVP_CipherInit_ex(openssl[i], 0, 0, 0, vector, -1);
    EVP_CipherUpdate(openssl[i], 0, &length, packet, HEADER);
    EVP_CipherUpdate(openssl[i], packet + HEADER, &length, packet + HEADER, size - HEADER);
    EVP_EncryptFinal_ex(openssl[i], packet + size, &length);
    EVP_CIPHER_CTX_ctrl(openssl[i], EVP_CTRL_AEAD_GET_TAG, 16, packet + size);
}

static void seal_gcrypt(int i, uint8_t *packet, int size) {
    gcry_cipher_setiv(gcrypt[i], vector, sizeof vector);
    gcry_cipher_authenticate(gcrypt[i], packet, HEADER);
    gcry_cipher_final(gcrypt[i]);
    gcry_cipher_encrypt(gcrypt[i], packet + HEADER, size - HEADER, 0, 0);
    gcry_cipher_gettag(gcrypt[i], packet + size, 16);
}

static void seal_nettle(int i, uint8_t *packet, int size) {
    gcm_aes128_set_iv(&nettle[i], sizeof vector, vector);
    gcm_aes128_update(&nettle[i], HEADER, packet);
    gcm_aes128_encrypt(&nettle[i], size - HEADER, packet + HEADER, packet + HEADER);
    gcm_aes128_digest(&nettle[i], 16, packet + size);
}

static void seal_ipsec_mb(int i, uint8_t *packet, int size) {
    struct gcm_context_data scratch;
    IMB_AES128_GCM_ENC(
        manager, schedules[i], &scratch, packet + HEADER, packet + HEADER, size - HEADER, vector, packet, HEADER,
        packet + size, 16);
}

static const struct {
    const char *name;
    void (*seal)(int, uint8_t *, int);
} libraries[] = {{"OpenSSL", seal_openssl}, {"libgcrypt", seal_gcrypt}, {"nettle", seal_nettle}, {"ipsec-mb", seal_ipsec_mb}};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(void) {
    gcry_check_version(0);
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
    manager = alloc_mb_mgr(0);
    init_mb_mgr_auto(manager, 0);
    for (int i = 0; i < KEYS; i++) {
        uint8_t key[16] = {i, 3, 5};
        openssl[i] = EVP_CIPHER_CTX_new();
        EVP_CipherInit_ex(openssl[i], EVP_aes_128_gcm(), 0, key, 0, 1);
        gcry_cipher_open(&gcrypt[i], GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_GCM, 0);
        gcry_cipher_setkey(gcrypt[i], key, sizeof key);
        gcm_aes128_set_key(&nettle[i], key);
        schedules[i] = aligned_alloc(64, (sizeof(struct gcm_key_data) + 63) & ~63ul);
        IMB_AES128_GCM_PRE(manager, key, schedules[i]);
    }
    uint8_t first[1500];
    for (int l = 0; l < LIBRARIES; l++) {
        memset(packets[7], 9, sizeof packets[7]);
        libraries[l].seal(7, packets[7], 1150);
        if (l == 0) memcpy(first, packets[7], sizeof first);
        if (memcmp(first, packets[7], sizeof first)) return fprintf(stderr, "%s writes something else\n", libraries[l].name), 1;
    }
    static const int sizes[] = {1150, 100};
    for (int s = 0; s < 2; s++)
        for (int l = 0; l < LIBRARIES; l++) {
            double least = 1e9;
            for (int run = 0; run < RUNS; run++) {
                double start = nanoseconds();
                for (int round = 0; round < ROUNDS; round++) {
                    memcpy(vector, &round, sizeof round);
                    for (int i = 0; i < KEYS; i++) libraries[l].seal(i, packets[i], sizes[s]);
                }
                double each = (nanoseconds() - start) / ROUNDS / KEYS;
                if (each < least) least = each;
            }
            printf("%4d bytes  %-10s %4.0f ns\n", sizes[s], libraries[l].name, least);
        }
    return 0;
}
