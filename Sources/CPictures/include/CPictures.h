#ifndef CPICTURES_H
#define CPICTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a picture, and a small one of it. */
struct cpictures_thumbnail {
    /* In pixels, as it is shown: turned as its Exif data says. */
    int32_t width, height;
    /* NULL where this build cannot decode the format. Belongs to whoever asked: cpictures_free. */
    uint8_t *bytes;
    size_t length;
    /* It has transparent parts, and is PNG; otherwise JPEG. */
    bool is_png;
};

/* Reads a JPEG, PNG, WebP or GIF picture, of an animated one the first, and makes one of it whose longer edge has at
 * most `edge` pixels. One of more than `pixel_limit` pixels is not decoded.
 *
 * Returns whether it is a picture that was read to its end. Crashes of a decoder end the process: not to be called in
 * one that serves others. */
bool cpictures_make(
    const uint8_t *bytes, size_t length, int32_t edge, uint64_t pixel_limit, struct cpictures_thumbnail *result);

void cpictures_free(struct cpictures_thumbnail *result);

#endif
