#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes null_calls.c: every public function with every pointer NULL, alone and all together, and
with every number, text and name at its worst.

Made from the headers, so that no function is forgotten. Where a function can fail and its comment
does not allow NULL for an argument, the call has to fail with FLUSS_KIND_ARGUMENT; no call may
crash or hang. What is not NULL comes from null_world.h.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import capi

# Functions that end or block what they are given: with NULL only.
NULL_ONLY = {"fluss_close", "fluss_server_wait", "fluss_server_stop", "fluss_server_start"}
# Functions that wait as long as they are told, and one that reads what it is told is there.
NOT_AT_WORST = {"fluss_queue_next", "fluss_poll", "fluss_pred_combine"}
WORST = {  # type -> values
    "int64_t": ["INT64_MIN", "-3", "INT64_MAX"],
    "int32_t": ["INT32_MIN", "INT32_MAX"],
    "int": ["INT_MIN", "INT_MAX"],
    "unsigned": ["UINT_MAX"],
    "size_t": ["SIZE_MAX", "SIZE_MAX / 2 + 1"],
    "fluss_code_t": ["INT32_MIN", "INT32_MAX"],
    "fluss_cmp_t": ["(fluss_cmp_t)-1", "(fluss_cmp_t)1000"],
    "fluss_change_t": ["(fluss_change_t)-1", "(fluss_change_t)1000"],
    "fluss_bucket_t": ["w->worst_buckets[0]", "w->worst_buckets[1]"],
}
TEXTS = range(5)  # of the world
FUTURE_TAKERS = {"fluss_future_free"}  # and fluss_await_*
OUTPUTS = {  # type -> how to release what a call gave
    "fluss_conn_t **": "fluss_conn_free",
    "fluss_table_t **": "fluss_table_free",
    "fluss_schema_t **": "fluss_schema_free",
    "fluss_desc_t **": "fluss_desc_free",
    "fluss_result_t **": "fluss_result_free",
    "fluss_records_t **": "fluss_records_free",
    "fluss_batches_t **": "fluss_batches_free",
    "fluss_writer_t **": "fluss_writer_free",
    "fluss_lookup_t **": "fluss_lookup_free",
    "fluss_scanner_t **": "fluss_scanner_free",
    "fluss_read_t **": "fluss_read_free",
    "fluss_prepared_t **": "fluss_prepared_free",
    "fluss_future_t **": "fluss_future_free",
}
ARROW = {"struct ArrowSchema *", "struct ArrowArray *", "struct ArrowArrayStream *"}
ARROW_IN = {"fluss_write_arrow", "fluss_prepare_arrow"}
PLAIN_OUT = {"void **": "void *", "const char **": "const char *", "int32_t *": "int32_t"}
PLAIN_OUT |= {"int64_t *": "int64_t", "fluss_ack_t *": "fluss_ack_t", "size_t *": "size_t"}
PLAIN_OUT |= {"fluss_record_t *": "fluss_record_t", "fluss_datum_t *": "fluss_datum_t"}
PLAIN_OUT |= {"fluss_position_t *": "fluss_position_t"}
# Types with a member of the world of their name.
HANDLES = (
    "config schema desc conn table writer lookup scanner read pred queue records row batches result"
)


def is_pointer(parameter):
    return parameter.type.endswith("*") or "(*)" in parameter.type or parameter.type.endswith("_fn")


def valid(function, parameter):
    """(expression, declarations, releases) of an argument that is not NULL."""
    kind, name = parameter.type, parameter.name
    handle = re.fullmatch(r"(?:const )?fluss_(\w+)_t \*", kind)
    if handle and handle.group(1) == "future":
        made = 'fluss_database_exists(w->conn, "fluss")'
        if function.name.startswith("fluss_await") or function.name in FUTURE_TAKERS:
            return made, [], []
        return name, [f"fluss_future_t *{name} = {made};"], [f"fluss_future_free({name});"]
    if handle and handle.group(1) in HANDLES.split():
        if handle.group(1) == "row":
            return "row_of(w)", [], []
        log = function.name in ("fluss_append_open", "fluss_append")
        return f"w->{'log_' if log else ''}{handle.group(1)}", [], []
    if kind == "fluss_error_t *":
        return "&err", [], []
    if kind in OUTPUTS:
        return f"&{name}", [f"{kind[:-1].strip()} {name} = NULL;"], [f"{OUTPUTS[kind]}({name});"]
    if kind in ARROW:
        declared = [f"{kind[:-2]} {name} = {{0}};"]
        if function.name in ARROW_IN and kind == "struct ArrowSchema *":
            declared.append(f"struct ArrowArray array = {{0}}; give_arrow(w, &{name}, &array);")
        elif function.name in ARROW_IN:
            declared = []
        released = [f"if ({name}.release != NULL) {name}.release(&{name});"]
        return f"&{name}", declared, released
    if kind in PLAIN_OUT:
        return f"&{name}", [f"{PLAIN_OUT[kind]} {name};"], [f"(void){name};"]
    plain = {
        "const char *": '"text"',
        "void *": "w",
        "fluss_ready_fn": "on_ready",
        "fluss_log_fn": "NULL",
        "const struct ArrowSchema *": "&w->arrow_schema",
        "const char *const *": "w->names",
        "const int32_t *": "w->numbers",
        "const fluss_kv_t *": "w->pairs",
        "const fluss_acl_t *": "w->acl",
        "const fluss_bucket_t *": "w->buckets",
        "const fluss_position_t *": "w->positions",
        "const fluss_datum_t *": "w->row",
        "const fluss_table_change_t *": "w->changes",
        "fluss_table_t *const *": "w->tables",
        "fluss_path_t": "w->path",
        "fluss_bucket_t": "w->buckets[0]",
    }
    if kind in plain:
        return plain[kind], [], []
    if kind.endswith("_opts_t *") or is_pointer(parameter):
        return "NULL", [], []
    if name == "timeout_ms":
        return "100", [], []
    if kind == "bool":
        return "false", [], []
    if name in ("n", "width", "n_keys", "n_tables", "cap", "count", "len"):
        return "1", [], []
    return f"({kind})0", [], []


def allows_null(function, parameter):
    words = function.comment.parameters.get(parameter.name, "")
    by_type = parameter.type in ("fluss_error_t *",) or parameter.type in PLAIN_OUT
    return by_type or parameter.type in OUTPUTS or bool(re.search(r"NULL|as fluss_", words))


def call(function, missing, worst=None):
    """One call with the parameters in `missing` NULL, and others as `worst` says."""
    worst = worst or {}
    declared, released, arguments = [], [], []
    for parameter in function.parameters:
        expression, before, after = valid(function, parameter)
        if parameter in missing and not (parameter.name == "array" and declared):
            expression = "NULL"
            before, after = before if parameter.type in ARROW else [], after
            after = after if parameter.type in ARROW else []
        elif parameter in missing:
            expression = "NULL"
        declared += before
        released += after
        arguments.append(worst.get(parameter.name, expression))
    if any("array" in text for text in released) and not any(
        "ArrowArray array" in d for d in declared
    ):
        declared.append("struct ArrowArray array = {0};")
    text = f"{function.name}({', '.join(arguments)})"
    must_fail = [p for p in missing if not allows_null(function, p)]
    handle = [p for p in must_fail if p.type.startswith("fluss_") or p.type.startswith("const")]
    fails = "true" if handle and len(missing) == 1 else "false"
    names = "+".join([*(p.name for p in missing), *(f"a sane {name}" for name in worst)])
    lines = ["{", *declared, "fluss_error_t err = {0};", "(void)err;"]
    if function.returns == "fluss_code_t" and any(
        p.type == "fluss_error_t *" for p in function.parameters
    ):
        lines.append(f'check_code("{function.name}", "{names}", {text}, &err, {fails});')
    elif function.returns == "fluss_future_t *":
        lines.append(f'check_future("{function.name}", "{names}", {text}, {fails});')
    else:
        free = {"fluss_config_t *": "config", "fluss_schema_t *": "schema"}
        free |= {"fluss_queue_t *": "queue", "fluss_pred_t *": "pred"}
        if function.returns in free:
            text = f"fluss_{free[function.returns]}_free({text})"
        lines.append(f"{'(void)' if function.returns != 'void' else ''}{text};")
    return "\n".join([*lines, *released, "}"])


def calls(function):
    pointers = [parameter for parameter in function.parameters if is_pointer(parameter)]
    single = function.name in NULL_ONLY or function.is_release() or not pointers
    if not (single and len(pointers) > 1) and pointers:
        yield call(function, pointers)
    if not single:
        for parameter in pointers:
            yield call(function, [parameter])


def worst_calls(function):
    if function.is_release() or function.name in NULL_ONLY | NOT_AT_WORST:
        return
    for parameter in function.parameters:
        values = WORST.get(parameter.type, [])
        if parameter.type == "const char *":
            values = [f"w->texts[{i}]" for i in TEXTS]
        elif parameter.type == "fluss_path_t":
            values = [f"(fluss_path_t){{w->texts[{i}], w->texts[{i}]}}" for i in TEXTS]
        elif parameter.type == "const fluss_kv_t *":
            values = [f"&(fluss_kv_t){{w->texts[{i}], w->texts[{i}]}}" for i in TEXTS]
        elif parameter.type == "const char *const *":
            values = [f"&w->texts[{i}]" for i in TEXTS]
        for value in values:
            yield call(function, [], {parameter.name: value})


def main():
    api = capi.read_api()
    functions = [f for f in api.functions if not f.inline and f.name != "fluss_set_allocator"]
    parts = ['#include "null_world.h"\n']
    for function in functions:
        body = "\n".join([*calls(function), *worst_calls(function)]) or "(void)w;"
        parts.append(f"static void call_{function.name}(null_world *w)\n{{\n(void)w;\n{body}\n}}\n")
    table = "".join(f'{{"{f.name}", call_{f.name}}},\n' for f in functions)
    parts.append(f"const null_call null_calls[] = {{\n{table}}};\n")
    parts.append("const size_t null_call_count = sizeof(null_calls) / sizeof(null_calls[0]);\n")
    Path(sys.argv[1]).write_text("\n".join(parts))


if __name__ == "__main__":
    main()
