#define _GNU_SOURCE
#include "CDatagram.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <linux/sock_diag.h>
#else
#include <sys/event.h>
#endif

#define BATCH 64

static socklen_t to_sockaddr(const cdatagram_address *a, struct sockaddr_storage *s) {
    memset(s, 0, sizeof *s);
    if (a->family == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)s;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(a->port);
        memcpy(&v4->sin_addr, a->ip, 4);
        return sizeof *v4;
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)s;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(a->port);
    v6->sin6_scope_id = a->scope;
    memcpy(&v6->sin6_addr, a->ip, 16);
    return sizeof *v6;
}

static void from_sockaddr(const struct sockaddr *s, cdatagram_address *a) {
    memset(a, 0, sizeof *a);
    if (s->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)s;
        a->family = 4;
        a->port = ntohs(v4->sin_port);
        memcpy(a->ip, &v4->sin_addr, 4);
    } else if (s->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)s;
        a->family = 6;
        a->port = ntohs(v6->sin6_port);
        a->scope = v6->sin6_scope_id;
        memcpy(a->ip, &v6->sin6_addr, 16);
    }
}

static int set_flags(int fd) {
    int flags = fcntl(fd, F_GETFL, 0);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return -errno;
    return 0;
}

int cdatagram_open(cdatagram_address *local, int receive_bytes, int send_bytes) {
    struct sockaddr_storage s;
    socklen_t length = to_sockaddr(local, &s);
    int fd = socket(s.ss_family, SOCK_DGRAM, 0);
    if (fd < 0) return -errno;
    int one = 1, rc = set_flags(fd);
    if (rc < 0) { close(fd); return rc; }
    if (local->family == 6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    // Linux applies its limit silently, others refuse what is beyond theirs. A smaller buffer means earlier loss under load.
    while (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes) < 0 && receive_bytes > 1 << 16)
        receive_bytes /= 2;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    if (bind(fd, (struct sockaddr *)&s, length) < 0) { rc = -errno; close(fd); return rc; }
    length = sizeof s;
    if (getsockname(fd, (struct sockaddr *)&s, &length) < 0) { rc = -errno; close(fd); return rc; }
    from_sockaddr((struct sockaddr *)&s, local);
    return fd;
}

void cdatagram_close(int fd) { close(fd); }

int cdatagram_receive_buffer(int fd) {
    int bytes = 0;
    socklen_t length = sizeof bytes;
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length) < 0) return -errno;
#ifdef __linux__
    // Linux tells twice of what was asked for: the other half is for its own book-keeping.
    bytes /= 2;
#endif
    return bytes;
}

int64_t cdatagram_receive_drops(int fd) {
#ifdef __linux__
    uint32_t information[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof information;
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, information, &length) < 0) return -errno;
    // Linux before 4.12 has no such option, some sandboxes fewer figures.
    return length >= sizeof information ? (int64_t)information[SK_MEMINFO_DROPS] : -ENOTSUP;
#else
    (void)fd;
    return -ENOTSUP;
#endif
}

#ifdef __linux__
int cdatagram_receive(int fd, uint8_t *buffer, int stride, int count, int32_t *lengths, cdatagram_address *from) {
    struct mmsghdr headers[BATCH];
    struct iovec vectors[BATCH];
    struct sockaddr_storage names[BATCH];
    if (count > BATCH) count = BATCH;
    memset(headers, 0, sizeof headers[0] * (size_t)count);
    for (int i = 0; i < count; i++) {
        vectors[i].iov_base = buffer + (size_t)i * (size_t)stride;
        vectors[i].iov_len = (size_t)stride;
        headers[i].msg_hdr.msg_iov = &vectors[i];
        headers[i].msg_hdr.msg_iovlen = 1;
        headers[i].msg_hdr.msg_name = &names[i];
        headers[i].msg_hdr.msg_namelen = sizeof names[i];
    }
    int got;
    do got = recvmmsg(fd, headers, (unsigned)count, MSG_DONTWAIT, NULL);
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    for (int i = 0; i < got; i++) {
        lengths[i] = headers[i].msg_hdr.msg_flags & MSG_TRUNC ? -1 : (int32_t)headers[i].msg_len;
        from_sockaddr((struct sockaddr *)&names[i], &from[i]);
    }
    return got;
}

int cdatagram_send(int fd, const uint8_t *buffer, const cdatagram_message *messages, int count) {
    struct mmsghdr headers[BATCH];
    struct iovec vectors[BATCH];
    struct sockaddr_storage names[BATCH];
    if (count > BATCH) count = BATCH;
    memset(headers, 0, sizeof headers[0] * (size_t)count);
    for (int i = 0; i < count; i++) {
        vectors[i].iov_base = (void *)(buffer + messages[i].offset);
        vectors[i].iov_len = messages[i].length;
        headers[i].msg_hdr.msg_iov = &vectors[i];
        headers[i].msg_hdr.msg_iovlen = 1;
        headers[i].msg_hdr.msg_name = &names[i];
        headers[i].msg_hdr.msg_namelen = to_sockaddr(&messages[i].to, &names[i]);
    }
    int sent;
    do sent = sendmmsg(fd, headers, (unsigned)count, MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

// The kernel's limits: UDP_MAX_SEGMENTS, and what one datagram may measure before it is cut.
#define RUN_SEGMENTS 64
#define RUN_BYTES 65000
// Pieces of memory in one system call.
#define RUN_VECTORS 256
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

static int same_address(const cdatagram_address *a, const cdatagram_address *b) {
    return a->port == b->port && a->family == b->family && a->scope == b->scope &&
           memcmp(a->ip, b->ip, a->family == 4 ? 4 : 16) == 0;
}

// How many of the messages from the first one on go as one piece: of one size, the last one at most that.
static int run_length(const cdatagram_message *m, int count) {
    uint32_t total = m[0].length;
    int n = 1;
    while (n < count && n < RUN_SEGMENTS && m[n - 1].length == m[0].length && m[n].length <= m[0].length &&
           m[n].length > 0 && total + m[n].length <= RUN_BYTES && same_address(&m[n].to, &m[0].to))
        total += m[n++].length;
    return n;
}

int cdatagram_send_runs(int fd, const uint8_t *buffer, const cdatagram_message *messages, int count, int *may_segment) {
    struct mmsghdr headers[BATCH];
    struct iovec vectors[RUN_VECTORS];
    struct sockaddr_storage names[BATCH];
    int lengths[BATCH];
    union {
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
        struct cmsghdr aligned;
    } controls[BATCH];
    if (!*may_segment) return cdatagram_send(fd, buffer, messages, count);
    int pieces = 0, used = 0;
    memset(headers, 0, sizeof headers[0] * (size_t)(count < BATCH ? count : BATCH));
    for (int i = 0; i < count && pieces < BATCH && used < RUN_VECTORS; pieces++) {
        const cdatagram_message *first = &messages[i];
        int left = count - i < RUN_VECTORS - used ? count - i : RUN_VECTORS - used;
        int n = lengths[pieces] = run_length(first, left);
        struct msghdr *header = &headers[pieces].msg_hdr;
        header->msg_iov = &vectors[used];
        for (int j = 0; j < n; j++) {
            uint8_t *bytes = (uint8_t *)buffer + first[j].offset;
            // Side by side they are one piece of memory.
            if (j > 0 && first[j].offset == first[j - 1].offset + first[j - 1].length) {
                vectors[used - 1].iov_len += first[j].length;
            } else {
                vectors[used].iov_base = bytes;
                vectors[used++].iov_len = first[j].length;
            }
        }
        header->msg_iovlen = (size_t)(&vectors[used] - header->msg_iov);
        header->msg_name = &names[pieces];
        header->msg_namelen = to_sockaddr(&first->to, &names[pieces]);
        if (n > 1) {
            uint16_t size = (uint16_t)first->length;
            header->msg_control = controls[pieces].bytes;
            header->msg_controllen = sizeof controls[pieces].bytes;
            struct cmsghdr *control = CMSG_FIRSTHDR(header);
            control->cmsg_level = IPPROTO_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof size);
            memcpy(CMSG_DATA(control), &size, sizeof size);
        }
        i += n;
    }
    int sent;
    do sent = sendmmsg(fd, headers, (unsigned)pieces, MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (lengths[0] == 1) return -errno;
        // This path is narrower than others, as anybody can say of their own: these go one by one, which the kernel cuts.
        if (errno == EINVAL || errno == EMSGSIZE) return cdatagram_send(fd, buffer, messages, lengths[0]);
        // EIO: the route's device makes no checksums. The others: an old kernel.
        if (errno == EIO || errno == EOPNOTSUPP || errno == ENOPROTOOPT) *may_segment = 0;
        return -errno;
    }
    int messages_sent = 0;
    for (int i = 0; i < sent; i++) messages_sent += lengths[i];
    return messages_sent;
}

int cdatagram_poller_open(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int cdatagram_poller_add(int poller, int fd, uint64_t token) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = token};
    return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int cdatagram_poller_writable(int poller, int fd, uint64_t token, int wanted) {
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.u64 = token};
    return epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

int cdatagram_poller_remove(int poller, int fd) {
    struct epoll_event event = {0};
    return epoll_ctl(poller, EPOLL_CTL_DEL, fd, &event) < 0 ? -errno : 0;
}

int cdatagram_poller_wait(int poller, uint64_t *tokens, int capacity, int64_t timeout_ns) {
    struct epoll_event events[BATCH];
    if (capacity > BATCH) capacity = BATCH;
    // Rounded up: a wait that ends just short of a deadline would spin until it is reached.
    int64_t milliseconds = timeout_ns < 0 ? -1 : (timeout_ns + 999999) / 1000000;
    if (milliseconds > 3600000) milliseconds = 3600000;
    int count = epoll_wait(poller, events, capacity, (int)milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) tokens[i] = events[i].data.u64;
    return count;
}

int cdatagram_wakeup_open(int fds[2]) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) return -errno;
    fds[0] = fds[1] = fd;
    return 0;
}

void cdatagram_wakeup_signal(const int fds[2]) {
    uint64_t one = 1;
    // EAGAIN means the counter is full: the poller is awake already.
    ssize_t written = write(fds[1], &one, sizeof one);
    (void)written;
}

void cdatagram_wakeup_drain(const int fds[2]) {
    uint64_t value;
    ssize_t got = read(fds[0], &value, sizeof value);
    (void)got;
}

void cdatagram_wakeup_wait(const int fds[2], int64_t timeout_ns) {
    struct pollfd signal = {.fd = fds[0], .events = POLLIN};
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    ppoll(&signal, 1, &timeout, NULL);
}

void cdatagram_wakeup_close(const int fds[2]) { close(fds[0]); }

#else

int cdatagram_receive(int fd, uint8_t *buffer, int stride, int count, int32_t *lengths, cdatagram_address *from) {
    int got = 0;
    for (; got < count; got++) {
        struct sockaddr_storage name;
        socklen_t length = sizeof name;
        ssize_t n = recvfrom(fd, buffer + (size_t)got * (size_t)stride, (size_t)stride, MSG_DONTWAIT,
                             (struct sockaddr *)&name, &length);
        if (n < 0) return got > 0 || errno == EAGAIN ? got : -errno;
        lengths[got] = (int32_t)n;
        from_sockaddr((struct sockaddr *)&name, &from[got]);
    }
    return got;
}

int cdatagram_send(int fd, const uint8_t *buffer, const cdatagram_message *messages, int count) {
    for (int i = 0; i < count; i++) {
        struct sockaddr_storage name;
        socklen_t length = to_sockaddr(&messages[i].to, &name);
        if (sendto(fd, buffer + messages[i].offset, messages[i].length, MSG_DONTWAIT, (struct sockaddr *)&name,
                   length) < 0)
            return i > 0 ? i : -errno;
    }
    return count;
}

int cdatagram_send_runs(int fd, const uint8_t *buffer, const cdatagram_message *messages, int count, int *may_segment) {
    *may_segment = 0;
    return cdatagram_send(fd, buffer, messages, count);
}

int cdatagram_poller_open(void) {
    int fd = kqueue();
    return fd < 0 ? -errno : fd;
}

int cdatagram_poller_add(int poller, int fd, uint64_t token) {
    struct kevent change;
    EV_SET(&change, fd, EVFILT_READ, EV_ADD, 0, 0, (void *)(uintptr_t)token);
    return kevent(poller, &change, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

int cdatagram_poller_writable(int poller, int fd, uint64_t token, int wanted) {
    struct kevent change;
    EV_SET(&change, fd, EVFILT_WRITE, wanted ? EV_ADD : EV_DELETE, 0, 0, (void *)(uintptr_t)token);
    if (kevent(poller, &change, 1, NULL, 0, NULL) == 0) return 0;
    return !wanted && errno == ENOENT ? 0 : -errno;
}

int cdatagram_poller_remove(int poller, int fd) {
    struct kevent change;
    EV_SET(&change, fd, EVFILT_READ, EV_DELETE, 0, 0, NULL);
    return kevent(poller, &change, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

int cdatagram_poller_wait(int poller, uint64_t *tokens, int capacity, int64_t timeout_ns) {
    struct kevent events[BATCH];
    if (capacity > BATCH) capacity = BATCH;
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    int count = kevent(poller, NULL, 0, events, capacity, timeout_ns < 0 ? NULL : &timeout);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) tokens[i] = (uint64_t)(uintptr_t)events[i].udata;
    return count;
}

int cdatagram_wakeup_open(int fds[2]) {
    if (pipe(fds) < 0) return -errno;
    set_flags(fds[0]);
    set_flags(fds[1]);
    return 0;
}

void cdatagram_wakeup_signal(const int fds[2]) {
    uint8_t one = 1;
    ssize_t written = write(fds[1], &one, 1);
    (void)written;
}

void cdatagram_wakeup_drain(const int fds[2]) {
    uint8_t scratch[256];
    while (read(fds[0], scratch, sizeof scratch) == (ssize_t)sizeof scratch) {}
}

void cdatagram_wakeup_wait(const int fds[2], int64_t timeout_ns) {
    (void)fds;
    (void)timeout_ns;
}

void cdatagram_wakeup_close(const int fds[2]) {
    close(fds[0]);
    close(fds[1]);
}
#endif

static int stream_options(int fd) {
    int one = 1;
    // Small packets in real time: waiting to fill a segment is what they cannot afford.
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
#ifdef SO_NOSIGPIPE
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof one);
#endif
    return set_flags(fd);
}

static int stream_open(const cdatagram_address *local, int family, int listens) {
    int fd = socket(family == 6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    int one = 1, rc = stream_options(fd);
    if (family == 6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    // Connections that a program before has ended keep its port for a minute (RFC 9293, TIME-WAIT). On Linux a port
    // that somebody listens on is taken all the same; elsewhere at this very address.
    if (listens) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (rc == 0 && local) {
        struct sockaddr_storage s;
        socklen_t length = to_sockaddr(local, &s);
        if (bind(fd, (struct sockaddr *)&s, length) < 0) rc = -errno;
    }
    if (rc == 0) return fd;
    close(fd);
    return rc;
}

static int stream_name(int fd, cdatagram_address *local) {
    struct sockaddr_storage s;
    socklen_t length = sizeof s;
    if (getsockname(fd, (struct sockaddr *)&s, &length) < 0) return -errno;
    from_sockaddr((struct sockaddr *)&s, local);
    return 0;
}

int cdatagram_stream_connect(const cdatagram_address *remote, const cdatagram_address *local, cdatagram_address *bound) {
    int fd = stream_open(local, remote->family, 0);
    if (fd < 0) return fd;
    struct sockaddr_storage s;
    socklen_t length = to_sockaddr(remote, &s);
    int rc = connect(fd, (struct sockaddr *)&s, length) < 0 && errno != EINPROGRESS && errno != EINTR ? -errno : 0;
    if (rc == 0) rc = stream_name(fd, bound);
    if (rc == 0) return fd;
    close(fd);
    return rc;
}

int cdatagram_stream_listen(cdatagram_address *local, int backlog) {
    int fd = stream_open(local, local->family, 1);
    if (fd < 0) return fd;
    int rc = listen(fd, backlog) < 0 ? -errno : stream_name(fd, local);
    if (rc == 0) return fd;
    close(fd);
    return rc;
}

int cdatagram_stream_accept(int fd, cdatagram_address *remote, cdatagram_address *local) {
    struct sockaddr_storage s;
    socklen_t length = sizeof s;
    int got;
    do got = accept(fd, (struct sockaddr *)&s, &length);
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    from_sockaddr((struct sockaddr *)&s, remote);
    int rc = stream_options(got);
    if (rc == 0) rc = stream_name(got, local);
    if (rc == 0) return got;
    close(got);
    return rc;
}

int cdatagram_stream_error(int fd) {
    int code = 0;
    socklen_t length = sizeof code;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) < 0) return -errno;
    return -code;
}

int64_t cdatagram_stream_read(int fd, void *buffer, int64_t capacity) {
    ssize_t got;
    do got = recv(fd, buffer, (size_t)capacity, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got < 0 ? (errno == EWOULDBLOCK ? -EAGAIN : -errno) : got;
}

int64_t cdatagram_stream_write(int fd, const void *bytes, int64_t count) {
#ifdef MSG_NOSIGNAL
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
#else
    int flags = MSG_DONTWAIT;
#endif
    ssize_t sent;
    do sent = send(fd, bytes, (size_t)count, flags);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? (errno == EWOULDBLOCK ? -EAGAIN : -errno) : sent;
}

int cdatagram_interfaces(cdatagram_interface *interfaces, int capacity) {
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) < 0) return -errno;
    int count = 0;
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr) continue;
        if (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6) continue;
        if (count < capacity) {
            cdatagram_interface *out = &interfaces[count];
            memset(out, 0, sizeof *out);
            strncpy(out->name, i->ifa_name, sizeof out->name - 1);
            from_sockaddr(i->ifa_addr, &out->address);
            out->is_up = (i->ifa_flags & IFF_UP) != 0;
            out->is_loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
            out->is_point_to_point = (i->ifa_flags & IFF_POINTOPOINT) != 0;
        }
        count++;
    }
    freeifaddrs(list);
    return count;
}

int cdatagram_resolve(const char *host, uint16_t port, cdatagram_address *addresses, int capacity) {
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG}, *list = NULL;
    if (getaddrinfo(host, NULL, &hints, &list) != 0) return 0;
    int count = 0;
    for (struct addrinfo *i = list; i && count < capacity; i = i->ai_next) {
        if (i->ai_family != AF_INET && i->ai_family != AF_INET6) continue;
        from_sockaddr(i->ai_addr, &addresses[count]);
        addresses[count].port = port;
        count++;
    }
    freeaddrinfo(list);
    return count;
}

void cdatagram_name_thread(const char *name) {
    char short_name[16];
    snprintf(short_name, sizeof short_name, "%s", name);
#ifdef __linux__
    pthread_setname_np(pthread_self(), short_name);
#else
    pthread_setname_np(short_name);
#endif
}

int64_t cdatagram_monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t cdatagram_realtime_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
