#include "pictures.h"

#include <stdlib.h>
#include <string.h>

bool cpictures_make(
    const uint8_t *bytes, size_t length, int32_t edge, uint64_t limit, struct cpictures_thumbnail *result) {
    struct pixels pixels = {0};
    memset(result, 0, sizeof *result);
    enum reading reading = read_jpeg(bytes, length, edge, limit, result, &pixels);
    if (reading == reading_other) reading = read_png(bytes, length, limit, result, &pixels);
    if (reading == reading_other) reading = read_webp(bytes, length, limit, result, &pixels);
    if (reading == reading_other) reading = read_gif(bytes, length, limit, result, &pixels);
    bool done = reading == reading_size;
    if (reading == reading_done) {
        done = shrink(&pixels, edge)
            && (has_transparency(&pixels) ? write_png(&pixels, result) : write_jpeg(&pixels, result));
    }
    free(pixels.bytes);
    return done;
}

void cpictures_free(struct cpictures_thumbnail *result) {
    free(result->bytes);
    result->bytes = NULL;
    result->length = 0;
}
