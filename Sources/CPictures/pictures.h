#ifndef PICTURES_H
#define PICTURES_H

#include "CPictures.h"

/* Decoded: red, green, blue, alpha, row by row, not multiplied. */
struct pixels {
    uint8_t *bytes;
    int32_t width, height;
};

enum reading {
    /* It is of another format. */
    reading_other,
    reading_failed,
    /* The size is known, and nothing can be decoded. */
    reading_size,
    reading_done,
};

/* Each fills in `result`'s size, and `pixels` where it returns reading_done. */
enum reading read_jpeg(
    const uint8_t *, size_t, int32_t edge, uint64_t limit, struct cpictures_thumbnail *, struct pixels *);
enum reading read_png(const uint8_t *, size_t, uint64_t limit, struct cpictures_thumbnail *, struct pixels *);
enum reading read_webp(const uint8_t *, size_t, uint64_t limit, struct cpictures_thumbnail *, struct pixels *);
enum reading read_gif(const uint8_t *, size_t, uint64_t limit, struct cpictures_thumbnail *, struct pixels *);

/* Of 1 to 8 (Exif 2.32, 4.6.4, tag 0x0112), how the stored rows and columns are shown. False without memory. */
bool turn(struct pixels *, int orientation);
/* Makes it smaller, each pixel the mean of those that it covers. False without memory. */
bool shrink(struct pixels *, int32_t edge);
bool has_transparency(const struct pixels *);
bool write_jpeg(const struct pixels *, struct cpictures_thumbnail *);
bool write_png(const struct pixels *, struct cpictures_thumbnail *);

/* False for sizes that are none, or beyond the limit. */
bool is_bearable(uint64_t width, uint64_t height, uint64_t limit);

#endif
