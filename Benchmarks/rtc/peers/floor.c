/* floor: the least that packets can cost, received or sent, as `run.py` counts them: AES-128-GCM by OpenSSL, the kernel, and
   nothing else. No header is parsed, no sender looked up, no feedback written or read, nobody is asked for consent.
   Received, a process sleeps until something comes, rests for 250 us as Roost does within a burst, takes all there is with
   recvmmsg and opens it. Sent, it seals a frame's packets and hands them to the kernel in one call, with segmentation
   offload. The other end is a process of its own that keeps Pion's pace: one packet each 12 us of a burst.

   usage: floor received|sent FRAMES_PER_SECOND PACKETS_PER_FRAME SECONDS
   prints {"us": CPU microseconds a packet, "rate": packets a second}. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { SIZE = 1170, HEADER = 20, TAG = 16, WIRE = SIZE + TAG, MOST = 40 };

static long *handled; /* by the process that is measured; in memory that both see */

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static void advance(struct timespec *time, long nanoseconds) {
    time->tv_nsec += nanoseconds;
    while (time->tv_nsec >= 1000000000) time->tv_nsec -= 1000000000, time->tv_sec++;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, time, 0);
}

static EVP_CIPHER_CTX *new_cipher(int seals) {
    static const uint8_t key[16] = {7, 7, 7};
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    if (!EVP_CipherInit_ex(cipher, EVP_aes_128_gcm(), 0, key, 0, seals)) exit(1);
    return cipher;
}

static void seal(EVP_CIPHER_CTX *cipher, uint8_t *packet, uint32_t sequence) {
    uint8_t iv[12] = "saltsaltsal";
    int length;
    packet[2] = sequence >> 8, packet[3] = sequence;
    memcpy(iv + 10, packet + 2, 2);
    EVP_CipherInit_ex(cipher, 0, 0, 0, iv, -1);
    EVP_CipherUpdate(cipher, 0, &length, packet, HEADER);
    EVP_CipherUpdate(cipher, packet + HEADER, &length, packet + HEADER, SIZE - HEADER);
    EVP_CipherFinal_ex(cipher, packet + SIZE, &length);
    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, TAG, packet + SIZE);
}

static int open_sealed(EVP_CIPHER_CTX *cipher, uint8_t *packet) {
    uint8_t iv[12] = "saltsaltsal";
    int length;
    memcpy(iv + 10, packet + 2, 2);
    EVP_CipherInit_ex(cipher, 0, 0, 0, iv, -1);
    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, TAG, packet + SIZE);
    EVP_CipherUpdate(cipher, 0, &length, packet, HEADER);
    EVP_CipherUpdate(cipher, packet + HEADER, &length, packet + HEADER, SIZE - HEADER);
    return EVP_CipherFinal_ex(cipher, packet + SIZE, &length);
}

static void receive(int fd, int opens) {
    static uint8_t packets[64][2048];
    static struct mmsghdr messages[64];
    static struct iovec pieces[64];
    EVP_CIPHER_CTX *cipher = new_cipher(0);
    for (int i = 0; i < 64; i++) {
        pieces[i] = (struct iovec){packets[i], sizeof packets[i]};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = pieces + i, .msg_iovlen = 1};
    }
    for (;;) {
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 250000}, 0);
        int count = recvmmsg(fd, messages, 64, MSG_DONTWAIT, 0);
        for (int i = 0; opens && i < count; i++) {
            if (messages[i].msg_len != WIRE || !open_sealed(cipher, packets[i])) exit(1);
            ++*handled;
        }
    }
}

static void send_frames(int fd, int frames, int per_frame, int is_measured) {
    static uint8_t packets[MOST * WIRE];
    EVP_CIPHER_CTX *cipher = new_cipher(1);
    char room[CMSG_SPACE(sizeof(uint16_t))] = {0};
    struct iovec piece = {packets, per_frame * WIRE};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    *control = (struct cmsghdr){.cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT, .cmsg_len = CMSG_LEN(sizeof(uint16_t))};
    *(uint16_t *)CMSG_DATA(control) = WIRE;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (uint32_t sequence = 0;;) {
        double begin = seconds_of(CLOCK_MONOTONIC);
        for (int i = 0; i < per_frame; i++) {
            seal(cipher, packets + i * WIRE, sequence++);
            if (is_measured) continue;
            while (seconds_of(CLOCK_MONOTONIC) < begin + i * 12e-6) {}
            send(fd, packets + i * WIRE, WIRE, 0);
        }
        if (is_measured && sendmsg(fd, &message, 0) == (ssize_t)piece.iov_len) *handled += per_frame;
        advance(&next, 1000000000L / frames);
    }
}

int main(int count, char **arguments) {
    int frames = count == 5 ? atoi(arguments[2]) : 0, per_frame = count == 5 ? atoi(arguments[3]) : 0;
    int receives = count == 5 && !strcmp(arguments[1], "received");
    if (frames < 1 || per_frame < 1 || per_frame > MOST || (!receives && strcmp(arguments[1], "sent")))
        return fprintf(stderr, "usage: floor received|sent FRAMES_PER_SECOND PACKETS_PER_FRAME SECONDS\n"), 2;

    handled = mmap(0, sizeof *handled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int from = socket(AF_INET, SOCK_DGRAM, 0), to = socket(AF_INET, SOCK_DGRAM, 0), room = 4 << 20;
    setsockopt(to, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    setsockopt(from, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(to, (void *)&address, length) || getsockname(to, (void *)&address, &length)) return 1;
    if (connect(from, (void *)&address, length)) return 1;

    pid_t processes[2]; /* the measured one first */
    for (int i = 0; i < 2; i++) {
        if ((processes[i] = fork())) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (receives == (i == 0)) receive(to, i == 0);
        send_frames(from, frames, per_frame, i == 0);
    }
    clockid_t clock = (~processes[0]) << 3 | 2; /* its CPU clock, as clock_getcpuclockid gives it */
    sleep(1);
    double cpu = seconds_of(clock), wall = seconds_of(CLOCK_MONOTONIC);
    long before = *(volatile long *)handled;
    usleep(atof(arguments[4]) * 1e6);
    cpu = seconds_of(clock) - cpu, wall = seconds_of(CLOCK_MONOTONIC) - wall;
    long packets = *(volatile long *)handled - before;
    for (int i = 0; i < 2; i++) kill(processes[i], SIGKILL), waitpid(processes[i], 0, 0);
    if (!packets) return fprintf(stderr, "nothing arrived\n"), 1;
    printf("{\"us\": %.3f, \"rate\": %.0f}\n", cpu * 1e6 / packets, packets / wall);
}
