/* SPDX-License-Identifier: Apache-2.0 */
/* Goal: a primary-key tablet is what a plain table of rows would be, whatever happens to it.
 * Method: random tables (types, formats, merge engines, changelog images), random steps (writes,
 * partial updates, deletes, duplicates, bad batches, commits at once and beside other steps, new
 * columns, restarts, and processes that end without closing anything); after each step rows, scans,
 * counts and the log are compared with a model. The seed is printed; FLUSS_TEST_SEED makes another
 * run, FLUSS_TEST_WORLDS makes it longer. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kv_world.h"
#include "server/tree.h"

enum { WORLD_COUNT = 60, STEPS_PER_WORLD = 180, RECORDS_MAX = 6, BATCH_SIZE_MAX = 1 << 24 };
enum { LIFE_STEPS_MAX = 120, VALUE_COLUMNS_MAX = 7 };

static uint64_t draw_state;

static size_t below(size_t bound)
{
    return (size_t)(next_random(&draw_state) % bound);
}

/* ---- tables ---- */

static const char *const value_types[] = {"BOOLEAN",
                                          "TINYINT",
                                          "SMALLINT",
                                          "INT",
                                          "BIGINT",
                                          "FLOAT",
                                          "DOUBLE",
                                          "CHAR(5)",
                                          "STRING",
                                          "BINARY(4)",
                                          "BYTES",
                                          "DECIMAL(10,2)",
                                          "DECIMAL(30,5)",
                                          "DATE",
                                          "TIME(3)",
                                          "TIMESTAMP(3)",
                                          "TIMESTAMP(9)",
                                          "TIMESTAMP_LTZ(6)",
                                          "ARRAY<INT>",
                                          "ARRAY<ROW<a STRING, b DECIMAL(20,3)>>",
                                          "MAP<STRING, BIGINT>",
                                          "ROW<a INT, b ARRAY<STRING>, c ROW<d TIMESTAMP(9)>>"};
static const char *const key_types[] = {"TINYINT", "BIGINT",  "STRING",       "CHAR(5)",
                                        "DATE",    "BYTES",   "TIMESTAMP(6)", "DECIMAL(10,2)",
                                        "DOUBLE",  "BOOLEAN", "BINARY(3)",    "TIME(3)"};

static void set(world_spec *spec, const char *key, const char *value)
{
    if (value != NULL) {
        spec->properties[spec->property_count++] = (fluss_kv_t){.key = key, .value = value};
    }
}

static void draw_spec(world_spec *spec, int64_t table_id,
                      char texts[COLUMN_COUNT_MAX][TEXT_SIZE * 2])
{
    static const char *const log_formats[] = {"ARROW", "ARROW", "INDEXED", "COMPACTED"};
    static const char *const engines[] = {NULL, NULL, NULL, "first_row", "versioned"};
    static const char *const behaviors[] = {"ALLOW", "ALLOW", "IGNORE", "DISABLE"};
    *spec = (world_spec){.table_id = table_id};
    const bool all_nullable = below(3) != 0;
    const char *engine = engines[below(FL_COUNT_OF(engines))];
    if (below(3) == 0) {
        spec->columns[spec->column_count++] = "id INT NOT NULL";
    } else {
        (void)snprintf(texts[0], sizeof(texts[0]), "id %s NOT NULL",
                       key_types[below(FL_COUNT_OF(key_types))]);
        spec->columns[spec->column_count++] = texts[0];
        spec->columns[spec->column_count++] = "seq INT NOT NULL";
    }
    spec->key_count = spec->column_count;
    if (engine != NULL && strcmp(engine, "versioned") == 0) {
        spec->columns[spec->column_count++] = "ver BIGINT";
        set(spec, "table.merge-engine.versioned.ver-column", "ver");
    }
    for (size_t count = below(VALUE_COLUMNS_MAX); count != 0; count--) {
        const size_t i = spec->column_count++;
        (void)snprintf(texts[i], sizeof(texts[i]), "c%zu %s%s", i,
                       value_types[below(FL_COUNT_OF(value_types))],
                       all_nullable || below(2) == 0 ? "" : " NOT NULL");
        spec->columns[i] = texts[i];
    }
    set(spec, "table.merge-engine", engine);
    set(spec, "table.log.format", log_formats[below(FL_COUNT_OF(log_formats))]);
    set(spec, "table.kv.format", below(2) == 0 ? "COMPACTED" : "INDEXED");
    set(spec, "table.changelog.image", below(3) == 0 ? "WAL" : "FULL");
    set(spec, "table.delete.behavior",
        engine != NULL ? behaviors[2 + below(2)] : behaviors[below(FL_COUNT_OF(behaviors))]);
}

/* ---- the model's own rules ---- */

typedef struct request {
    put_record records[RECORDS_MAX];
    size_t count;
    int32_t targets[COLUMN_COUNT_MAX];
    size_t target_count;
    bool overwrites;
} request;

static bool is_target(const request *req, size_t column)
{
    for (size_t i = 0; i < req->target_count; i++) {
        if ((size_t)req->targets[i] == column) {
            return true;
        }
    }
    return req->target_count == 0;
}

static bool has_engine(const world *w, const request *req, const char *engine)
{
    return !req->overwrites && world_is(w, "table.merge-engine", engine);
}

static bool is_partial(const world *w, const request *req)
{
    return req->target_count != 0 && req->target_count != world_column_count(w);
}

static void change_row(world *w, size_t key, model_row row, bool is_blind)
{
    const model_row old = w->rows[key];
    const bool is_wal = world_is(w, "table.changelog.image", "WAL");
    if (old != NULL && !is_wal) {
        model_change_add(w, FLUSS_UPDATE_BEFORE, old);
    }
    model_change_add(w, old != NULL || is_blind ? FLUSS_UPDATE_AFTER : FLUSS_INSERT, row);
    w->rows[key] = row;
}

static bool is_stale(const world *w, model_row row, model_row old)
{
    const fluss_datum_t *version = &row[w->spec.key_count], *than = &old[w->spec.key_count];
    if (than->type == FLUSS_NULL) {
        return false;
    }
    return version->type == FLUSS_NULL || version->v.i < than->v.i;
}

static void model_upsert(world *w, const request *req, const put_record *record)
{
    const model_row old = w->rows[record->key];
    const bool is_wal = world_is(w, "table.changelog.image", "WAL");
    const size_t count = world_column_count(w);
    if (has_engine(w, req, "first_row") || has_engine(w, req, "versioned")) {
        if (old == NULL || (has_engine(w, req, "versioned") && !is_stale(w, record->row, old))) {
            change_row(w, record->key, record->row, false);
        }
        return;
    }
    if (!is_partial(w, req)) {
        change_row(w, record->key, record->row, is_wal);
        return;
    }
    if (old != NULL && req->target_count == w->spec.key_count) {
        return;
    }
    fluss_datum_t *merged = fl_arena_array(&w->arena, count, sizeof(*merged));
    for (size_t i = 0; i < count; i++) {
        merged[i] = is_target(req, i) ? record->row[i] : old != NULL ? old[i] : null_value();
    }
    change_row(w, record->key, merged, false);
}

/* false: the table forbids it. */
static bool model_delete(world *w, const request *req, const put_record *record)
{
    const model_row old = w->rows[record->key];
    const size_t count = world_column_count(w);
    bool is_left = false;
    if (!req->overwrites && world_is(w, "table.delete.behavior", "DISABLE")) {
        return false;
    }
    if (old == NULL || (!req->overwrites && world_is(w, "table.delete.behavior", "IGNORE"))) {
        return true;
    }
    fluss_datum_t *rest = fl_arena_array(&w->arena, count, sizeof(*rest));
    for (size_t i = 0; i < count; i++) {
        const bool is_key = i < w->spec.key_count;
        rest[i] = is_target(req, i) && !is_key ? null_value() : old[i];
        is_left = is_left || (!is_key && rest[i].type != FLUSS_NULL);
    }
    if (is_partial(w, req) && is_left) {
        change_row(w, record->key, rest, false);
    } else {
        model_change_add(w, FLUSS_DELETE, old);
        w->rows[record->key] = NULL;
    }
    return true;
}

/* Expected code. On an error the model is as before. */
static fluss_code_t model_put(world *w, const request *req)
{
    const size_t first_change = w->change_count;
    model_row before[KEY_COUNT];
    memcpy(before, w->rows, sizeof(before));
    for (size_t i = 0; i < req->count; i++) {
        const put_record *record = &req->records[i];
        if (record->row != NULL) {
            model_upsert(w, req, record);
        } else if (!model_delete(w, req, record)) {
            memcpy(w->rows, before, sizeof(before));
            w->change_count = first_change;
            return FLUSS_E_DELETION_DISABLED;
        }
    }
    model_end_batch(w, first_change);
    return 0;
}

/* ---- requests ---- */

static bool may_be_partial(const world *w, const request *req)
{
    for (size_t i = w->spec.key_count; i < world_column_count(w); i++) {
        if (!world_type(w, i)->nullable) {
            return false;
        }
    }
    return !has_engine(w, req, "first_row") && !has_engine(w, req, "versioned");
}

static model_row draw_row(world *w, const request *req, size_t key, size_t column_count)
{
    fluss_datum_t *row = fl_arena_array(&w->arena, world_column_count(w), sizeof(*row));
    for (size_t i = 0; i < column_count; i++) {
        const fl_type *type = world_type(w, i);
        if (i < w->spec.key_count) {
            row[i] = w->keys[key][i];
        } else if (is_target(req, i)) {
            row[i] = random_value(type, 25, &draw_state, &w->arena);
            if (strcmp(w->spec.columns[i], "ver BIGINT") == 0 && row[i].type != FLUSS_NULL) {
                row[i].v.i = (int64_t)below(10);
            }
        }
    }
    return row;
}

static void draw_request(world *w, request *req, int32_t schema_id)
{
    *req = (request){.count = below(RECORDS_MAX + 1), .overwrites = below(5) == 0};
    if (below(2) == 0 && may_be_partial(w, req)) {
        for (size_t i = 0; i < world_column_count(w); i++) {
            if (i < w->spec.key_count || below(2) == 0) {
                req->targets[req->target_count++] = (int32_t)i;
            }
        }
    }
    const size_t delete_share = below(4) == 0 ? 2 : 6;
    const size_t key_count = below(3) == 0 ? 2 : KEY_COUNT;
    for (size_t i = 0; i < req->count; i++) {
        put_record *record = &req->records[i];
        record->key = below(key_count);
        record->row = below(delete_share) == 0
                          ? NULL
                          : draw_row(w, req, record->key, w->schemas[schema_id - 1]->column_count);
    }
}

/* ---- steps: each draws the same whether the tablet is there or not ---- */

static fl_kv_put put_of(const world *w, const request *req, const fl_buf *batch)
{
    return (fl_kv_put){.records = fl_buf_slice(batch),
                       .target_columns = req->targets,
                       .target_count = req->target_count,
                       .overwrites = req->overwrites,
                       .now_ms = world_now(w)};
}

static void put_again(world *w, const fl_kv_put *put, const fl_log_appended *first)
{
    fl_log_appended again;
    OK(fl_kv_tablet_put(w->tablet, put, &again, &error));
    assert_true(again.is_duplicate);
    assert_int_equal(again.base_offset, first->base_offset);
    assert_int_equal(fl_log_store_end_offset(w->log), w->end_offset);
}

static void step_put(world *w)
{
    request req;
    fl_buf batch;
    fl_log_appended appended;
    const int32_t schema_id =
        below(4) == 0 ? 1 + (int32_t)below((size_t)w->schema_count) : w->schema_count;
    const bool is_idempotent = below(2) == 0, is_repeated = below(3) == 0;
    const int32_t sequence = w->sequence;
    const int64_t base_offset = w->end_offset;
    draw_request(w, &req, schema_id);
    const fluss_code_t wanted = model_put(w, &req);
    w->sequence += is_idempotent && wanted == 0 ? 1 : 0;
    if (w->tablet == NULL) {
        return;
    }
    fl_buf_init(&batch, BATCH_SIZE_MAX);
    world_batch(w, req.records, req.count, schema_id, is_idempotent ? WRITER_ID : FL_NO_WRITER_ID,
                is_idempotent ? sequence : FL_NO_SEQUENCE, &batch);
    const fl_kv_put put = put_of(w, &req, &batch);
    error.message[0] = '\0';
    const fluss_code_t rc = fl_kv_tablet_put(w->tablet, &put, &appended, &error);
    if (rc != wanted) {
        fail_msg("put: %d, wanted %d: %s", (int)rc, (int)wanted, error.message);
    }
    if (rc == 0) {
        assert_false(appended.is_duplicate);
        assert_int_equal(appended.base_offset, base_offset);
        assert_int_equal(appended.log_end_offset, w->end_offset);
        if (is_idempotent && is_repeated) {
            put_again(w, &put, &appended);
        }
    }
    fl_buf_deinit(&batch);
}

/* A batch with one fault: nothing changes. */
static void step_bad_put(world *w)
{
    enum { BAD_CRC, BAD_SCHEMA, BAD_SEQUENCE, BAD_KEY, BAD_TARGET, CUT, FAULT_COUNT };
    static const fluss_code_t wanted[] = {14, 9, 31, 14, 35, 14};
    const size_t fault = below(FAULT_COUNT), cut = below(1000), flipped = below(1000);
    request req;
    fl_buf batch;
    fl_log_appended appended;
    draw_request(w, &req, w->schema_count);
    req.target_count = 0;
    req.count = req.count < RECORDS_MAX ? req.count : RECORDS_MAX - 1;
    for (size_t i = 0; i < req.count; i++) { /* whole rows, so that the fault is the only one */
        req.records[i].row = draw_row(w, &req, req.records[i].key, world_column_count(w));
    }
    req.records[req.count] = (put_record){
        .key = 0, .row = draw_row(w, &req, fault == BAD_KEY ? 1 : 0, world_column_count(w))};
    if (fault == BAD_TARGET) {
        req.targets[0] = (int32_t)world_column_count(w);
        req.target_count = 1;
    }
    if (w->tablet == NULL) {
        return;
    }
    fl_buf_init(&batch, BATCH_SIZE_MAX);
    world_batch(w, req.records, req.count + 1, w->schema_count, WRITER_ID,
                w->sequence + (fault == BAD_SEQUENCE ? 5 : 0), &batch);
    fl_kv_put put = put_of(w, &req, &batch);
    if (fault == BAD_CRC) {
        batch.data[9 + flipped % (batch.size - 9)] ^= 0x10;
    } else if (fault == BAD_SCHEMA) {
        fl_store_i16(batch.data + 9, (int16_t)(w->schema_count + 1));
        fl_kv_batch_set_writer(batch.data, batch.size, WRITER_ID, w->sequence);
    } else if (fault == CUT) {
        put.records.size = cut % batch.size;
    }
    const fluss_code_t rc = fl_kv_tablet_put(w->tablet, &put, &appended, &error);
    if (rc != wanted[fault]) {
        fail_msg("fault %zu: %d, wanted %d: %s", fault, (int)rc, (int)wanted[fault], error.message);
    }
    fl_buf_deinit(&batch);
}

static void step_commit(world *w)
{
    const size_t rest = w->batch_count - w->batches_committed;
    const size_t count = w->batches_committed + (rest != 0 ? 1 + below(rest) : 0);
    model_commit(w, count);
    if (w->tablet != NULL && count != 0) {
        const int64_t offset = w->batches[count - 1].end_offset;
        OK(fl_kv_tablet_commit(w->tablet, offset, &error));
        assert_true(fl_kv_tablet_applied_offset(w->tablet) >= offset);
        assert_true(rest != 0 || fl_kv_tablet_pending_bytes(w->tablet) == 0);
    }
}

static void step_add_column(world *w)
{
    char column[TEXT_SIZE * 2];
    const char *type = value_types[below(FL_COUNT_OF(value_types))];
    if (w->schema_count < SCHEMA_COUNT_MAX) {
        (void)snprintf(column, sizeof(column), "added%d %s", (int)w->schema_count, type);
        world_add_column(w, column);
    }
}

static void *run_commit(void *commit)
{
    fl_kv_commit_run(commit);
    return NULL;
}

/* A thread moves rows to the store while others are written: scans see what was there before. Where
 * the log does not get to disk, it does not run, and nothing has happened. */
static void step_long_commit(world *w)
{
    const size_t count = w->batch_count, step_count = below(4);
    const bool is_run = below(4) != 0;
    fl_kv_commit *commit = NULL;
    pthread_t thread;
    if (w->tablet != NULL && count != 0) {
        OK(fl_kv_commit_begin(w->tablet, w->batches[count - 1].end_offset, &commit, &error));
    }
    if (commit != NULL && is_run) {
        assert_int_equal(pthread_create(&thread, NULL, run_commit, commit), 0);
    }
    for (size_t i = 0; i < step_count; i++) {
        const size_t kind = below(10);
        if (kind == 0) {
            step_add_column(w);
        } else if (kind == 1) {
            step_bad_put(w);
        } else {
            step_put(w);
        }
        if (w->tablet != NULL) {
            world_check_scans(w);
        }
    }
    if (commit != NULL && is_run) {
        assert_int_equal(pthread_join(thread, NULL), 0);
        world_check_scans(w);
    }
    if (commit != NULL) {
        OK(fl_kv_commit_end(w->tablet, commit, &error));
    }
    if (is_run) {
        model_commit(w, count);
    }
}

static void step_flush(world *w)
{
    if (w->tablet != NULL) {
        OK(fl_kv_store_flush(w->store, &error));
    }
}

/* A step that does not end the process. */
static void step(world *w)
{
    const size_t kind = below(100);
    if (kind < 55) {
        step_put(w);
    } else if (kind < 67) {
        step_bad_put(w);
    } else if (kind < 82) {
        step_commit(w);
    } else if (kind < 92) {
        step_long_commit(w);
    } else if (kind < 96) {
        step_flush(w);
    } else if (kind == 96) {
        step_add_column(w);
    }
}

/* ---- processes ---- */

typedef struct stage {
    char dir[PATH_SIZE - 32], store_dir[PATH_SIZE];
    fl_kv_store *store;
} stage;

static void step_reopen(world *w, stage *s, bool with_store)
{
    model_commit(w, w->batch_count);
    if (w->tablet == NULL) {
        return;
    }
    world_close(w);
    if (with_store) {
        fl_kv_store_close(s->store);
        OK(fl_kv_store_open(s->store_dir, &s->store, &error));
    }
    world_open(w, s->store);
}

static void take_steps(world *w, stage *s, size_t count)
{
    model_commit(w, w->batch_count); /* opening reads the whole log into the store */
    for (size_t i = 0; i < count; i++) {
        const size_t kind = below(120);
        if (kind < 2) {
            step_reopen(w, s, kind == 0);
        } else {
            step(w);
        }
        if (w->tablet != NULL) {
            world_check(w);
        }
    }
}

/* Another process opens the tablet, checks it, takes steps, and closes it, or is killed; this one
 * takes the steps in the model only. What a killed one had not flushed of the key-value store is
 * gone, the log is there. (A process that has used RocksDB cannot fork.) */
static void live(world *w, stage *s, size_t count, bool is_killed)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(60);
        OK(fl_kv_store_open(s->store_dir, &s->store, &error));
        world_open(w, s->store);
        world_check(w);
        take_steps(w, s, count);
        if (is_killed) {
            (void)kill(getpid(), SIGKILL);
        }
        world_close(w);
        fl_kv_store_close(s->store);
        _exit(0);
    }
    take_steps(w, s, count);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(is_killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                          : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void stage_init(stage *s)
{
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(s->dir, sizeof(s->dir), "%s/fluss-kv-XXXXXX", parent);
    assert_non_null(mkdtemp(s->dir));
    (void)snprintf(s->store_dir, sizeof(s->store_dir), "%s/kv", s->dir);
}

static void tablets_are_what_the_model_says(void **state)
{
    const char *worlds = getenv("FLUSS_TEST_WORLDS");
    const size_t world_count = worlds != NULL ? strtoul(worlds, NULL, 10) : WORLD_COUNT;
    size_t steps = 0;
    stage s;
    (void)state;
    stage_init(&s);
    for (size_t number = 0; number < world_count; number++) {
        char texts[COLUMN_COUNT_MAX][TEXT_SIZE * 2];
        world_spec spec;
        world w;
        draw_spec(&spec, (int64_t)number + 1, texts);
        world_init(&w, s.dir, &spec);
        for (size_t done = 0, count; done < STEPS_PER_WORLD; done += count) {
            count = 1 + below(LIFE_STEPS_MAX);
            live(&w, &s, count, below(3) != 0);
            steps += count;
        }
        world_deinit(&w);
    }
    OK(fl_tree_remove(s.dir, &error));
    print_message("%zu steps\n", steps);
}

/* ---- auto-increment ---- */

enum { LIVES = 4, BLOCK_SIZE = 1000 };

static void insert_missing(world *w, size_t first_key, size_t count)
{
    fl_log_appended appended;
    OK(fl_kv_tablet_insert_missing(w->tablet, &w->encoded_keys[first_key], count, world_now(w),
                                   &appended, &error));
    OK(fl_kv_tablet_commit(w->tablet, fl_log_store_end_offset(w->log), &error));
}

/* The id of a row; 0: no row. */
static int64_t id_of(const world *w, size_t key)
{
    const fl_type *types[] = {world_type(w, 0), world_type(w, 1), world_type(w, 2)};
    fluss_datum_t values[3] = {0};
    fl_arena arena;
    uint8_t *value;
    size_t size;
    OK(fl_kv_tablet_get(w->tablet, w->encoded_keys[key], &value, &size, &error));
    if (value != NULL) {
        fl_arena_init(&arena);
        OK(fl_row_decode(FL_ROW_COMPACTED, types, fl_slice_of(value + 2, size - 2), 3, &arena,
                         values, &error));
        fl_arena_deinit(&arena);
        fl_free(value);
    }
    return values[1].v.i;
}

/* A life inserts four keys, with a flush in the middle, so that the state in the store is older
 * than the rows of the log; then it is killed. */
static void insert_and_die(world *w, stage *s, size_t first_key)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(60);
        OK(fl_kv_store_open(s->store_dir, &s->store, &error));
        world_open(w, s->store);
        insert_missing(w, first_key, 2);
        OK(fl_kv_store_flush(s->store, &error));
        insert_missing(w, first_key + 1, 3); /* one of them is there */
        for (size_t i = 0; i < first_key + 4; i++) {
            assert_in_range(id_of(w, i), 1, INT64_MAX);
            for (size_t j = 0; j < i; j++) {
                assert_int_not_equal(id_of(w, i), id_of(w, j));
            }
        }
        (void)kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    w->next_id += BLOCK_SIZE * 2; /* the ids that the child may have taken are durable elsewhere */
}

static void no_id_is_given_twice_by_processes_that_are_killed(void **state)
{
    stage s;
    world w;
    const world_spec spec = {
        .columns = {"id INT NOT NULL", "number BIGINT", "name STRING"},
        .column_count = 3,
        .key_count = 1,
        .properties = {{"auto-increment", "number"}, {"table.auto-increment.cache-size", "1000"}},
        .property_count = 2,
        .table_id = 1};
    (void)state;
    stage_init(&s);
    world_init(&w, s.dir, &spec);
    for (size_t life = 0; life < LIVES; life++) {
        insert_and_die(&w, &s, life * 4);
    }
    world_deinit(&w);
    OK(fl_tree_remove(s.dir, &error));
}

static void an_int_column_without_a_value_left_refuses_rows(void **state)
{
    stage s;
    world w;
    fl_log_appended appended;
    const world_spec spec = {
        .columns = {"id INT NOT NULL", "number INT", "name STRING"},
        .column_count = 3,
        .key_count = 1,
        .properties = {{"auto-increment", "number"}, {"table.auto-increment.cache-size", "1"}},
        .property_count = 2,
        .table_id = 1};
    (void)state;
    stage_init(&s);
    OK(fl_kv_store_open(s.store_dir, &s.store, &error));
    world_init(&w, s.dir, &spec);
    w.next_id = INT32_MAX - 1;
    world_open(&w, s.store);
    insert_missing(&w, 0, 2);
    assert_int_equal(id_of(&w, 1), INT32_MAX);
    const int64_t end = fl_log_store_end_offset(w.log);
    assert_int_equal(fl_kv_tablet_insert_missing(w.tablet, &w.encoded_keys[2], 1, world_now(&w),
                                                 &appended, &error),
                     FLUSS_E_SERVER_UNKNOWN);
    assert_non_null(strstr(error.message, "number"));
    assert_int_equal(fl_log_store_end_offset(w.log), end);
    assert_int_equal(id_of(&w, 2), 0);
    world_deinit(&w);
    fl_kv_store_close(s.store);
    OK(fl_tree_remove(s.dir, &error));
}

int main(void)
{
    const char *seed = getenv("FLUSS_TEST_SEED");
    draw_state = seed != NULL ? strtoull(seed, NULL, 10) : 20261130;
    print_message("FLUSS_TEST_SEED=%llu\n", (unsigned long long)draw_state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_id_is_given_twice_by_processes_that_are_killed),
        cmocka_unit_test(tablets_are_what_the_model_says),
        /* Last: it opens a store in this process, whose threads no fork after it would have. */
        cmocka_unit_test(an_int_column_without_a_value_left_refuses_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
