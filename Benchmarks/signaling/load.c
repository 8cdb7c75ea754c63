// Loads a Socket.IO server over WebSockets: load PORT PID CONNECTIONS ROOM_SIZE MESSAGES_PER_SECOND SECONDS
// Every message (300 bytes, `candidate`) has to reach the other members of the sender's room. Prints one line:
// microseconds of server CPU per delivery, KiB of server memory per connection, deliveries, lost deliveries.
// `load floor` prints what the kernel alone takes today to send 300 bytes over one of 200 loopback connections: no
// server that writes once per delivery can be below it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 16384, FRAME = 300 };

struct peer {
    int fd;
    int filled;
    unsigned char buffer[BUFFER];
};

static struct peer *peers;
static long delivered;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now)) fail("clock");
    return now.tv_sec + now.tv_nsec / 1e9;
}

// The CPU clock of another process (Linux' encoding of process clocks).
static double cpu(int pid) { return seconds((clockid_t)((~(unsigned)pid) << 3 | 2)); }

static long resident_kib(int pid) {
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kib);
    if (file) fclose(file);
    return kib;
}

// A client has to mask; the key zero leaves the bytes as they are.
static int frame(unsigned char *out, const char *text, int length) {
    int head = 0;
    out[head++] = 0x81;
    if (length < 126) {
        out[head++] = 0x80 | length;
    } else {
        out[head++] = 0x80 | 126;
        out[head++] = length >> 8;
        out[head++] = length;
    }
    memset(out + head, 0, 4);
    memcpy(out + head + 4, text, length);
    return head + 4 + length;
}

static void send_text(struct peer *peer, const char *text, int length) {
    unsigned char out[1024];
    int size = frame(out, text, length);
    if (send(peer->fd, out, size, MSG_NOSIGNAL) != size) fail("send");
}

// Handles the complete frames in the buffer. Returns the first byte after the Engine.IO type of the last message.
static int take_frames(struct peer *peer) {
    int at = 0, last = 0;
    while (peer->filled - at >= 2) {
        unsigned char *f = peer->buffer + at;
        int length = f[1] & 127, head = 2;
        if (length == 126) {
            if (peer->filled - at < 4) break;
            length = f[2] << 8 | f[3];
            head = 4;
        }
        if (peer->filled - at < head + length) break;
        if (length >= 1 && f[head] == '2') send_text(peer, "3", 1);
        if (length >= 2 && f[head] == '4') {
            last = f[head + 1];
            if (last == '2') delivered++;
        }
        if (length >= 1 && f[head] == '0') last = 'o';
        at += head + length;
    }
    memmove(peer->buffer, peer->buffer + at, peer->filled - at);
    peer->filled -= at;
    return last;
}

static void await_packet(struct peer *peer, int wanted) {
    for (;;) {
        if (take_frames(peer) == wanted) return;
        ssize_t got = recv(peer->fd, peer->buffer + peer->filled, BUFFER - peer->filled, 0);
        if (got <= 0) fail("the server closed the connection");
        peer->filled += got;
    }
}

static void join(struct peer *peer, int port, int room) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    char text[512];
    int one = 1;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    peer->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(peer->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int length = snprintf(text, sizeof text,
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    if (send(peer->fd, text, length, 0) != length) fail("send");
    unsigned char *end = NULL;
    while (!end) {
        ssize_t got = recv(peer->fd, peer->buffer + peer->filled, BUFFER - peer->filled, 0);
        if (got <= 0) fail("handshake");
        peer->filled += got;
        end = memmem(peer->buffer, peer->filled, "\r\n\r\n", 4);
    }
    int head = end + 4 - peer->buffer;
    memmove(peer->buffer, peer->buffer + head, peer->filled - head);
    peer->filled -= head;
    await_packet(peer, 'o');
    send_text(peer, "40", 2);
    await_packet(peer, '0');
    length = snprintf(text, sizeof text, "420[\"join\",\"room-%d\"]", room);
    send_text(peer, text, length);
    await_packet(peer, '3');
    fcntl(peer->fd, F_SETFL, O_NONBLOCK);
}

static void measure_floor(void) {
    enum { PAIRS = 200, ROUNDS = 200 };
    int from[PAIRS], to[PAIRS];
    char bytes[FRAME + 4] = {0};
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, PAIRS)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    for (int i = 0; i < PAIRS; i++) {
        from[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(from[i], (struct sockaddr *)&address, size)) fail("connect");
        to[i] = accept(listener, NULL, NULL);
    }
    double used = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < PAIRS; i++)
            if (send(from[i], bytes, sizeof bytes, 0) != sizeof bytes) fail("send");
        used += seconds(CLOCK_THREAD_CPUTIME_ID) - start;
        for (int i = 0; i < PAIRS; i++)
            if (recv(to[i], bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes) fail("recv");
    }
    printf("%.2f 0 %d 0\n", used * 1e6 / (PAIRS * ROUNDS), PAIRS * ROUNDS);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "floor")) {
        measure_floor();
        return 0;
    }
    if (argc != 7) {
        fprintf(stderr, "load PORT PID CONNECTIONS ROOM_SIZE MESSAGES_PER_SECOND SECONDS\n");
        return 2;
    }
    int port = atoi(argv[1]), pid = atoi(argv[2]), count = atoi(argv[3]), size = atoi(argv[4]);
    double rate = atof(argv[5]), duration = atof(argv[6]);
    long before = resident_kib(pid);
    peers = calloc(count, sizeof *peers);
    int poll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        join(&peers[i], port, i / size);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &peers[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, peers[i].fd, &event);
    }
    double each = (double)(resident_kib(pid) - before) / count;

    char message[FRAME + 1];
    int length = snprintf(message, sizeof message,
        "42[\"candidate\",{\"sdpMid\":\"0\",\"sdpMLineIndex\":0,\"candidate\":\"candidate:842163049 1 udp 1677729535 "
        "203.0.113.7 46154 typ srflx raddr 10.0.0.17 rport 46154 generation 0 ufrag ");
    while (length < FRAME - 3) message[length++] = 'x';
    memcpy(message + length, "\"}]", 3);

    struct epoll_event events[256];
    long sent = 0;
    double start = seconds(CLOCK_MONOTONIC), used = cpu(pid), end = start + duration, stop = end + 3;
    for (;;) {
        double now = seconds(CLOCK_MONOTONIC);
        while (now < end && sent < (now - start) * rate) {
            // Each sender in turn; rooms of two send both ways.
            send_text(&peers[sent % count], message, FRAME);
            sent++;
        }
        if (now >= end && (delivered >= sent * (size - 1) || now > stop)) break;
        int ready = epoll_wait(poll, events, 256, 1);
        for (int i = 0; i < ready; i++) {
            struct peer *peer = events[i].data.ptr;
            ssize_t got = recv(peer->fd, peer->buffer + peer->filled, BUFFER - peer->filled, 0);
            if (got == 0) fail("the server closed a connection");
            if (got > 0) {
                peer->filled += got;
                take_frames(peer);
            }
        }
    }
    used = cpu(pid) - used;
    printf("%.2f %.1f %ld %ld\n", used * 1e6 / delivered, each, delivered, sent * (size - 1) - delivered);
    return 0;
}
