/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the JSON readers of table and database descriptors, and type texts.
 *
 * What must hold for any input: an error with a text or a descriptor; a descriptor's JSON reads
 * back and is written the same; the rules of tables give an answer; a type's text reads back equal.
 */
#include "base/alloc.h"
#include "format/table_rules.h"

enum { TEXT_SIZE_MAX = 1 << 26 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rules(fl_table_desc *desc)
{
    const fl_table_limits limits = {.bucket_count_max = 128,
                                    .server_count = 1,
                                    .allow_log_tables = true,
                                    .allow_primary_key_tables = true};
    const fl_table_defaults defaults = {.bucket_count = 1, .replication_factor = 1};
    fluss_error_t err;
    err.message[0] = '\0';
    fluss_code_t rc = fl_table_desc_check(desc, &err);
    if (rc == 0) {
        rc = fl_table_rules_fill_defaults(desc, &defaults, &err);
    }
    if (rc == 0) {
        rc = fl_table_rules_check_create(desc, &limits, &err);
    }
    FL_ASSERT(rc == 0 || err.message[0] != '\0');
}

static void check_table(fl_slice text)
{
    fl_table_desc *desc;
    fluss_error_t err;
    err.message[0] = '\0';
    const fluss_code_t rc = fl_table_desc_from_json(text, &desc, &err);
    if (rc != 0) {
        FL_ASSERT(desc == NULL && err.message[0] != '\0');
        return;
    }
    fl_buf first;
    fl_buf second;
    fl_table_desc *again;
    fl_buf_init(&first, TEXT_SIZE_MAX);
    fl_buf_init(&second, TEXT_SIZE_MAX);
    fluss_code_t back_rc = fl_table_desc_to_json(desc, &first, &err);
    FL_ASSERT(back_rc == 0);
    back_rc = fl_table_desc_from_json(fl_buf_slice(&first), &again, &err);
    FL_ASSERT(back_rc == 0);
    back_rc = fl_table_desc_to_json(again, &second, &err);
    FL_ASSERT(back_rc == 0 && fl_slice_equal(fl_buf_slice(&first), fl_buf_slice(&second)));
    check_rules(again);
    fl_table_desc_free(again);
    fl_table_desc_free(desc);
    fl_buf_deinit(&second);
    fl_buf_deinit(&first);
}

static void check_type(const char *text)
{
    fl_arena arena;
    fl_type type;
    fl_type again;
    fl_arena_init(&arena);
    if (fl_type_parse(text, &arena, &type, NULL) == 0) {
        fl_buf out;
        fluss_error_t err;
        fl_buf_init(&out, TEXT_SIZE_MAX);
        fluss_code_t rc = fl_type_print(&type, &out, &err);
        FL_ASSERT(rc == 0);
        rc = fl_buf_append_byte(&out, 0, &err);
        FL_ASSERT(rc == 0);
        rc = fl_type_parse((const char *)out.data, &arena, &again, &err);
        FL_ASSERT(rc == 0 && fl_type_equal(&type, &again));
        fl_buf_deinit(&out);
    }
    fl_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_table(fl_slice_of(data, size));
    fl_database_desc *database;
    if (fl_database_desc_from_json(fl_slice_of(data, size), &database, NULL) == 0) {
        fl_database_desc_free(database);
    }
    char *text = fl_strndup(data, size);
    FL_ASSERT(text != NULL);
    check_type(text);
    fl_free(text);
    return 0;
}
