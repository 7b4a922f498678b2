/* SPDX-License-Identifier: Apache-2.0 */
/* Containers: the up to 65,536 values that share their high bits. Three forms:
 *
 *   FL_ROARING_RUN     count u16, then (first u16, length - 1 u16) for each run
 *   FL_ROARING_BITMAP  65,536 bits
 *   FL_ROARING_ARRAY   values u16, ascending
 *
 * all little endian; the numbers of the forms are those of the 64-bit layout. */
#ifndef FL_ROARING_PRIVATE_H
#define FL_ROARING_PRIVATE_H
#include "format/roaring.h"

typedef enum { FL_ROARING_RUN, FL_ROARING_BITMAP, FL_ROARING_ARRAY } fl_roaring_form;
enum {
    FL_ROARING_VALUES_MAX = 1 << 16,
    FL_ROARING_ARRAY_MAX = 4096, /* values; more take a bitmap */
    FL_ROARING_BITMAP_SIZE = FL_ROARING_VALUES_MAX / 8
};

typedef struct fl_roaring_container {
    fl_slice bytes;       /* views the bitmap that it was read from, or the buffer of a union */
    uint32_t cardinality; /* 1..65536 */
    uint8_t form;
} fl_roaring_container;

/** What is left to read of a bitmap, and where it began, for messages. */
typedef struct fl_roaring_reader {
    fl_slice rest;
    const uint8_t *start;
} fl_roaring_reader;

fluss_code_t fl_roaring_refuse(const fl_roaring_reader *reader, const char *what,
                               fluss_error_t *err);
/** Take the next bytes; views. */
FLUSS_CHECKED fluss_code_t fl_roaring_take(fl_roaring_reader *reader, size_t size, fl_slice *bytes,
                                           fluss_error_t *err);
/** Read and check a container whose form and cardinality are known. */
FLUSS_CHECKED fluss_code_t fl_roaring_read(fl_roaring_reader *reader, fl_roaring_form form,
                                           uint32_t cardinality, fl_roaring_container *container,
                                           fluss_error_t *err);
/**
 * Unite two containers and bring the result into its final form.
 *
 * @param b         NULL: bring `a` into its final form
 * @param keep_runs runs stay runs, also where another form is smaller: the 64-bit bitmap never
 *                  gives them up
 * @param out       its bytes come from the arena, or are those of `a`
 */
FLUSS_CHECKED fluss_code_t fl_roaring_unite(const fl_roaring_container *a,
                                            const fl_roaring_container *b, bool keep_runs,
                                            fl_arena *arena, fl_roaring_container *out,
                                            fluss_error_t *err);
#endif
