/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of Roaring bitmaps: reading, uniting, choosing a form. All work is done on a bitmap of
 * 8 KiB, into which any form is set and from which any form is written.
 *
 * The form is decided in two steps, as in Java, because ties depend on the first: uniting gives a
 * run where runs took part and are not larger than the others, a bitmap where one took part, else
 * by the number of values; then runs are taken where they are smaller. The Java library counts two
 * bytes less for an array in the second step than in the first. */
#include "format/roaring_private.h"

enum { WORD_COUNT = FL_ROARING_VALUES_MAX / 64, RUN_SIZE = 4, COUNT_SIZE = 2 };

typedef struct bits {
    uint64_t words[WORD_COUNT];
} bits;

fluss_code_t fl_roaring_refuse(const fl_roaring_reader *reader, const char *what,
                               fluss_error_t *err)
{
    return fl_error(err, FLUSS_E_CORRUPT_MESSAGE, FLUSS_KIND_CORRUPT,
                    "a Roaring bitmap, at byte %zu: %s",
                    (size_t)(reader->rest.data - reader->start), what);
}

fluss_code_t fl_roaring_take(fl_roaring_reader *reader, size_t size, fl_slice *bytes,
                             fluss_error_t *err)
{
    if (size > reader->rest.size) {
        return fl_roaring_refuse(reader, "it ends too early", err);
    }
    *bytes = fl_slice_sub(reader->rest, 0, size);
    reader->rest = fl_slice_sub(reader->rest, size, reader->rest.size - size);
    return 0;
}

/* ---- reading ---- */

static fluss_code_t check_array(const fl_roaring_reader *reader, fl_slice values,
                                fluss_error_t *err)
{
    for (size_t at = COUNT_SIZE; at < values.size; at += COUNT_SIZE) {
        if (fl_load_u16(values.data + at) <= fl_load_u16(values.data + at - COUNT_SIZE)) {
            return fl_roaring_refuse(reader, "the values of an array do not ascend", err);
        }
    }
    return 0;
}

static fluss_code_t check_runs(const fl_roaring_reader *reader, fl_slice runs, uint32_t *count,
                               fluss_error_t *err)
{
    uint32_t end = 0;
    *count = 0;
    for (size_t at = 0; at < runs.size; at += RUN_SIZE) {
        const uint32_t first = fl_load_u16(runs.data + at);
        const uint32_t length = fl_load_u16(runs.data + at + 2) + 1u;
        if ((at != 0 && first < end) || first + length > FL_ROARING_VALUES_MAX) {
            return fl_roaring_refuse(reader, "runs overlap or do not fit", err);
        }
        end = first + length;
        *count += length;
    }
    return 0;
}

static uint32_t count_bits(fl_slice bitmap)
{
    uint32_t count = 0;
    for (size_t at = 0; at < bitmap.size; at += 8) {
        count += (uint32_t)__builtin_popcountll(fl_load_u64(bitmap.data + at));
    }
    return count;
}

fluss_code_t fl_roaring_read(fl_roaring_reader *reader, fl_roaring_form form, uint32_t cardinality,
                             fl_roaring_container *container, fluss_error_t *err)
{
    fl_roaring_reader at = *reader; /* where the container begins, for messages */
    fl_slice head = {0};
    uint32_t found = cardinality;
    size_t size = FL_ROARING_BITMAP_SIZE;
    if (form == FL_ROARING_ARRAY) {
        size = (size_t)cardinality * COUNT_SIZE;
    } else if (form == FL_ROARING_RUN) {
        FL_TRY(fl_roaring_take(&at, COUNT_SIZE, &head, err));
        size = COUNT_SIZE + (size_t)fl_load_u16(head.data) * RUN_SIZE;
    }
    at = *reader;
    *container = (fl_roaring_container){.form = (uint8_t)form, .cardinality = cardinality};
    FL_TRY(fl_roaring_take(reader, size, &container->bytes, err));
    switch (form) {
    case FL_ROARING_ARRAY:
        FL_TRY(check_array(&at, container->bytes, err));
        break;
    case FL_ROARING_RUN:
        FL_TRY(check_runs(&at, fl_slice_sub(container->bytes, COUNT_SIZE, size - COUNT_SIZE),
                          &found, err));
        break;
    case FL_ROARING_BITMAP:
        found = count_bits(container->bytes);
        break;
    }
    if (found != cardinality || cardinality == 0) {
        return fl_roaring_refuse(&at, "a container does not have as many values as it says", err);
    }
    return 0;
}

/* ---- uniting ---- */

static void set_range(bits *set, uint32_t first, uint32_t last)
{
    const uint64_t from = UINT64_MAX << (first % 64), to = UINT64_MAX >> (63 - last % 64);
    const uint32_t first_word = first / 64, last_word = last / 64;
    if (first_word == last_word) {
        set->words[first_word] |= from & to;
        return;
    }
    set->words[first_word] |= from;
    for (uint32_t word = first_word + 1; word < last_word; word++) {
        set->words[word] = UINT64_MAX;
    }
    set->words[last_word] |= to;
}

static void set_all(bits *set, const fl_roaring_container *container)
{
    const fl_slice bytes = container->bytes;
    switch ((fl_roaring_form)container->form) {
    case FL_ROARING_ARRAY:
        for (size_t at = 0; at < bytes.size; at += COUNT_SIZE) {
            const uint32_t value = fl_load_u16(bytes.data + at);
            set->words[value / 64] |= UINT64_C(1) << (value % 64);
        }
        break;
    case FL_ROARING_BITMAP:
        for (size_t i = 0; i < WORD_COUNT; i++) {
            set->words[i] |= fl_load_u64(bytes.data + i * 8);
        }
        break;
    case FL_ROARING_RUN:
        for (size_t at = COUNT_SIZE; at < bytes.size; at += RUN_SIZE) {
            const uint32_t first = fl_load_u16(bytes.data + at);
            set_range(set, first, first + fl_load_u16(bytes.data + at + 2));
        }
        break;
    }
}

/* Values and runs of a bitmap. A run begins at each bit whose lower neighbour is not set. */
static void count(const bits *set, uint32_t *cardinality, uint32_t *run_count)
{
    uint64_t carry = 0;
    *cardinality = *run_count = 0;
    for (size_t i = 0; i < WORD_COUNT; i++) {
        const uint64_t word = set->words[i];
        *cardinality += (uint32_t)__builtin_popcountll(word);
        *run_count += (uint32_t)__builtin_popcountll(word & ~(word << 1 | carry));
        carry = word >> 63;
    }
}

static fl_roaring_form by_cardinality(uint32_t cardinality)
{
    return cardinality <= FL_ROARING_ARRAY_MAX ? FL_ROARING_ARRAY : FL_ROARING_BITMAP;
}

/* Runs where they are not larger than both others. */
static fl_roaring_form efficient(uint32_t cardinality, uint32_t run_count)
{
    const uint32_t as_runs = COUNT_SIZE + RUN_SIZE * run_count;
    const uint32_t as_array = COUNT_SIZE + COUNT_SIZE * cardinality;
    return as_runs <= FL_ROARING_BITMAP_SIZE && as_runs <= as_array ? FL_ROARING_RUN
                                                                    : by_cardinality(cardinality);
}

static fl_roaring_form united_form(fl_roaring_form a, fl_roaring_form b, uint32_t cardinality,
                                   uint32_t run_count)
{
    if (a == FL_ROARING_BITMAP || b == FL_ROARING_BITMAP) {
        return cardinality == FL_ROARING_VALUES_MAX ? FL_ROARING_RUN : FL_ROARING_BITMAP;
    }
    if (a == FL_ROARING_RUN || b == FL_ROARING_RUN) {
        return efficient(cardinality, run_count);
    }
    return by_cardinality(cardinality);
}

static fl_roaring_form final_form(fl_roaring_form form, uint32_t cardinality, uint32_t run_count,
                                  bool keep_runs)
{
    const uint32_t as_runs = COUNT_SIZE + RUN_SIZE * run_count;
    switch (form) {
    case FL_ROARING_ARRAY:
        return COUNT_SIZE * cardinality > as_runs ? FL_ROARING_RUN : form;
    case FL_ROARING_BITMAP:
        return FL_ROARING_BITMAP_SIZE > as_runs ? FL_ROARING_RUN : form;
    case FL_ROARING_RUN:
        break;
    }
    return keep_runs ? form : efficient(cardinality, run_count);
}

/* ---- writing ---- */

static void write_array(const bits *set, uint8_t *at)
{
    for (uint32_t i = 0; i < WORD_COUNT; i++) {
        for (uint64_t word = set->words[i]; word != 0; word &= word - 1) {
            fl_store_u16(at, (uint16_t)(i * 64 + (uint32_t)__builtin_ctzll(word)));
            at += COUNT_SIZE;
        }
    }
}

static void write_runs(const bits *set, uint32_t run_count, uint8_t *at)
{
    uint32_t next = 0; /* bit */
    fl_store_u16(at, (uint16_t)run_count);
    at += COUNT_SIZE;
    for (uint32_t run = 0; run < run_count; run++) {
        while (next % 64 == 0 && set->words[next / 64] == 0) {
            next += 64;
        }
        while ((set->words[next / 64] >> (next % 64) & 1) == 0) {
            next++;
        }
        const uint32_t first = next;
        while (next < FL_ROARING_VALUES_MAX && (set->words[next / 64] >> (next % 64) & 1) != 0) {
            next += next % 64 == 0 && set->words[next / 64] == UINT64_MAX ? 64 : 1;
        }
        fl_store_u16(at, (uint16_t)first);
        fl_store_u16(at + 2, (uint16_t)(next - 1 - first));
        at += RUN_SIZE;
    }
}

static fluss_code_t write_form(const bits *set, uint32_t run_count, fl_arena *arena,
                               fl_roaring_container *out, fluss_error_t *err)
{
    size_t size = FL_ROARING_BITMAP_SIZE;
    if (out->form == FL_ROARING_ARRAY) {
        size = (size_t)out->cardinality * COUNT_SIZE;
    } else if (out->form == FL_ROARING_RUN) {
        size = COUNT_SIZE + (size_t)run_count * RUN_SIZE;
    }
    uint8_t *bytes = fl_arena_alloc(arena, size);
    if (bytes == NULL) {
        return fl_error_nomem(err);
    }
    switch ((fl_roaring_form)out->form) {
    case FL_ROARING_ARRAY:
        write_array(set, bytes);
        break;
    case FL_ROARING_RUN:
        write_runs(set, run_count, bytes);
        break;
    case FL_ROARING_BITMAP:
        for (size_t i = 0; i < WORD_COUNT; i++) {
            fl_store_u64(bytes + i * 8, set->words[i]);
        }
        break;
    }
    out->bytes = fl_slice_of(bytes, size);
    return 0;
}

fluss_code_t fl_roaring_unite(const fl_roaring_container *a, const fl_roaring_container *b,
                              bool keep_runs, fl_arena *arena, fl_roaring_container *out,
                              fluss_error_t *err)
{
    bits set = {{0}};
    uint32_t run_count;
    set_all(&set, a);
    if (b != NULL) {
        set_all(&set, b);
    }
    *out = *a;
    count(&set, &out->cardinality, &run_count);
    const fl_roaring_form united = b != NULL
                                       ? united_form(a->form, b->form, out->cardinality, run_count)
                                       : (fl_roaring_form)a->form;
    out->form = (uint8_t)final_form(united, out->cardinality, run_count, keep_runs);
    if (b == NULL && out->form == a->form) {
        return 0; /* as it was */
    }
    return write_form(&set, run_count, arena, out, err);
}
