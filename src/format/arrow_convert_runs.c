/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of users whose values do not lie side by side: runs (a value and where it ends) are
 * written out, lists of one fixed size get offsets, and null lists among them lose the elements
 * that they span. Both convert their child first, whatever it is, and then choose rows of it. */
#include "base/alloc.h"
#include "format/arrow_convert.h"

/* The child as a column of `type`, in an array of its own; checked, as rows of it are chosen. */
static fluss_code_t convert_child(fl_convert_walk *walk, const fl_foreign *from, size_t index,
                                  int64_t at, int64_t count, const fl_type *type,
                                  struct ArrowArray *out)
{
    fl_foreign child;
    FL_TRY(fl_foreign_child(from, index, &child, walk->err));
    FL_TRY(fl_arrow_node_init(walk->owner, type, out, walk->err));
    FL_TRY(fl_convert_column(walk, &child, at, count, type, out));
    return fl_arrow_check_column(type, out, walk->err);
}

/* ---- runs ---- */

static int64_t run_end(const struct ArrowArray *ends, enum ArrowType width, int64_t run)
{
    const uint8_t *at = ends->buffers[1];
    const int64_t place = ends->offset + run;
    switch (width) {
    case NANOARROW_TYPE_INT16:
        return fl_load_i16(at + place * 2);
    case NANOARROW_TYPE_INT32:
        return fl_load_i32(at + place * 4);
    default:
        return fl_load_i64(at + place * 8);
    }
}

/* The run of each value from `first` on. */
static fluss_code_t find_runs(fl_convert_walk *walk, const fl_foreign *ends, int64_t first,
                              int64_t count, int64_t *runs)
{
    const enum ArrowType width = ends->kind.type;
    if (width != NANOARROW_TYPE_INT16 && width != NANOARROW_TYPE_INT32 &&
        width != NANOARROW_TYPE_INT64) {
        return fl_error_argument(walk->err, "ends of runs are no 16, 32 or 64 bit integers");
    }
    if (ends->array->length > 0 && ends->array->buffers[1] == NULL) {
        return fl_error_argument(walk->err, "an Arrow buffer is missing");
    }
    int64_t done = 0, previous = 0;
    for (int64_t run = 0; run < ends->array->length && done < count; run++) {
        const int64_t end = run_end(ends->array, width, run);
        if (end <= previous) {
            return fl_error_argument(walk->err, "run %lld ends at %lld, the one before at %lld",
                                     (long long)run, (long long)end, (long long)previous);
        }
        previous = end;
        for (; done < count && first + done < end; done++) {
            runs[done] = run;
        }
    }
    return done == count ? 0
                         : fl_error_argument(walk->err, "runs end at %lld, %lld values are there",
                                             (long long)previous, (long long)(first + count));
}

fluss_code_t fl_convert_runs(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                             int64_t count, const fl_type *type, struct ArrowArray *out)
{
    fl_foreign ends;
    struct ArrowArray values;
    FL_TRY(fl_foreign_child(from, 0, &ends, walk->err));
    const int64_t value_count = from->array->children[1]->length;
    int64_t *runs = fl_calloc((size_t)count + 1, sizeof(*runs));
    fluss_code_t rc = runs != NULL ? 0 : fl_error_nomem(walk->err);
    if (rc == 0) {
        rc = find_runs(walk, &ends, from->array->offset + at, count, runs);
    }
    if (rc == 0 && count > 0 && runs[count - 1] >= value_count) {
        rc = fl_error_argument(walk->err, "%lld values for %lld runs", (long long)value_count,
                               (long long)ends.array->length);
    }
    if (rc == 0) {
        rc = convert_child(walk, from, 1, 0, value_count, type, &values);
    }
    if (rc == 0) {
        rc = fl_arrow_take_column(walk->owner, type, &values, runs, (size_t)count, out, walk->err);
    }
    fl_free(runs);
    return rc;
}

/* ---- lists of one size ---- */

/* Offsets of the lists, and which elements those that are not null hold. @return their number */
static int64_t lay_out(const fl_foreign *from, int64_t at, int64_t count, uint8_t *offsets,
                       int64_t *elements)
{
    const int64_t size = from->kind.fixed_size;
    const struct ArrowArray *array = from->array;
    const uint8_t *validity = array->null_count != 0 ? array->buffers[0] : NULL;
    int64_t used = 0;
    fl_store_i32(offsets, 0);
    for (int64_t i = 0; i < count; i++) {
        const bool is_set = validity == NULL || fl_bit_get(validity, array->offset + at + i);
        for (int64_t j = 0; is_set && j < size; j++) {
            elements[used++] = i * size + j;
        }
        fl_store_i32(offsets + (size_t)(i + 1) * sizeof(int32_t), (int32_t)used);
    }
    return used;
}

fluss_code_t fl_convert_fixed_list(fl_convert_walk *walk, const fl_foreign *from, int64_t at,
                                   int64_t count, const fl_type *type, struct ArrowArray *out)
{
    const int64_t size = from->kind.fixed_size;
    const int64_t first = (from->array->offset + at) * size;
    if (size < 0 || (size > 0 && count > INT32_MAX / size)) {
        return fl_error_argument(walk->err,
                                 "%lld lists of %lld elements in one column, possible are %d "
                                 "elements",
                                 (long long)count, (long long)size, INT32_MAX);
    }
    FL_TRY(fl_convert_validity(walk, from->array, at, count, out));
    if (count == 0) {
        return 0;
    }
    fl_type element = fl_arrow_child_type(type, 0);
    uint8_t *offsets = fl_arrow_owner_room(walk->owner, ((size_t)count + 1) * sizeof(int32_t));
    int64_t *elements = fl_calloc((size_t)(count * size) + 1, sizeof(*elements));
    struct ArrowArray values;
    fluss_code_t rc = offsets != NULL && elements != NULL ? 0 : fl_error_nomem(walk->err);
    if (rc == 0) {
        const int64_t used = lay_out(from, at, count, offsets, elements);
        out->buffers[1] = offsets;
        element.nullable = true; /* what null lists span; the whole is checked at the end */
        rc = convert_child(walk, from, 0, first, count * size, &element, &values);
        rc = rc != 0 ? rc
                     : fl_arrow_take_column(walk->owner, &element, &values, elements, (size_t)used,
                                            out->children[0], walk->err);
    }
    fl_free(elements);
    return rc;
}
