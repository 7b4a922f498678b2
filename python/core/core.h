/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - the parts of the extension module fluss._core.
 *
 * The module is the fast half of `import fluss`: it turns Python rows into fluss_datum_t and back,
 * hands Arrow data over, and lets futures of the C library be awaited. Values, builders and
 * everything that is not hot are plain Python around it.
 *
 * - Limited API of CPython 3.9 (compat.h); heap types; all that is shared lives in the module's
 * state, which each object points to (its type keeps the module alive).
 * - Handles of the C library travel as capsules, released by the capsule.
 * - No library thread calls Python. The interpreter lock is released around every call that blocks
 *   or copies. */
#ifndef FLUSS_CORE_H
#define FLUSS_CORE_H
#include <fluss/fluss.h>
#include <fluss/fluss_arrow.h>
#include <stdatomic.h>
#include <string.h>

#include "compat.h"

/* ---- what the module shares ---- */
typedef enum {
    FC_CONNECTION,
    FC_TABLE,
    FC_SCHEMA,
    FC_DESC,
    FC_SCANNER,
    FC_READ,
    FC_CONFIG,
    FC_LOOKUP,
    FC_PREPARED,
    FC_HANDLE_COUNT
} fc_handle;

/* Names of attributes, interned once. */
typedef enum {
    FC_NAME_YEAR,
    FC_NAME_MONTH,
    FC_NAME_DAY,
    FC_NAME_HOUR,
    FC_NAME_MINUTE,
    FC_NAME_SECOND,
    FC_NAME_MICROSECOND,
    FC_NAME_NANOSECOND,
    FC_NAME_TZINFO,
    FC_NAME_UTCOFFSET,
    FC_NAME_REDUCE,
    FC_NAME_DAYS,
    FC_NAME_SECONDS,
    FC_NAME_MICROSECONDS,
    FC_NAME_CALL_SOON,
    FC_NAME_CALL_SOON_THREADSAFE,
    FC_NAME_CONTEXT,
    FC_NAME_RUN,
    FC_NAME_LOOP_QUEUE,
    FC_NAME_OPEN,
    FC_NAME_COUNT
} fc_name;

typedef struct fc_state {
    PyTypeObject *future_type, *await_type, *loop_type, *handle_type, *writer_type;
    PyTypeObject *records_type, *record_type, *batch_type, *stream_type, *codec_type;
    /* Of the standard library, which loads slowly: NULL until they are needed. */
    PyObject *cancelled_error, *running_loop, *copy_context;
    PyObject *decimal, *datetime, *date, *time, *utc; /* there for every codec that has the type */
    /* Given by the Python half: fluss._core.setup(). */
    PyObject *fluss_error, *make_bucket, *change_types, *make_record, *batch_class, *watch;
    PyObject *precision_warning;
    PyObject *odd; /* module of odd values; NULL until there is one */
    PyObject *names[FC_NAME_COUNT];
} fc_state;

fc_state *fc_state_of(PyObject *module);
/** tp_new of types that only the package makes objects of. Returns NULL. */
PyObject *fc_refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
/** asyncio.CancelledError; NULL: an exception. Borrowed. */
PyObject *fc_cancelled_error(const fc_state *state);
/** contextvars.copy_context(). New reference; NULL: an exception. */
PyObject *fc_copy_context(const fc_state *state);
/** The module of odd values; NULL: an exception. Borrowed. */
PyObject *fc_odd(const fc_state *state);
/** Load the classes of a type's values. @return -1: an exception */
int fc_load_classes(fc_state *state, uint8_t type);
/** Name of an object's type. New reference. */
PyObject *fc_type_name_of(PyObject *object);
extern PyType_Spec fc_future_spec, fc_await_spec, fc_await_before_am_send_spec, fc_loop_spec,
    fc_handle_spec, fc_writer_spec;
extern PyType_Spec fc_records_spec, fc_record_spec, fc_batch_spec, fc_stream_spec, fc_codec_spec;

/* ---- errors.c ---- */
/** Raise the Python form of an error: FlussError, MemoryError or CancelledError. Returns NULL. */
PyObject *fc_raise(const fc_state *state, const fluss_error_t *err);
/** Raise FlussError with the client's code; format as PyUnicode_FromFormat. Returns NULL. */
PyObject *fc_refuse(const fc_state *state, const char *format, ...);
/** tp_getattro of futures: for a public name that is not there, AttributeError says to await. */
PyObject *fc_future_getattr(PyObject *self, PyObject *name);
/** Wait without the interpreter lock for a future that this thread owns alone; signals are handled
 * meanwhile. @return 0: ready; -1: an exception is set. The future stays. */
int fc_wait(fluss_future_t *future);
/** Call with the interpreter lock from a thread that waited long: handles signals. */
int64_t fc_now_ms(void);
/** An optional timeout in seconds, as milliseconds. @return -2: no limit; -1: an exception */
int64_t fc_timeout_of(PyObject *timeout);

/* ---- handles.c ---- */
/** A capsule that owns a handle; NULL releases it at once. */
PyObject *fc_wrap(fc_handle kind, void *handle);
/** The handle in a capsule; NULL with TypeError. Borrowed. */
void *fc_unwrap(PyObject *capsule, fc_handle kind);
/** Converters for PyArg_ParseTuple "O&". */
int fc_to_conn(PyObject *object, void *out);
int fc_to_table(PyObject *object, void *out);
int fc_to_schema(PyObject *object, void *out);
int fc_to_scanner(PyObject *object, void *out);

/** Arrays of C strings and pairs, borrowed from the Python objects, which `keep` holds. */
typedef struct fc_texts {
    const char **items; /* PyMem */
    size_t count;
    PyObject *keep;
} fc_texts;
int fc_texts_init(fc_texts *texts, PyObject *sequence_or_none);
void fc_texts_deinit(fc_texts *texts);
typedef struct fc_pairs {
    fluss_kv_t *items; /* PyMem */
    size_t count;
    PyObject *keep;
} fc_pairs;
/** From a sequence of (key or None, value or None), or None. */
int fc_pairs_init(fc_pairs *pairs, PyObject *sequence_or_none);
void fc_pairs_deinit(fc_pairs *pairs);
/** Positions from a sequence of (table_id, partition_id, bucket, offset). PyMem; NULL: exception.
 */
fluss_position_t *fc_positions(PyObject *sequence, size_t *count);

/* ---- codec.c: the types of a table's columns ---- */
typedef struct fc_type {
    uint8_t type, precision, scale;
    bool nullable;
    int32_t length;
    size_t count;
    struct fc_type *children; /* ARRAY 1, MAP 2, ROW n; PyMem */
    PyObject **names;         /* ROW: of the fields; PyMem */
} fc_type;

typedef struct fc_codec {
    PyObject_HEAD fc_state *state;
    fc_type row;     /* a ROW of the columns */
    PyObject *blank; /* a dict of all columns, None each, that rows are copied from */
} fc_codec;
PyObject *fc_codec_new(PyObject *module, PyObject *columns);
const char *fc_type_name(const fc_type *type);

/* ---- encode.c: Python values to datums ---- */
enum { FC_INLINE_DATUMS = 48, FC_INLINE_KEPT = 48, FC_DEPTH_MAX = 32 };
typedef struct fc_encoder {
    const fc_state *state;
    PyObject *field; /* borrowed: the column at hand, for messages */
    int depth;
    bool refuses_loss; /* digits that do not fit are an error, not a warning */
    size_t kept_count, kept_capacity;
    PyObject **kept; /* objects that datums point into */
    struct fc_block *blocks;
    size_t datums_used;
    PyObject *kept_inline[FC_INLINE_KEPT];
    fluss_datum_t datums[FC_INLINE_DATUMS];
} fc_encoder;
void fc_encoder_init(fc_encoder *encoder, const fc_state *state);
void fc_encoder_deinit(fc_encoder *encoder);
/** Room for `count` datums that lives as long as the encoder; NULL: MemoryError. */
fluss_datum_t *fc_encoder_datums(fc_encoder *encoder, size_t count);
int fc_encoder_keep(fc_encoder *encoder, PyObject *object);
/** @return 0; -1: an exception is set, nothing depends on the encoder's state */
int fc_encode_value(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out);
/** As fc_encode_value, without a second try for values of other libraries. */
int fc_encode_plain(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out);
/** A row: dict by column name, or list or tuple in column order. @param what "Row" or "Key"
 * @return count of datums; NULL: an exception */
fluss_datum_t *fc_encode_row(fc_encoder *encoder, const fc_codec *codec, PyObject *row,
                             const char *what);
/* moment.c: what the types of the datetime module are made of, in one step */
typedef struct fc_moment {
    int64_t days; /* since 1970-01-01 */
    int64_t us;   /* of the day */
} fc_moment;
/** Take a datetime.datetime, not of a derived type, apart. @param zone new reference: its tzinfo,
 * or None @return 0; -1: an exception is set */
int fc_moment_read(const fc_state *state, PyObject *value, fc_moment *out, PyObject **zone);
enum { FC_DAYS_MIN = -719162, FC_DAYS_MAX = 2932896 }; /* 0001-01-01 to 9999-12-31 */
/** @param moment days between FC_DAYS_MIN and FC_DAYS_MAX @param zone a tzinfo, or NULL */
PyObject *fc_moment_to_datetime(const fc_state *state, fc_moment moment, PyObject *zone);
PyObject *fc_moment_to_date(const fc_state *state, int64_t days);
PyObject *fc_moment_to_time(const fc_state *state, int64_t us);
/* encode_time.c, encode_nested.c */
int fc_encode_moment(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out);
int fc_encode_nested(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out);
int fc_encode_mapping(fc_encoder *encoder, const fc_type *row, PyObject *value, const char *what,
                      fluss_datum_t *out);
int fc_encode_decimal(fc_encoder *encoder, const fc_type *type, PyObject *value,
                      fluss_datum_t *out);
/* encode_odd.c */
int fc_encode_float(fc_encoder *encoder, const fc_type *type, PyObject *value, fluss_datum_t *out);
/** Encode what stands for an odd value. An exception is set before; it stays when there is nothing
 * that stands for the value. */
int fc_encode_stand_in(fc_encoder *encoder, const fc_type *type, PyObject *value,
                       fluss_datum_t *out);
/** Digits are dropped: warn, or refuse. @return -1: an exception is set */
int fc_encode_loss(const fc_encoder *encoder, const fc_type *type, const char *what);
/** The fields of a dataclass or named tuple, a new dict; Py_NotImplemented: it is neither. */
PyObject *fc_fields_of(const fc_encoder *encoder, PyObject *value);
/** A row by its fields, where it has any. @param is_named whether it has */
int fc_encode_named(fc_encoder *encoder, const fc_type *row, PyObject *value, const char *what,
                    fluss_datum_t *out, bool *is_named);
/** The items of a sequence, a new tuple. The length that a sequence of a user's class claims is not
 * believed: no room is made for it beforehand. */
PyObject *fc_items_of(PyObject *sequence);
/** Whether the exception at hand says that a value was of the wrong kind or size. */
bool fc_is_misfit(void);
/** Raise "Field 'x': …". Returns -1. */
int fc_encode_fail(const fc_encoder *encoder, const char *format, ...);
/** Raise "Field 'x': Expected WANTED, got TYPE". Returns -1. */
int fc_encode_mismatch(const fc_encoder *encoder, const char *wanted, PyObject *value);

/* ---- decode.c: datums to Python values ---- */
PyObject *fc_decode_value(const fc_state *state, const fc_type *type, const fluss_datum_t *datum);
PyObject *fc_decode_row(const fc_codec *codec, const fluss_row_t *row);

/* ---- future.c ---- */
typedef enum {
    FC_RESULT_VOID,
    FC_RESULT_I64,
    FC_RESULT_CONN,
    FC_RESULT_TABLE,
    FC_RESULT_SCHEMA,
    FC_RESULT_RESULT,
    FC_RESULT_RECORDS,
    FC_RESULT_CHANGES,
    FC_RESULT_BATCHES,
    FC_RESULT_ACK,
    FC_RESULT_LOOKUP_ONE,
    FC_RESULT_LOOKUP_MANY,
    FC_RESULT_LOOKUP_ALL,
    FC_RESULT_LOOKUP_ARROW,
    FC_RESULT_PROMISE /* completed by set_result or set_exception */
} fc_result_kind;

typedef struct fc_slot {
    struct fc_slot *prev, *next;
    struct fc_loop *loop;    /* borrowed: it outlives its slots */
    struct fc_future *owner; /* strong while somebody waits for it there, else borrowed */
    bool is_holding;
} fc_slot;

typedef enum { FC_PENDING, FC_RESOLVING, FC_DONE, FC_FAILED, FC_CANCELLED } fc_status;

typedef struct fc_future {
    PyObject_HEAD fc_state *state;
    fluss_future_t *pending; /* owned; NULL: promise, or taken */
    fc_slot *slot;           /* where a loop waits for it */
    PyThread_type_lock lock; /* promise: held until it is done */
    pid_t pid;               /* promise: of the process whose threads keep it */
    atomic_int waiters;      /* threads in fluss_future_wait */
    fc_result_kind kind;
    fc_status status;
    char blocking, is_watched;
    char is_stoppable;      /* a signal that ends a wait for it cancels it */
    char is_told;           /* somebody knows that it is ready: it can't be cancelled any more */
    unsigned long resolver; /* RESOLVING: the thread that is at it */
    size_t count;           /* LOOKUP_MANY: keys */
    PyObject *value;        /* result, or exception */
    PyObject *convert;      /* callable for the result, or NULL */
    PyObject *context;      /* the codec of records; of an ack: what is known of it */
    PyObject *keep;         /* handle that the call needs to live */
    PyObject *callbacks;    /* list of (function, context, reference to a loop or None), or NULL */
    PyObject *on_cancel;    /* promise: called at once when it is cancelled, or NULL */
    PyObject *references;   /* weak ones */
} fc_future;

typedef struct fc_loop {
    PyObject_HEAD fc_state *state;
    PyObject *loop; /* weak reference: a loop that is dropped takes its waits with it */
    fluss_queue_t *queue;
    fc_slot head;
} fc_loop;

/** A Python future for a C one, which is taken in every case. @param context, convert borrowed, may
 * be NULL or None */
PyObject *fc_future_new(fc_state *state, fluss_future_t *pending, fc_result_kind kind,
                        PyObject *context, PyObject *convert);
/** Hold a handle until the future has ended. Takes the future; NULL allowed. */
PyObject *fc_future_keep(PyObject *future, PyObject *handle);
/** A future that has ended with None. */
PyObject *fc_future_completed(fc_state *state);
bool fc_future_is_ready(const fc_future *self);
/** Call what waits for the future. @param loop the loop whose thread this is, or NULL */
void fc_future_announce(fc_future *self, fc_loop *loop);
PyObject *fc_future_promise(PyObject *module, PyObject *args);
PyObject *fc_future_rebind(PyObject *module, PyObject *args);
/** A cancelled future of an ack gives its C future to a fresh one. */
PyObject *fc_future_revive(fc_future *self);
int fc_future_resolve(fc_future *self);
/* callbacks.c */
/** Whether a function and a context, or None, can be a callback. @return -1: TypeError */
int fc_callback_check(const fc_state *state, PyObject *function, PyObject *context);
/** Forget those of a list of callbacks that are this function. @return how many; -1: an exception
 */
Py_ssize_t fc_callbacks_remove(PyObject *list, PyObject *function);
/** The result of a future that has ended, or NULL with its exception. */
PyObject *fc_future_give(fc_future *self);
/* await.c */
PyObject *fc_future_await(fc_future *self);
/* loop.c */
PyObject *fc_running_loop(fc_state *state); /* new reference; None: none */
/** The queue of a loop, made on first use; NULL without exception: the loop can't have one. */
fc_loop *fc_loop_of(fc_state *state, PyObject *loop);
int fc_loop_wait_for(fc_loop *self, fc_future *future);
/** A weak reference to a loop, or to None the object itself. New reference. */
PyObject *fc_loop_reference(PyObject *loop);
/** What a reference leads to; None: no loop, or one that is gone. New reference. */
PyObject *fc_loop_referent(PyObject *reference);
void fc_slot_free(fc_slot *slot);
/** Keep the slot's future alive, or do so no more. */
void fc_slot_hold(fc_slot *slot, bool is_holding);
/* results.c */
PyObject *fc_take(fc_future *self);
/** A list of dicts of texts. Takes the result. */
PyObject *fc_result_to_list(fluss_result_t *result);

/* ---- records.c, arrow.c ---- */
PyObject *fc_records_to_list(fc_codec *codec, fluss_records_t *records); /* takes */
PyObject *fc_lookup_rows(fc_future *self, fluss_records_t *records);     /* takes */
PyObject *fc_changes(fc_state *state, fluss_records_t *records);         /* takes */
PyObject *fc_record_restore(PyObject *module, PyObject *args);
PyObject *fc_bucket(const fc_state *state, const fluss_bucket_t *bucket);
PyObject *fc_batches_to_list(fc_state *state, fluss_batches_t *batches); /* takes */
PyObject *fc_batch_new(fc_state *state, struct ArrowSchema *schema, struct ArrowArray *array,
                       const fluss_position_t *first, int64_t last_offset); /* takes both */
PyObject *fc_batch_of_capsules(PyObject *module, PyObject *args);
PyObject *fc_arrow_schema_capsule(struct ArrowSchema *schema); /* takes */
PyObject *fc_stream_capsule(struct ArrowArrayStream *stream);  /* takes */
/** arrow_fields(schema capsule) -> [(name or None, format)] of a struct's columns */
PyObject *fc_arrow_fields(PyObject *module, PyObject *capsule);
/** open_stream(stream capsule) -> Stream: takes what is in the capsule */
PyObject *fc_stream_open(PyObject *module, PyObject *capsule);
/** Structs inside capsules of the Arrow PyCapsule protocol; NULL: exception. Borrowed. */
struct ArrowSchema *fc_arrow_schema_in(PyObject *capsule);
struct ArrowArray *fc_arrow_array_in(PyObject *capsule);
/* arrow_share.c: copies of Arrow structs that share the data. */
typedef struct fc_shared_array fc_shared_array;
fc_shared_array *fc_shared_array_new(struct ArrowArray *array); /* takes if it succeeds */
int fc_shared_array_export(fc_shared_array *shared, struct ArrowArray *out);
const struct ArrowArray *fc_shared_array_get(const fc_shared_array *shared);
void fc_shared_array_unref(fc_shared_array *shared);
int fc_schema_copy(const struct ArrowSchema *schema, struct ArrowSchema *out);

/* ---- writer.c ---- */
PyObject *fc_handle_new(fc_state *state, fluss_future_t *ack); /* takes; NULL: done already */

/* ---- method tables, put together in module.c ---- */
extern PyMethodDef fc_admin_methods[], fc_admin_call_methods[], fc_schema_methods[];
extern PyMethodDef fc_scan_methods[], fc_read_methods[], fc_write_methods[], fc_log_methods[];
#endif
