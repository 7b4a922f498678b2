/* SPDX-License-Identifier: Apache-2.0 */
/* What a server writes into the descriptor of a new table.
 * Source: CoordinatorService.applySystemDefaults, Fluss 1.0. */
#include "format/table_rules.h"

enum { KV_FORMAT_VERSION = 2 };

static const char *const lake_names[] = {[FL_LAKE_PAIMON] = "paimon",
                                         [FL_LAKE_ICEBERG] = "iceberg",
                                         [FL_LAKE_LANCE] = "lance",
                                         [FL_LAKE_HUDI] = "hudi"};

static fluss_code_t set_if_unset(fl_table_desc *desc, const char *key, const char *value,
                                 fluss_error_t *err)
{
    return fl_table_desc_property(desc, key) != NULL
               ? 0
               : fl_table_desc_set_property(desc, key, value, err);
}

static fluss_code_t set_number_if_unset(fl_table_desc *desc, const char *key, int32_t number,
                                        fluss_error_t *err)
{
    fl_buf text;
    fl_buf_init(&text, 16);
    fluss_code_t rc = fl_buf_printf(&text, err, "%d", number);
    if (rc == 0) {
        rc = fl_buf_append_byte(&text, 0, err);
    }
    if (rc == 0) {
        rc = set_if_unset(desc, key, (const char *)text.data, err);
    }
    fl_buf_deinit(&text);
    return rc;
}

/* Clients compare these texts exactly, so they are stored in one spelling. */
static fluss_code_t respell(fl_table_desc *desc, const char *key, fluss_error_t *err)
{
    const char *value = fl_table_desc_property(desc, key);
    size_t size;
    const char *canonical =
        value == NULL ? NULL : fl_property_canonical(fl_property_find(key), value, &size);
    if (canonical == NULL) {
        return 0;
    }
    const char *spelling = fl_arena_strndup(&desc->arena, canonical, size);
    return spelling == NULL ? fl_error_nomem(err)
                            : fl_table_desc_set_property(desc, key, spelling, err);
}

static bool is_true(const fl_table_desc *desc, const char *key)
{
    const char *value = fl_table_desc_property(desc, key);
    bool flag = false;
    return value != NULL && fl_text_to_bool(value, &flag) && flag;
}

static fluss_code_t fill_primary_key(fl_table_desc *desc, fluss_error_t *err)
{
    const char *engine = fl_table_desc_property(desc, "table.merge-engine");
    if (engine != NULL && fl_property_choice(fl_property_find("table.merge-engine"), engine) >= 0) {
        FL_TRY(set_if_unset(desc, "table.delete.behavior", "IGNORE", err));
    }
    FL_TRY(set_number_if_unset(desc, "table.kv.format-version", KV_FORMAT_VERSION, err));
    return set_if_unset(desc, "table.kv.standby-replica.enabled", "true", err);
}

fluss_code_t fl_table_rules_fill_defaults(fl_table_desc *desc, const fl_table_defaults *defaults,
                                          fluss_error_t *err)
{
    if (desc->bucket_count == 0) {
        desc->bucket_count = defaults->bucket_count;
    }
    FL_TRY(
        set_number_if_unset(desc, "table.replication.factor", defaults->replication_factor, err));
    if (desc->partition_key_count > 1 && is_true(desc, "table.auto-partition.enabled")) {
        FL_TRY(set_if_unset(desc, "table.auto-partition.num-precreate", "0", err));
    }
    if (defaults->lake_format != FL_LAKE_NONE) {
        FL_TRY(set_if_unset(desc, "table.datalake.format", lake_names[defaults->lake_format], err));
    }
    if (fl_schema_has_primary_key(desc->schema)) {
        FL_TRY(fill_primary_key(desc, err));
    }
    FL_TRY(respell(desc, "table.log.format", err));
    FL_TRY(respell(desc, "table.kv.format", err));
    return respell(desc, "table.log.arrow.compression.type", err);
}
