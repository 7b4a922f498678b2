/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that were given up and whose failure nobody waits for: without an ack, or it was dropped.
 *
 * A writer with such rows keeps the first error for its next flush and stands in the sender's list,
 * so that closing tells what no flush did. A writer that nobody has any more can't be flushed: it
 * is added up and leaves the list, which thus is no longer than there are writers. */
#include "base/alloc.h"
#include "client/sender_private.h"

static void note_writer(fl_losses *losses, fl_writer *writer, int64_t count,
                        const fluss_error_t *err)
{
    if (writer->err.code == 0) {
        writer->err = *err;
    }
    writer->lost_count += count;
    if (!writer->is_loser) {
        writer->is_loser = true;
        writer->loser_next = NULL;
        fl_writer **at = &losses->writers;
        while (*at != NULL) {
            at = &(*at)->loser_next;
        }
        *at = fl_writer_ref(writer);
    }
}

static void leave_list(fl_writer **at)
{
    fl_writer *writer = *at;
    *at = writer->loser_next;
    writer->is_loser = false;
    writer->lost_count = 0;
    writer->err = (fluss_error_t){0};
    fl_writer_unref(writer);
}

/* Move what a writer lost to the common count. */
static void add_up(fl_losses *losses, fl_writer **at)
{
    const fl_writer *writer = *at;
    if (losses->count == 0) {
        losses->table = writer->target;
        losses->err = writer->err;
    }
    losses->is_mixed = losses->is_mixed || losses->table != writer->target;
    losses->count += writer->lost_count;
    leave_list(at);
}

static void add_up_abandoned(fl_losses *losses)
{
    fl_writer **at = &losses->writers;
    while (*at != NULL) {
        if (atomic_load_explicit(&(*at)->refs, memory_order_acquire) == 1) {
            add_up(losses, at);
        } else {
            at = &(*at)->loser_next;
        }
    }
}

void fl_losses_note(fl_losses *losses, const fl_batch *batch, const fluss_error_t *err)
{
    add_up_abandoned(losses);
    for (size_t i = 0; i < batch->run_count; i++) {
        if (batch->runs[i].unheard_count > 0) {
            note_writer(losses, batch->runs[i].writer, batch->runs[i].unheard_count, err);
        }
    }
}

fluss_code_t fl_losses_take_writer(fl_losses *losses, fl_writer *writer, fluss_error_t *err)
{
    *err = writer->err;
    writer->err = (fluss_error_t){0};
    fl_writer **at = &losses->writers;
    while (*at != NULL && *at != writer) {
        at = &(*at)->loser_next;
    }
    if (*at != NULL) {
        leave_list(at);
    }
    return err->code;
}

fluss_code_t fl_losses_take(fl_losses *losses, fluss_error_t *err)
{
    while (losses->writers != NULL) {
        add_up(losses, &losses->writers);
    }
    if (losses->count == 0) {
        return 0;
    }
    const fl_write_table *table = losses->table;
    *err = losses->err;
    fl_error_prefix(err,
                    losses->is_mixed ? "%lld row%s, the first of %s.%s, %s not acknowledged: "
                                     : "%lld row%s of %s.%s %s not acknowledged: ",
                    (long long)losses->count, losses->count == 1 ? "" : "s", table->database,
                    table->name, losses->count == 1 ? "was" : "were");
    *losses = (fl_losses){0};
    return err->code;
}

void fl_losses_free(fl_losses *losses)
{
    while (losses->writers != NULL) {
        leave_list(&losses->writers);
    }
}
