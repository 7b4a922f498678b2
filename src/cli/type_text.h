/* SPDX-License-Identifier: Apache-2.0 */
/* Types from the text that fluss_schema_column gives, as far as reading a value needs them. */
#ifndef FL_CLI_TYPE_TEXT_H
#define FL_CLI_TYPE_TEXT_H
#include <fluss/fluss.h>

typedef struct cli_type {
    fluss_type_t type;
    int precision, scale;      /* as written; 0 where absent */
    struct cli_type *children; /* ARRAY: the element; MAP: key, value; ROW: the fields */
    char **names;              /* of a ROW's fields */
    size_t child_count;
} cli_type;

/** Read a canonical type text. False: unknown or out of memory; nothing is kept then. */
bool cli_type_parse(const char *text, cli_type *out);
void cli_type_deinit(cli_type *type);
#endif
