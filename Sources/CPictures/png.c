#include "pictures.h"

#include <stdlib.h>
#include <string.h>

#ifdef CPICTURES_PNG
#include <png.h>

enum reading read_png(
    const uint8_t *bytes, size_t length, uint64_t limit, struct cpictures_thumbnail *result, struct pixels *pixels) {
    if (length < 8 || memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) != 0) return reading_other;
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&image, bytes, length)) return reading_failed;
    if (!is_bearable(image.width, image.height, limit)) {
        png_image_free(&image);
        return reading_failed;
    }
    image.format = PNG_FORMAT_RGBA;
    result->width = (int32_t)image.width;
    result->height = (int32_t)image.height;
    pixels->width = result->width;
    pixels->height = result->height;
    pixels->bytes = malloc(PNG_IMAGE_SIZE(image));
    if (!pixels->bytes || !png_image_finish_read(&image, NULL, pixels->bytes, 0, NULL)) {
        png_image_free(&image);
        return reading_failed;
    }
    return reading_done;
}

bool write_png(const struct pixels *pixels, struct cpictures_thumbnail *result) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)pixels->width;
    image.height = (png_uint_32)pixels->height;
    image.format = PNG_FORMAT_RGBA;
    png_alloc_size_t length = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *bytes = malloc(length);
    if (!bytes || !png_image_write_to_memory(&image, bytes, &length, 0, pixels->bytes, 0, NULL)) {
        free(bytes);
        return false;
    }
    result->bytes = bytes;
    result->length = length;
    result->is_png = true;
    return true;
}

#else

enum reading read_png(
    const uint8_t *bytes, size_t length, uint64_t limit, struct cpictures_thumbnail *result, struct pixels *pixels) {
    (void)bytes, (void)length, (void)limit, (void)result, (void)pixels;
    return reading_other;
}

/* Without a format that has transparent parts there is no thumbnail; the size is known. */
bool write_png(const struct pixels *pixels, struct cpictures_thumbnail *result) {
    (void)pixels, (void)result;
    return true;
}

#endif
