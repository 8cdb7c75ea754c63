// Multicast DNS (RFC 6762): sockets for one-shot queries, and sockets that hear what is answered to everybody.
#define _GNU_SOURCE
#include "CDatagram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_socket(int family) {
    int fd = socket(family, SOCK_DGRAM, 0), one = 1;
    if (fd < 0) return -errno;
    int flags = fcntl(fd, F_GETFL, 0);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    return fd;
}

static void local_sockaddr(const cdatagram_address *a, struct sockaddr_storage *s, socklen_t *length) {
    memset(s, 0, sizeof *s);
    if (a->family == 4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)s;
        v4->sin_family = AF_INET;
        memcpy(&v4->sin_addr, a->ip, 4);
        *length = sizeof *v4;
    } else {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)s;
        v6->sin6_family = AF_INET6;
        memcpy(&v6->sin6_addr, a->ip, 16);
        *length = sizeof *v6;
    }
}

int cdatagram_open_mdns_sender(cdatagram_address *local, const char *interface) {
    // RFC 6762 §11: hop limit 255.
    int rc = 0, hops = 255, fd = open_socket(local->family == 4 ? AF_INET : AF_INET6);
    if (fd < 0) return fd;
    struct sockaddr_storage s;
    socklen_t length;
    local_sockaddr(local, &s, &length);
    if (local->family == 4) {
        struct in_addr source;
        memcpy(&source, local->ip, 4);
        if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &source, sizeof source) < 0) rc = -errno;
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof hops);
    } else {
        unsigned index = if_nametoindex(interface);
        if (setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index) < 0) rc = -errno;
        setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops);
    }
    if (rc == 0 && bind(fd, (struct sockaddr *)&s, length) < 0) rc = -errno;
    length = sizeof s;
    if (rc == 0 && getsockname(fd, (struct sockaddr *)&s, &length) < 0) rc = -errno;
    if (rc < 0) {
        close(fd);
        return rc;
    }
    local->port = ntohs(local->family == 4 ? ((struct sockaddr_in *)&s)->sin_port : ((struct sockaddr_in6 *)&s)->sin6_port);
    return fd;
}

int cdatagram_open_mdns_listener(const cdatagram_address *local, const char *interface) {
    int rc = 0, one = 1, fd = open_socket(local->family == 4 ? AF_INET : AF_INET6);
    if (fd < 0) return fd;
    // Other programs of this host listen there too.
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
#ifdef SO_REUSEPORT
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
#endif
    // Bound to the group: what is sent to this host alone is for its own responder.
    if (local->family == 4) {
        struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = htons(5353)};
        inet_pton(AF_INET, "224.0.0.251", &group.sin_addr);
        struct ip_mreq request = {.imr_multiaddr = group.sin_addr};
        memcpy(&request.imr_interface, local->ip, 4);
        if (bind(fd, (struct sockaddr *)&group, sizeof group) < 0) rc = -errno;
        else if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) < 0) rc = -errno;
    } else {
        unsigned index = if_nametoindex(interface);
        struct sockaddr_in6 group = {.sin6_family = AF_INET6, .sin6_port = htons(5353), .sin6_scope_id = index};
        inet_pton(AF_INET6, "ff02::fb", &group.sin6_addr);
        struct ipv6_mreq request = {.ipv6mr_multiaddr = group.sin6_addr, .ipv6mr_interface = index};
        if (bind(fd, (struct sockaddr *)&group, sizeof group) < 0) rc = -errno;
        else if (setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request) < 0) rc = -errno;
    }
    if (rc < 0) {
        close(fd);
        return rc;
    }
    return fd;
}
