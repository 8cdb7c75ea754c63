#include "pictures.h"

#include <stdlib.h>
#include <string.h>

/* Graphics Interchange Format 89a (CompuServe, 1990): the first picture of a file. */

struct reader {
    const uint8_t *bytes;
    size_t length, place;
    /* Of the current chain of sub-blocks (15): what is left of the block. */
    size_t block;
};

static int next(struct reader *reader) {
    return reader->place < reader->length ? reader->bytes[reader->place++] : -1;
}

static int word(struct reader *reader) {
    int low = next(reader), high = next(reader);
    return low < 0 || high < 0 ? -1 : high << 8 | low;
}

/* The next byte of a chain of sub-blocks; -1 at its end. */
static int next_of_chain(struct reader *reader) {
    if (reader->block == 0) {
        int size = next(reader);
        if (size <= 0) return -1;
        reader->block = (size_t)size;
    }
    reader->block--;
    return next(reader);
}

static void skip_chain(struct reader *reader) {
    reader->block = 0;
    while (next_of_chain(reader) >= 0) {}
}

/* A colour table (19): NULL where it is cut off. */
static const uint8_t *table(struct reader *reader, int flags, int *count) {
    *count = 2 << (flags & 7);
    if ((size_t)*count * 3 > reader->length - reader->place) return NULL;
    const uint8_t *colours = reader->bytes + reader->place;
    reader->place += (size_t)*count * 3;
    return colours;
}

struct frame {
    int left, top, width, height;
    bool is_interlaced;
    const uint8_t *colours;
    int count, transparent;
};

/* Where the rows of an interlaced picture are (appendix E). */
static int row_of(const struct frame *frame, int number) {
    if (!frame->is_interlaced) return number;
    static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; pass++) {
        int rows = frame->height > starts[pass] ? (frame->height - starts[pass] + steps[pass] - 1) / steps[pass] : 0;
        if (number < rows) return starts[pass] + number * steps[pass];
        number -= rows;
    }
    return frame->height;
}

static void put(const struct frame *frame, struct pixels *pixels, uint64_t place, int index) {
    int x = frame->left + (int)(place % (uint64_t)frame->width);
    int y = frame->top + row_of(frame, (int)(place / (uint64_t)frame->width));
    if (x >= pixels->width || y >= pixels->height || index == frame->transparent || index >= frame->count) return;
    uint8_t *pixel = pixels->bytes + ((size_t)y * pixels->width + x) * 4;
    memcpy(pixel, frame->colours + (size_t)index * 3, 3);
    pixel[3] = 255;
}

/* Appendix F: codes of growing length, lowest bit first, each a string of indices. */
static bool decode(struct reader *reader, const struct frame *frame, struct pixels *pixels) {
    enum { most = 4096 };
    uint16_t prefix[most];
    uint8_t suffix[most], stack[most];
    int smallest = next(reader);
    if (smallest < 2 || smallest > 8) return false;
    const int clear = 1 << smallest, end = clear + 1;
    int size = smallest + 1, known = end + 1, former = -1, first = 0, bits = 0;
    uint32_t held = 0;
    uint64_t place = 0, count = (uint64_t)frame->width * (uint64_t)frame->height;
    reader->block = 0;
    while (place < count) {
        while (bits < size) {
            int byte = next_of_chain(reader);
            /* What was cut off is as far as it goes. */
            if (byte < 0) return place > 0;
            held |= (uint32_t)byte << bits;
            bits += 8;
        }
        int code = (int)(held & ((1u << size) - 1)), depth = 0;
        held >>= size;
        bits -= size;
        if (code == end) return place > 0;
        if (code == clear) {
            size = smallest + 1;
            known = end + 1;
            former = -1;
            continue;
        }
        if (code > known || (former < 0 && code >= clear) || (code == known && former < 0)) return false;
        int walk = code;
        if (code == known) {
            stack[depth++] = (uint8_t)first;
            walk = former;
        }
        while (walk >= clear && depth < most - 1) {
            stack[depth++] = suffix[walk];
            walk = prefix[walk];
        }
        if (walk >= clear) return false;
        first = walk;
        stack[depth++] = (uint8_t)walk;
        while (depth > 0 && place < count) put(frame, pixels, place++, stack[--depth]);
        if (former >= 0 && known < most) {
            prefix[known] = (uint16_t)former;
            suffix[known] = (uint8_t)first;
            known++;
            if (known == 1 << size && size < 12) size++;
        }
        former = code;
    }
    return true;
}

/* A picture's descriptor (20) and its own table. */
static bool read_frame(struct reader *reader, struct frame *frame) {
    frame->left = word(reader);
    frame->top = word(reader);
    frame->width = word(reader);
    frame->height = word(reader);
    int flags = next(reader);
    if (frame->left < 0 || frame->top < 0 || frame->width < 1 || frame->height < 1 || flags < 0) return false;
    frame->is_interlaced = flags & 0x40;
    if (flags & 0x80) frame->colours = table(reader, flags, &frame->count);
    return frame->colours != NULL;
}

enum reading read_gif(
    const uint8_t *bytes, size_t length, uint64_t limit, struct cpictures_thumbnail *result, struct pixels *pixels) {
    if (length < 13 || (memcmp(bytes, "GIF87a", 6) != 0 && memcmp(bytes, "GIF89a", 6) != 0)) return reading_other;
    struct reader reader = {bytes, length, 6, 0};
    struct frame frame = {.transparent = -1};
    int width = word(&reader), height = word(&reader), flags = next(&reader);
    reader.place += 2;
    if (width < 1 || height < 1 || !is_bearable((uint64_t)width, (uint64_t)height, limit)) return reading_failed;
    if (flags & 0x80 && !(frame.colours = table(&reader, flags, &frame.count))) return reading_failed;
    result->width = width;
    result->height = height;
    for (int kind = next(&reader); kind == 0x21; kind = next(&reader)) {
        int label = next(&reader);
        reader.block = 0;
        if (label == 0xf9) {
            /* Graphic control (23): flags, a delay of two bytes, the index that is not drawn. */
            int control[4] = {0};
            for (int i = 0; i < 4; i++) control[i] = next_of_chain(&reader);
            if (control[3] >= 0 && control[0] & 1) frame.transparent = control[3];
            while (next_of_chain(&reader) >= 0) {}
        } else {
            skip_chain(&reader);
        }
    }
    /* The byte that ended the loop is the separator of a picture. */
    if (reader.place == 0 || bytes[reader.place - 1] != 0x2c || !read_frame(&reader, &frame)) return reading_failed;
    if (!is_bearable((uint64_t)frame.width, (uint64_t)frame.height, limit)) return reading_failed;
    pixels->width = width;
    pixels->height = height;
    pixels->bytes = calloc((size_t)width * (size_t)height, 4);
    if (!pixels->bytes || !decode(&reader, &frame, pixels)) return reading_failed;
    return reading_done;
}
