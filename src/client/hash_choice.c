/* SPDX-License-Identifier: Apache-2.0 */
/* The choice between the Java client's and fluss-rs's bucket hash (spec/formats.md 5.3). They
 * differ only in tail bytes from 0x80 on, so a table of one bucket, or of a lake format with a hash
 * of its own, needs no choice. */
#include "client/hash_choice.h"

#include <string.h>

fluss_code_t fl_hash_choice(fluss_table_t *table, fl_hash_variant *hash, fluss_error_t *err)
{
    (void)err;
    const int64_t setting = table->client->config->bucket_hash.number;
    *hash = setting == FL_HASH_SETTING_RUST ? FL_HASH_RUST : FL_HASH_JAVA;
    return 0;
}

fluss_code_t fl_error_column(fluss_error_t *err, const fl_schema *schema, const char *name)
{
    char known[600] = "";
    size_t used = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        const size_t size = strlen(schema->columns[i].name);
        if (used + size + 8 > sizeof(known)) {
            memcpy(known + used, ", …", sizeof(", …"));
            break;
        }
        if (i > 0) {
            memcpy(known + used, ", ", 2);
            used += 2;
        }
        memcpy(known + used, schema->columns[i].name, size + 1);
        used += size;
    }
    return fl_error_argument(err, "no column '%.100s'; the columns are %s", name, known);
}
