/* SPDX-License-Identifier: Apache-2.0 */
/* fluss_metrics: a snapshot of the counters as a table. */
#include "client/metrics.h"

#include <string.h>

#include "client/client.h"
#include "client/result.h"

static const fl_result_column columns[] = {
    {"name", false}, {"labels", false}, {"type", false},
    {"value", true}, {"count", true},   {"sum", true},
};

enum { LABELS_SIZE = 512 };

/* `client_id="NAME"`, as exporters write labels; nothing for a client without a name. */
static void write_labels(const fl_client *client, char labels[LABELS_SIZE])
{
    const char *id = fl_config_text(&client->config->client_id, client->config);
    size_t size = 0;
    if (id[0] != '\0') {
        memcpy(labels, "client_id=\"", 11);
        size = 11;
        for (; *id != '\0' && size < LABELS_SIZE - 4; id++) {
            if (*id == '"' || *id == '\\' || *id == '\n') {
                labels[size++] = '\\';
            }
            labels[size++] = *id == '\n' ? 'n' : *id;
        }
        labels[size++] = '"';
    }
    labels[size] = '\0';
}

typedef struct filling {
    fluss_result_t *result;
    char labels[LABELS_SIZE];
} filling;

static fluss_code_t add(filling *f, const char *name, const char *type, int64_t value,
                        fluss_error_t *err)
{
    const fl_cell cells[] = {
        fl_cell_text(fl_slice_str(name)),
        fl_cell_text(fl_slice_str(f->labels)),
        fl_cell_text(fl_slice_str(type)),
        fl_cell_number(value),
        {0},
        {0},
    };
    return fl_result_append(f->result, cells, err);
}

static fluss_code_t fill(fl_client *client, filling *f, fluss_error_t *err)
{
    fl_metrics *m = &client->metrics;
#define FL_METRIC(field, name, type) \
    FL_TRY(add(f, (name), (type), atomic_load_explicit(&m->field, memory_order_relaxed), err));
#include "client/metrics.def"
#undef FL_METRIC
    const fl_rpc_counts rpc = fl_rpc_counts_read(client->rpc);
    FL_TRY(add(f, "fluss_client_requests_total", "counter", rpc.requests, err));
    FL_TRY(add(f, "fluss_client_responses_total", "counter", rpc.responses, err));
    FL_TRY(add(f, "fluss_client_request_failures_total", "counter", rpc.failures, err));
    FL_TRY(add(f, "fluss_client_connects_total", "counter", rpc.connects, err));
    FL_TRY(add(f, "fluss_client_bytes_sent_total", "counter", rpc.bytes_sent, err));
    FL_TRY(add(f, "fluss_client_bytes_received_total", "counter", rpc.bytes_received, err));
    return add(f, "fluss_client_requests_in_flight", "gauge", rpc.in_flight, err);
}

fluss_code_t fluss_metrics(fluss_conn_t *conn, fluss_result_t **out, fluss_error_t *err)
{
    if (conn == NULL || out == NULL) {
        return fl_error_argument(err, "conn and out must not be NULL");
    }
    *out = NULL;
    filling f = {.result = fl_result_new(columns, FL_COUNT_OF(columns))};
    if (f.result == NULL) {
        return fl_error_nomem(err);
    }
    write_labels(conn->client, f.labels);
    const fluss_code_t rc = fill(conn->client, &f, err);
    if (rc != 0) {
        fluss_result_free(f.result);
        return rc;
    }
    *out = f.result;
    return 0;
}
