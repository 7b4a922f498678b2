/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind the codec. One entry for each field number from 1 to the highest in use, so
 * that a tag finds its field by index; a number that is not in use has kind FL_FIELD_NONE. */
#ifndef FL_MESSAGE_PRIVATE_H
#define FL_MESSAGE_PRIVATE_H
#include "protocol/message.h"

typedef enum fl_field_kind {
    FL_FIELD_NONE,
    FL_FIELD_BOOL,
    FL_FIELD_INT32,
    FL_FIELD_INT64,
    FL_FIELD_FLOAT,
    FL_FIELD_DOUBLE,
    FL_FIELD_STRING,
    FL_FIELD_BYTES,
    FL_FIELD_MESSAGE
} fl_field_kind;

typedef enum fl_field_label {
    FL_FIELD_REQUIRED,
    FL_FIELD_OPTIONAL,
    FL_FIELD_REPEATED,
    FL_FIELD_PACKED
} fl_field_label;

/* Wire types. */
enum { FL_WIRE_VARINT = 0, FL_WIRE_FIXED64 = 1, FL_WIRE_SIZED = 2, FL_WIRE_FIXED32 = 5 };

typedef struct fl_msg_field {
    uint8_t kind;           /* fl_field_kind */
    uint8_t label;          /* fl_field_label */
    uint8_t wire;           /* wire type of a single value */
    uint16_t item_size;     /* bytes of one value in the struct */
    uint16_t position;      /* in the struct: the value, or the pointer to repeated values */
    uint16_t side_position; /* has_NAME (optional) or NAME_count (repeated) */
    const char *name;
    const fl_msg_desc *message; /* kind MESSAGE */
} fl_msg_field;

struct fl_msg_desc {
    const char *name;
    const fl_msg_field *fields; /* fields[number - 1] */
    uint16_t number_max;
    uint16_t struct_size;
    uint16_t size_min; /* bytes of the shortest valid encoding */
    bool has_repeated;
    uint64_t required_bits; /* bit `number - 1` of each required field */
};

enum {
    FL_MSG_DEPTH_MAX = 32,  /* messages inside each other, the outermost included */
    FL_MSG_GROWTH_MAX = 40, /* bytes of arrays for a byte of the frame; a test checks the tables */
    FL_MSG_VIEW_SIZE_MIN = 1024 /* bytes fields from here on are sent by reference */
};

/** has_NAME of an optional field. */
static inline bool *fl_field_has(const fl_msg_field *field, void *message)
{
    return (bool *)((uint8_t *)message + field->side_position);
}

/** NAME_count of a repeated field. */
static inline size_t *fl_field_count(const fl_msg_field *field, void *message)
{
    return (size_t *)(void *)((uint8_t *)message + field->side_position);
}

/** The values that a struct holds for a field: how many there are, and the first. */
static inline size_t fl_field_values(const fl_msg_field *field, const void *message,
                                     const uint8_t **first)
{
    const uint8_t *at = (const uint8_t *)message;
    *first = at + field->position;
    switch (field->label) {
    case FL_FIELD_REQUIRED:
        return 1;
    case FL_FIELD_OPTIONAL: {
        bool has;
        memcpy(&has, at + field->side_position, sizeof(has));
        return has ? 1 : 0;
    }
    default: {
        size_t count;
        memcpy(&count, at + field->side_position, sizeof(count));
        memcpy(first, at + field->position, sizeof(*first));
        return count;
    }
    }
}
#endif
