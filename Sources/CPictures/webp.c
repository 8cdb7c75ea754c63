#include "pictures.h"

#include <stdlib.h>
#include <string.h>

#ifdef CPICTURES_WEBP
#include <webp/decode.h>

enum reading read_webp(
    const uint8_t *bytes, size_t length, uint64_t limit, struct cpictures_thumbnail *result, struct pixels *pixels) {
    if (length < 12 || memcmp(bytes, "RIFF", 4) != 0 || memcmp(bytes + 8, "WEBP", 4) != 0) return reading_other;
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(bytes, length, &features) != VP8_STATUS_OK) return reading_failed;
    if (features.width < 1 || features.height < 1
        || !is_bearable((uint64_t)features.width, (uint64_t)features.height, limit))
        return reading_failed;
    result->width = features.width;
    result->height = features.height;
    /* Films need another part of the library. */
    if (features.has_animation) return reading_size;
    size_t stride = (size_t)features.width * 4;
    pixels->width = features.width;
    pixels->height = features.height;
    pixels->bytes = malloc(stride * (size_t)features.height);
    if (!pixels->bytes) return reading_failed;
    if (!WebPDecodeRGBAInto(bytes, length, pixels->bytes, stride * (size_t)features.height, (int)stride))
        return reading_failed;
    return reading_done;
}

#else

enum reading read_webp(
    const uint8_t *bytes, size_t length, uint64_t limit, struct cpictures_thumbnail *result, struct pixels *pixels) {
    (void)bytes, (void)length, (void)limit, (void)result, (void)pixels;
    return reading_other;
}

#endif
