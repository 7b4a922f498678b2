/* SPDX-License-Identifier: Apache-2.0 */
/* fluss.h - C11 client API. One include, no dependency but the C library. */
#ifndef FLUSS_H
#define FLUSS_H
#include "fluss_types.h"
#ifdef __cplusplus
extern "C" {
#endif
#define FLUSS_VERSION 0x00010000               /* 0xMMmmpp00 of this header; fluss_version() is the library's */
FLUSS_API uint32_t    fluss_version(void);
FLUSS_API const char *fluss_version_string(void);
struct ArrowSchema; struct ArrowArray; struct ArrowArrayStream;   /* Arrow C data interface, defined by the user or <fluss_arrow.h> */

/* opaque handles; every one has exactly one release function, which takes NULL */
typedef struct fluss_config  fluss_config_t;   typedef struct fluss_conn    fluss_conn_t;
typedef struct fluss_schema  fluss_schema_t;   typedef struct fluss_desc    fluss_desc_t;     typedef struct fluss_table   fluss_table_t;
typedef struct fluss_writer  fluss_writer_t;   typedef struct fluss_lookup  fluss_lookup_t;   typedef struct fluss_scanner fluss_scanner_t;
typedef struct fluss_future  fluss_future_t;   typedef struct fluss_queue   fluss_queue_t;    typedef struct fluss_pred    fluss_pred_t;
typedef struct fluss_records fluss_records_t;  typedef struct fluss_batches fluss_batches_t;  typedef struct fluss_result  fluss_result_t;
typedef struct fluss_row     fluss_row_t;      /* always borrowed from records */

/* ---- errors: every fallible call returns a code and fills *err; the caller owns the struct, nothing to free; err may be NULL ---- */
FLUSS_API const char  *fluss_code_name(fluss_code_t c);                    /* "TABLE_NOT_EXIST"; static */

/* ---- plain data ---- */
enum { FLUSS_IF_EXISTS = 1, FLUSS_IF_NOT_EXISTS = 2, FLUSS_CASCADE = 4, FLUSS_READABLE = 8 };        /* flags of admin calls */
typedef struct { fluss_bucket_t bucket; int64_t offset, timestamp_ms; fluss_change_t change; const fluss_row_t *row; } fluss_record_t;
FLUSS_API const char *fluss_change_string(fluss_change_t c);                            /* "+A" "+I" "-U" "+U" "-D" */
FLUSS_API fluss_datum_t fluss_str(const char *z);                                       /* further makers are static inline in <fluss_datum.h> */
FLUSS_API fluss_code_t  fluss_decimal(const char *text, int precision, int scale, fluss_datum_t *out, fluss_error_t *err);

/* ---- configuration, schema, table descriptor (not thread-safe while being built) ---- */
FLUSS_API fluss_config_t *fluss_config_new(void);
FLUSS_API fluss_code_t    fluss_config_set(fluss_config_t *c, const char *key, const char *value, fluss_error_t *err);
FLUSS_API const char     *fluss_config_get(const fluss_config_t *c, const char *key);   /* effective value; NULL: unknown key; secrets masked */
FLUSS_API void            fluss_config_free(fluss_config_t *c);
FLUSS_API fluss_schema_t *fluss_schema_new(void);
FLUSS_API fluss_code_t fluss_schema_add(fluss_schema_t *s, const char *name, const char *type /* "ARRAY<DECIMAL(10,2)> NOT NULL" */, const char *comment, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_schema_primary_key(fluss_schema_t *s, const char *const *names, size_t n, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_schema_auto_increment(fluss_schema_t *s, const char *name, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_schema_from_arrow(const struct ArrowSchema *in, fluss_schema_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_schema_to_arrow(const fluss_schema_t *s, struct ArrowSchema *out, fluss_error_t *err);
FLUSS_API size_t       fluss_schema_columns(const fluss_schema_t *s);
FLUSS_API fluss_code_t fluss_schema_column(const fluss_schema_t *s, size_t i, const char **name, const char **type, const char **comment);   /* borrowed */
FLUSS_API void         fluss_schema_free(fluss_schema_t *s);
typedef struct { size_t size; const char *const *partition_keys; size_t n_partition_keys; const char *const *bucket_keys; size_t n_bucket_keys; int32_t buckets;
                 const char *comment, *log_format, *kv_format; const fluss_kv_t *properties; size_t n_properties; const fluss_kv_t *custom; size_t n_custom; } fluss_desc_opts_t;
FLUSS_API fluss_code_t fluss_desc_new(const fluss_schema_t *s, const fluss_desc_opts_t *o, fluss_desc_t **out, fluss_error_t *err);   /* copies all */
FLUSS_API void         fluss_desc_free(fluss_desc_t *d);
typedef struct { size_t size; fluss_path_t path; int64_t table_id, created_ms, modified_ms; int32_t schema_id, buckets; const fluss_schema_t *schema; const char *comment;
                 const char *const *primary_keys, *const *bucket_keys, *const *partition_keys; size_t n_primary_keys, n_bucket_keys, n_partition_keys;
                 const fluss_kv_t *properties, *custom; size_t n_properties, n_custom; } fluss_table_info_t;

/* ---- futures: every remote call returns one (never NULL) and has already started ---- */
typedef void (*fluss_ready_fn)(fluss_future_t *f, void *user);             /* runs once, on a library thread; must not block, may free f */
FLUSS_API bool         fluss_future_ready(const fluss_future_t *f);
FLUSS_API fluss_code_t fluss_future_wait(fluss_future_t *f, int64_t timeout_ms /* < 0: for ever */, fluss_error_t *err);
FLUSS_API void         fluss_future_on_ready(fluss_future_t *f, fluss_ready_fn fn, void *user);
FLUSS_API void         fluss_future_to_queue(fluss_future_t *f, fluss_queue_t *q, void *tag);
FLUSS_API bool         fluss_future_cancel(fluss_future_t *f);             /* true: it will end with FLUSS_KIND_CANCELLED */
FLUSS_API void         fluss_future_free(fluss_future_t *f);               /* not ready: detached, the work goes on */
FLUSS_API fluss_queue_t *fluss_queue_new(void);                            /* completion queue for event loops */
FLUSS_API int  fluss_queue_fd(fluss_queue_t *q);                           /* readable while fluss_queue_next would return something */
FLUSS_API bool fluss_queue_next(fluss_queue_t *q, int64_t timeout_ms, fluss_future_t **f, void **tag);
FLUSS_API void fluss_queue_free(fluss_queue_t *q);
/* wait, move the result out, free the future - in every case, so fluss_await_x(fluss_y(...), t, &out, &err) is the blocking form of y */
FLUSS_API fluss_code_t fluss_await(fluss_future_t *f, int64_t timeout_ms, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_i64(fluss_future_t *f, int64_t timeout_ms, int64_t *out, fluss_error_t *err);         /* also the *_exists calls */
FLUSS_API fluss_code_t fluss_await_conn(fluss_future_t *f, int64_t timeout_ms, fluss_conn_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_table(fluss_future_t *f, int64_t timeout_ms, fluss_table_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_schema(fluss_future_t *f, int64_t timeout_ms, fluss_schema_t **out, int32_t *schema_id, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_result(fluss_future_t *f, int64_t timeout_ms, fluss_result_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_records(fluss_future_t *f, int64_t timeout_ms, fluss_records_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_batches(fluss_future_t *f, int64_t timeout_ms, fluss_batches_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_await_ack(fluss_future_t *f, int64_t timeout_ms, fluss_ack_t *out, fluss_error_t *err);

/* ---- results of admin calls: a small table with named columns, immutable ---- */
FLUSS_API size_t      fluss_result_rows(const fluss_result_t *r);
FLUSS_API const char *fluss_result_str(const fluss_result_t *r, size_t row, const char *column);          /* NULL: null or no such column */
FLUSS_API int64_t     fluss_result_i64(const fluss_result_t *r, size_t row, const char *column, int64_t fallback);
FLUSS_API fluss_code_t fluss_result_to_arrow(const fluss_result_t *r, struct ArrowSchema *schema, struct ArrowArray *array, fluss_error_t *err);
FLUSS_API void        fluss_result_free(fluss_result_t *r);

/* ---- connection (thread-safe) ---- */
FLUSS_API fluss_future_t *fluss_connect(const fluss_config_t *c);          /* -> conn; copies c */
FLUSS_API fluss_future_t *fluss_close(fluss_conn_t *conn);                 /* -> void; drains writers; conn stays valid until freed */
FLUSS_API void            fluss_conn_free(fluss_conn_t *conn);             /* tables, writers, scanners keep what they need alive */
FLUSS_API fluss_code_t    fluss_metrics(fluss_conn_t *conn, fluss_result_t **out, fluss_error_t *err);   /* name, labels, type, value, count, sum */

/* ---- administration (thread-safe); the column names of each result are in <fluss_admin.md> ---- */
FLUSS_API fluss_future_t *fluss_create_database(fluss_conn_t *c, const char *name, const char *comment, const fluss_kv_t *props, size_t n, unsigned flags);
FLUSS_API fluss_future_t *fluss_alter_database(fluss_conn_t *c, const char *name, const fluss_kv_t *set /* value NULL: reset; key NULL: comment */, size_t n, unsigned flags);
FLUSS_API fluss_future_t *fluss_drop_database(fluss_conn_t *c, const char *name, unsigned flags);
FLUSS_API fluss_future_t *fluss_list_databases(fluss_conn_t *c);
FLUSS_API fluss_future_t *fluss_describe_database(fluss_conn_t *c, const char *name);
FLUSS_API fluss_future_t *fluss_database_exists(fluss_conn_t *c, const char *name);
FLUSS_API fluss_future_t *fluss_create_table(fluss_conn_t *c, fluss_path_t p, const fluss_desc_t *d, unsigned flags);
typedef enum { FLUSS_ADD_COLUMN, FLUSS_DROP_COLUMN, FLUSS_RENAME_COLUMN, FLUSS_MODIFY_COLUMN, FLUSS_SET_OPTION, FLUSS_RESET_OPTION } fluss_alter_t;
typedef struct { fluss_alter_t what; const char *name, *new_name, *type, *comment, *after /* "" first, NULL last */, *value; } fluss_table_change_t;
FLUSS_API fluss_future_t *fluss_alter_table(fluss_conn_t *c, fluss_path_t p, const fluss_table_change_t *ch, size_t n, unsigned flags);
FLUSS_API fluss_future_t *fluss_drop_table(fluss_conn_t *c, fluss_path_t p, unsigned flags);
FLUSS_API fluss_future_t *fluss_list_tables(fluss_conn_t *c, const char *database);
FLUSS_API fluss_future_t *fluss_table_exists(fluss_conn_t *c, fluss_path_t p);
FLUSS_API fluss_future_t *fluss_get_schema(fluss_conn_t *c, fluss_path_t p, int32_t schema_id /* -1 latest */);
FLUSS_API fluss_future_t *fluss_table_stats(fluss_conn_t *c, fluss_path_t p);
FLUSS_API fluss_future_t *fluss_create_partition(fluss_conn_t *c, fluss_path_t p, const fluss_kv_t *spec, size_t n, unsigned flags);
FLUSS_API fluss_future_t *fluss_drop_partition(fluss_conn_t *c, fluss_path_t p, const fluss_kv_t *spec, size_t n, unsigned flags);
FLUSS_API fluss_future_t *fluss_list_partitions(fluss_conn_t *c, fluss_path_t p, const fluss_kv_t *spec, size_t n);
FLUSS_API fluss_future_t *fluss_list_offsets(fluss_conn_t *c, fluss_path_t p, const char *partition /* or NULL */, const int32_t *buckets, size_t n, int64_t spec /* FLUSS_EARLIEST, FLUSS_LATEST or epoch ms */);
FLUSS_API fluss_future_t *fluss_lake_snapshot(fluss_conn_t *c, fluss_path_t p, int64_t snapshot_id /* -1 latest */, unsigned flags);
FLUSS_API fluss_future_t *fluss_kv_snapshots(fluss_conn_t *c, fluss_path_t p, const char *partition, int64_t snapshot_id /* -1: list the latest; else the files of that one */, int32_t bucket);
FLUSS_API fluss_future_t *fluss_lease_snapshots(fluss_conn_t *c, const char *lease_id, int64_t duration_ms, const fluss_position_t *snapshots /* offset = snapshot id */, size_t n);
FLUSS_API fluss_future_t *fluss_release_snapshots(fluss_conn_t *c, const char *lease_id, const fluss_bucket_t *buckets /* NULL: drop the lease */, size_t n);
FLUSS_API fluss_future_t *fluss_remote_log_manifests(fluss_conn_t *c, int64_t table_id, int64_t partition_id);
FLUSS_API fluss_future_t *fluss_server_nodes(fluss_conn_t *c);
FLUSS_API fluss_future_t *fluss_cluster_health(fluss_conn_t *c);
FLUSS_API fluss_future_t *fluss_cluster_configs(fluss_conn_t *c);
FLUSS_API fluss_future_t *fluss_alter_cluster_configs(fluss_conn_t *c, const fluss_kv_t *set, size_t n);
typedef struct { const char *resource_type, *resource, *principal_type, *principal, *host, *operation, *permission; } fluss_acl_t;   /* NULL matches any in filters */
FLUSS_API fluss_future_t *fluss_create_acls(fluss_conn_t *c, const fluss_acl_t *acls, size_t n);
FLUSS_API fluss_future_t *fluss_list_acls(fluss_conn_t *c, const fluss_acl_t *filter);
FLUSS_API fluss_future_t *fluss_drop_acls(fluss_conn_t *c, const fluss_acl_t *filters, size_t n);
FLUSS_API fluss_future_t *fluss_add_server_tag(fluss_conn_t *c, const int32_t *servers, size_t n, int32_t tag);
FLUSS_API fluss_future_t *fluss_remove_server_tag(fluss_conn_t *c, const int32_t *servers, size_t n, int32_t tag);
FLUSS_API fluss_future_t *fluss_rebalance(fluss_conn_t *c, const int32_t *goals, size_t n);
FLUSS_API fluss_future_t *fluss_rebalance_progress(fluss_conn_t *c, const char *id);
FLUSS_API fluss_future_t *fluss_cancel_rebalance(fluss_conn_t *c, const char *id);
FLUSS_API fluss_future_t *fluss_set_producer_offsets(fluss_conn_t *c, const char *producer_id, const fluss_position_t *pos, size_t n);
FLUSS_API fluss_future_t *fluss_get_producer_offsets(fluss_conn_t *c, const char *producer_id);
FLUSS_API fluss_future_t *fluss_delete_producer_offsets(fluss_conn_t *c, const char *producer_id);

/* ---- tables (thread-safe, immutable) ---- */
FLUSS_API fluss_future_t *fluss_open_table(fluss_conn_t *c, fluss_path_t p);                   /* -> table */
FLUSS_API const fluss_table_info_t *fluss_table_info(const fluss_table_t *t);                  /* borrowed from t */
FLUSS_API void fluss_table_free(fluss_table_t *t);

/* ---- writing (thread-safe; one sender per connection) ---- */
typedef struct { size_t size; const int32_t *columns; const char *const *names; size_t n; bool overwrite /* bypass the merge engine */; } fluss_upsert_opts_t;
FLUSS_API fluss_code_t fluss_append_open(fluss_table_t *t, fluss_writer_t **out, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_upsert_open(fluss_table_t *t, const fluss_upsert_opts_t *o /* NULL: full rows */, fluss_writer_t **out, fluss_error_t *err);
/* rows: n = all columns, or (upsert) the target columns, or (delete) the key columns; copied before return; ack NULL = fire and forget; blocks while the buffer is full */
FLUSS_API fluss_code_t fluss_append(fluss_writer_t *w, const fluss_datum_t *row, size_t n, fluss_future_t **ack, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_upsert(fluss_writer_t *w, const fluss_datum_t *row, size_t n, fluss_future_t **ack, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_delete(fluss_writer_t *w, const fluss_datum_t *key, size_t n, fluss_future_t **ack, fluss_error_t *err);
FLUSS_API fluss_code_t fluss_write_arrow(fluss_writer_t *w, struct ArrowSchema *schema, struct ArrowArray *array /* moved from on success */, bool deletes, fluss_future_t **ack, fluss_error_t *err);
FLUSS_API fluss_future_t *fluss_flush(fluss_writer_t *w);                                      /* -> void: all writes queued before it */
FLUSS_API void fluss_writer_free(fluss_writer_t *w);                                           /* queued rows are still sent */

/* ---- lookups (thread-safe, batched per bucket) ---- */
typedef struct { size_t size; const char *const *prefix; size_t n_prefix; bool insert_if_absent; } fluss_lookup_opts_t;
FLUSS_API fluss_code_t fluss_lookup_open(fluss_table_t *t, const fluss_lookup_opts_t *o, fluss_lookup_t **out, fluss_error_t *err);
FLUSS_API fluss_future_t *fluss_lookup(fluss_lookup_t *l, const fluss_datum_t *keys, size_t width, size_t n_keys);   /* -> records; record.offset = index of its key */
FLUSS_API void fluss_lookup_free(fluss_lookup_t *l);

/* ---- scanning (one consumer at a time; a second concurrent call fails with FLUSS_KIND_STATE) ---- */
typedef enum { FLUSS_CMP_EQ, FLUSS_CMP_NE, FLUSS_CMP_LT, FLUSS_CMP_LE, FLUSS_CMP_GT, FLUSS_CMP_GE, FLUSS_CMP_IS_NULL, FLUSS_CMP_NOT_NULL,
               FLUSS_CMP_STARTS, FLUSS_CMP_ENDS, FLUSS_CMP_CONTAINS, FLUSS_CMP_IN, FLUSS_CMP_NOT_IN } fluss_cmp_t;
FLUSS_API fluss_pred_t *fluss_pred(const char *column, fluss_cmp_t op, const fluss_datum_t *literals, size_t n);
FLUSS_API fluss_pred_t *fluss_pred_combine(bool all /* AND, else OR */, fluss_pred_t *const *children /* consumed */, size_t n);
FLUSS_API void          fluss_pred_free(fluss_pred_t *p);
typedef struct { size_t size; bool batches /* Arrow instead of records */, write_time_schema, exact_filter; const int32_t *columns; const char *const *names; size_t n_columns;
                 const fluss_pred_t *filter; int32_t limit; } fluss_scan_opts_t;
FLUSS_API fluss_code_t fluss_scanner_open(fluss_table_t *const *tables, size_t n_tables, const fluss_scan_opts_t *o, fluss_scanner_t **out, fluss_error_t *err);
FLUSS_API fluss_future_t *fluss_subscribe(fluss_scanner_t *s, const fluss_position_t *pos, size_t n);      /* again: moves the position */
FLUSS_API fluss_future_t *fluss_subscribe_all(fluss_scanner_t *s, int64_t offset);                         /* every bucket of every partition now present */
FLUSS_API fluss_code_t fluss_unsubscribe(fluss_scanner_t *s, const fluss_bucket_t *b, size_t n, fluss_error_t *err);
FLUSS_API size_t fluss_positions(const fluss_scanner_t *s, fluss_position_t *out, size_t cap);             /* returns how many there are */
FLUSS_API fluss_future_t *fluss_poll(fluss_scanner_t *s, int64_t timeout_ms);                              /* -> records, or batches when opened so */
FLUSS_API fluss_code_t fluss_read(fluss_scanner_t *s, const fluss_position_t *stop /* NULL: latest now */, size_t n, struct ArrowArrayStream *out, fluss_error_t *err);
FLUSS_API fluss_future_t *fluss_scan_bucket(fluss_table_t *t, fluss_bucket_t b, const fluss_scan_opts_t *o /* limit > 0; 0: all rows of a PK bucket */);   /* -> batches */
FLUSS_API void fluss_scanner_wakeup(fluss_scanner_t *s);                                                   /* from any thread */
FLUSS_API void fluss_scanner_free(fluss_scanner_t *s);
FLUSS_API size_t fluss_records_count(const fluss_records_t *r);
FLUSS_API void   fluss_records_get(const fluss_records_t *r, size_t i, fluss_record_t *out);               /* grouped by bucket, offsets rising */
FLUSS_API size_t fluss_row_width(const fluss_row_t *row);
FLUSS_API ptrdiff_t fluss_row_index(const fluss_row_t *row, const char *column);                           /* -1: none */
FLUSS_API fluss_code_t fluss_row_get(const fluss_row_t *row, size_t column, fluss_datum_t *out);
FLUSS_API fluss_code_t fluss_records_to_arrow(const fluss_records_t *r, struct ArrowSchema *schema, struct ArrowArray *array, fluss_error_t *err);
FLUSS_API void   fluss_records_free(fluss_records_t *r);
FLUSS_API size_t fluss_batches_count(const fluss_batches_t *b);
FLUSS_API fluss_code_t fluss_batches_take(fluss_batches_t *b, size_t i, struct ArrowSchema *schema, struct ArrowArray *array, fluss_position_t *first, int64_t *last_offset, fluss_error_t *err);
FLUSS_API void   fluss_batches_free(fluss_batches_t *b);

/* ---- process-wide hooks; call before anything else ---- */
FLUSS_API fluss_code_t fluss_set_allocator(void *(*alloc)(size_t), void *(*resize)(void *, size_t), void (*release)(void *));
FLUSS_API void fluss_set_log(void (*fn)(int level /* syslog */, const char *component, const char *text, void *user), int max_level, void *user);
#ifdef __cplusplus
}
#endif
#endif
