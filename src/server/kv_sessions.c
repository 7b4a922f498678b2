/* SPDX-License-Identifier: Apache-2.0 */
/* Open scans of primary-key tablets: each holds a snapshot and an iterator between two requests, so
 * their number is bounded per bucket and per server, and an idle one expires. */
#include "server/kv_sessions.h"

#include <stdio.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "format/value_batch.h"
#include "server/server.h"

static bool is_expired(const fl_shard *shard, const fl_kv_session *session)
{
    return fl_clock_ms() - session->used_ms > shard->server->settings.scanner_ttl;
}

static bool is_of_tablet(const fl_kv_session *session, const fl_tablet_key *tablet)
{
    return memcmp(&session->tablet, tablet, sizeof(*tablet)) == 0;
}

static size_t count_of_tablet(const fl_shard *shard, const fl_tablet_key *tablet)
{
    size_t count = 0;
    for (const fl_kv_session *at = shard->kv_sessions; at != NULL; at = at->next) {
        count += is_of_tablet(at, tablet);
    }
    return count;
}

static fluss_code_t check_room(fl_tablet *tablet, fluss_error_t *err)
{
    fl_server *server = tablet->shard->server;
    const int32_t bucket_max = server->settings.scanner_bucket_max,
                  server_max = server->settings.scanner_server_max;
    if (count_of_tablet(tablet->shard, &tablet->key) >= (size_t)bucket_max) {
        return fl_error(err, FLUSS_E_TOO_MANY_SCANNERS, FLUSS_KIND_STATE,
                        "the bucket has %d open scans (kv.scanner.max-per-bucket)",
                        (int)bucket_max);
    }
    if (atomic_load(&server->kv_session_count) >= server_max) {
        return fl_error(err, FLUSS_E_TOO_MANY_SCANNERS, FLUSS_KIND_STATE,
                        "the server has %d open scans (kv.scanner.max-per-server)",
                        (int)server_max);
    }
    return 0;
}

/* An id that nobody can guess, since it is all that a reader needs. */
static fluss_code_t make_id(const fl_shard *shard, char id[FL_KV_SESSION_ID_SIZE],
                            fluss_error_t *err)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[FL_KV_SESSION_ID_SIZE / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return fl_error(err, FLUSS_E_SERVER_UNKNOWN, FLUSS_KIND_STATE,
                        "the system gives no random numbers");
    }
    bytes[0] = (uint8_t)shard->index;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        id[2 * i] = digits[bytes[i] >> 4];
        id[2 * i + 1] = digits[bytes[i] & 15];
    }
    return 0;
}

static void free_session(fl_kv_session *session)
{
    fl_kv_scan_close(session->scan);
    fl_buf_deinit(&session->held);
    fl_free(session);
}

fluss_code_t fl_kv_session_open(fl_tablet *tablet, int64_t limit, fl_kv_session **out,
                                fluss_error_t *err)
{
    fl_shard *shard = tablet->shard;
    fl_kv_tablet *kv;
    *out = NULL;
    fl_kv_sessions_expire(shard);
    FL_TRY(fl_tablet_kv(tablet, &kv, err));
    FL_TRY(check_room(tablet, err));
    fl_kv_session *session = fl_calloc(1, sizeof(*session));
    if (session == NULL) {
        return fl_error_nomem(err);
    }
    session->tablet = tablet->key;
    session->rows_left = limit;
    session->used_ms = fl_clock_ms();
    fl_buf_init(&session->held, INT32_MAX);
    fluss_code_t rc = make_id(shard, session->id, err);
    if (rc == 0) {
        rc = fl_kv_scan_open(kv, fl_slice_of(NULL, 0), &session->scan, err);
    }
    if (rc != 0) {
        free_session(session);
        return rc;
    }
    session->next = shard->kv_sessions;
    shard->kv_sessions = session;
    atomic_fetch_add(&shard->server->kv_session_count, 1);
    *out = session;
    return 0;
}

fl_shard *fl_kv_session_shard(fl_server *server, fl_slice id)
{
    unsigned index;
    char digits[3] = {0};
    if (id.size != FL_KV_SESSION_ID_SIZE) {
        return NULL;
    }
    memcpy(digits, id.data, 2);
    if (sscanf(digits, "%2x", &index) != 1 || index >= server->shard_count) {
        return NULL;
    }
    return &server->shards[index];
}

fluss_code_t fl_kv_session_find(fl_shard *shard, fl_slice id, fl_kv_session **out,
                                fluss_error_t *err)
{
    for (fl_kv_session *at = shard->kv_sessions; at != NULL; at = at->next) {
        if (!fl_slice_equal(id, fl_slice_of(at->id, sizeof(at->id)))) {
            continue;
        }
        if (is_expired(shard, at)) {
            fl_kv_session_close(shard, at);
            return fl_error(err, FLUSS_E_SCANNER_EXPIRED, FLUSS_KIND_STATE,
                            "the scan was not used for longer than kv.scanner.ttl; open a new one");
        }
        at->used_ms = fl_clock_ms();
        *out = at;
        return 0;
    }
    return fl_error(err, FLUSS_E_UNKNOWN_SCANNER_ID, FLUSS_KIND_STATE,
                    "no open scan has this id: it has ended, or the server was restarted");
}

static bool next_value(fl_kv_session *session, fl_slice *value)
{
    if (session->has_held) {
        session->has_held = false;
        *value = fl_buf_slice(&session->held);
        return true;
    }
    return session->rows_left > 0 && fl_kv_scan_next(session->scan, value);
}

static fluss_code_t hold(fl_kv_session *session, fl_slice value, fluss_error_t *err)
{
    fl_buf_reset(&session->held);
    session->has_held = true;
    return fl_buf_append_slice(&session->held, value, err);
}

fluss_code_t fl_kv_session_read(fl_kv_session *session, size_t size_max, fl_buf *out,
                                int32_t *count, bool *has_more, fluss_error_t *err)
{
    fl_value_builder builder;
    fl_slice value;
    *has_more = false;
    FL_TRY(fl_value_builder_init(&builder, out, err));
    while (next_value(session, &value)) {
        if (builder.record_count != 0 && out->size + value.size + sizeof(int32_t) > size_max) {
            FL_TRY(hold(session, value, err));
            *has_more = true;
            break;
        }
        FL_TRY(fl_value_builder_add(&builder, value, err));
        session->rows_left--;
    }
    FL_TRY(fl_kv_scan_status(session->scan, err));
    fl_value_builder_finish(&builder);
    *count = builder.record_count;
    return 0;
}

void fl_kv_session_close(fl_shard *shard, fl_kv_session *session)
{
    fl_kv_session **link = &shard->kv_sessions;
    while (*link != session) {
        link = &(*link)->next;
    }
    *link = session->next;
    free_session(session);
    atomic_fetch_sub(&shard->server->kv_session_count, 1);
}

void fl_kv_sessions_close_tablet(fl_shard *shard, const fl_tablet_key *tablet)
{
    for (fl_kv_session *at = shard->kv_sessions, *next; at != NULL; at = next) {
        next = at->next;
        if (is_of_tablet(at, tablet)) {
            fl_kv_session_close(shard, at);
        }
    }
}

void fl_kv_sessions_expire(fl_shard *shard)
{
    for (fl_kv_session *at = shard->kv_sessions, *next; at != NULL; at = next) {
        next = at->next;
        if (is_expired(shard, at)) {
            fl_kv_session_close(shard, at);
        }
    }
}

void fl_kv_sessions_close_all(fl_shard *shard)
{
    while (shard->kv_sessions != NULL) {
        fl_kv_session_close(shard, shard->kv_sessions);
    }
}
