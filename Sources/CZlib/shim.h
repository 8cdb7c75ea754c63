// zlib for Swift. Its initializers are macros, which Swift cannot import: each that we use has a wrapper here. No logic.
#ifndef ROOST_CZLIB_SHIM_H
#define ROOST_CZLIB_SHIM_H

#include <zlib.h>

/// Reads gzip (RFC 1952) and nothing else: 16 beside the largest window asks for its header and trailer.
static inline int czlib_inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 16 + MAX_WBITS); }

/// Reads DEFLATE (RFC 1951) without anything around it, which a negative window asks for.
static inline int czlib_inflate_init_raw(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }

/// Writes it.
static inline int czlib_deflate_init_raw(z_stream *stream) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}

#endif
