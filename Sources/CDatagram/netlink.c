// News of this host's addresses.
#define _GNU_SOURCE
#include "CDatagram.h"

#include <errno.h>

#ifdef __linux__
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int cdatagram_open_address_news(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd < 0) return -errno;
    struct sockaddr_nl local = {
        .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    if (bind(fd, (struct sockaddr *)&local, sizeof local) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

int cdatagram_drain_address_news(int fd) {
    char scratch[8192];
    int count = 0;
    // ENOBUFS says that there was more than the socket holds: news all the same.
    while (count < 64) {
        ssize_t got = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno != ENOBUFS) break;
        count++;
    }
    return count;
}
#else
int cdatagram_open_address_news(void) { return -ENOTSUP; }
int cdatagram_drain_address_news(int fd) {
    (void)fd;
    return 0;
}
#endif
