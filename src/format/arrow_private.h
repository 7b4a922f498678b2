/* SPDX-License-Identifier: Apache-2.0 */
/* What the arrow_*.c files share: how a type is laid out in Arrow, bitmaps, and the owner of a tree
 * of arrays. */
#ifndef FL_ARROW_PRIVATE_H
#define FL_ARROW_PRIVATE_H
#include <nanoarrow/nanoarrow.h>

#include "format/arrow.h"

enum {
    FL_ARROW_ALIGNMENT = 8,                  /* of buffers in a message, and of shared memory */
    FL_ARROW_FRESH_SIZE_MAX = 512 * 1048576, /* copied or decompressed bytes of one batch */
    FL_ARROW_ROWS_MAX = INT32_MAX
};

/* ---- layout ---- */
typedef enum {
    FL_LAYOUT_BITS,   /* validity, bits */
    FL_LAYOUT_FIXED,  /* validity, values of one width */
    FL_LAYOUT_VAR,    /* validity, 32-bit offsets, bytes */
    FL_LAYOUT_LIST,   /* validity, 32-bit offsets; one child. MAP too: its child is a struct */
    FL_LAYOUT_STRUCT, /* validity; a child for each field */
} fl_arrow_layout;

fl_arrow_layout fl_arrow_layout_of(const fl_type *type);
/** Bytes of a value of FL_LAYOUT_FIXED; 0 for the others. */
size_t fl_arrow_width(const fl_type *type);
bool fl_arrow_is_text(const fl_type *type);
size_t fl_arrow_buffer_count(fl_arrow_layout layout);
/** 1 for a list, the fields of a struct, else 0. */
size_t fl_arrow_child_count(const fl_type *type);
/** Type of a child; the child of a MAP is a NOT NULL ROW of key and value. Points into `type`. */
fl_type fl_arrow_child_type(const fl_type *type, size_t index);
/** Add the field nodes and buffers of a type and all below it. */
void fl_arrow_count(const fl_type *type, size_t *nodes, size_t *buffers);

/** How a value is stored, all that fl_arrow_rows and the builder need to know of its type. */
typedef enum {
    FL_CELL_BOOL,
    FL_CELL_I8,
    FL_CELL_I16,
    FL_CELL_I32,
    FL_CELL_I64,
    FL_CELL_F32,
    FL_CELL_F64,
    FL_CELL_DECIMAL,
    FL_CELL_TIME_S,
    FL_CELL_TIME_MS,
    FL_CELL_TIME_US,
    FL_CELL_TIME_NS,
    FL_CELL_TIMESTAMP_S,
    FL_CELL_TIMESTAMP_MS,
    FL_CELL_TIMESTAMP_US,
    FL_CELL_TIMESTAMP_NS,
    FL_CELL_BINARY, /* of one width */
    FL_CELL_VAR,
    FL_CELL_LIST,
    FL_CELL_MAP,
    FL_CELL_STRUCT,
} fl_arrow_cell;
fl_arrow_cell fl_arrow_cell_of(const fl_type *type);

/* ---- bitmaps, least significant bit first ---- */
static inline bool fl_bit_get(const uint8_t *bits, int64_t index)
{
    return ((bits[index >> 3] >> (index & 7)) & 1) != 0;
}
static inline void fl_bit_set(uint8_t *bits, int64_t index)
{
    bits[index >> 3] = (uint8_t)(bits[index >> 3] | (1u << (index & 7)));
}
static inline void fl_bit_clear(uint8_t *bits, int64_t index)
{
    bits[index >> 3] = (uint8_t)(bits[index >> 3] & ~(1u << (index & 7)));
}
static inline size_t fl_bits_size(int64_t count)
{
    return (size_t)((count + 7) / 8);
}
/** How many of `count` bits from `from` on are set. */
int64_t fl_bits_count(const uint8_t *bits, int64_t from, int64_t count);
/** Copy `count` bits from `from` on to the start of `to`; the rest of the last byte is cleared. */
void fl_bits_copy(uint8_t *to, const uint8_t *bits, int64_t from, int64_t count);

/** Nulls among `count` values from `from` (counted without the array's own offset). */
int64_t fl_arrow_null_count(const struct ArrowArray *array, int64_t from, int64_t count);

/* ---- checks ---- */
/** Whether `count` + 1 offsets are >= 0 and never go back. */
bool fl_arrow_offsets_ascend(const int32_t *offsets, int64_t count);
/** Whether every value of a VAR array that is not null is UTF-8. Its offsets are checked. */
bool fl_arrow_text_is_valid(const struct ArrowArray *array);
/** Check an array of the schema's layout that others made: buffers there, offsets, UTF-8, no null
 * where the type is NOT NULL. @return FLUSS_KIND_ARGUMENT */
FLUSS_CHECKED fluss_code_t fl_arrow_check(const fl_schema *schema, const struct ArrowArray *array,
                                          fluss_error_t *err);
/** The same for one column, all of its values. */
FLUSS_CHECKED fluss_code_t fl_arrow_check_column(const fl_type *type,
                                                 const struct ArrowArray *array,
                                                 fluss_error_t *err);

/* ---- columns of nulls ---- */
/** Raise *size to the zero bytes that a column of `count` nulls needs; false: too many. */
FLUSS_CHECKED bool fl_arrow_null_size(const fl_type *type, int64_t count, size_t *size);
/** Fill a laid out array with nulls; `zeros` serve as bitmap, values and offsets at once. */
void fl_arrow_null_column(const fl_type *type, int64_t count, const uint8_t *zeros,
                          struct ArrowArray *array);

/* ---- owner ---- */
typedef struct fl_arrow_link fl_arrow_link;
/** What the arrays of one tree hold together: their nodes, the frames that their buffers lie in,
 * and an array of somebody else that they show parts of. It goes when the last array is released,
 * so a child that a consumer moved away keeps all of it. */
typedef struct fl_arrow_owner {
    atomic_int ref_count;
    fl_arena arena;
    fl_arrow_link *frames, *spare;
    struct ArrowArray foreign; /* release NULL: none */
} fl_arrow_owner;

fl_arrow_owner *fl_arrow_owner_new(void) FLUSS_CHECKED;
/** End an owner that was not published. NULL allowed. */
void fl_arrow_owner_free(fl_arrow_owner *owner);
/** Keep a frame. takes the reference, only on success. */
FLUSS_CHECKED bool fl_arrow_owner_keep(fl_arrow_owner *owner, fl_frame *frame);
/** Make sure that the next `count` frames can be kept. */
FLUSS_CHECKED bool fl_arrow_owner_reserve(fl_arrow_owner *owner, size_t count);
/** Room in a fresh frame; NULL when memory is out. */
uint8_t *fl_arrow_owner_room(fl_arrow_owner *owner, size_t size) FLUSS_CHECKED;
/** Lay out an array of a type with all below it: counts and pointers set, lengths 0, buffers
 * pointing to nothing, not yet releasable. */
FLUSS_CHECKED fluss_code_t fl_arrow_node_init(fl_arrow_owner *owner, const fl_type *type,
                                              struct ArrowArray *array, fluss_error_t *err);
/** The same for a struct array of a schema's columns. */
FLUSS_CHECKED fluss_code_t fl_arrow_root_init(fl_arrow_owner *owner, const fl_schema *schema,
                                              int64_t row_count, struct ArrowArray *root,
                                              fluss_error_t *err);
/** The values at `indexes` of a column of the type. @param out an empty node of `owner` */
FLUSS_CHECKED fluss_code_t fl_arrow_take_column(fl_arrow_owner *owner, const fl_type *type,
                                                const struct ArrowArray *from,
                                                const int64_t *indexes, size_t count,
                                                struct ArrowArray *out, fluss_error_t *err);
/** Make `array`, root of a tree of this owner, releasable: from now on the arrays own the owner. */
void fl_arrow_owner_publish(fl_arrow_owner *owner, struct ArrowArray *array);
/** Lay out `view` as rows [from, from + count) of `array`, sharing its buffers; the owner must keep
 * `array` (foreign). */
FLUSS_CHECKED fluss_code_t fl_arrow_node_view(fl_arrow_owner *owner, const struct ArrowArray *array,
                                              int64_t from, int64_t count, struct ArrowArray *view,
                                              fluss_error_t *err);
/** 64 zero bytes, what a buffer without content points to. */
extern const uint8_t fl_arrow_nothing[64];

/* ---- a column that grows ---- */
typedef struct fl_arrow_column {
    fl_type type;
    fl_arrow_layout layout;
    fl_arrow_cell cell;
    size_t width;
    int64_t length, capacity, null_count;
    uint8_t *validity; /* NULL: no null so far */
    uint8_t *values;   /* bits, fixed values or bytes */
    int32_t *offsets;  /* capacity + 1 */
    size_t size;       /* bytes used of values, VAR only */
    size_t size_capacity;
    fl_frame *validity_frame, *values_frame, *offsets_frame;
    int64_t length_hint; /* of the previous batch */
    size_t size_hint;
    struct fl_arrow_column *children;
    size_t child_count;
} fl_arrow_column;

FLUSS_CHECKED fluss_code_t fl_arrow_column_init(fl_arrow_column *column, const fl_type *type,
                                                fluss_error_t *err);
void fl_arrow_column_deinit(fl_arrow_column *column);
/** Append a value of the column's own form. Message names no column. */
FLUSS_CHECKED fluss_code_t fl_arrow_column_append(fl_arrow_column *column,
                                                  const fluss_datum_t *value, fluss_error_t *err);
/** Drop what lies behind the first `length` values. */
void fl_arrow_column_truncate(fl_arrow_column *column, int64_t length);
size_t fl_arrow_column_bytes(const fl_arrow_column *column);
/** Move the buffers into a laid out array of the same type. The owner has reserved a frame for each
 * of its buffers. The column is empty and usable again. */
void fl_arrow_column_move(fl_arrow_column *column, fl_arrow_owner *owner, struct ArrowArray *array);

/* ---- arrow_given.c: what a foreign producer gives ---- */
/** Whether every node is there. @param depth of the node; 0: the root */
FLUSS_CHECKED fluss_code_t fl_arrow_check_given_schema(const struct ArrowSchema *schema, int depth,
                                                       fluss_error_t *err);
/** Whether an array may be looked at. @param schema  checked @param view  made of it */
FLUSS_CHECKED fluss_code_t fl_arrow_check_given(const struct ArrowSchema *schema,
                                                const struct ArrowArrayView *view,
                                                const struct ArrowArray *array, fluss_error_t *err);
#endif
