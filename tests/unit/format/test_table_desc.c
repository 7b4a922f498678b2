/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: descriptors are read from and written to the JSON of the official peers. Method: documents
 * written out by hand in Java's key order, documents with one fault each, failing allocations.
 * Recorded descriptors: test_golden_kv.c. */
#include "format/table_desc.h"

#include "value_support.h"

enum { TEXT_SIZE_MAX = 1 << 20 };

static const char everything[] =
    "{\"version\":1,\"schema\":{\"version\":1,\"columns\":["
    "{\"name\":\"id\",\"data_type\":{\"type\":\"INTEGER\",\"nullable\":false},\"comment\":\"the "
    "\\\"key\\\"\",\"id\":0},"
    "{\"name\":\"part\",\"data_type\":{\"type\":\"STRING\",\"nullable\":false},\"id\":1},"
    "{\"name\":\"n\",\"data_type\":{\"type\":\"BIGINT\"},\"id\":2},"
    "{\"name\":\"list\",\"data_type\":{\"type\":\"STRING\"},\"agg_function\":{\"type\":\"listagg\","
    "\"parameters\":{\"delimiter\":\";\"}},\"id\":3},"
    "{\"name\":\"r\",\"data_type\":{\"type\":\"ROW\",\"fields\":[{\"name\":\"x\",\"field_type\":"
    "{\"type\":\"DECIMAL\",\"precision\":10,\"scale\":2},\"description\":\"d\",\"field_id\":5},"
    "{\"name\":\"y\",\"field_type\":{\"type\":\"ARRAY\",\"element_type\":{\"type\":"
    "\"TIMESTAMP_WITH_LOCAL_TIME_ZONE\",\"precision\":9}},\"field_id\":6}]},\"id\":4},"
    "{\"name\":\"m\",\"data_type\":{\"type\":\"MAP\",\"key_type\":{\"type\":\"CHAR\",\"nullable\":"
    "false,\"length\":3},\"value_type\":{\"type\":\"TIME_WITHOUT_TIME_ZONE\",\"precision\":0}},"
    "\"id\":7}],"
    "\"primary_key\":[\"id\",\"part\"],\"auto_increment_column\":[\"n\"],\"highest_field_id\":9},"
    "\"comment\":\"größe\",\"partition_key\":[\"part\"],\"bucket_key\":[\"id\"],\"bucket_count\":3,"
    "\"properties\":{\"table.merge-engine\":\"aggregation\"},\"custom_properties\":{\"a\":\"\","
    "\"b\":\"\\\\\\n\"}}";

static void a_descriptor_with_everything_comes_back(void **state)
{
    (void)state;
    fl_table_desc *desc;
    OK(fl_table_desc_from_json(fl_slice_str(everything), &desc, &error));
    OK(fl_table_desc_check(desc, &error));
    assert_int_equal(desc->schema->column_count, 6);
    assert_int_equal(desc->schema->auto_increment, 2);
    assert_int_equal(desc->schema->highest_field_id, 9);
    assert_string_equal(desc->schema->columns[3].agg_function, "LISTAGG");
    assert_string_equal(desc->schema->columns[0].comment, "the \"key\"");
    assert_false(desc->schema->columns[5].type.fields[0].type.nullable);
    assert_string_equal(desc->custom[1].value, "\\\n");
    fl_buf out;
    fl_buf_init(&out, TEXT_SIZE_MAX);
    OK(fl_table_desc_to_json(desc, &out, &error));
    assert_text(&out, everything);
    fl_buf_deinit(&out);
    fl_table_desc_free(desc);
}

static void schemas_without_ids_are_numbered(void **state)
{
    (void)state;
    fl_schema *schema;
    OK(fl_schema_from_json(
        fl_slice_str("{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"INTEGER\"}},"
                     "{\"name\":\"b\",\"data_type\":{\"type\":\"ROW\",\"fields\":[{\"name\":\"x\","
                     "\"field_type\":{\"type\":\"DATE\"}}]}}]}"),
        &schema, &error));
    assert_int_equal(schema->columns[0].id, 0);
    assert_int_equal(schema->columns[1].id, 1);
    assert_int_equal(schema->columns[1].type.fields[0].id, 2);
    assert_int_equal(schema->highest_field_id, 2);
    fl_schema_unref(schema);
}

/* Ids end at 2147483647; a schema that has used the last one takes no more columns or fields. */
static void ids_do_not_run_over(void **state)
{
    (void)state;
    static const char *const unsettled[] = {
        "{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"ROW\",\"fields\":[{\"name\":\"f\","
        "\"field_type\":{\"type\":\"INTEGER\"},\"field_id\":2147483647}]}}]}",
        "{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"ROW\",\"fields\":[{\"name\":\"f\","
        "\"field_type\":{\"type\":\"INTEGER\"}}]},\"id\":2147483647}]}"};
    fl_schema *schema = NULL;
    for (size_t i = 0; i < FL_COUNT_OF(unsettled); i++) {
        assert_int_not_equal(fl_schema_from_json(fl_slice_str(unsettled[i]), &schema, &error), 0);
        assert_non_null(strstr(error.message, "2147483647"));
    }
    OK(fl_schema_from_json(
        fl_slice_str("{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"INTEGER\"},"
                     "\"id\":0}],\"highest_field_id\":2147483646}"),
        &schema, &error));
    const fl_type number = {.root = FLUSS_INT, .nullable = true};
    fl_field field = {.name = "f", .type = number, .id = -1};
    const fl_type row = {.root = FLUSS_ROW, .nullable = true, .fields = &field, .field_count = 1};
    assert_int_not_equal(fl_schema_add(schema, "b", &row, NULL, &error), 0);
    assert_int_equal(schema->column_count, 1);
    OK(fl_schema_add(schema, "b", &number, NULL, &error));
    assert_int_equal(schema->columns[1].id, INT32_MAX);
    assert_int_not_equal(fl_schema_add(schema, "c", &number, NULL, &error), 0);
    assert_int_equal(schema->column_count, 2);
    fl_schema_unref(schema);
}

static void unknown_members_are_ignored(void **state)
{
    (void)state;
    fl_table_desc *desc;
    OK(fl_table_desc_from_json(
        fl_slice_str("{\"new\":{},\"schema\":{\"columns\":[{\"name\":\"a\",\"x\":1,\"data_type\":"
                     "{\"type\":\"INTEGER\",\"y\":[]},\"agg_function\":{\"type\":\"other\"}}]},"
                     "\"comment\":null,\"partition_key\":[],\"properties\":{},"
                     "\"custom_properties\":{}}"),
        &desc, &error));
    assert_null(desc->comment);
    assert_null(desc->schema->columns[0].agg_function);
    assert_int_equal(desc->bucket_count, 0);
    fl_table_desc_free(desc);
}

static void faults_name_their_place(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "JSON at byte 0"},
        {"[]", "expected an object"},
        {"{\"schema\":{", "JSON at byte"},
        {"{}", "'schema' is missing"},
        {"{\"schema\":{}}", "schema: 'columns' is missing"},
        {"{\"schema\":{\"columns\":[{}]}}", "columns[0]: 'name' is missing"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\"}]}}", "columns[0]: 'data_type' is missing"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"INT\"}}]}}",
         "data_type: 'INT' is no type"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"DECIMAL\","
         "\"precision\":39}}]}}",
         "precision is 39"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"ARRAY\"}}]}}",
         "'element_type' is missing"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"DATE\"},\"id\":1},"
         "{\"name\":\"b\",\"data_type\":{\"type\":\"DATE\"},\"id\":1}]}}",
         "id 1 belongs to two"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"DATE\"},\"id\":1},"
         "{\"name\":\"b\",\"data_type\":{\"type\":\"DATE\"}}]}}",
         "1 of 2 columns have an id"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"DATE\"}},"
         "{\"name\":\"a\",\"data_type\":{\"type\":\"DATE\"}}]}}",
         "'a' is there twice"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"DATE\"}}],"
         "\"primary_key\":[\"z\"]}}",
         "no column 'z'"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"DATE\"}}]},"
         "\"partition_key\":[],\"properties\":{\"k\":1}}",
         "properties: 'k' is not a string"},
        {"{\"schema\":{\"columns\":[]},\"partition_key\":[],\"bucket_key\":[],"
         "\"bucket_count\":1e3}",
         "'bucket_count' is not a 32-bit"},
        {"{\"schema\":{\"columns\":[]}}", "'partition_key' is missing"},
        {"{\"schema\":{\"columns\":[]},\"partition_key\":[],\"bucket_count\":1}",
         "'bucket_key' is missing"},
        {"{\"schema\":{\"columns\":[]},\"partition_key\":[]}", "'properties' is missing"},
        {"{\"schema\":{\"columns\":[]},\"partition_key\":[],\"properties\":{}}",
         "'custom_properties' is missing"},
        {"{\"schema\":{\"columns\":[{\"name\":\"a\",\"data_type\":{\"type\":\"DATE\"}}],"
         "\"primary_key\":[]}}",
         "primary key: no column is named"},
        {"{\"schema\":{\"columns\":[]},\"partition_key\":\"a\"}",
         "'partition_key' is not an array"},
    };
    for (size_t i = 0; i < FL_COUNT_OF(rows); i++) {
        fl_table_desc *desc;
        assert_int_equal(fl_table_desc_from_json(fl_slice_str(rows[i][0]), &desc, &error),
                         FLUSS_E_INVALID_TABLE);
        assert_null(desc);
        assert_int_equal(error.code, FLUSS_E_INVALID_TABLE);
        if (strstr(error.message, rows[i][1]) == NULL) {
            fail_msg("%s gives \"%s\"", rows[i][0], error.message);
        }
    }
}

static void databases_come_back(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\":1,\"comment\":\"c\",\"custom_properties\":{\"k\":\"v\"}}";
    fl_database_desc *desc;
    fl_buf out;
    fl_buf_init(&out, TEXT_SIZE_MAX);
    OK(fl_database_desc_from_json(fl_slice_str(text), &desc, &error));
    OK(fl_database_desc_to_json(desc, &out, &error));
    assert_text(&out, text);
    fl_database_desc_free(desc);
    fl_buf_deinit(&out);
}

static void properties_stay_sorted(void **state)
{
    (void)state;
    fl_schema *schema = SCHEMA("a INT");
    fl_table_desc *desc = fl_table_desc_new(schema);
    fl_schema_unref(schema);
    static const char *const keys[] = {"m", "z", "a", "m"};
    for (size_t i = 0; i < FL_COUNT_OF(keys); i++) {
        OK(fl_table_desc_set_property(desc, keys[i], i == 3 ? "new" : "old", &error));
    }
    assert_int_equal(desc->property_count, 3);
    assert_string_equal(desc->properties[0].key, "a");
    assert_string_equal(fl_table_desc_property(desc, "m"), "new");
    OK(fl_table_desc_set_property(desc, "m", NULL, &error));
    OK(fl_table_desc_set_property(desc, "nope", NULL, &error));
    assert_null(fl_table_desc_property(desc, "m"));
    assert_int_equal(desc->property_count, 2);
    assert_int_not_equal(fl_table_desc_set_property(desc, "k", "\xff", &error), 0);
    fl_table_desc_free(desc);
}

static void every_cut_of_a_document_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(everything) - 1; size++) {
        fl_table_desc *desc;
        assert_int_not_equal(fl_table_desc_from_json(fl_slice_of(everything, size), &desc, &error),
                             0);
    }
}

static void failing_allocations_are_errors(void **state)
{
    (void)state;
    fluss_code_t rc = FLUSS_E_CLIENT;
    for (uint64_t n = 1; rc != 0; n++) {
        const int64_t live = fl_alloc_live_count();
        fl_table_desc *desc;
        fl_buf out;
        fl_buf_init(&out, TEXT_SIZE_MAX);
        fl_alloc_fail_at(n);
        rc = fl_table_desc_from_json(fl_slice_str(everything), &desc, &error);
        if (rc == 0) {
            rc = fl_table_desc_to_json(desc, &out, &error);
        }
        fl_alloc_fail_at(0);
        assert_true(rc == 0 || error.kind == FLUSS_KIND_NOMEM);
        fl_table_desc_free(desc);
        fl_buf_deinit(&out);
        assert_int_equal(fl_alloc_live_count(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_with_everything_comes_back),
        cmocka_unit_test(schemas_without_ids_are_numbered),
        cmocka_unit_test(ids_do_not_run_over),
        cmocka_unit_test(unknown_members_are_ignored),
        cmocka_unit_test(faults_name_their_place),
        cmocka_unit_test(databases_come_back),
        cmocka_unit_test(properties_stay_sorted),
        cmocka_unit_test(every_cut_of_a_document_is_refused),
        cmocka_unit_test(failing_allocations_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
