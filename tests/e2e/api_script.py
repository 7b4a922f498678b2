# SPDX-License-Identifier: Apache-2.0
"""One script of requests that has every public API, for our server and the official one.

test_api.py runs it on our server and checks each answer; tests/interop/api.py runs it on an
official cluster too, and compares. A step is an API, a label, a request made from what earlier
answers told, the code that is expected (0: success; codes of buckets and bodies count too), and
`shows`, which picks from a good answer what both servers must share.
"""

import json
from dataclasses import dataclass
from typing import Any, Callable

from rows import Table
from wire import SUCCESS, batch, fetch, path_of, produce, table_json

DB = "api"
LOG, PK, PARTS, ABSENT = (path_of(name, DB) for name in ("log", "pk", "parts", "absent"))
COORDINATOR, TABLET = "coordinator", "tablet"
ANY_ACL = {"resource_type": 1, "operation_type": 1, "permission_type": 1}
SPEC = {"partition_key_values": [{"key": "p", "value": "1"}]}


@dataclass
class Step:
    """A request, where an official cluster answers it, and what is expected."""

    api: str
    label: str
    request: Callable[[dict], dict]
    code: int = 0
    shows: Callable[[dict], Any] = lambda answer: None
    expected: Any = None  # what `shows` gives
    role: str = TABLET
    learns: Callable[[dict, dict], None] = lambda known, answer: None


def code_in(kind, answer):
    """The code of an answer, wherever it is: of the request, the body, or its first bad bucket."""
    if kind != SUCCESS or answer.get("error_code"):
        return answer["error_code"]
    for name in ("tables_resp", "buckets_resp"):
        for each in answer.get(name, []):
            for found in each.get("buckets_resp", [each]):
                if found.get("error_code"):
                    return found["error_code"]
    return 0


def step(api, label, request=None, code=0, shows=None, expected=None, role=TABLET, learns=None):
    request = request if callable(request) else (lambda known, fixed=request: fixed or {})
    more = {}
    if shows is not None:
        more["shows"] = shows
    if learns is not None:
        more["learns"] = learns
    return Step(api, label, request, code, expected=expected, role=role, **more)


def on_coordinator(*args, **more):
    return step(*args, role=COORDINATOR, **more)


def desc(columns, **more):
    return table_json(columns, bucket_count=2, bucket_key=[], **more)


def bucket(**more):
    return {"bucket_id": 0, **more}


def learn_id(name):
    return lambda known, answer: known.__setitem__(name, answer["table_id"])


def first(answer, *names):
    """The first element of nested lists of an answer."""
    for name in names:
        answer = answer[name][0]
    return answer


COLUMNS = {"id": "INTEGER", "p": "STRING"}
PK_TABLE = Table("pk", [("id", "INT NOT NULL"), ("p", "STRING")])
make = {"ignore_if_exists": False}
drop = {"ignore_if_not_exists": False}

SCRIPT = [
    step(
        "API_VERSIONS",
        "hello",
        {"client_software_name": "x", "client_software_version": "1"},
        shows=lambda a: 1000 in [v["api_key"] for v in a["api_versions"]],
        expected=True,
    ),
    step("AUTHENTICATE", "plaintext on a plain listener", {"protocol": "plaintext", "token": b""}),
    step("AUTHENTICATE", "PLAIN on a plain listener", {"protocol": "PLAIN", "token": b""}, 46),
    # databases
    on_coordinator("CREATE_DATABASE", "new", {"database_name": DB, **make}),
    on_coordinator("CREATE_DATABASE", "there already", {"database_name": DB, **make}, 6),
    on_coordinator("CREATE_DATABASE", "bad name", {"database_name": "a b", **make}, 16),
    step("LIST_DATABASES", "names", {}, shows=lambda a: DB in a["database_name"], expected=True),
    step(
        "LIST_DATABASES",
        "summaries",
        {"include_summary": True},
        shows=lambda a: DB in [s["database_name"] for s in a["database_summary"]],
        expected=True,
    ),
    step(
        "DATABASE_EXISTS",
        "there",
        {"database_name": DB},
        shows=lambda a: a["exists"],
        expected=True,
    ),
    step(
        "DATABASE_EXISTS",
        "absent",
        {"database_name": "absent"},
        shows=lambda a: a["exists"],
        expected=False,
    ),
    step(
        "GET_DATABASE_INFO",
        "there",
        {"database_name": DB},
        shows=lambda a: json.loads(a["database_json"])["version"],
        expected=1,
    ),
    step("GET_DATABASE_INFO", "absent", {"database_name": "absent"}, 4),
    on_coordinator("ALTER_DATABASE", "comment", {"database_name": DB, **drop, "comment": "c"}),
    on_coordinator(
        "ALTER_DATABASE", "absent", {"database_name": "absent", **drop, "comment": "c"}, 4
    ),
    # tables
    on_coordinator("CREATE_TABLE", "log", {"table_path": LOG, "table_json": desc(COLUMNS), **make}),
    on_coordinator(
        "CREATE_TABLE", "primary key", {"table_path": PK, "table_json": PK_TABLE.json(2), **make}
    ),
    on_coordinator(
        "CREATE_TABLE",
        "partitioned",
        {"table_path": PARTS, "table_json": desc(COLUMNS, partition_key=["p"]), **make},
    ),
    on_coordinator(
        "CREATE_TABLE", "there already", {"table_path": LOG, "table_json": desc(COLUMNS), **make}, 8
    ),
    on_coordinator(
        "CREATE_TABLE",
        "no database",
        {"table_path": path_of("t", "absent"), "table_json": desc(COLUMNS), **make},
        4,
    ),
    step(
        "GET_TABLE_INFO",
        "log",
        {"table_path": LOG},
        shows=lambda a: a["schema_id"],
        expected=1,
        learns=learn_id("log"),
    ),
    step("GET_TABLE_INFO", "primary key", {"table_path": PK}, learns=learn_id("pk")),
    step("GET_TABLE_INFO", "partitioned", {"table_path": PARTS}, learns=learn_id("parts")),
    step("GET_TABLE_INFO", "absent", {"table_path": ABSENT}, 7),
    step(
        "LIST_TABLES",
        "of the database",
        {"database_name": DB},
        shows=lambda a: sorted(a["table_name"]),
        expected=["log", "parts", "pk"],
    ),
    step("LIST_TABLES", "no database", {"database_name": "absent"}, 4),
    step("TABLE_EXISTS", "there", {"table_path": LOG}, shows=lambda a: a["exists"], expected=True),
    step(
        "TABLE_EXISTS",
        "absent",
        {"table_path": ABSENT},
        shows=lambda a: a["exists"],
        expected=False,
    ),
    step(
        "GET_TABLE_SCHEMA",
        "latest",
        {"table_path": LOG},
        shows=lambda a: [c["name"] for c in json.loads(a["schema_json"])["columns"]],
        expected=["id", "p"],
    ),
    step("GET_TABLE_SCHEMA", "no such id", {"table_path": LOG, "schema_id": 9}, 9),
    on_coordinator(
        "ALTER_TABLE",
        "custom property",
        {
            "table_path": LOG,
            **drop,
            "config_changes": [{"config_key": "mine", "config_value": "1", "op_type": 0}],
        },
    ),
    on_coordinator(
        "ALTER_TABLE",
        "absent",
        {
            "table_path": ABSENT,
            **drop,
            "config_changes": [{"config_key": "mine", "config_value": "1", "op_type": 0}],
        },
        7,
    ),
    # partitions
    on_coordinator(
        "CREATE_PARTITION",
        "new",
        {"table_path": PARTS, "partition_spec": SPEC, "ignore_if_not_exists": False},
    ),
    on_coordinator(
        "CREATE_PARTITION",
        "there already",
        {"table_path": PARTS, "partition_spec": SPEC, "ignore_if_not_exists": False},
        42,
    ),
    on_coordinator(
        "CREATE_PARTITION",
        "no such key",
        {
            "table_path": PARTS,
            "partition_spec": {"partition_key_values": [{"key": "q", "value": "1"}]},
            "ignore_if_not_exists": False,
        },
        43,
    ),
    step(
        "LIST_PARTITION_INFOS",
        "all",
        {"table_path": PARTS},
        shows=lambda a: first(a, "partitions_info")["partition_spec"],
        expected=SPEC,
        learns=lambda known, a: known.__setitem__(
            "partition", first(a, "partitions_info")["partition_id"]
        ),
    ),
    step("LIST_PARTITION_INFOS", "not partitioned", {"table_path": LOG}, 37),
    step(
        "GET_METADATA",
        "a table",
        {"table_path": [LOG]},
        shows=lambda a: len(first(a, "table_metadata")["bucket_metadata"]),
        expected=2,
    ),
    step(
        "GET_METADATA",
        "a partition",
        {"partitions_path": [{**PARTS, "partition_name": "1"}]},
        shows=lambda a: first(a, "partition_metadata")["partition_name"],
        expected="1",
    ),
    step(
        "GET_METADATA",
        "an unknown partition",
        {"partitions_path": [{**PARTS, "partition_name": "2"}]},
        36,
    ),
    # rows
    step(
        "INIT_WRITER",
        "a writer",
        {"table_path": [LOG]},
        shows=lambda a: a["writer_id"] >= 0,
        expected=True,
    ),
    step(
        "PRODUCE_LOG",
        "a batch",
        lambda k: produce(k["log"], arrow_batch()),
        shows=lambda a: first(a, "buckets_resp")["base_offset"],
        expected=0,
    ),
    step("PRODUCE_LOG", "wrong acks", lambda k: produce(k["log"], arrow_batch(), acks=5), 18),
    step("PRODUCE_LOG", "no such table", lambda k: produce(10**9, arrow_batch()), 21),
    step(
        "FETCH_LOG",
        "the batch",
        lambda k: fetch(k["log"], 0),
        shows=lambda a: first(a, "tables_resp", "buckets_resp")["high_watermark"],
        expected=1,
    ),
    step("FETCH_LOG", "beyond the end", lambda k: fetch(k["log"], 99), 19),
    step("FETCH_LOG", "no such table", lambda k: fetch(10**9, 0), 21),
    step(
        "LIST_OFFSETS",
        "latest",
        lambda k: {
            "follower_server_id": -1,
            "offset_type": 1,
            "table_id": k["log"],
            "bucket_id": [0],
        },
        shows=lambda a: first(a, "buckets_resp")["offset"],
        expected=1,
    ),
    step(
        "LIST_OFFSETS",
        "a time to come",
        lambda k: {
            "follower_server_id": -1,
            "offset_type": 2,
            "table_id": k["log"],
            "bucket_id": [0],
            "start_timestamp": 1 << 60,
        },
        38,
    ),
    step(
        "PUT_KV",
        "a damaged batch",
        lambda k: {**produce(k["pk"], b""), "buckets_req": [bucket(records=b"\0" * 30)]},
        14,
    ),
    step(
        "PUT_KV",
        "a log table",
        lambda k: {**produce(k["log"], b""), "buckets_req": [bucket(records=kv_batch())]},
        20,
    ),
    step(
        "PUT_KV",
        "a row",
        lambda k: {**produce(k["pk"], b""), "buckets_req": [bucket(records=kv_batch())]},
        shows=lambda a: first(a, "buckets_resp").get("error_code"),
        expected=None,
    ),
    step(
        "LOOKUP",
        "no such key",
        lambda k: {"table_id": k["pk"], "buckets_req": [bucket(keys=[b"\x63"])]},
        shows=lambda a: first(a, "buckets_resp", "values").get("values"),
        expected=None,
    ),
    step(
        "LOOKUP",
        "a log table",
        lambda k: {"table_id": k["log"], "buckets_req": [bucket(keys=[b"\1"])]},
        20,
    ),
    step(
        "LOOKUP",
        "no such table",
        lambda k: {"table_id": 10**9, "buckets_req": [bucket(keys=[b"\1"])]},
        21,
    ),
    step(
        "PREFIX_LOOKUP",
        "a log table",
        lambda k: {"table_id": k["log"], "buckets_req": [bucket(keys=[b"\1"])]},
        20,
    ),
    step(
        "PREFIX_LOOKUP",
        "no such key",
        lambda k: {"table_id": k["pk"], "buckets_req": [bucket(keys=[b"\x63"])]},
        shows=lambda a: first(a, "buckets_resp")["value_lists"],
        expected=[{"values": []}],
    ),
    step(
        "LIMIT_SCAN",
        "one row",
        lambda k: {"table_id": k["log"], "bucket_id": 0, "limit": 1},
        shows=lambda a: a["is_log_table"],
        expected=True,
    ),
    step(
        "LIMIT_SCAN",
        "no such bucket",
        lambda k: {"table_id": k["log"], "bucket_id": 7, "limit": 1},
        21,
    ),
    step(
        "SCAN_KV",
        "all rows",
        lambda k: {
            "bucket_scan_req": {"table_id": k["pk"], "bucket_id": 0},
            "call_seq_id": 0,
            "batch_size_bytes": 1024,
        },
        shows=lambda a: a["has_more_results"],
        expected=False,
    ),
    step(
        "SCAN_KV",
        "no such scan",
        {"scanner_id": b"x" * 32, "call_seq_id": 1, "batch_size_bytes": 1024},
        67,
    ),
    step(
        "GET_TABLE_STATS",
        "a log table",
        lambda k: {"table_id": k["log"], "buckets_req": [bucket()]},
        shows=lambda a: first(a, "buckets_resp")["row_count"],
        expected=1,
    ),
    step(
        "GET_TABLE_STATS",
        "a primary-key table",
        lambda k: {"table_id": k["pk"], "buckets_req": [bucket()]},
        shows=lambda a: first(a, "buckets_resp")["row_count"],
        expected=1,
    ),
    step(
        "GET_TABLE_STATS",
        "a partition",
        lambda k: {"table_id": k["parts"], "buckets_req": [bucket(partition_id=k["partition"])]},
        shows=lambda a: first(a, "buckets_resp")["row_count"],
        expected=0,
    ),
    step(
        "GET_TABLE_STATS",
        "no such bucket",
        lambda k: {"table_id": k["log"], "buckets_req": [{"bucket_id": 7}]},
        21,
    ),
    # snapshots, leases, remote files
    step(
        "GET_LATEST_KV_SNAPSHOTS",
        "before the first",
        {"table_path": PK},
        shows=lambda a: [s.get("snapshot_id") for s in a["latest_snapshots"]],
        expected=[None, None],
    ),
    step("GET_LATEST_KV_SNAPSHOTS", "a log table", {"table_path": LOG}, 20),
    step(
        "GET_LATEST_KV_SNAPSHOTS",
        "a partition of none",
        {"table_path": PK, "partition_name": "1"},
        37,
    ),
    step("GET_LATEST_KV_SNAPSHOTS", "absent", {"table_path": ABSENT}, 7),
    step(
        "GET_KV_SNAPSHOT_METADATA",
        "no such snapshot",
        lambda k: {"table_id": k["pk"], "bucket_id": 0, "snapshot_id": 9},
        41,
    ),
    on_coordinator("ACQUIRE_KV_SNAPSHOT_LEASE", "a log table", lambda k: lease(k["log"]), code=20),
    on_coordinator("ACQUIRE_KV_SNAPSHOT_LEASE", "no such table", lambda k: lease(10**9), code=21),
    on_coordinator(
        "ACQUIRE_KV_SNAPSHOT_LEASE",
        "a snapshot that is not there",
        lambda k: lease(k["pk"]),
        shows=lambda a: [
            [b["snapshot_id"] for b in t["bucket_snapshots"]] for t in a["unavailable_snapshots"]
        ],
        expected=[[9]],
    ),
    on_coordinator(
        "RELEASE_KV_SNAPSHOT_LEASE",
        "a log table",
        lambda k: {
            "lease_id": "api",
            "buckets_to_release": [{"table_id": k["log"], "bucket_id": 0}],
        },
        code=20,
    ),
    on_coordinator(
        "RELEASE_KV_SNAPSHOT_LEASE",
        "a bucket",
        lambda k: {
            "lease_id": "api",
            "buckets_to_release": [{"table_id": k["pk"], "bucket_id": 0}],
        },
    ),
    on_coordinator("DROP_KV_SNAPSHOT_LEASE", "the lease", {"lease_id": "api"}),
    on_coordinator("DROP_KV_SNAPSHOT_LEASE", "no such lease", {"lease_id": "absent"}),
    on_coordinator(
        "LIST_KV_SNAPSHOTS",
        "before the first",
        lambda k: {"table_id": k["pk"]},
        shows=lambda a: a["active_snapshots"],
        expected=[],
    ),
    on_coordinator(
        "LIST_KV_SNAPSHOTS",
        "no such partition",
        lambda k: {"table_id": k["pk"], "partition_id": 10**9},
        code=36,
    ),
    on_coordinator("LIST_KV_SNAPSHOTS", "no such table", {"table_id": 10**9}, code=7),
    on_coordinator(
        "LIST_REMOTE_LOG_MANIFESTS",
        "nothing is remote",
        lambda k: {"table_id": k["log"]},
        shows=lambda a: a["manifests"],
        expected=[],
    ),
    on_coordinator(
        "LIST_REMOTE_LOG_MANIFESTS",
        "no such partition",
        lambda k: {"table_id": k["log"], "partition_id": 10**9},
        code=36,
    ),
    step("GET_LAKE_SNAPSHOT", "no lake", {"table_path": LOG}, 53),
    step(
        "GET_LAKE_SNAPSHOT",
        "id and readable",
        {"table_path": LOG, "snapshot_id": 1, "readable": True},
        -1,
    ),
    step("GET_LAKE_SNAPSHOT", "absent", {"table_path": ABSENT}, 7),
    step(
        "GET_FILESYSTEM_SECURITY_TOKEN",
        "local files",
        {},
        shows=lambda a: (a["schema"], a["token"]),
        expected=("file", b""),
    ),
    # ACLs without an authorizer
    on_coordinator("CREATE_ACLS", "no authorizer", {"acl": []}, code=47),
    on_coordinator("LIST_ACLS", "no authorizer", {"acl_filter": ANY_ACL}, code=47),
    on_coordinator("DROP_ACLS", "no authorizer", {"acl_filter": [ANY_ACL]}, code=47),
    # the cluster
    on_coordinator(
        "GET_CLUSTER_HEALTH",
        "healthy",
        {},
        shows=lambda a: (a["status"], a["num_leader_replicas"] == a["active_leader_replicas"]),
        expected=(0, True),
    ),
    step(
        "DESCRIBE_CLUSTER_CONFIGS",
        "given at the start",
        {},
        shows=lambda a: "data.dir" in [c["config_key"] for c in a["configs"]],
        expected=True,
    ),
    on_coordinator("ALTER_CLUSTER_CONFIGS", "nothing", {}),
    on_coordinator(
        "ALTER_CLUSTER_CONFIGS",
        "not at run time",
        {"alter_configs": [{"config_key": "data.dir", "config_value": "/x", "op_type": 0}]},
        code=64,
    ),
    on_coordinator(
        "ALTER_CLUSTER_CONFIGS",
        "no such operation",
        {
            "alter_configs": [
                {"config_key": "kv.snapshot.interval", "config_value": "5min", "op_type": 8}
            ]
        },
        code=-1,
    ),
    on_coordinator(
        "ALTER_CLUSTER_CONFIGS",
        "no list",
        {
            "alter_configs": [
                {"config_key": "kv.snapshot.interval", "config_value": "5min", "op_type": 2}
            ]
        },
        code=64,
    ),
    on_coordinator(
        "ALTER_CLUSTER_CONFIGS",
        "not of its kind",
        {
            "alter_configs": [
                {"config_key": "kv.snapshot.interval", "config_value": "often", "op_type": 0}
            ]
        },
        code=64,
    ),
    on_coordinator(
        "ALTER_CLUSTER_CONFIGS",
        "set",
        {
            "alter_configs": [
                {"config_key": "kv.snapshot.interval", "config_value": "5min", "op_type": 0}
            ]
        },
    ),
    on_coordinator(
        "DESCRIBE_CLUSTER_CONFIGS",
        "changed",
        {},
        shows=lambda a: [
            (c["config_value"], c["config_source"])
            for c in a["configs"]
            if c["config_key"] == "kv.snapshot.interval"
        ],
        expected=[("5min", "DYNAMIC_SERVER_CONFIG")],
    ),
    on_coordinator(
        "ALTER_CLUSTER_CONFIGS",
        "reset",
        {"alter_configs": [{"config_key": "kv.snapshot.interval", "op_type": 1}]},
    ),
    on_coordinator(
        "ADD_SERVER_TAG", "no such server", {"server_ids": [9], "server_tag": 0}, code=58
    ),
    on_coordinator("ADD_SERVER_TAG", "no such tag", {"server_ids": [0], "server_tag": 9}, code=-1),
    on_coordinator("ADD_SERVER_TAG", "new", {"server_ids": [0], "server_tag": 1}),
    on_coordinator("ADD_SERVER_TAG", "there already", {"server_ids": [0], "server_tag": 1}),
    on_coordinator("ADD_SERVER_TAG", "another one", {"server_ids": [0], "server_tag": 0}, code=59),
    on_coordinator(
        "REMOVE_SERVER_TAG", "another one", {"server_ids": [0], "server_tag": 0}, code=60
    ),
    on_coordinator("REMOVE_SERVER_TAG", "there", {"server_ids": [0], "server_tag": 1}),
    on_coordinator("REMOVE_SERVER_TAG", "no such server", {"server_ids": [9], "server_tag": 1}),
    on_coordinator("REBALANCE", "no such goal", {"goals": [9]}, code=-1),
    on_coordinator(
        "REBALANCE",
        "one server",
        {"goals": [0]},
        shows=lambda a: len(a["rebalance_id"]),
        expected=36,
        learns=lambda known, a: known.__setitem__("rebalance", a["rebalance_id"]),
    ),
    on_coordinator(
        "LIST_REBALANCE_PROGRESS",
        "done",
        lambda k: {"rebalance_id": k["rebalance"]},
        shows=lambda a: (a["rebalance_status"], a["table_progress"]),
        expected=(3, []),
    ),
    on_coordinator("LIST_REBALANCE_PROGRESS", "another one", {"rebalance_id": "x"}, code=62),
    on_coordinator("CANCEL_REBALANCE", "another one", {"rebalance_id": "x"}, code=62),
    on_coordinator("CANCEL_REBALANCE", "done", {}),
    on_coordinator(
        "REGISTER_PRODUCER_OFFSETS",
        "new",
        lambda k: offsets(k["log"], 5),
        shows=lambda a: a["result"],
        expected=0,
    ),
    on_coordinator(
        "REGISTER_PRODUCER_OFFSETS",
        "there already",
        lambda k: offsets(k["log"], 6),
        shows=lambda a: a["result"],
        expected=1,
    ),
    on_coordinator(
        "REGISTER_PRODUCER_OFFSETS",
        "bad id",
        lambda k: {**offsets(k["log"], 6), "producer_id": ""},
        code=63,
    ),
    on_coordinator(
        "GET_PRODUCER_OFFSETS",
        "there",
        {"producer_id": "api"},
        shows=lambda a: first(a, "table_offsets", "bucket_offsets")["log_end_offset"],
        expected=5,
    ),
    on_coordinator(
        "GET_PRODUCER_OFFSETS",
        "absent",
        {"producer_id": "absent"},
        shows=lambda a: a["table_offsets"],
        expected=[],
    ),
    on_coordinator("DELETE_PRODUCER_OFFSETS", "there", {"producer_id": "api"}),
    on_coordinator("DELETE_PRODUCER_OFFSETS", "absent", {"producer_id": "absent"}),
    # the end
    on_coordinator(
        "DROP_PARTITION", "there", {"table_path": PARTS, "partition_spec": SPEC, **drop}
    ),
    on_coordinator(
        "DROP_PARTITION", "absent", {"table_path": PARTS, "partition_spec": SPEC, **drop}, code=36
    ),
    on_coordinator("DROP_TABLE", "there", {"table_path": PARTS, **drop}),
    on_coordinator("DROP_TABLE", "absent", {"table_path": ABSENT, **drop}, code=7),
    on_coordinator(
        "DROP_DATABASE", "not empty", {"database_name": DB, **drop, "cascade": False}, code=5
    ),
    on_coordinator(
        "DROP_DATABASE", "with its tables", {"database_name": DB, **drop, "cascade": True}
    ),
    on_coordinator(
        "DROP_DATABASE", "absent", {"database_name": DB, **drop, "cascade": True}, code=4
    ),
]


def lease(table_id):
    part = {"table_id": table_id, "bucket_snapshots": [bucket(snapshot_id=9)]}
    return {"lease_id": "api", "lease_duration_ms": 60000, "snapshots_to_lease": [part]}


def offsets(table_id, end):
    part = {"table_id": table_id, "bucket_offsets": [bucket(log_end_offset=end)]}
    return {"producer_id": "api", "table_offsets": [part], "ttl_ms": 60000}


def arrow_batch():
    """A batch of one row, as the servers take it: nothing looks into its payload."""
    return batch(b"\0" * 64)


def kv_batch():
    """A KV batch of one row of the primary-key table."""
    return PK_TABLE.batch([([1, "a"], False)])


def run(ask, script=SCRIPT, known=None):
    """Send a whole script; gives (step, code, what it shows) of each. ask(step, request) gives
    (kind, answer), or None where a server has no such API."""
    known = {} if known is None else known
    out = []
    for each in script:
        got = ask(each, each.request(known))
        if got is None:
            out.append((each, None, None))
            continue
        kind, answer = got
        code = code_in(kind, answer)
        shown = each.shows(answer) if code == 0 else None
        if code == 0:
            each.learns(known, answer)
        out.append((each, code, shown))
    return out
