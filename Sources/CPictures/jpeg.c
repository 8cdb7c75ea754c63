#include "pictures.h"

#include <stdlib.h>
#include <string.h>

#ifdef CPICTURES_JPEG
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

struct errors {
    struct jpeg_error_mgr manager;
    jmp_buf jump;
};

/* libjpeg's way out of an error: its caller may not return. */
static void leave(j_common_ptr common) { longjmp(((struct errors *)common->err)->jump, 1); }

static void be_silent(j_common_ptr common) { (void)common; }

static uint32_t number(const uint8_t *bytes, int count, bool is_little) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value = value << 8 | bytes[is_little ? count - 1 - i : i];
    return value;
}

/* The orientation in the first directory of Exif data (Exif 2.32, 4.5 and 4.6.4); 1 where there is none. */
static int orientation(const uint8_t *data, size_t length) {
    if (length < 14 || memcmp(data, "Exif\0\0", 6) != 0) return 1;
    const uint8_t *tiff = data + 6;
    length -= 6;
    bool is_little = tiff[0] == 'I';
    uint32_t start = number(tiff + 4, 4, is_little);
    if (length < 2 || start > length - 2) return 1;
    uint32_t count = number(tiff + start, 2, is_little);
    for (uint32_t i = 0; i < count; i++) {
        size_t place = (size_t)start + 2 + (size_t)i * 12;
        if (place + 12 > length) return 1;
        if (number(tiff + place, 2, is_little) != 0x0112) continue;
        uint32_t value = number(tiff + place + 8, 2, is_little);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

/* The smallest picture that the decoder makes at once and that is not smaller than what is wanted. */
static void choose_scale(struct jpeg_decompress_struct *jpeg, int32_t edge) {
    uint32_t longer = jpeg->image_width > jpeg->image_height ? jpeg->image_width : jpeg->image_height;
    jpeg->scale_denom = 8;
    for (jpeg->scale_num = 1; jpeg->scale_num < 8; jpeg->scale_num *= 2) {
        if ((uint64_t)longer * jpeg->scale_num / 8 >= (uint64_t)edge) break;
    }
}

enum reading read_jpeg(
    const uint8_t *bytes, size_t length, int32_t edge, uint64_t limit, struct cpictures_thumbnail *result,
    struct pixels *pixels) {
    if (length < 3 || memcmp(bytes, "\xff\xd8\xff", 3) != 0) return reading_other;
    struct jpeg_decompress_struct jpeg;
    struct errors errors;
    uint8_t *volatile row = NULL;
    jpeg.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leave;
    errors.manager.output_message = be_silent;
    if (setjmp(errors.jump)) {
        free(row);
        jpeg_destroy_decompress(&jpeg);
        return reading_failed;
    }
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, bytes, length);
    jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&jpeg, TRUE);
    if (!is_bearable(jpeg.image_width, jpeg.image_height, limit)) leave((j_common_ptr)&jpeg);
    int turned = 1;
    for (jpeg_saved_marker_ptr marker = jpeg.marker_list; marker && turned == 1; marker = marker->next)
        turned = orientation(marker->data, marker->data_length);
    result->width = (int32_t)(turned >= 5 ? jpeg.image_height : jpeg.image_width);
    result->height = (int32_t)(turned >= 5 ? jpeg.image_width : jpeg.image_height);
    /* Four colours of print are not turned into three by libjpeg. */
    if (jpeg.num_components == 4) {
        jpeg_destroy_decompress(&jpeg);
        return reading_size;
    }
    jpeg.out_color_space = JCS_RGB;
    choose_scale(&jpeg, edge);
    jpeg_start_decompress(&jpeg);
    pixels->width = (int32_t)jpeg.output_width;
    pixels->height = (int32_t)jpeg.output_height;
    pixels->bytes = malloc((size_t)pixels->width * pixels->height * 4);
    row = malloc((size_t)pixels->width * 3);
    if (!pixels->bytes || !row) leave((j_common_ptr)&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
        uint8_t *to = pixels->bytes + (size_t)jpeg.output_scanline * pixels->width * 4;
        JSAMPROW from = row;
        /* A picture that ends early goes on in grey with a warning: many such are of broken downloads. Scans without
         * end are what the limit of time is for. */
        if (jpeg_read_scanlines(&jpeg, &from, 1) != 1) leave((j_common_ptr)&jpeg);
        for (int32_t x = 0; x < pixels->width; x++) {
            memcpy(to + (size_t)x * 4, row + (size_t)x * 3, 3);
            to[(size_t)x * 4 + 3] = 255;
        }
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    free(row);
    if (shrink(pixels, edge) && turn(pixels, turned)) return reading_done;
    return reading_failed;
}

bool write_jpeg(const struct pixels *pixels, struct cpictures_thumbnail *result) {
    struct jpeg_compress_struct jpeg;
    struct errors errors;
    unsigned char *volatile bytes = NULL;
    unsigned char *start = NULL;
    unsigned long length = 0;
    uint8_t *volatile row = malloc((size_t)pixels->width * 3);
    jpeg.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = leave;
    errors.manager.output_message = be_silent;
    if (!row || setjmp(errors.jump)) {
        if (row) jpeg_destroy_compress(&jpeg);
        free(row);
        free(bytes);
        return false;
    }
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &start, &length);
    jpeg.image_width = (JDIMENSION)pixels->width;
    jpeg.image_height = (JDIMENSION)pixels->height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 80, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        const uint8_t *from = pixels->bytes + (size_t)jpeg.next_scanline * pixels->width * 4;
        for (int32_t x = 0; x < pixels->width; x++) memcpy(row + (size_t)x * 3, from + (size_t)x * 4, 3);
        JSAMPROW line = row;
        jpeg_write_scanlines(&jpeg, &line, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
    result->bytes = start;
    result->length = length;
    result->is_png = false;
    return true;
}

#else

enum reading read_jpeg(
    const uint8_t *bytes, size_t length, int32_t edge, uint64_t limit, struct cpictures_thumbnail *result,
    struct pixels *pixels) {
    (void)bytes, (void)length, (void)edge, (void)limit, (void)result, (void)pixels;
    return reading_other;
}

bool write_jpeg(const struct pixels *pixels, struct cpictures_thumbnail *result) { return write_png(pixels, result); }

#endif
