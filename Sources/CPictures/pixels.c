#include "pictures.h"

#include <stdlib.h>
#include <string.h>

bool is_bearable(uint64_t width, uint64_t height, uint64_t limit) {
    return width > 0 && height > 0 && width <= 65535 && height <= 65535 && width * height <= limit;
}

bool turn(struct pixels *pixels, int orientation) {
    if (orientation < 2 || orientation > 8) return true;
    bool swaps = orientation >= 5;
    int32_t width = swaps ? pixels->height : pixels->width, height = swaps ? pixels->width : pixels->height;
    uint8_t *turned = malloc((size_t)width * height * 4);
    if (!turned) return false;
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            /* Where the pixel that is shown here is stored. */
            int32_t column = swaps ? y : x, row = swaps ? x : y;
            if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
                column = pixels->width - 1 - column;
            if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
                row = pixels->height - 1 - row;
            memcpy(
                turned + ((size_t)y * width + x) * 4, pixels->bytes + ((size_t)row * pixels->width + column) * 4, 4);
        }
    }
    free(pixels->bytes);
    *pixels = (struct pixels){turned, width, height};
    return true;
}

/* Transparent pixels have no colour that counts. */
static void mean(const struct pixels *from, int32_t x0, int32_t x1, int32_t y0, int32_t y1, uint8_t *to) {
    uint64_t sums[3] = {0}, alpha = 0, count = (uint64_t)(x1 - x0) * (y1 - y0);
    for (int32_t y = y0; y < y1; y++) {
        const uint8_t *pixel = from->bytes + ((size_t)y * from->width + x0) * 4;
        for (int32_t x = x0; x < x1; x++, pixel += 4) {
            for (int i = 0; i < 3; i++) sums[i] += (uint64_t)pixel[i] * pixel[3];
            alpha += pixel[3];
        }
    }
    for (int i = 0; i < 3; i++) to[i] = alpha ? (sums[i] + alpha / 2) / alpha : 0;
    to[3] = (alpha + count / 2) / count;
}

bool shrink(struct pixels *pixels, int32_t edge) {
    int32_t longer = pixels->width > pixels->height ? pixels->width : pixels->height;
    if (longer <= edge) return true;
    int32_t width = (int64_t)pixels->width * edge / longer, height = (int64_t)pixels->height * edge / longer;
    if (width < 1) width = 1;
    if (height < 1) height = 1;
    uint8_t *small = malloc((size_t)width * height * 4);
    if (!small) return false;
    for (int32_t y = 0; y < height; y++) {
        int32_t y0 = (int64_t)y * pixels->height / height, y1 = (int64_t)(y + 1) * pixels->height / height;
        for (int32_t x = 0; x < width; x++) {
            int32_t x0 = (int64_t)x * pixels->width / width, x1 = (int64_t)(x + 1) * pixels->width / width;
            mean(pixels, x0, x1, y0, y1, small + ((size_t)y * width + x) * 4);
        }
    }
    free(pixels->bytes);
    *pixels = (struct pixels){small, width, height};
    return true;
}

bool has_transparency(const struct pixels *pixels) {
    size_t count = (size_t)pixels->width * pixels->height;
    for (size_t i = 0; i < count; i++) {
        if (pixels->bytes[i * 4 + 3] != 255) return true;
    }
    return false;
}
