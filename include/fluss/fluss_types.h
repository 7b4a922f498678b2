/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_types.h - the plain data of the C API: codes, errors, values, positions. */
#ifndef FLUSS_TYPES_H
#define FLUSS_TYPES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fluss_codes.h"

#if defined(__GNUC__) && !defined(FLUSS_API)
#define FLUSS_API __attribute__((visibility("default")))
#elif !defined(FLUSS_API)
#define FLUSS_API
#endif

/** 0: success; > 0 and -1: the code that the server sent, unchanged; -2: found by the client. */
typedef int32_t fluss_code_t;
enum { FLUSS_OK = 0, FLUSS_E_SERVER_UNKNOWN = -1, FLUSS_E_CLIENT = -2 };

/** What an error is about; the code alone does not tell client-side causes apart. */
typedef enum {
    FLUSS_KIND_SERVER,      /* the server refused; the code is the server's */
    FLUSS_KIND_ARGUMENT,    /* an argument is wrong */
    FLUSS_KIND_STATE,       /* the object is not in a state that allows the call */
    FLUSS_KIND_TIMEOUT,     /* a limit of time ran out */
    FLUSS_KIND_CANCELLED,   /* the caller cancelled */
    FLUSS_KIND_CLOSED,      /* the connection was closed by this side */
    FLUSS_KIND_NETWORK,     /* the connection failed */
    FLUSS_KIND_CORRUPT,     /* bytes from the network or disk break their format */
    FLUSS_KIND_UNSUPPORTED, /* known, but not possible here */
    FLUSS_KIND_NOMEM        /* out of memory */
} fluss_kind_t;

/** One error, owned by the caller, valid without heap. */
typedef struct {
    fluss_code_t code;
    uint16_t kind;      /* fluss_kind_t */
    uint16_t retriable; /* 1 where a later attempt can succeed */
    char message[1016]; /* UTF-8, always terminated, cut at a character when longer */
} fluss_error_t;

typedef struct {
    const char *key;
    const char *value;
} fluss_kv_t;

typedef struct {
    const char *database;
    const char *table;
} fluss_path_t;

/** A bucket of a table, or of one partition of it. */
typedef struct {
    int64_t table_id;
    int64_t partition_id; /* -1: the table is not partitioned */
    int32_t bucket;
} fluss_bucket_t;

/** Log offset in a bucket: >= 0, FLUSS_EARLIEST or FLUSS_LATEST. */
typedef struct {
    fluss_bucket_t bucket;
    int64_t offset;
} fluss_position_t;

#define FLUSS_EARLIEST (-2)
#define FLUSS_LATEST (-1)

typedef enum {
    FLUSS_NULL,
    FLUSS_BOOLEAN,
    FLUSS_TINYINT,
    FLUSS_SMALLINT,
    FLUSS_INT,
    FLUSS_BIGINT,
    FLUSS_FLOAT,
    FLUSS_DOUBLE,
    FLUSS_CHAR,
    FLUSS_STRING,
    FLUSS_BINARY,
    FLUSS_BYTES,
    FLUSS_DECIMAL,
    FLUSS_DATE,
    FLUSS_TIME,
    FLUSS_TIMESTAMP,
    FLUSS_TIMESTAMP_LTZ,
    FLUSS_ARRAY,
    FLUSS_MAP,
    FLUSS_ROW
} fluss_type_t;

/** One value, in or out. On the way out its pointers are borrowed from the row's records. */
typedef struct fluss_datum {
    uint8_t type;      /* fluss_type_t */
    uint8_t precision; /* DECIMAL */
    uint8_t scale;     /* DECIMAL */
    uint8_t reserved;
    int32_t nanos; /* TIMESTAMP*: nanoseconds within the millisecond, 0..999999 */
    union {
        bool b;
        int64_t i; /* all integers, DATE days, TIME ms of the day, TIMESTAMP* ms since 1970 */
        double f;  /* FLOAT and DOUBLE */
        struct {
            const void *ptr;
            size_t len;
        } s; /* CHAR STRING BINARY BYTES, not terminated */
        struct {
            uint64_t lo;
            int64_t hi;
        } dec; /* unscaled value, 128-bit two's complement */
        struct {
            const struct fluss_datum *items;
            size_t len;
        } list; /* ARRAY: elements; MAP: key, value, key, value …, len counts both; ROW: fields */
    } v;
} fluss_datum_t;

/** Where a write went. */
typedef struct {
    fluss_bucket_t bucket;
    int64_t log_end_offset; /* -1: the server did not say */
} fluss_ack_t;

typedef enum {
    FLUSS_APPEND_ONLY,
    FLUSS_INSERT,
    FLUSS_UPDATE_BEFORE,
    FLUSS_UPDATE_AFTER,
    FLUSS_DELETE
} fluss_change_t;

/* Opaque handles. */
typedef struct fluss_config fluss_config_t;
typedef struct fluss_schema fluss_schema_t;
typedef struct fluss_desc fluss_desc_t;
typedef struct fluss_conn fluss_conn_t;
typedef struct fluss_table fluss_table_t;
typedef struct fluss_writer fluss_writer_t;
typedef struct fluss_prepared fluss_prepared_t;
typedef struct fluss_lookup fluss_lookup_t;
typedef struct fluss_scanner fluss_scanner_t;
typedef struct fluss_read fluss_read_t;
typedef struct fluss_pred fluss_pred_t;
typedef struct fluss_future fluss_future_t;
typedef struct fluss_queue fluss_queue_t;
typedef struct fluss_records fluss_records_t;
typedef struct fluss_row fluss_row_t; /* always borrowed from records */
typedef struct fluss_batches fluss_batches_t;
typedef struct fluss_result fluss_result_t;

/* The Arrow C data interface; the structs come from the user's Arrow or from <fluss_arrow.h>. */
struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;
#endif
