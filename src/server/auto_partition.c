/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions by time. A check is one change of the catalog for all tables: the partitions that are
 * missing are made, those older than what is kept are dropped. */
#include "server/auto_partition.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/period.h"
#include "server/server.h"
#include "server/zone.h"

/* What happens to one partition. */
typedef struct step {
    fl_table *table;
    fl_partition *partition;
    bool is_removal;
} step;

struct fl_auto_partition_check {
    fl_server *server;
    fl_timer *timer;
    fl_change change;
    fl_arena arena; /* of the check that runs */
    step *steps;
    size_t step_count, step_capacity;
    bool is_running, is_stopped;
    bool must_run_again; /* a table was altered while a check ran */
};

static fluss_code_t period_now(const fl_table_info *info, int64_t now_ms, int64_t *period,
                               fluss_error_t *err)
{
    const fl_auto_partition *rule = &info->settings.auto_partition;
    fl_zone zone;
    FL_TRY(fl_zone_load(rule->time_zone, &zone, err));
    *period = fl_period_of(rule->time_unit, fl_zone_local_ms(&zone, now_ms));
    fl_zone_deinit(&zone);
    return 0;
}

static bool is_by_time(const fl_table_info *info)
{
    return info->is_partitioned && info->settings.auto_partition.enabled;
}

fluss_code_t fl_auto_partition_check_zone(const fl_table_desc *desc, fluss_error_t *err)
{
    static const char key[] = "table.auto-partition.time-zone";
    const char *name = fl_table_desc_property(desc, key);
    fl_zone zone;
    if (name == NULL) {
        return 0;
    }
    const fluss_code_t rc = fl_zone_load(name, &zone, err);
    if (rc != 0) {
        fl_error_prefix(err, "'%s': ", key);
        return rc;
    }
    fl_zone_deinit(&zone);
    return 0;
}

/* ---- a new table ---- */

fluss_code_t fl_auto_partition_first(fl_catalog *catalog, const fl_table_info *info,
                                     fl_arena *arena, fl_kv_write *write, int64_t now_ms,
                                     fl_partition ***partitions, size_t *count, fluss_error_t *err)
{
    const fl_auto_partition *rule = &info->settings.auto_partition;
    const int32_t wanted = rule->precreate_count;
    int64_t period = 0;
    char name[FL_PERIOD_NAME_SIZE];
    *count = 0;
    if (!is_by_time(info) || wanted <= 0 || info->desc->partition_key_count != 1) {
        return 0;
    }
    const int32_t made_max = fl_catalog_server(catalog)->settings.partition_max;
    const int32_t made = wanted < made_max ? wanted : made_max;
    *partitions = fl_arena_array(arena, (size_t)made, sizeof(**partitions));
    if (*partitions == NULL) {
        return fl_error_nomem(err);
    }
    FL_TRY(period_now(info, now_ms, &period, err));
    for (int32_t i = 0; i < made; i++) {
        fl_period_name(rule->time_unit, rule->time_format, period + i, name);
        fl_partition *partition =
            fl_partition_new(fl_catalog_new_partition_id(catalog, write), fl_slice_str(name));
        if (partition == NULL) {
            return fl_error_nomem(err);
        }
        (*partitions)[(*count)++] = partition;
        FL_TRY(fl_catalog_put_partition(write, info->table_id, partition, err));
    }
    return 0;
}

/* ---- partitions made by hand ---- */

static size_t time_key_of(const fl_table_info *info)
{
    const int32_t index = info->settings.auto_partition.key_index;
    return index > 0 ? (size_t)index : 0;
}

/* The name of the oldest period that is kept; false: all are. */
static fluss_code_t oldest_kept(const fl_table_info *info, int64_t now_ms, char *name, bool *is_any,
                                fluss_error_t *err)
{
    const fl_auto_partition *rule = &info->settings.auto_partition;
    int64_t period = 0;
    *is_any = rule->retention_count < 0;
    if (*is_any) {
        return 0;
    }
    FL_TRY(period_now(info, now_ms, &period, err));
    fl_period_name(rule->time_unit, rule->time_format, period - rule->retention_count, name);
    return 0;
}

static bool is_older(fl_slice value, const char *oldest)
{
    const size_t size = strlen(oldest);
    const int order = memcmp(value.data, oldest, value.size < size ? value.size : size);
    return order != 0 ? order < 0 : value.size < size;
}

fluss_code_t fl_auto_partition_check_value(const fl_table_info *info, const fl_slice *values,
                                           int64_t now_ms, fluss_error_t *err)
{
    const fl_auto_partition *rule = &info->settings.auto_partition;
    char oldest[FL_PERIOD_NAME_SIZE], model[FL_PERIOD_NAME_SIZE];
    bool is_any = false;
    if (!is_by_time(info) && (!info->is_partitioned || rule->time_format == NULL)) {
        return 0;
    }
    const fl_slice value = values[time_key_of(info)];
    if (!fl_period_matches(rule->time_unit, rule->time_format, value)) {
        fl_period_name(rule->time_unit, rule->time_format, fl_period_of(rule->time_unit, now_ms),
                       model);
        return fl_error(err, FLUSS_E_PARTITION_SPEC_INVALID, FLUSS_KIND_SERVER,
                        "The partition value '%.*s' is no date in the form of the table's time "
                        "partitions, such as '%s'.",
                        (int)(value.size < 200 ? value.size : 200), (const char *)value.data,
                        model);
    }
    if (!is_by_time(info)) {
        return 0;
    }
    FL_TRY(oldest_kept(info, now_ms, oldest, &is_any, err));
    if (!is_any && is_older(value, oldest)) {
        return fl_error(err, FLUSS_E_PARTITION_SPEC_INVALID, FLUSS_KIND_SERVER,
                        "The partition value '%.*s' is older than '%s', the oldest that "
                        "'table.auto-partition.num-retention' keeps.",
                        (int)value.size, (const char *)value.data, oldest);
    }
    return 0;
}

/* ---- the check ---- */

static fluss_code_t reserve_step(fl_auto_partition_check *self, fluss_error_t *err)
{
    step *steps = fl_grow(self->steps, &self->step_capacity, self->step_count, sizeof(*steps));
    if (steps == NULL) {
        return fl_error_nomem(err);
    }
    self->steps = steps;
    return 0;
}

/* A new partition is in its table already when it is committed, for what takes memory comes before
 * the commit: with its record, its place in the table and a step, or not at all. */
static fluss_code_t add_new(fl_auto_partition_check *self, fl_table *table, const char *name,
                            fl_kv_write *write, fluss_error_t *err)
{
    FL_TRY(reserve_step(self, err));
    fl_partition *partition = fl_partition_new(
        fl_catalog_new_partition_id(self->server->catalog, write), fl_slice_str(name));
    if (partition == NULL || !fl_table_add_partition(table, partition)) {
        fl_partition_free(partition);
        return fl_error_nomem(err);
    }
    const fluss_code_t rc = fl_catalog_put_partition(write, table->id, partition, err);
    if (rc != 0) {
        fl_table_take_partition(table, partition);
        fl_partition_free(partition);
        return rc;
    }
    self->steps[self->step_count++] = (step){.table = table, .partition = partition};
    return 0;
}

static fluss_code_t plan_new(fl_auto_partition_check *self, fl_table *table, int64_t period,
                             fl_kv_write *write, fluss_error_t *err)
{
    const fl_auto_partition *rule = &table->info->settings.auto_partition;
    const size_t count_max = (size_t)self->server->settings.partition_max;
    size_t count = fl_table_partition_count(table);
    char name[FL_PERIOD_NAME_SIZE];
    if (table->info->desc->partition_key_count != 1) {
        return 0;
    }
    for (int32_t i = 0; i < rule->precreate_count && count < count_max; i++) {
        fl_period_name(rule->time_unit, rule->time_format, period + i, name);
        if (fl_table_partition(table, fl_slice_str(name)) != NULL) {
            continue;
        }
        FL_TRY(add_new(self, table, name, write, err));
        count++;
    }
    return 0;
}

/* The value of the time key in a partition's name. */
static fl_slice time_value(const fl_table_info *info, const char *name)
{
    for (size_t i = time_key_of(info); i != 0; i--) {
        const char *mark = strchr(name, '$');
        if (mark == NULL) {
            return (fl_slice){0};
        }
        name = mark + 1;
    }
    return fl_slice_of(name, strcspn(name, "$"));
}

static fluss_code_t plan_old(fl_auto_partition_check *self, fl_table *table, int64_t now_ms,
                             fl_kv_write *write, fluss_error_t *err)
{
    char oldest[FL_PERIOD_NAME_SIZE];
    bool is_any = false;
    FL_TRY(oldest_kept(table->info, now_ms, oldest, &is_any, err));
    for (fl_partition *each = table->partitions_by_id; !is_any && each != NULL;
         each = each->by_id.next) {
        const fl_slice value = time_value(table->info, each->name);
        if (value.size != 0 && is_older(value, oldest)) {
            FL_TRY(reserve_step(self, err));
            self->steps[self->step_count++] =
                (step){.table = table, .partition = each, .is_removal = true};
            fl_catalog_delete_partition(write, table->id, each->id);
        }
    }
    return 0;
}

static fluss_code_t plan_table(fl_auto_partition_check *self, fl_table *table, int64_t now_ms,
                               fl_kv_write *write, fluss_error_t *err)
{
    int64_t period = 0;
    FL_TRY(period_now(table->info, now_ms, &period, err));
    FL_TRY(plan_new(self, table, period, write, err));
    return plan_old(self, table, now_ms, write, err);
}

static void free_check(fl_auto_partition_check *self)
{
    fl_free(self->steps);
    fl_arena_deinit(&self->arena);
    fl_free(self);
}

/* The check is over; the change has ended or ends now. */
static void check_over(fl_auto_partition_check *self)
{
    fl_server *server = self->server;
    fl_change_end(&self->change);
    self->is_running = false;
    self->step_count = 0;
    fl_arena_reset(&self->arena);
    if (self->is_stopped) {
        free_check(self);
    } else {
        fl_timer_start(self->timer,
                       self->must_run_again ? 0 : server->settings.auto_partition_interval);
        self->must_run_again = false;
    }
    fl_server_release(server);
}

static void check_spread(fl_change *change)
{
    fl_auto_partition_check *self = change->context;
    fl_tablet_ops_release(change);
    for (size_t i = 0; i < self->step_count; i++) {
        if (self->steps[i].is_removal) {
            fl_partition_free(self->steps[i].partition);
        }
    }
    check_over(self);
}

/* Forget partitions that were planned and do not come to be. */
static void forget_new(fl_auto_partition_check *self)
{
    for (size_t i = 0; i < self->step_count; i++) {
        if (!self->steps[i].is_removal) {
            fl_table_take_partition(self->steps[i].table, self->steps[i].partition);
            fl_partition_free(self->steps[i].partition);
        }
    }
}

static void check_committed(fl_change *change)
{
    fl_auto_partition_check *self = change->context;
    if (change->error.code != 0) {
        forget_new(self);
        check_over(self);
        return;
    }
    for (size_t i = 0; i < self->step_count; i++) {
        const step *each = &self->steps[i];
        if (each->is_removal) {
            fl_table_take_partition(each->table, each->partition);
        }
        change->ops[i] = (fl_tablet_op){.info = fl_table_info_ref(each->table->info),
                                        .partition_id = each->partition->id,
                                        .partition_name = each->partition->name,
                                        .is_removal = each->is_removal};
    }
    fl_change_spread(change, change->ops, self->step_count, check_spread);
}

static void run_check(fl_change *change)
{
    fl_auto_partition_check *self = change->context;
    fluss_error_t err;
    fl_kv_write *write = fl_kv_write_new();
    const int64_t now_ms = fl_wall_ms();
    for (fl_table *table = fl_catalog_tables(self->server->catalog); write != NULL && table != NULL;
         table = table->by_id.next) {
        if (is_by_time(table->info) && plan_table(self, table, now_ms, write, &err) != 0) {
            fl_log(FL_LOG_WARNING, "server", "partitions by time of table %s.%s: %s",
                   table->info->database, table->info->name, err.message);
        }
    }
    if (write == NULL || self->step_count == 0 ||
        fl_change_reserve(change, &self->arena, self->step_count, &err) != 0) {
        forget_new(self);
        fl_kv_write_free(write);
        check_over(self);
        return;
    }
    fl_change_commit(change, write, check_committed);
}

static void on_timer(void *context)
{
    fl_auto_partition_check *self = context;
    self->is_running = true;
    self->change = (fl_change){.run = run_check, .context = self};
    fl_server_hold(self->server);
    fl_catalog_change(self->server->catalog, &self->change);
}

fluss_code_t fl_auto_partition_start(fl_server *server, fl_auto_partition_check **out,
                                     fluss_error_t *err)
{
    fl_auto_partition_check *self = fl_calloc(1, sizeof(*self));
    *out = self;
    if (self == NULL) {
        return fl_error_nomem(err);
    }
    self->server = server;
    fl_arena_init(&self->arena);
    FL_TRY(fl_timer_new(server->shards[0].loop, on_timer, self, &self->timer, err));
    fl_timer_start(self->timer, 0);
    return 0;
}

void fl_auto_partition_check_now(fl_auto_partition_check *self)
{
    if (self->is_running) {
        self->must_run_again = true;
    } else {
        fl_timer_start(self->timer, 0);
    }
}

void fl_auto_partition_stop(fl_auto_partition_check *self)
{
    if (self == NULL) {
        return;
    }
    fl_timer_free(self->timer);
    self->timer = NULL;
    self->is_stopped = true;
    if (!self->is_running) {
        free_check(self);
    }
}
