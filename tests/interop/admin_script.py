# SPDX-License-Identifier: Apache-2.0
"""Scripts of random administration calls, right and wrong ones: the same seed, the same script.

A call is an API, its message, what it is about in one word ("kind": a row of the table of
differences names it), and what it may change, so that the runner can take it back. The script
keeps a rough picture of what exists to make right calls likely; it needs no answer of a server.
Ids differ between servers: a message holds TableId and PartitionId in their place.
"""

import json
import random
from dataclasses import dataclass, field

from admin_faults import (
    ALTERABLE,
    BAD_NAMES,
    BAD_PARTITION_VALUES,
    BAD_TYPES,
    FAULTS,
    GOOD_PROPERTIES,
    INT32_MAX,
    LONG,
    NESTED,
    PARTITION_ROOTS,
    PARTITION_VALUES,
    SIMPLE,
    SYSTEM_COLUMNS,
    bad_jsons,
    spoil_auto_partition,
    spoil_property,
)


@dataclass(frozen=True)
class TableId:
    database: str
    table: str


@dataclass(frozen=True)
class PartitionId:
    database: str
    table: str
    spec: tuple  # ((key, value), ...)


@dataclass
class Call:
    api: str
    message: dict
    kind: str
    touches: tuple = ()  # ("database", name) or ("table", database, name)


@dataclass
class Table:
    columns: dict  # name: root
    primary_key: list
    partition_key: list
    buckets: int
    properties: dict
    partitions: list = field(default_factory=list)  # specs as tuples


class Script:
    """One script; `calls` are made one after the other."""

    def __init__(self, seed, count):
        self.random = random.Random(seed)
        self.prefix = f"adm{seed}_"
        self.databases = {}  # name: {table: Table}
        self.number = 0
        self.producers = [f"{self.prefix}p1", f"{self.prefix}p2"]
        self.calls = [self.next_call() for _ in range(count)]

    # ---- choices ----

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def pick(self, values):
        return self.random.choice(list(values))

    def some_database(self):
        """A name: usually of one that exists."""
        if self.databases and self.chance(90):
            return self.pick(self.databases)
        return self.prefix + self.pick("xyz")

    def some_table(self, want=lambda table: True):
        """(database, name, Table or None): usually one that exists."""
        found = [
            (database, name, table)
            for database, tables in self.databases.items()
            for name, table in tables.items()
            if want(table)
        ]
        if found and self.chance(92):
            return self.pick(found)
        return self.some_database(), "t_nope", None

    @staticmethod
    def path(database, table):
        return {"database_name": database, "table_name": table}

    def maybe_bad(self, name, kind, percent=15):
        """(name, kind): sometimes a bad name."""
        return (self.pick(BAD_NAMES), "bad name") if self.chance(percent) else (name, kind)

    def next_call(self):
        if not self.databases:
            return self.create_database()
        weights = {
            self.create_database: 4,
            self.drop_database: 3,
            self.ask_database: 5,
            self.create_table: 12,
            self.create_bad_table: 22,
            self.create_bad_json: 6,
            self.drop_table: 3,
            self.ask_table: 12,
            self.alter_properties: 8,
            self.alter_columns: 8,
            self.create_partition: 14,
            self.drop_partition: 5,
            self.list_partitions: 6,
            self.offsets: 6,
            self.stats: 3,
            self.producer_offsets: 5,
            self.metadata: 6,
            self.cluster: 8,
            self.snapshots: 4,
        }
        return self.random.choices(list(weights), list(weights.values()))[0]()

    # ---- databases ----

    def create_database(self):
        ignore = self.chance(40)
        name = self.prefix + self.pick("abcd")
        kind = "right"
        body = self.pick(
            [
                None,
                b"",
                b"{}",
                json.dumps(
                    {"version": 1, "custom_properties": {"k": "v"}, "comment": "c"}
                ).encode(),
            ]
        )
        if body == b"":
            kind = "empty JSON"
        elif body == b"{}":
            kind = "JSON of {}"
        if self.chance(25):
            name, kind, body = self.pick(BAD_NAMES), "name", None
        elif self.chance(15):
            body = self.pick([b"nope", b"[]", b'{"version": 99}', b'{"version": "1"}', b"{"])
            kind = "bad JSON"
        elif name not in self.databases and kind == "right":
            self.databases[name] = {}
        message = {"database_name": name, "ignore_if_exists": ignore, "database_json": body}
        return Call("CREATE_DATABASE", message, kind, (("database", name),))

    def drop_database(self):
        name, kind = self.maybe_bad(self.some_database(), "any")
        cascade, ignore = self.chance(40), self.chance(50)
        if name in self.databases and (cascade or not self.databases[name]):
            del self.databases[name]
        message = {"database_name": name, "ignore_if_not_exists": ignore, "cascade": cascade}
        return Call("DROP_DATABASE", message, kind, (("database", name),))

    def ask_database(self):
        api = self.pick(["GET_DATABASE_INFO", "DATABASE_EXISTS", "LIST_TABLES", "LIST_DATABASES"])
        if api == "LIST_DATABASES":
            return Call(api, {"include_summary": self.pick([None, True, False])}, "any")
        name, kind = self.maybe_bad(self.some_database(), "any")
        return Call(api, {"database_name": name}, kind)

    # ---- tables ----

    def columns(self, has_key):
        """{name: type}; id, v (BIGINT) and text (STRING) are always there."""
        out = {
            "id": {"type": "INTEGER", "nullable": not has_key},
            "v": {"type": "BIGINT"},
            "text": {"type": "STRING"},
        }
        for i in range(self.random.randrange(6)):
            out[f"c{i}"] = dict(self.pick(SIMPLE + NESTED))
        return out

    def descriptor(self, has_key, partition_types=()):
        """(columns as a list, descriptor without them)."""
        columns = self.columns(has_key)
        partitions = [f"p{i}" for i in range(len(partition_types))]
        for name, data_type in zip(partitions, partition_types):
            columns[name] = {**data_type, "nullable": not has_key}
        listed = [
            {"name": name, "data_type": data_type, "id": i}
            for i, (name, data_type) in enumerate(columns.items())
        ]
        desc = {
            "version": 1,
            "partition_key": partitions,
            "bucket_key": ["id"] if has_key or self.chance(30) else [],
            "bucket_count": self.pick([1, 1, 2, 3]),
            "properties": {},
            "custom_properties": self.pick([{}, {}, {"owner": "me"}, {"a b": "ü"}]),
        }
        if self.chance(20):
            desc["comment"] = self.pick(["", "a comment", "ünï"])
        schema = {"version": 1, "columns": listed, "highest_field_id": 99}
        if has_key:
            schema["primary_key"] = ["id", *partitions]
        desc["schema"] = schema
        return desc

    def create_call(self, database, name, desc, kind, ignore=False):
        message = {
            "table_path": self.path(database, name),
            "table_json": desc if isinstance(desc, bytes) else json.dumps(desc).encode(),
            "ignore_if_exists": ignore,
        }
        return Call("CREATE_TABLE", message, kind, (("table", database, name),))

    def partition_types(self):
        count = self.pick([0, 0, 0, 1, 1, 2, 3])
        return [self.pick([{"type": "STRING"}, *PARTITION_ROOTS]) for _ in range(count)]

    def new_name(self):
        self.number += 1
        return f"t{self.number}"

    def create_table(self):
        has_key = self.chance(50)
        desc = self.descriptor(has_key, self.partition_types())
        kind = "right"
        if self.chance(60):
            fits = [k for k, (_, key) in GOOD_PROPERTIES.items() if key in (None, has_key)]
            kind = self.pick(fits)
            desc["properties"].update(GOOD_PROPERTIES[kind][0])
        database, name = self.some_database(), self.new_name()
        if self.chance(12):  # one that is there
            database, name, _ = self.some_table()
        tables = self.databases.get(database)
        if tables is not None and name not in tables and name != "t_nope":
            tables[name] = Table(
                {c["name"]: c["data_type"]["type"] for c in desc["schema"]["columns"]},
                desc["schema"].get("primary_key", []),
                desc["partition_key"],
                desc["bucket_count"],
                desc["properties"],
            )
        return self.create_call(database, name, desc, kind, ignore=self.chance(30))

    def create_bad_table(self):
        has_key = self.chance(50)
        fault = self.pick(FAULTS + [spoil_property] * 14 + [spoil_auto_partition] * 5)
        desc = self.descriptor(has_key, self.partition_types())
        kind = fault(self, desc)
        database, name = self.some_database(), self.new_name()
        if self.chance(15):
            if self.chance(70):
                name, kind = self.pick(BAD_NAMES), "bad name, " + kind
            else:
                database, kind = self.pick(BAD_NAMES), "bad database name, " + kind
        return self.create_call(database, name, desc, kind)

    def create_bad_json(self):
        desc = self.descriptor(self.chance(50), [])
        kind, body = self.pick(bad_jsons(desc))
        return self.create_call(self.some_database(), self.new_name(), body, kind)

    def drop_table(self):
        database, name, table = self.some_table()
        name, kind = self.maybe_bad(name, "any")
        if table is not None and kind == "any":
            del self.databases[database][name]
        message = {
            "table_path": self.path(database, name),
            "ignore_if_not_exists": self.chance(40),
        }
        return Call("DROP_TABLE", message, kind, (("table", database, name),))

    def ask_table(self):
        database, name, table = self.some_table()
        name, kind = self.maybe_bad(name, "any" if table is not None else "missing", 12)
        database, kind = self.maybe_bad(database, kind, 4)
        api = self.pick(["GET_TABLE_INFO", "TABLE_EXISTS", "GET_TABLE_SCHEMA", "GET_TABLE_SCHEMA"])
        message = {"table_path": self.path(database, name)}
        if api == "GET_TABLE_SCHEMA":
            message["schema_id"] = self.pick([None, None, 1, 2, 3, 0, -1, 99, INT32_MAX])
        return Call(api, message, kind)

    def alter_call(self, database, name, kind, **changes):
        name, kind = self.maybe_bad(name, kind, 5)
        message = {
            "table_path": self.path(database, name),
            "ignore_if_not_exists": self.chance(30),
            **changes,
        }
        return Call("ALTER_TABLE", message, kind, (("table", database, name),))

    def alter_properties(self):
        database, name, _ = self.some_table()
        kinds = [self.pick(ALTERABLE)]
        if self.chance(15):
            kinds.append(self.pick(ALTERABLE))
        changes = []
        for kind in kinds:
            key, values = ALTERABLE[kind]
            change = {"config_key": key, "op_type": self.pick([0, 0, 0, 1])}
            if change["op_type"] == 0:
                change["config_value"] = self.pick(values)
            changes.append(change)
        kind = ", ".join(sorted(kinds))
        if self.chance(8):
            changes[0]["op_type"] = self.pick([2, 3, 9, -1])
            changes[0]["config_value"] = "1"
            kind = "operation, " + kind
        if self.chance(4):
            changes, kind = [], "no change"
        return self.alter_call(database, name, kind, config_changes=changes)

    def alter_columns(self):
        database, name, table = self.some_table()
        self.number += 1
        data_type = self.pick(SIMPLE + NESTED)
        added = {
            "column_name": f"n{self.number}",
            "data_type_json": json.dumps(data_type).encode(),
            "column_position_type": 0,
        }
        kind = self.pick(
            [
                "right",
                "right",
                "right",
                "comment",
                "position",
                "after",
                "not-null",
                "duplicate",
                "system",
                "empty",
                "bad-type",
                "bad-json",
                "drop",
                "rename",
                "modify",
                "mixed",
                "two-same",
            ]
        )
        changes = {"add_columns": [added]}
        if kind == "comment":
            added["comment"] = self.pick(["a comment", ""])
        elif kind == "position":
            added["column_position_type"] = self.pick([1, 2, 7, -1])
        elif kind == "after":
            added["column_position_type"] = 3
        elif kind == "not-null":
            added["data_type_json"] = json.dumps({**data_type, "nullable": False}).encode()
        elif kind == "duplicate":
            added["column_name"] = "v"
        elif kind == "system":
            added["column_name"] = self.pick(SYSTEM_COLUMNS)
        elif kind == "empty":
            added["column_name"] = ""
        elif kind == "bad-type":
            which = self.pick(BAD_TYPES)
            kind = "bad-type, " + which
            added["data_type_json"] = json.dumps(BAD_TYPES[which]).encode()
        elif kind == "bad-json":
            added["data_type_json"] = self.pick([b"", b"INTEGER", b"{"])
        elif kind == "drop":
            changes = {"drop_columns": [{"column_name": self.pick(["v", "id", "zz"])}]}
        elif kind == "rename":
            changes = {"rename_columns": [{"old_column_name": "v", "new_column_name": "w"}]}
        elif kind == "modify":
            changes = {"modify_columns": [{"column_name": "v", "comment": "c"}]}
        elif kind == "mixed":
            changes["config_changes"] = [{"config_key": "k", "config_value": "v", "op_type": 0}]
        elif kind == "two-same":
            changes["add_columns"] = [added, dict(added)]
        return self.alter_call(database, name, kind, **changes)

    # ---- partitions ----

    def some_partitioned(self):
        if self.chance(10):
            return self.some_table()
        return self.some_table(lambda table: table.partition_key)

    @staticmethod
    def spec_of(pairs):
        return {"partition_key_values": [{"key": key, "value": value} for key, value in pairs]}

    def create_partition(self):
        database, name, table = self.some_partitioned()
        keys = table.partition_key if table else ["p0"]
        pairs = [(key, self.pick(PARTITION_VALUES)) for key in keys]
        kind = "right"
        if table and table.partitions and self.chance(20):
            pairs, kind = list(self.pick(table.partitions)), "exists"
        if self.chance(35):
            kind, pairs = self.spoil_spec(pairs)
        elif table and table.partition_key and tuple(pairs) not in table.partitions:
            table.partitions.append(tuple(pairs))
        self.random.shuffle(pairs)
        message = {
            "table_path": self.path(database, name),
            "partition_spec": self.spec_of(pairs),
            "ignore_if_not_exists": self.chance(30),
        }
        return Call("CREATE_PARTITION", message, kind, (("table", database, name),))

    def spoil_spec(self, pairs):
        kind = self.pick(["value", "value", "value", "too few", "too many", "key", "twice"])
        pairs = list(pairs)
        at = self.random.randrange(len(pairs)) if pairs else 0
        if not pairs or kind == "too many":
            return "too many", [*pairs, ("zz", "1")]
        if kind == "value":
            pairs[at] = (pairs[at][0], self.pick(BAD_PARTITION_VALUES))
        elif kind == "too few":
            del pairs[at]
        elif kind == "key":
            pairs[at] = (self.pick(["zz", "", "id"]), pairs[at][1])
        else:
            pairs.append((pairs[at][0], "other"))
        return kind, pairs

    def drop_partition(self):
        database, name, table = self.some_partitioned()
        kind = "any"
        if table and table.partitions and self.chance(70):
            pairs = list(table.partitions.pop(self.random.randrange(len(table.partitions))))
        else:
            pairs = [(key, "nope") for key in (table.partition_key if table else ["p0"])]
        if self.chance(20):
            kind, pairs = self.spoil_spec(pairs)
        message = {
            "table_path": self.path(database, name),
            "partition_spec": self.spec_of(pairs),
            "ignore_if_not_exists": self.chance(40),
        }
        return Call("DROP_PARTITION", message, kind, (("table", database, name),))

    def list_partitions(self):
        database, name, table = self.some_partitioned()
        message = {"table_path": self.path(database, name)}
        kind = "all"
        if self.chance(60):
            kind = "filter"
            keys = table.partition_key if table else ["p0"]
            pairs = [(key, self.pick(PARTITION_VALUES)) for key in keys if self.chance(50)]
            if self.chance(12):
                kind, pairs = "filter key", [("zz", "1")]
            elif self.chance(8):
                kind, pairs = "filter value", [(keys[0] if keys else "p0", "a$b")]
            message["partial_partition_spec"] = self.spec_of(pairs)
        return Call("LIST_PARTITION_INFOS", message, kind)

    # ---- offsets ----

    def offsets(self):
        database, name, table = self.some_table()
        kind = "any"
        message = {
            "follower_server_id": -1,
            "offset_type": self.pick([0, 1, 1, 2, 9]),
            "table_id": TableId(database, name),
            "bucket_id": self.pick([[0], [0], [1], [], [7], [0, 0]]),
        }
        if message["offset_type"] == 9:
            kind = "type"
        if message["offset_type"] == 2:
            message["start_timestamp"] = self.pick([None, 0, 1, 1 << 61])
            kind = "timestamp"
        if table and table.partitions and self.chance(80):
            message["partition_id"] = PartitionId(database, name, self.pick(table.partitions))
        elif self.chance(10):
            message["partition_id"] = 987654321
            kind = "partition"
        elif table and table.partition_key:
            kind = "no partition"
        if len(message["bucket_id"]) > 1:
            kind = "bucket twice, " + kind
        return Call("LIST_OFFSETS", message, kind)

    def stats(self):
        database, name, _ = self.some_table()
        message = {"table_id": TableId(database, name), "buckets_req": [{"bucket_id": 0}]}
        return Call("GET_TABLE_STATS", message, "any")

    def producer_offsets(self):
        producer = self.pick([*self.producers, "", "a.b", "ä", LONG + "n"])
        api = self.pick(
            ["REGISTER_PRODUCER_OFFSETS", "GET_PRODUCER_OFFSETS", "DELETE_PRODUCER_OFFSETS"]
        )
        kind = "right" if producer.startswith(self.prefix) else "name"
        message = {"producer_id": producer}
        if api == "REGISTER_PRODUCER_OFFSETS":
            database, name, _ = self.some_table()
            offset = {"bucket_id": 0, "log_end_offset": self.pick([0, 5, 1 << 40])}
            message["table_offsets"] = [
                {"table_id": TableId(database, name), "bucket_offsets": [offset]}
            ]
            message["ttl_ms"] = self.pick([None, 600_000])
            if self.chance(10):
                message["ttl_ms"], kind = self.pick([0, -1]), kind + ", ttl"
        return Call(api, message, kind)

    # ---- the rest ----

    def metadata(self):
        database, name, table = self.some_table()
        message = {"table_path": [self.path(database, name)]}
        kind = "any" if table is not None else "missing"
        if self.chance(15):
            message, kind = {}, "empty"
        elif table and table.partitions and self.chance(70):
            spec = self.pick(table.partitions)
            part = "$".join(value for _, value in sorted(spec))
            message["partitions_path"] = [{**self.path(database, name), "partition_name": part}]
            kind = "partition"
        elif self.chance(15):
            message["partitions_path"] = [{**self.path(database, name), "partition_name": "nope"}]
            kind = "missing partition"
        return Call("GET_METADATA", message, kind)

    def cluster(self):
        acl = {
            "resource_name": "fluss-cluster",
            "resource_type": 2,
            "principal_name": "alice",
            "principal_type": "User",
            "host": "*",
            "operation_type": 3,
            "permission_type": 2,
        }
        any_acl = {"resource_type": 1, "operation_type": 1, "permission_type": 1}
        change = {"config_key": "no.such.key", "config_value": "1", "op_type": 0}
        return self.pick(
            [
                Call("CREATE_ACLS", {"acl": [acl]}, "any"),
                Call("LIST_ACLS", {"acl_filter": any_acl}, "any"),
                Call("DROP_ACLS", {"acl_filter": [any_acl]}, "any"),
                Call("ALTER_CLUSTER_CONFIGS", {"alter_configs": [change]}, "unknown key"),
                Call("ALTER_CLUSTER_CONFIGS", {"alter_configs": []}, "empty"),
                Call("ADD_SERVER_TAG", {"server_ids": [77], "server_tag": 1}, "unknown server"),
                Call("ADD_SERVER_TAG", {"server_ids": [0], "server_tag": 9}, "tag"),
                Call("REMOVE_SERVER_TAG", {"server_ids": [77], "server_tag": 1}, "unknown server"),
                Call("REMOVE_SERVER_TAG", {"server_ids": [0], "server_tag": 0}, "no tag"),
                Call("LIST_REBALANCE_PROGRESS", {}, "any"),
                Call("LIST_REBALANCE_PROGRESS", {"rebalance_id": "nope"}, "unknown id"),
                Call("CANCEL_REBALANCE", {}, "any"),
                Call("CANCEL_REBALANCE", {"rebalance_id": "nope"}, "unknown id"),
                Call("GET_FILESYSTEM_SECURITY_TOKEN", {}, "any"),
            ]
        )

    def snapshots(self):
        database, name, table = self.some_table()
        path = self.path(database, name)
        what = "primary key" if table and table.primary_key else "log"
        if table is None:
            what = "missing"
        elif table.partition_key:
            what += ", partitioned"
        metadata = {"table_id": TableId(database, name), "bucket_id": 0, "snapshot_id": 99}
        return self.pick(
            [
                Call("GET_LAKE_SNAPSHOT", {"table_path": path}, what),
                Call("GET_LAKE_SNAPSHOT", {"table_path": path, "snapshot_id": 4}, what),
                Call("GET_LATEST_KV_SNAPSHOTS", {"table_path": path}, what),
                Call(
                    "GET_LATEST_KV_SNAPSHOTS",
                    {"table_path": path, "partition_name": "nope"},
                    what + ", unknown partition",
                ),
                Call("GET_KV_SNAPSHOT_METADATA", metadata, what),
                Call("DROP_KV_SNAPSHOT_LEASE", {"lease_id": "nope"}, "any"),
            ]
        )
