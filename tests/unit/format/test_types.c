/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: types are read from text and printed, faults name their place; schemas number their columns
 * and nested fields as Fluss does. Method: tables of texts; schemas built and compared. */
#include "format/table_desc.h"
#include "value_support.h"

enum { TEXT_SIZE_MAX = 1 << 20 };

static void types_are_read_and_printed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"int", "INT"},
        {" Integer  not null ", "INT NOT NULL"},
        {"BIGINT NULL", "BIGINT"},
        {"decimal", "DECIMAL(10,0)"},
        {"decimal( 38 , 38 )", "DECIMAL(38,38)"},
        {"numeric(5)", "DECIMAL(5,0)"},
        {"char", "CHAR(1)"},
        {"binary(2147483647)", "BINARY(2147483647)"},
        {"time", "TIME(0)"},
        {"timestamp", "TIMESTAMP(6)"},
        {"timestamp_ntz(3)", "TIMESTAMP(3)"},
        {"timestamp_ltz(9) not null", "TIMESTAMP_LTZ(9) NOT NULL"},
        {"array<row<a INT, b STRING NOT NULL>>", "ARRAY<ROW<a INT, b STRING NOT NULL>>"},
        {"map<string, array<int>>", "MAP<STRING NOT NULL,ARRAY<INT>>"},
        {"row<a: int, `odd ``name` bytes 'it''s'>", "ROW<a INT, `odd ``name` BYTES 'it''s'>"},
        {"ROW(x DOUBLE) NOT NULL", "ROW<x DOUBLE> NOT NULL"},
        {"row<größe int>", "ROW<größe INT>"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        fl_buf out;
        fl_buf_init(&out, TEXT_SIZE_MAX);
        const fl_type type = type_of(rows[i][0]);
        OK(fl_type_print(&type, &out, &error));
        assert_text(&out, rows[i][1]);
        fl_buf_deinit(&out);
    }
}

static void faults_in_types_name_their_place(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "expected a type"},
        {"INTT", "at character 1: \"INTT\""},
        {"VARCHAR(10)", "expected a type"},
        {"INT(3)", "no parameters"},
        {"DECIMAL(39)", "precision of 1 to 38"},
        {"DECIMAL(5,6)", "scale of 0 to the precision"},
        {"TIMESTAMP(10)", "precision of 0 to 9"},
        {"CHAR(0)", "length of 1 to"},
        {"INT NOT", "NULL behind NOT"},
        {"INT, INT", "nothing more"},
        {"ARRAY<INT", "expected '>' at the end"},
        {"MAP<INT>", "expected ','"},
        {"ROW<>", "the name of a field"},
        {"ROW<a INT, a STRING>", "'a' is there twice"},
        {"ROW<`a INT>", "'`'"},
        {"INT \xff", "not UTF-8"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        fl_type type;
        assert_int_not_equal(fl_type_parse(rows[i][0], &type_arena, &type, &error), 0);
        assert_int_equal(error.kind, FLUSS_KIND_ARGUMENT);
        if (strstr(error.message, rows[i][1]) == NULL) {
            fail_msg("\"%s\" gives \"%s\"", rows[i][0], error.message);
        }
    }
}

static void depth_of_types_is_limited(void **state)
{
    (void)state;
    char text[400] = "";
    size_t size = 0;
    for (int i = 0; i < FL_TYPE_DEPTH_MAX; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "ARRAY<");
    }
    size += (size_t)snprintf(text + size, sizeof(text) - size, "INT");
    memset(text + size, '>', FL_TYPE_DEPTH_MAX);
    text[size + FL_TYPE_DEPTH_MAX] = '\0';
    fl_type type;
    assert_int_not_equal(fl_type_parse(text, &type_arena, &type, &error), 0);
    memmove(text, text + strlen("ARRAY<"), strlen(text)); /* one level less, one '>' too many */
    text[strlen(text) - 1] = '\0';
    OK(fl_type_parse(text, &type_arena, &type, &error));
}

static void ids_continue_through_nested_fields(void **state)
{
    (void)state;
    fl_schema *schema =
        SCHEMA("a INT", "b ROW<x INT, y ARRAY<ROW<p INT, q MAP<INT,ROW<m INT>>>>>", "c STRING");
    assert_int_equal(schema->columns[0].id, 0);
    assert_int_equal(schema->columns[1].id, 1);
    const fl_field *b = schema->columns[1].type.fields;
    assert_int_equal(b[0].id, 2);
    assert_int_equal(b[1].id, 3);
    const fl_field *element = b[1].type.fields[0].type.fields;
    assert_int_equal(element[0].id, 4);
    assert_int_equal(element[1].id, 5);
    assert_int_equal(element[1].type.fields[1].type.fields[0].id, 6);
    assert_int_equal(schema->columns[2].id, 7);
    assert_int_equal(schema->highest_field_id, 7);
    OK(fl_schema_check_ids(schema, &error));
    fl_schema_unref(schema);
}

static void keys_are_checked(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("a INT", "b STRING", "n BIGINT");
    assert_int_not_equal(fl_schema_set_auto_increment(schema, "n", &error), 0);
    assert_int_not_equal(fl_schema_set_primary_key(schema, (const char *const[]){"x"}, 1, &error),
                         0);
    assert_non_null(strstr(error.message, "'x'"));
    assert_int_not_equal(
        fl_schema_set_primary_key(schema, (const char *const[]){"a", "a"}, 2, &error), 0);
    assert_int_not_equal(fl_schema_set_primary_key(schema, NULL, 0, &error), 0);
    assert_true(schema->columns[0].type.nullable);
    OK(fl_schema_set_primary_key(schema, (const char *const[]){"b", "a"}, 2, &error));
    assert_int_equal(schema->primary_key[0], 1);
    assert_false(schema->columns[0].type.nullable);
    assert_int_not_equal(fl_schema_set_auto_increment(schema, "a", &error), 0);
    OK(fl_schema_set_auto_increment(schema, "n", &error));
    assert_true(schema->columns[2].type.nullable);
    const fl_type type = type_of("INT");
    assert_int_not_equal(fl_schema_add(schema, "a", &type, NULL, &error), 0);
    assert_int_not_equal(fl_schema_add(schema, "", &type, NULL, &error), 0);
    fl_schema_unref(schema);
}

static void projections_keep_ids(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("a INT", "b ROW<x INT>", "c STRING");
    fl_schema *projected;
    OK(fl_schema_project(schema, (const uint32_t[]){2, 1}, 2, &projected, &error));
    assert_string_equal(projected->columns[0].name, "c");
    assert_int_equal(projected->columns[0].id, 3);
    assert_int_equal(projected->columns[1].type.fields[0].id, 2);
    fl_schema_unref(projected);
    assert_int_not_equal(fl_schema_project(schema, (const uint32_t[]){3}, 1, &projected, &error),
                         0);
    assert_null(projected);
    fl_schema_unref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_read_and_printed),
        cmocka_unit_test(faults_in_types_name_their_place),
        cmocka_unit_test(depth_of_types_is_limited),
        cmocka_unit_test(ids_continue_through_nested_fields),
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(projections_keep_ids),
    };
    return cmocka_run_group_tests(tests, NULL, free_types);
}
