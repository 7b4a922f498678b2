/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: a list of ready futures behind one descriptor. The descriptor becomes readable
 * when the list gets its first entry and stops being so when the last is taken, so a burst of
 * completions costs one wake-up. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include "base/alloc.h"
#include "client/future.h"
#include "client/monotonic.h"

struct fluss_queue {
    pthread_mutex_t lock; /* guards: first, last, is_closed, flags in the links */
    pthread_cond_t changed;
    atomic_int refs; /* the user's and one a future that waits */
    fluss_future_t *first, *last;
    int read_fd, write_fd; /* the same one where there are event descriptors */
    bool is_closed;
};

static bool open_descriptor(fluss_queue_t *queue)
{
#ifdef __linux__
    queue->read_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    queue->write_fd = queue->read_fd;
    return queue->read_fd >= 0;
#else
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    queue->read_fd = ends[0];
    queue->write_fd = ends[1];
    return true;
#endif
}

static void signal_descriptor(fluss_queue_t *queue)
{
    const uint64_t one = 1;
    const int before = fl_uncancelled_begin();
    ssize_t written;
    do {
        written = write(queue->write_fd, &one, sizeof(one));
    } while (written < 0 && errno == EINTR);
    fl_uncancelled_end(before);
}

static void clear_descriptor(fluss_queue_t *queue)
{
    uint64_t count;
    const int before = fl_uncancelled_begin();
    ssize_t got;
    do {
        got = read(queue->read_fd, &count, sizeof(count));
    } while (got < 0 && errno == EINTR);
    fl_uncancelled_end(before);
}

fluss_queue_t *fluss_queue_new(void)
{
    fluss_queue_t *queue = fl_calloc(1, sizeof(*queue));
    if (queue == NULL || !open_descriptor(queue)) {
        fl_free(queue);
        return NULL;
    }
    (void)pthread_mutex_init(&queue->lock, NULL);
    fl_cond_init(&queue->changed);
    atomic_init(&queue->refs, 1);
    return queue;
}

int fluss_queue_fd(fluss_queue_t *queue)
{
    return queue != NULL ? queue->read_fd : -1;
}

void fl_queue_ref(fluss_queue_t *queue)
{
    (void)atomic_fetch_add_explicit(&queue->refs, 1, memory_order_relaxed);
}

void fl_queue_unref(fluss_queue_t *queue)
{
    if (atomic_fetch_sub_explicit(&queue->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    (void)close(queue->read_fd);
    if (queue->write_fd != queue->read_fd) {
        (void)close(queue->write_fd);
    }
    (void)pthread_cond_destroy(&queue->changed);
    (void)pthread_mutex_destroy(&queue->lock);
    fl_free(queue);
}

void fl_queue_push(fluss_queue_t *queue, fluss_future_t *future)
{
    fl_queue_link *link = fl_future_link(future);
    (void)pthread_mutex_lock(&queue->lock);
    if (!queue->is_closed && !link->is_withdrawn && !link->is_queued) {
        link->is_queued = true;
        link->next = NULL;
        if (queue->first == NULL) {
            queue->first = future;
            signal_descriptor(queue);
        } else {
            fl_future_link(queue->last)->next = future;
        }
        queue->last = future;
        (void)pthread_cond_signal(&queue->changed);
    }
    (void)pthread_mutex_unlock(&queue->lock);
}

/* Take the entry after `before` (NULL: the first) out of the list. */
static fluss_future_t *unlink_after(fluss_queue_t *queue, fluss_future_t *before)
{
    fluss_future_t **slot = before != NULL ? &fl_future_link(before)->next : &queue->first;
    fluss_future_t *future = *slot;
    fl_queue_link *link = fl_future_link(future);
    *slot = link->next;
    if (queue->last == future) {
        queue->last = before;
    }
    link->next = NULL;
    link->is_queued = false;
    if (queue->first == NULL) {
        clear_descriptor(queue);
    }
    return future;
}

void fl_queue_withdraw(fluss_queue_t *queue, fluss_future_t *future)
{
    fl_queue_link *link = fl_future_link(future);
    (void)pthread_mutex_lock(&queue->lock);
    fluss_future_t *before = NULL;
    for (fluss_future_t *at = queue->first; at != NULL && link->is_queued;
         at = fl_future_link(at)->next) {
        if (at == future) {
            (void)unlink_after(queue, before);
            break;
        }
        before = at;
    }
    link->is_withdrawn = true;
    (void)pthread_mutex_unlock(&queue->lock);
}

bool fluss_queue_next(fluss_queue_t *queue, int64_t timeout_ms, fluss_future_t **future, void **tag)
{
    if (future != NULL) {
        *future = NULL;
    }
    if (queue == NULL) {
        return false;
    }
    const fl_deadline deadline = fl_deadline_in(timeout_ms);
    (void)pthread_mutex_lock(&queue->lock);
    bool in_time = timeout_ms != 0 && fl_future_may_wait(NULL) == 0;
    while (queue->first == NULL && in_time) {
        in_time = fl_cond_wait(&queue->changed, &queue->lock, &deadline);
    }
    fluss_future_t *taken = queue->first != NULL ? unlink_after(queue, NULL) : NULL;
    if (taken != NULL) {
        fl_future_link(taken)->is_withdrawn = true;
        if (tag != NULL) {
            *tag = fl_future_link(taken)->tag;
        }
        if (future != NULL) {
            *future = taken;
        }
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return taken != NULL;
}

void fluss_queue_free(fluss_queue_t *queue)
{
    if (queue == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    while (queue->first != NULL) {
        (void)unlink_after(queue, NULL);
    }
    (void)pthread_mutex_unlock(&queue->lock);
    fl_queue_unref(queue);
}
