// Batched UDP system calls, TCP sockets, readiness and interface lists with plain C types. No logic: one function a system
// call (or the loop of single calls where a platform has no batched form). Errors are negative errno values.
#ifndef ROOST_CDATAGRAM_H
#define ROOST_CDATAGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An address and a port. `family` is 4 or 6; an IPv4 address takes the first four bytes of `ip` (network order).
typedef struct {
    uint8_t ip[16];
    uint16_t port;
    uint8_t family;
    uint32_t scope;
} cdatagram_address;

/// A datagram to send: bytes `offset ..< offset + length` of the flat buffer.
typedef struct {
    uint32_t offset;
    uint32_t length;
    cdatagram_address to;
} cdatagram_message;

typedef struct {
    char name[16];
    cdatagram_address address;
    uint8_t is_up;
    uint8_t is_loopback;
    uint8_t is_point_to_point;
} cdatagram_interface;

/// Opens a non-blocking UDP socket bound to `local` (port 0: any) and writes the bound address back.
int cdatagram_open(cdatagram_address *local, int receive_bytes, int send_bytes);
void cdatagram_close(int fd);
/// How many bytes the system lets wait in a socket to be read: what was asked for, or what it allows.
int cdatagram_receive_buffer(int fd);
/// How many datagrams it has dropped since the socket was opened, nearly always because those before them waited. Begins
/// again after 2^32 - 1. -ENOTSUP where the system does not tell.
int64_t cdatagram_receive_drops(int fd);

/// Receives up to `count` datagrams, the i-th into `buffer + i * stride`. Returns how many; 0 when none waits. The length of
/// one that is larger than `stride` is -1 where the system tells that it was cut off; 0 is that of an empty one.
int cdatagram_receive(int fd, uint8_t *buffer, int stride, int count, int32_t *lengths, cdatagram_address *from);

/// Sends `count` datagrams out of `buffer`. Returns how many the kernel took; it may take fewer.
int cdatagram_send(int fd, const uint8_t *buffer, const cdatagram_message *messages, int count);

/// Like `cdatagram_send`, but hands runs of datagrams of one size to one address to the kernel in one piece, which it cuts
/// (UDP_SEGMENT): on the wire nothing differs. `may_segment` becomes 0 when the kernel or a device cannot do that, and
/// nothing was sent then; a run that one path is too narrow for is sent one by one. Where there is no such thing it is `cdatagram_send`.
int cdatagram_send_runs(int fd, const uint8_t *buffer, const cdatagram_message *messages, int count, int *may_segment);

/// Begins a non-blocking TCP connection to `remote` from `local` (null: the system chooses) and writes the local address
/// into `bound`. It stands, or has failed, when the descriptor can be written: see `cdatagram_stream_error`.
int cdatagram_stream_connect(const cdatagram_address *remote, const cdatagram_address *local, cdatagram_address *bound);
/// Opens a non-blocking TCP socket that listens at `local` (port 0: any) and writes the bound address back.
int cdatagram_stream_listen(cdatagram_address *local, int backlog);
/// Takes a waiting connection, non-blocking, with its two addresses; -EAGAIN when there is none.
int cdatagram_stream_accept(int fd, cdatagram_address *remote, cdatagram_address *local);
/// Why a connection failed, as a negative errno; 0 while all is well.
int cdatagram_stream_error(int fd);
/// How many bytes were read; 0 at the end of the stream, -EAGAIN when none waits.
int64_t cdatagram_stream_read(int fd, void *buffer, int64_t capacity);
/// How many bytes the kernel took; -EAGAIN when it takes none. Never raises SIGPIPE.
int64_t cdatagram_stream_write(int fd, const void *bytes, int64_t count);

/// Readiness of many descriptors for reading (epoll on Linux, kqueue elsewhere).
int cdatagram_poller_open(void);
int cdatagram_poller_add(int poller, int fd, uint64_t token);
/// From now on the token also comes when `fd` can be written, or no longer does. For one that was added.
int cdatagram_poller_writable(int poller, int fd, uint64_t token, int wanted);
int cdatagram_poller_remove(int poller, int fd);
/// Waits at most `timeout_ns` (negative: for ever); writes the tokens of what can be read.
int cdatagram_poller_wait(int poller, uint64_t *tokens, int capacity, int64_t timeout_ns);

/// A descriptor pair that wakes a poller: [0] is watched, [1] is written (the same one with eventfd).
int cdatagram_wakeup_open(int fds[2]);
void cdatagram_wakeup_signal(const int fds[2]);
void cdatagram_wakeup_drain(const int fds[2]);
/// Waits until it is signalled or the time is over, and leaves the signal. Returns at once where the system has no fine clock.
void cdatagram_wakeup_wait(const int fds[2], int64_t timeout_ns);
void cdatagram_wakeup_close(const int fds[2]);

/// The host's interface addresses. Returns how many there are (at most `capacity` are written).
int cdatagram_interfaces(cdatagram_interface *interfaces, int capacity);

/// The addresses of a host name, by the system's resolver; blocks. Returns how many were written.
int cdatagram_resolve(const char *host, uint16_t port, cdatagram_address *addresses, int capacity);

/// A descriptor that can be read when this host's addresses or interfaces have changed; -ENOTSUP where the system has none.
int cdatagram_open_address_news(void);
/// Takes what waits there; returns how many messages it was.
int cdatagram_drain_address_news(int fd);

/// A non-blocking UDP socket that sends to multicast groups over the interface that has `local`, from a port of its own,
/// which is written back.
int cdatagram_open_mdns_sender(cdatagram_address *local, const char *interface);

/// A non-blocking UDP socket that hears what is sent to the group of multicast DNS, port 5353, on the interface that has
/// `local`. Any number of programs may have one.
int cdatagram_open_mdns_listener(const cdatagram_address *local, const char *interface);

/// Names the calling thread for debuggers; at most 15 characters count.
void cdatagram_name_thread(const char *name);

/// CLOCK_MONOTONIC in nanoseconds.
int64_t cdatagram_monotonic_ns(void);
/// CLOCK_REALTIME in nanoseconds since 1970.
int64_t cdatagram_realtime_ns(void);

#ifdef __cplusplus
}
#endif
#endif
