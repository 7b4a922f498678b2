/* SPDX-License-Identifier: Apache-2.0 */
/* The scans of primary-key buckets that clients have open (SCAN_KV), one list a shard. A session
 * holds a snapshot of the store; it ends when it is read to the end, closed, or left alone for
 * kv.scanner.ttl. Thread: the shard's loop. */
#ifndef FL_KV_SESSIONS_H
#define FL_KV_SESSIONS_H
#include "server/kv_tablet.h"
#include "server/tablet.h"

enum { FL_KV_SESSION_ID_SIZE = 32 };

typedef struct fl_kv_session {
    struct fl_kv_session *next;
    char id[FL_KV_SESSION_ID_SIZE]; /* hexadecimal; the first two digits are the shard */
    fl_tablet_key tablet;
    fl_kv_scan *scan;
    int64_t rows_left; /* of the limit */
    int32_t call_seq;  /* of the last call */
    int64_t used_ms;
    fl_buf held; /* a value that did not fit the last batch */
    bool has_held;
} fl_kv_session;

/** Open a scan of a tablet's rows. @return FLUSS_E_TOO_MANY_SCANNERS, storage errors */
FLUSS_CHECKED fluss_code_t fl_kv_session_open(fl_tablet *tablet, int64_t limit,
                                              fl_kv_session **session, fluss_error_t *err);
/** The session of an id. @return FLUSS_E_UNKNOWN_SCANNER_ID, FLUSS_E_SCANNER_EXPIRED */
FLUSS_CHECKED fluss_code_t fl_kv_session_find(fl_shard *shard, fl_slice id, fl_kv_session **session,
                                              fluss_error_t *err);
/** The shard that an id names; NULL: no such id was ever given. Thread: any. */
fl_shard *fl_kv_session_shard(fl_server *server, fl_slice id);
/** The next values as a value batch of about `size_max` bytes, at least one value. @param has_more
 * false: that was the end */
FLUSS_CHECKED fluss_code_t fl_kv_session_read(fl_kv_session *session, size_t size_max, fl_buf *out,
                                              int32_t *count, bool *has_more, fluss_error_t *err);
void fl_kv_session_close(fl_shard *shard, fl_kv_session *session);
/** End the sessions of a tablet that is dropped. */
void fl_kv_sessions_close_tablet(fl_shard *shard, const fl_tablet_key *tablet);
/** End the sessions that were left alone. */
void fl_kv_sessions_expire(fl_shard *shard);
void fl_kv_sessions_close_all(fl_shard *shard);
#endif
