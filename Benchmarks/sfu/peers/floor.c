/* floor: the least that forwarding can cost. A process takes packets of 1,200 bytes from one UDP socket, opens each once
   (AES-128-GCM, or AES-CM with HMAC-SHA1-80), and for each of N receivers copies it, writes a sequence number, seals it
   with that receiver's key and sends it with sendmmsg. No RTCP, no ICE, no retransmission, no estimate of anything.
   Another process sends at a pace and drains N sockets, sleeping in between, so that sending pays for waking somebody.

   usage: floor RECEIVERS PACKETS_PER_SECOND SECONDS gcm|cm BURST
   prints the forwarder's CPU time in microseconds for each packet that arrived. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 1200, HEADER = 12, MOST = 1024 };

static int receivers, is_gcm;
static struct sockaddr_in addresses[MOST];
static int sockets[MOST];
static volatile long arrived;

struct session {
    EVP_CIPHER_CTX *cipher;
    SHA_CTX inner, outer; /* of HMAC, with the key's pads taken in */
};

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static int bound_socket(struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof any;
    if (bind(fd, (void *)&any, sizeof any) || getsockname(fd, (void *)&any, &length)) exit(1);
    *address = any;
    return fd;
}

static struct session new_session(int number) {
    uint8_t key[64] = {number, number >> 8, 7};
    struct session session = {.cipher = EVP_CIPHER_CTX_new()};
    EVP_EncryptInit_ex(session.cipher, is_gcm ? EVP_aes_128_gcm() : EVP_aes_128_ctr(), 0, key, 0);
    SHA1_Init(&session.inner);
    SHA1_Update(&session.inner, key, sizeof key);
    SHA1_Init(&session.outer);
    key[5] = 9;
    SHA1_Update(&session.outer, key, sizeof key);
    return session;
}

static int seal(struct session *session, uint8_t *packet, uint32_t sequence) {
    int length;
    if (is_gcm) {
        uint8_t iv[12] = "saltsaltsal";
        memcpy(iv + 8, &sequence, 4);
        EVP_EncryptInit_ex(session->cipher, 0, 0, 0, iv);
        EVP_EncryptUpdate(session->cipher, 0, &length, packet, HEADER);
        EVP_EncryptUpdate(session->cipher, packet + HEADER, &length, packet + HEADER, SIZE - HEADER);
        EVP_EncryptFinal_ex(session->cipher, packet + SIZE, &length);
        EVP_CIPHER_CTX_ctrl(session->cipher, EVP_CTRL_GCM_GET_TAG, 16, packet + SIZE);
        return SIZE + 16;
    }
    uint8_t iv[16] = {0}, digest[SHA_DIGEST_LENGTH];
    memcpy(iv + 10, &sequence, 4);
    EVP_EncryptInit_ex(session->cipher, 0, 0, 0, iv);
    EVP_EncryptUpdate(session->cipher, packet + HEADER, &length, packet + HEADER, SIZE - HEADER);
    SHA_CTX hash = session->inner;
    SHA1_Update(&hash, packet, SIZE);
    SHA1_Final(digest, &hash);
    hash = session->outer;
    SHA1_Update(&hash, digest, sizeof digest);
    SHA1_Final(digest, &hash);
    memcpy(packet + SIZE, digest, 10);
    return SIZE + 10;
}

static void forward(int fd) {
    static uint8_t packet[2048], opened[SIZE + 16], sealed[MOST][SIZE + 16];
    static struct session sessions[MOST + 1];
    static struct mmsghdr messages[MOST];
    static struct iovec pieces[MOST];
    for (int i = 0; i <= receivers; i++) sessions[i] = new_session(i);
    for (int i = 0; i < receivers; i++) {
        pieces[i].iov_base = sealed[i];
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = addresses + i, .msg_namelen = sizeof *addresses, .msg_iov = pieces + i, .msg_iovlen = 1};
    }
    int waiting = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(waiting, EPOLL_CTL_ADD, fd, &event);
    for (uint32_t sequence = 1;;) {
        epoll_wait(waiting, &event, 1, -1);
        for (; recv(fd, packet, sizeof packet, MSG_DONTWAIT) > 0; sequence++) {
            memcpy(opened, packet, SIZE);
            seal(sessions + receivers, opened, sequence); /* opening costs the same */
            for (int i = 0; i < receivers; i++) {
                memcpy(sealed[i], packet, SIZE);
                sealed[i][2] = sequence >> 8, sealed[i][3] = sequence;
                pieces[i].iov_len = seal(sessions + i, sealed[i], sequence);
            }
            for (int done = 0, sent; done < receivers; done += sent)
                if ((sent = sendmmsg(fd, messages + done, receivers - done, 0)) <= 0) break;
        }
    }
}

static void *drain(void *nothing) {
    int waiting = epoll_create1(0);
    for (int i = 0; i < receivers; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = sockets[i]};
        epoll_ctl(waiting, EPOLL_CTL_ADD, sockets[i], &event);
    }
    char buffer[2048];
    struct epoll_event events[256];
    for (;;) {
        int count = epoll_wait(waiting, events, 256, -1);
        for (int i = 0; i < count; i++)
            while (recv(events[i].data.fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) arrived++;
    }
    return nothing;
}

int main(int count, char **arguments) {
    if (count != 6) return fprintf(stderr, "usage: floor RECEIVERS PACKETS_PER_SECOND SECONDS gcm|cm BURST\n"), 2;
    receivers = atoi(arguments[1]);
    int rate = atoi(arguments[2]), burst = atoi(arguments[5]);
    double length = atof(arguments[3]);
    is_gcm = !strcmp(arguments[4], "gcm");
    if (receivers < 1 || receivers > MOST || rate < 1 || burst < 1) return 2;

    struct sockaddr_in forwarder_address, own;
    int forwarder_socket = bound_socket(&forwarder_address);
    for (int i = 0; i < receivers; i++) sockets[i] = bound_socket(addresses + i);
    pid_t forwarder = fork();
    if (!forwarder) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < receivers; i++) close(sockets[i]);
        forward(forwarder_socket);
    }
    close(forwarder_socket);
    pthread_t thread;
    pthread_create(&thread, 0, drain, 0);

    int sender = bound_socket(&own);
    clockid_t clock = (~forwarder) << 3 | 2; /* the forwarder's CPU clock, as clock_getcpuclockid gives it */
    uint8_t packet[SIZE] = {0x80};
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    double start = seconds_of(CLOCK_MONOTONIC), measured_from = 0, cpu = 0;
    long before = 0;
    for (;;) {
        double now = seconds_of(CLOCK_MONOTONIC);
        if (!measured_from && now - start > 1) measured_from = now, cpu = seconds_of(clock), before = arrived;
        if (measured_from && now - measured_from > length) break;
        for (int i = 0; i < burst; i++)
            sendto(sender, packet, SIZE, 0, (void *)&forwarder_address, sizeof forwarder_address);
        next.tv_nsec += 1000000000L / rate * burst;
        while (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
    }
    usleep(20000); /* what was sent last is on its way */
    long packets = arrived - before;
    printf("%.3f\n", (seconds_of(clock) - cpu) / (packets ? packets : 1) * 1e6);
    kill(forwarder, SIGKILL);
    waitpid(forwarder, 0, 0);
}
