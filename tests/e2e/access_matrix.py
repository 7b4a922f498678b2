# SPDX-License-Identifier: Apache-2.0
"""What a user needs for each API: one row an API, with a request that shows it.

Shared by test_access.py (our server) and tests/interop/access.py (the official one beside ours).
Requests that change something name things that do not exist, so a server that lets them pass
answers with another error than "not authorized", and nothing is left behind.
"""

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Any, Callable

from wire import SUCCESS, Connection, batch, path_of, produce, table_json

ANY, ALL, READ, WRITE, CREATE, DROP, ALTER, DESCRIBE = range(1, 9)
OPERATIONS = {READ, WRITE, CREATE, DROP, ALTER, DESCRIBE}
CLUSTER, DATABASE, TABLE = 2, 3, 4
NAMES = {CLUSTER: "fluss-cluster", DATABASE: "access", TABLE: "access.log"}
ALLOW = 2
NOT_AUTHORIZED = 48
DB = "access"
ANY_ACL = {"resource_type": ANY, "operation_type": ANY, "permission_type": ANY}


@dataclass
class World:
    """What the requests name."""

    log: int = -1
    pk: int = -1


@dataclass
class Row:
    """An API, what it needs, and how a refusal looks."""

    api: str
    operation: int | None  # None: everyone may
    level: int | None  # the smallest resource that the right can be given on
    request: Callable[[World], dict]
    refused: str = "request"  # or where the code is: bucket, body; or: hidden, false
    role: str = "tablet"  # where an official cluster answers it
    found: Callable[[dict], Any] = bool  # of an answer that hides things: whether it shows them
    table: str = "access.log"  # what the right must be on


def buckets_of(answer):
    """The answers of buckets, wherever an API has them."""
    for name in ("tables_resp", "buckets_resp"):
        for each in answer.get(name, []):
            yield from each.get("buckets_resp", [each])


def absent(**more):
    return lambda w: {"table_path": path_of("absent", DB), **more}


def bucket(**more):
    return {"bucket_id": 0, **more}


LOG = path_of("log", DB)
DESCRIBED = lambda w: {"table_path": LOG}  # noqa: E731

MATRIX = [
    Row(
        "API_VERSIONS",
        None,
        None,
        lambda w: dict(client_software_name="t", client_software_version="1"),
    ),
    Row(
        "CREATE_DATABASE",
        CREATE,
        CLUSTER,
        lambda w: {"database_name": DB, "ignore_if_exists": False},
        role="coordinator",
    ),
    Row(
        "DROP_DATABASE",
        DROP,
        DATABASE,
        lambda w: {"database_name": DB, "ignore_if_not_exists": False, "cascade": False},
        role="coordinator",
    ),
    Row(
        "LIST_DATABASES",
        DESCRIBE,
        DATABASE,
        lambda w: {},
        "hidden",
        found=lambda a: DB in a["database_name"],
    ),
    Row("DATABASE_EXISTS", DESCRIBE, DATABASE, lambda w: {"database_name": DB}, "false"),
    Row(
        "CREATE_TABLE",
        CREATE,
        DATABASE,
        lambda w: {
            "table_path": LOG,
            "table_json": table_json({"id": "INTEGER"}),
            "ignore_if_exists": False,
        },
        role="coordinator",
    ),
    Row(
        "DROP_TABLE",
        DROP,
        TABLE,
        absent(ignore_if_not_exists=False),
        role="coordinator",
        table="access.absent",
    ),
    Row("GET_TABLE_INFO", DESCRIBE, TABLE, DESCRIBED),
    Row(
        "LIST_TABLES",
        DESCRIBE,
        TABLE,
        lambda w: {"database_name": DB},
        "hidden",
        found=lambda a: "log" in a["table_name"],
    ),
    Row("LIST_PARTITION_INFOS", DESCRIBE, TABLE, DESCRIBED),
    Row("TABLE_EXISTS", DESCRIBE, TABLE, DESCRIBED, "false"),
    Row("GET_TABLE_SCHEMA", DESCRIBE, TABLE, DESCRIBED),
    Row(
        "GET_METADATA",
        DESCRIBE,
        TABLE,
        lambda w: {"table_path": [LOG]},
        "hidden",
        found=lambda a: a["table_metadata"],
    ),
    Row("PRODUCE_LOG", WRITE, TABLE, lambda w: produce(w.log, batch(b"")[:20])),
    Row(
        "FETCH_LOG",
        READ,
        TABLE,
        lambda w: {
            "follower_server_id": -1,
            "max_bytes": 1024,
            "tables_req": [
                {
                    "table_id": w.log,
                    "projection_pushdown_enabled": False,
                    "buckets_req": [bucket(fetch_offset=0, max_fetch_bytes=1024)],
                }
            ],
        },
        "bucket",
    ),
    Row(
        "PUT_KV",
        WRITE,
        TABLE,
        lambda w: {**produce(w.pk, b""), "buckets_req": [bucket(records=b"")]},
        table="access.pk",
    ),
    Row(
        "LOOKUP",
        READ,
        TABLE,
        lambda w: {"table_id": w.pk, "buckets_req": [bucket(keys=[b"\0\0\0\0"])]},
        "bucket",
        table="access.pk",
    ),
    Row(
        "LIST_OFFSETS",
        DESCRIBE,
        TABLE,
        lambda w: {"follower_server_id": -1, "offset_type": 1, "table_id": w.log, "bucket_id": [0]},
    ),
    Row("GET_LATEST_KV_SNAPSHOTS", DESCRIBE, TABLE, DESCRIBED),
    Row(
        "GET_KV_SNAPSHOT_METADATA",
        DESCRIBE,
        TABLE,
        lambda w: {"table_id": w.log, "bucket_id": 0, "snapshot_id": 1},
    ),
    Row("GET_FILESYSTEM_SECURITY_TOKEN", None, None, lambda w: {}),
    Row("INIT_WRITER", WRITE, TABLE, lambda w: {"table_path": [path_of("absent", DB), LOG]}),
    Row("GET_LAKE_SNAPSHOT", DESCRIBE, TABLE, DESCRIBED),
    Row("LIMIT_SCAN", READ, TABLE, lambda w: {"table_id": w.log, "bucket_id": 0, "limit": 1}),
    Row(
        "PREFIX_LOOKUP",
        READ,
        TABLE,
        lambda w: {"table_id": w.pk, "buckets_req": [bucket(keys=[b"\0"])]},
        "bucket",
        table="access.pk",
    ),
    Row("GET_DATABASE_INFO", DESCRIBE, DATABASE, lambda w: {"database_name": DB}),
    Row(
        "CREATE_PARTITION",
        WRITE,
        TABLE,
        absent(
            partition_spec={"partition_key_values": [{"key": "p", "value": "1"}]},
            ignore_if_not_exists=False,
        ),
        role="coordinator",
        table="access.absent",
    ),
    Row(
        "DROP_PARTITION",
        WRITE,
        TABLE,
        absent(
            partition_spec={"partition_key_values": [{"key": "p", "value": "1"}]},
            ignore_if_not_exists=False,
        ),
        role="coordinator",
        table="access.absent",
    ),
    Row("AUTHENTICATE", None, None, lambda w: {"protocol": "PLAIN", "token": b""}),
    Row(
        "CREATE_ACLS",
        ALL,
        DATABASE,
        lambda w: {"acl": [acl("bob", READ, TABLE)]},
        role="coordinator",
    ),
    Row(
        "LIST_ACLS",
        DESCRIBE,
        TABLE,
        lambda w: {"acl_filter": ANY_ACL},
        "hidden",
        found=lambda a: a["acl"],
        role="coordinator",
    ),
    Row(
        "DROP_ACLS",
        ALL,
        DATABASE,
        lambda w: {
            "acl_filter": [
                {**ANY_ACL, "resource_type": TABLE, "resource_name": "access.log", "host": "absent"}
            ]
        },
        role="coordinator",
    ),
    Row(
        "ALTER_TABLE",
        ALTER,
        TABLE,
        absent(
            ignore_if_not_exists=False,
            config_changes=[{"config_key": "k", "config_value": "v", "op_type": 0}],
        ),
        role="coordinator",
        table="access.absent",
    ),
    Row("DESCRIBE_CLUSTER_CONFIGS", DESCRIBE, CLUSTER, lambda w: {}),
    Row(
        "ALTER_CLUSTER_CONFIGS",
        ALTER,
        CLUSTER,
        lambda w: {"alter_configs": [{"config_key": "absent", "config_value": "1", "op_type": 0}]},
        role="coordinator",
    ),
    Row(
        "ADD_SERVER_TAG",
        ALTER,
        CLUSTER,
        lambda w: {"server_ids": [77], "server_tag": 0},
        role="coordinator",
    ),
    Row(
        "REMOVE_SERVER_TAG",
        ALTER,
        CLUSTER,
        lambda w: {"server_ids": [77], "server_tag": 0},
        role="coordinator",
    ),
    Row("REBALANCE", WRITE, CLUSTER, lambda w: {"goals": [0]}, role="coordinator"),
    Row("LIST_REBALANCE_PROGRESS", DESCRIBE, CLUSTER, lambda w: {}, role="coordinator"),
    Row("CANCEL_REBALANCE", WRITE, CLUSTER, lambda w: {}, role="coordinator"),
    Row(
        "REGISTER_PRODUCER_OFFSETS",
        WRITE,
        TABLE,
        lambda w: {
            "producer_id": "p",
            "table_offsets": [{"table_id": w.log, "bucket_offsets": [bucket(log_end_offset=1)]}],
            "ttl_ms": 60000,
        },
        role="coordinator",
    ),
    Row(
        "GET_PRODUCER_OFFSETS",
        READ,
        TABLE,
        lambda w: {"producer_id": "p"},
        "hidden",
        found=lambda a: a["table_offsets"],
        role="coordinator",
    ),
    Row(
        "DELETE_PRODUCER_OFFSETS", WRITE, TABLE, lambda w: {"producer_id": "p"}, role="coordinator"
    ),
    Row(
        "ACQUIRE_KV_SNAPSHOT_LEASE",
        READ,
        TABLE,
        lambda w: {
            "lease_id": "l",
            "lease_duration_ms": 1,
            "snapshots_to_lease": [{"table_id": w.log}],
        },
        role="coordinator",
    ),
    Row(
        "RELEASE_KV_SNAPSHOT_LEASE",
        READ,
        TABLE,
        lambda w: {"lease_id": "l", "buckets_to_release": [{"table_id": w.log, "bucket_id": 0}]},
        role="coordinator",
    ),
    Row("DROP_KV_SNAPSHOT_LEASE", None, None, lambda w: {"lease_id": "absent"}, role="coordinator"),
    Row("GET_TABLE_STATS", READ, TABLE, lambda w: {"table_id": w.log, "buckets_req": [bucket()]}),
    Row(
        "ALTER_DATABASE",
        ALTER,
        DATABASE,
        lambda w: {
            "database_name": DB,
            "ignore_if_not_exists": False,
            "config_changes": [{"config_key": "k", "config_value": "v", "op_type": 9}],
        },
        role="coordinator",
    ),
    Row(
        "SCAN_KV",
        READ,
        TABLE,
        lambda w: {
            "bucket_scan_req": {"table_id": w.pk, "bucket_id": 0},
            "call_seq_id": 0,
            "batch_size_bytes": 1024,
        },
        "body",
        table="access.pk",
    ),
    Row("GET_CLUSTER_HEALTH", DESCRIBE, CLUSTER, lambda w: {}, role="coordinator"),
    Row(
        "LIST_REMOTE_LOG_MANIFESTS",
        DESCRIBE,
        TABLE,
        lambda w: {"table_id": w.log},
        role="coordinator",
    ),
    Row("LIST_KV_SNAPSHOTS", DESCRIBE, TABLE, lambda w: {"table_id": w.log}, role="coordinator"),
]


def acl(user, operation, level, name=None, host="*", principal_type="User"):
    return {
        "resource_type": level,
        "resource_name": name or NAMES[level],
        "principal_type": principal_type,
        "principal_name": user,
        "host": host,
        "operation_type": operation,
        "permission_type": ALLOW,
    }


def is_allowed(row, kind, answer):
    """Whether an answer is that of someone who may. A refusal must look as the row says."""
    if row.refused == "request":
        return kind == SUCCESS or answer["error_code"] != NOT_AUTHORIZED
    if row.refused in ("hidden", "false"):
        assert kind == SUCCESS, (row.api, answer)
        return bool(answer["exists"] if row.refused == "false" else row.found(answer))
    assert kind == SUCCESS, (row.api, answer)
    answers = [answer] if row.refused == "body" else list(buckets_of(answer))
    assert answers, (row.api, answer)
    return all(each.get("error_code") != NOT_AUTHORIZED for each in answers)


def implied(operation):
    """The operations whose grant is enough for one."""
    return {operation, ALL} | (OPERATIONS if operation == DESCRIBE else set())


def login(address, user, password):
    connection = Connection(address)
    token = b"\0" + user.encode() + b"\0" + password.encode()
    connection.ask("AUTHENTICATE", {"protocol": "PLAIN", "token": token})
    return connection


def drop_everything(admin):
    with contextlib.suppress(Exception):
        admin.ask(
            "DROP_DATABASE", {"database_name": DB, "ignore_if_not_exists": True, "cascade": True}
        )
    admin.ask("DROP_ACLS", {"acl_filter": [ANY_ACL]})


def prepare(admin):
    """The database and its tables; gives their ids."""
    drop_everything(admin)
    admin.ask("CREATE_DATABASE", {"database_name": DB, "ignore_if_exists": False})
    world = World()
    admin.ask(
        "CREATE_TABLE",
        {
            "table_path": LOG,
            "ignore_if_exists": False,
            "table_json": table_json({"id": "INTEGER"}, bucket_key=[], bucket_count=1),
        },
    )
    world.log = admin.ask("GET_TABLE_INFO", {"table_path": LOG})["table_id"]
    pk = {
        "table_path": path_of("pk", DB),
        "ignore_if_exists": False,
        "table_json": pk_json(),
    }
    admin.ask("CREATE_TABLE", pk)
    world.pk = admin.ask("GET_TABLE_INFO", {"table_path": path_of("pk", DB)})["table_id"]
    return world


def pk_json():
    desc = json.loads(
        table_json({"id": "INTEGER", "v": "INTEGER"}, bucket_key=["id"], bucket_count=1)
    )
    desc["schema"]["primary_key"] = ["id"]
    desc["schema"]["columns"][0]["data_type"]["nullable"] = False
    return json.dumps(desc).encode()


@contextlib.contextmanager
def granted(admin, *acls):
    """ACLs while the block runs."""
    admin.ask("CREATE_ACLS", {"acl": list(acls)})
    try:
        yield
    finally:
        admin.ask("DROP_ACLS", {"acl_filter": list(acls)})


def settles(ask, wanted, limit_s=5.0):
    """Ask until the answer is as wanted; a cluster passes ACLs on to its servers in a while."""
    deadline = time.monotonic() + limit_s
    while True:
        got = ask()
        if got == wanted or time.monotonic() > deadline:
            return got
        time.sleep(0.01)
