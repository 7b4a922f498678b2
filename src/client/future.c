/* SPDX-License-Identifier: Apache-2.0 */
/* Futures: one lock and one condition each, so that any thread may wait, and completion costs
 * nothing when nobody does. An error is kept as code and text, not as the whole fluss_error_t: a
 * writer makes one future a row. When memory is out, one of a few kept futures, failed already,
 * stands in; when those are all in use, one that is shared, which a queue may not deliver.
 */
#include "client/future.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "client/monotonic.h"
#include "client/objects.h"
#include "net/loop.h"

/* How often this process is the child of a fork: futures made before the last one are the
 * parent's, whose threads are not here to complete them. */
static atomic_uint forks;

static void count_fork(void)
{
    (void)atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

void fl_future_watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
}

struct fluss_future {
    pthread_mutex_t lock; /* guards: all below but refs and link's flags */
    pthread_cond_t changed;
    atomic_int refs;
    unsigned forks; /* when it was made */
    atomic_bool is_ready;
    bool is_taken, has_waiters;
    uint16_t error_kind, retriable;
    fluss_code_t code;
    char *message; /* NULL: the code's own text */
    fl_value value;
    fluss_ready_fn fn;
    void *user;
    fl_queue_link link;
};

static fluss_future_t nomem_future = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .is_ready = true,
    .code = FLUSS_E_CLIENT,
    .error_kind = FLUSS_KIND_NOMEM,
};

static bool is_shared(const fluss_future_t *future)
{
    return future == &nomem_future;
}

enum { KEPT_COUNT = 64 };
static fluss_future_t kept_futures[KEPT_COUNT];
static _Atomic(uint64_t) kept_in_use; /* a bit for each */

static bool is_kept(const fluss_future_t *future)
{
    return future >= kept_futures && future < kept_futures + KEPT_COUNT;
}

static fluss_future_t *take_kept(void)
{
    uint64_t in_use = atomic_load(&kept_in_use);
    uint64_t bit;
    do {
        if (in_use == UINT64_MAX) {
            return &nomem_future;
        }
        bit = ~in_use & (in_use + 1);
    } while (!atomic_compare_exchange_weak(&kept_in_use, &in_use, in_use | bit));
    fluss_future_t *future = &kept_futures[__builtin_ctzll(bit)];
    memset(future, 0, sizeof(*future));
    future->code = FLUSS_E_CLIENT;
    future->error_kind = FLUSS_KIND_NOMEM;
    atomic_init(&future->is_ready, true);
    return future;
}

static void give_back(fluss_future_t *future)
{
    if (is_kept(future)) {
        (void)atomic_fetch_and(&kept_in_use, ~(UINT64_C(1) << (future - kept_futures)));
    } else {
        fl_free(future);
    }
}

fluss_future_t *fl_future_new(void)
{
    fluss_future_t *future = fl_calloc(1, sizeof(*future));
    if (future == NULL) {
        future = take_kept();
    }
    if (is_shared(future)) {
        return future;
    }
    (void)pthread_mutex_init(&future->lock, NULL);
    fl_cond_init(&future->changed);
    atomic_init(&future->refs, 2);
    future->forks = atomic_load_explicit(&forks, memory_order_relaxed);
    return future;
}

fluss_future_t *fl_future_failed(const fluss_error_t *err)
{
    fluss_future_t *future = fl_future_new();
    fl_future_fail(future, err);
    return future;
}

fl_queue_link *fl_future_link(fluss_future_t *future)
{
    return &future->link;
}

/* Free what a value holds. */
static void free_value(fl_value *value)
{
    switch (value->kind) {
    case FL_VALUE_CONN:
        fluss_conn_free(value->v.object);
        break;
    case FL_VALUE_TABLE:
        fluss_table_free(value->v.object);
        break;
    case FL_VALUE_SCHEMA:
        fluss_schema_free(value->v.object);
        break;
    case FL_VALUE_RESULT:
        fluss_result_free(value->v.object);
        break;
    case FL_VALUE_RECORDS:
        fluss_records_free(value->v.object);
        break;
    case FL_VALUE_BATCHES:
        fluss_batches_free(value->v.object);
        break;
    default:
        break;
    }
    *value = (fl_value){0};
}

static void unref(fluss_future_t *future)
{
    if (is_shared(future) ||
        atomic_fetch_sub_explicit(&future->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    if (!future->is_taken && future->code == 0) {
        free_value(&future->value);
    }
    if (future->link.queue != NULL) {
        fl_queue_unref(future->link.queue);
    }
    fl_free(future->message);
    (void)pthread_cond_destroy(&future->changed);
    (void)pthread_mutex_destroy(&future->lock);
    give_back(future);
}

/* Become ready under the lock; false when it is so already. */
static bool settle_locked(fluss_future_t *future, const fl_value *value, const fluss_error_t *err)
{
    if (fluss_future_ready(future)) {
        return false;
    }
    if (err != NULL) {
        future->code = err->code;
        future->error_kind = err->kind;
        future->retriable = err->retriable;
        future->message = fl_strdup(err->message);
    } else {
        future->value = *value;
    }
    atomic_store_explicit(&future->is_ready, true, memory_order_release);
    if (future->has_waiters) {
        (void)pthread_cond_broadcast(&future->changed);
    }
    return true;
}

/* Tell whoever asked to be told; no lock held. The caller has a reference. */
static void announce(fluss_future_t *future, fluss_ready_fn fn, void *user, fluss_queue_t *queue)
{
    if (queue != NULL) {
        fl_queue_push(queue, future);
    }
    if (fn != NULL) {
        fn(future, user);
    }
}

static bool settle(fluss_future_t *future, const fl_value *value, const fluss_error_t *err)
{
    (void)pthread_mutex_lock(&future->lock);
    const bool is_first = settle_locked(future, value, err);
    fluss_ready_fn fn = future->fn;
    void *user = future->user;
    fluss_queue_t *queue = future->link.queue;
    (void)pthread_mutex_unlock(&future->lock);
    if (is_first) {
        announce(future, fn, user, queue);
    }
    return is_first;
}

bool fl_future_complete(fluss_future_t *future, fl_value value)
{
    if (is_shared(future)) {
        return false;
    }
    const bool is_first = settle(future, &value, NULL);
    unref(future);
    return is_first;
}

void fl_future_complete_or_free(fluss_future_t *future, fl_value value)
{
    if (!fl_future_complete(future, value)) {
        free_value(&value);
    }
}

void fl_future_complete_void(fluss_future_t *future)
{
    (void)fl_future_complete(future, (fl_value){.kind = FL_VALUE_VOID});
}

void fl_future_fail(fluss_future_t *future, const fluss_error_t *err)
{
    if (is_shared(future)) {
        return;
    }
    (void)settle(future, NULL, err);
    unref(future);
}

bool fl_future_is_abandoned(const fluss_future_t *future)
{
    return is_shared(future) || atomic_load_explicit(&future->is_ready, memory_order_acquire) ||
           atomic_load_explicit(&future->refs, memory_order_acquire) < 2;
}

/* ---- public ---- */

bool fluss_future_ready(const fluss_future_t *future)
{
    return future != NULL && atomic_load_explicit(&future->is_ready, memory_order_acquire);
}

static fluss_code_t report(const fluss_future_t *future, fluss_error_t *err)
{
    if (future->code != 0 && err != NULL) {
        err->code = future->code;
        err->kind = future->error_kind;
        err->retriable = future->retriable;
        const char *text = future->message;
        if (text == NULL) {
            text = future->error_kind == FLUSS_KIND_NOMEM ? "out of memory"
                                                          : fl_code_text(future->code);
        }
        const size_t size = strnlen(text, sizeof(err->message) - 1);
        memcpy(err->message, text, size);
        err->message[size] = '\0';
    }
    return future->code;
}

fluss_code_t fl_future_may_wait(fluss_error_t *err)
{
    return fl_loop_is_any_current()
               ? fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                          "a callback must not wait: the thread that it runs on is the one that "
                          "would bring the result")
               : 0;
}

fluss_code_t fluss_future_wait(fluss_future_t *future, int64_t timeout_ms, fluss_error_t *err)
{
    if (future == NULL) {
        return fl_error_argument(err, "the future must not be NULL");
    }
    if (!fluss_future_ready(future)) {
        if (future->forks != atomic_load(&forks)) {
            return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                            "the call belongs to the parent process; connect anew after fork");
        }
        FL_TRY(fl_future_may_wait(err));
        const fl_deadline deadline = fl_deadline_in(timeout_ms);
        (void)pthread_mutex_lock(&future->lock);
        future->has_waiters = true;
        bool in_time = true;
        while (!atomic_load_explicit(&future->is_ready, memory_order_relaxed) && in_time) {
            in_time = fl_cond_wait(&future->changed, &future->lock, &deadline);
        }
        (void)pthread_mutex_unlock(&future->lock);
        if (!fluss_future_ready(future)) {
            return fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_TIMEOUT,
                            "no result within %lld milliseconds", (long long)timeout_ms);
        }
    }
    return report(future, err);
}

void fluss_future_on_ready(fluss_future_t *future, fluss_ready_fn fn, void *user)
{
    if (future == NULL || fn == NULL) {
        return;
    }
    if (is_shared(future)) {
        fn(future, user);
        return;
    }
    (void)pthread_mutex_lock(&future->lock);
    const bool is_ready = atomic_load_explicit(&future->is_ready, memory_order_relaxed);
    if (!is_ready) {
        future->fn = fn;
        future->user = user;
    }
    (void)pthread_mutex_unlock(&future->lock);
    if (is_ready) {
        fn(future, user);
    }
}

void fluss_future_to_queue(fluss_future_t *future, fluss_queue_t *queue, void *tag)
{
    if (future == NULL || queue == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&future->lock);
    const bool is_ready = atomic_load_explicit(&future->is_ready, memory_order_relaxed);
    const bool is_new = future->link.queue == NULL;
    if (is_new) {
        fl_queue_ref(queue);
        future->link.queue = queue;
        future->link.tag = tag;
    }
    (void)pthread_mutex_unlock(&future->lock);
    if (is_new && is_ready) {
        fl_queue_push(queue, future);
    }
}

bool fluss_future_cancel(fluss_future_t *future)
{
    if (future == NULL || is_shared(future)) {
        return false;
    }
    fluss_error_t err;
    (void)fl_error(&err, FLUSS_E_CLIENT, FLUSS_KIND_CANCELLED, "the call was cancelled");
    return settle(future, NULL, &err);
}

void fluss_future_free(fluss_future_t *future)
{
    if (future == NULL || is_shared(future)) {
        return;
    }
    (void)pthread_mutex_lock(&future->lock);
    fluss_queue_t *queue = future->link.queue;
    future->fn = NULL;
    (void)pthread_mutex_unlock(&future->lock);
    if (queue != NULL) {
        fl_queue_withdraw(queue, future);
    }
    unref(future);
}

/* ---- await ---- */

static fluss_code_t take(fluss_future_t *future, fl_value_kind kind, fl_value *out,
                         fluss_error_t *err)
{
    (void)pthread_mutex_lock(&future->lock);
    fluss_code_t rc = 0;
    if (future->value.kind != kind) {
        rc = fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE,
                      "the future holds a result of another kind");
    } else if (future->is_taken) {
        rc = fl_error(err, FLUSS_E_CLIENT, FLUSS_KIND_STATE, "the result was taken already");
    } else {
        future->is_taken = true;
        *out = future->value;
    }
    (void)pthread_mutex_unlock(&future->lock);
    return rc;
}

static fluss_code_t await(fluss_future_t *future, int64_t timeout_ms, fl_value_kind kind,
                          fl_value *out, fluss_error_t *err)
{
    if (future == NULL) {
        return fl_error_argument(err, "the future must not be NULL");
    }
    fluss_code_t rc = fluss_future_wait(future, timeout_ms, err);
    if (rc != 0 && fluss_future_cancel(future)) {
        /* Too late; `err` says so. */
    } else if (rc != 0) {
        rc = report(future, err); /* it may have become ready in between */
    }
    if (rc == 0) {
        rc = take(future, kind, out, err);
    }
    if (rc == 0) {
        fl_value_taken(out);
    }
    fluss_future_free(future);
    return rc;
}

fluss_code_t fluss_await(fluss_future_t *future, int64_t timeout_ms, fluss_error_t *err)
{
    fl_value value;
    return await(future, timeout_ms, FL_VALUE_VOID, &value, err);
}

fluss_code_t fluss_await_i64(fluss_future_t *future, int64_t timeout_ms, int64_t *out,
                             fluss_error_t *err)
{
    fl_value value;
    const fluss_code_t rc = await(future, timeout_ms, FL_VALUE_I64, &value, err);
    if (out != NULL) {
        *out = rc == 0 ? value.v.i64 : 0;
    }
    return rc;
}

fluss_code_t fluss_await_ack(fluss_future_t *future, int64_t timeout_ms, fluss_ack_t *out,
                             fluss_error_t *err)
{
    fl_value value;
    const fluss_code_t rc = await(future, timeout_ms, FL_VALUE_ACK, &value, err);
    if (out != NULL) {
        *out = rc == 0 ? value.v.ack : (fluss_ack_t){0};
    }
    return rc;
}

/* Await an object; `out` NULL frees it at once. */
static fluss_code_t await_object(fluss_future_t *future, int64_t timeout_ms, fl_value_kind kind,
                                 void **out, fluss_error_t *err)
{
    fl_value value;
    const fluss_code_t rc = await(future, timeout_ms, kind, &value, err);
    if (out != NULL) {
        *out = rc == 0 ? value.v.object : NULL;
    } else if (rc == 0) {
        free_value(&value);
    }
    return rc;
}

#define DEFINE_AWAIT(function, type, kind)                                             \
    fluss_code_t function(fluss_future_t *future, int64_t timeout_ms, type **out,      \
                          fluss_error_t *err)                                          \
    {                                                                                  \
        void *object = NULL;                                                           \
        const fluss_code_t rc =                                                        \
            await_object(future, timeout_ms, kind, out != NULL ? &object : NULL, err); \
        if (out != NULL) {                                                             \
            *out = object;                                                             \
        }                                                                              \
        return rc;                                                                     \
    }
DEFINE_AWAIT(fluss_await_conn, fluss_conn_t, FL_VALUE_CONN)
DEFINE_AWAIT(fluss_await_table, fluss_table_t, FL_VALUE_TABLE)
DEFINE_AWAIT(fluss_await_result, fluss_result_t, FL_VALUE_RESULT)
DEFINE_AWAIT(fluss_await_records, fluss_records_t, FL_VALUE_RECORDS)
DEFINE_AWAIT(fluss_await_batches, fluss_batches_t, FL_VALUE_BATCHES)
#undef DEFINE_AWAIT

fluss_code_t fluss_await_schema(fluss_future_t *future, int64_t timeout_ms, fluss_schema_t **out,
                                int32_t *schema_id, fluss_error_t *err)
{
    fl_value value = {0};
    const fluss_code_t rc = await(future, timeout_ms, FL_VALUE_SCHEMA, &value, err);
    if (out != NULL) {
        *out = rc == 0 ? value.v.object : NULL;
    } else if (rc == 0) {
        free_value(&value);
    }
    if (schema_id != NULL) {
        *schema_id = rc == 0 ? value.schema_id : 0;
    }
    return rc;
}
