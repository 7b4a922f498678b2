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

typedef struct fl_msg_field {
    uint8_t kind;           /* fl_field_kind */
    uint8_t label;          /* fl_field_label */
    uint16_t position;      /* of the value, or of the pointer to repeated values, in the struct */
    uint16_t side_position; /* of has_NAME (optional) or NAME_count (repeated) */
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
#endif
