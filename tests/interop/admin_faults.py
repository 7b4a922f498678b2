# SPDX-License-Identifier: Apache-2.0
"""What a script of administration calls chooses from: names, types, properties, and the faults that
a table's descriptor can have, one function each."""

import json

LONG = "n" * 200
BAD_NAMES = ["", "a.b", "ä", "__x", LONG + "n", ".", "..", "a b", "a$b", "a/b", "é" * 100]
SYSTEM_COLUMNS = ["__offset", "__timestamp", "__bucket"]
NEWER_SYSTEM_COLUMNS = ["_change_type", "_log_offset", "_commit_timestamp"]
INT32_MAX = (1 << 31) - 1


# --- types ---

SIMPLE = [
    {"type": "BOOLEAN"},
    {"type": "TINYINT"},
    {"type": "SMALLINT"},
    {"type": "INTEGER"},
    {"type": "BIGINT"},
    {"type": "FLOAT"},
    {"type": "DOUBLE"},
    {"type": "CHAR", "length": 5},
    {"type": "STRING"},
    {"type": "BINARY", "length": 4},
    {"type": "BYTES"},
    {"type": "DECIMAL", "precision": 10, "scale": 2},
    {"type": "DECIMAL", "precision": 38, "scale": 38},
    {"type": "DATE"},
    {"type": "TIME_WITHOUT_TIME_ZONE", "precision": 3},
    {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 0},
    {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 9},
    {"type": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "precision": 6},
]
#: kind: a type that is refused, wherever it stands
BAD_TYPES = {
    "type name": {"type": "INT"},
    "type of a number": {"type": 7},
    "type without a name": {"precision": 3},
    "type that is a list": [],
    "CHAR of length 0": {"type": "CHAR", "length": 0},
    "BINARY of length 0": {"type": "BINARY", "length": 0},
    "DECIMAL precision 0": {"type": "DECIMAL", "precision": 0, "scale": 0},
    "DECIMAL precision 39": {"type": "DECIMAL", "precision": 39, "scale": 0},
    "DECIMAL scale": {"type": "DECIMAL", "precision": 3, "scale": 4},
    "TIME precision": {"type": "TIME_WITHOUT_TIME_ZONE", "precision": 10},
    "TIMESTAMP precision": {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 10},
    "ARRAY without element": {"type": "ARRAY"},
    "MAP without value": {"type": "MAP", "key_type": {"type": "STRING"}},
    "ROW without fields": {"type": "ROW"},
    "bad type in ARRAY": {"type": "ARRAY", "element_type": {"type": "NOPE"}},
}


def row_of(*names, root="INTEGER"):
    fields = [
        {"name": name, "field_type": {"type": root}, "field_id": 50 + i}
        for i, name in enumerate(names)
    ]
    return {"type": "ROW", "fields": fields}


NESTED = [
    {"type": "ARRAY", "element_type": {"type": "INTEGER"}},
    {"type": "MAP", "key_type": {"type": "STRING"}, "value_type": {"type": "BIGINT"}},
    row_of("a", "b"),
    {"type": "ARRAY", "element_type": row_of("a", "__offset")},
]
PARTITION_ROOTS = [t for t in SIMPLE if t["type"] != "DECIMAL"]


# --- properties: kind: (properties, whether the table needs a primary key: None = either) ---

GOOD_PROPERTIES = {
    "log format": ({"table.log.format": "arrow"}, None),
    "log format INDEXED": ({"table.log.format": "INDEXED"}, False),
    "compression": ({"table.log.arrow.compression.type": "lz4_frame"}, None),
    "zstd level": ({"table.log.arrow.compression.zstd.level": "22"}, None),
    "ttl": ({"table.log.ttl": "3 d"}, None),
    "ttl 0": ({"table.log.ttl": "0 ms"}, None),
    "ttl ISO": ({"table.log.ttl": "PT5H"}, None),
    "local segments": ({"table.log.tiered.local-segments": "1"}, None),
    "kv INDEXED": ({"table.kv.format": "INDEXED"}, True),
    "kv and log INDEXED": (
        {"table.kv.format": "INDEXED", "table.log.format": "INDEXED"},
        True,
    ),
    "image": ({"table.changelog.image": "WAL"}, True),
    "first_row": ({"table.merge-engine": "first_row"}, True),
    "first_row DISABLE": (
        {"table.merge-engine": "FIRST_ROW", "table.delete.behavior": "disable"},
        True,
    ),
    "aggregation": ({"table.merge-engine": "aggregation"}, True),
    "delete behaviour": ({"table.delete.behavior": "IGNORE"}, True),
    "replication 1": ({"table.replication.factor": "1"}, None),
    "freshness": ({"table.datalake.freshness": "30 s"}, None),
    "cache size": ({"table.auto-increment.cache-size": "10"}, True),
}
BAD_PROPERTIES = {
    "unknown property": ({"table.nope": "1"}, None),
    "foreign property": ({"nope": "1"}, None),
    "client property": ({"client.writer.acks": "all"}, None),
    "log format value": ({"table.log.format": "CSV"}, None),
    "empty log format": ({"table.log.format": ""}, None),
    "compression value": ({"table.log.arrow.compression.type": "GZIP"}, None),
    "zstd level 0": ({"table.log.arrow.compression.zstd.level": "0"}, None),
    "zstd level 23": ({"table.log.arrow.compression.zstd.level": "23"}, None),
    "zstd level text": ({"table.log.arrow.compression.zstd.level": "x"}, None),
    "ttl text": ({"table.log.ttl": "soon"}, None),
    "ttl negative": ({"table.log.ttl": "-1 d"}, None),
    "ttl unit": ({"table.log.ttl": "3 weeks"}, None),
    "local segments 0": ({"table.log.tiered.local-segments": "0"}, None),
    "bool text": ({"table.datalake.auto-compaction": "yes"}, None),
    "kv version 3": ({"table.kv.format-version": "3"}, True),
    "kv COMPACTED log INDEXED": ({"table.log.format": "INDEXED"}, True),
    "replication 0": ({"table.replication.factor": "0"}, None),
    "replication -1": ({"table.replication.factor": "-1"}, None),
    "replication 2": ({"table.replication.factor": "2"}, None),
    "replication text": ({"table.replication.factor": "one"}, None),
    "replication too large": ({"table.replication.factor": "99999999999"}, None),
    "engine on a log table": ({"table.merge-engine": "first_row"}, False),
    "behaviour on a log table": ({"table.delete.behavior": "IGNORE"}, False),
    "engine name": ({"table.merge-engine": "last_row"}, True),
    "first_row ALLOW": (
        {"table.merge-engine": "first_row", "table.delete.behavior": "ALLOW"},
        True,
    ),
    "versioned ALLOW": (
        {
            "table.merge-engine": "versioned",
            "table.merge-engine.versioned.ver-column": "v",
            "table.delete.behavior": "ALLOW",
        },
        True,
    ),
    "versioned without column": ({"table.merge-engine": "versioned"}, True),
    "versioned unknown column": (
        {"table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "zz"},
        True,
    ),
    "versioned column type": (
        {"table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "text"},
        True,
    ),
    "aggregation WAL": (
        {"table.merge-engine": "aggregation", "table.changelog.image": "WAL"},
        True,
    ),
    "image value": ({"table.changelog.image": "NONE"}, True),
    "lake": ({"table.datalake.enabled": "true"}, None),
    "lake format value": ({"table.datalake.format": "parquet"}, None),
    "auto-partition without partitions": ({"table.auto-partition.enabled": "true"}, None),
    "auto-partition unit": ({"table.auto-partition.time-unit": "WEEK"}, None),
}
ALTERABLE = {
    "alter ttl": ("table.log.ttl", ["1 d", "12h", "never"]),
    "alter local segments": ("table.log.tiered.local-segments", ["3", "0", "x"]),
    "alter freshness": ("table.datalake.freshness", ["1 min", "x"]),
    "alter lake": ("table.datalake.enabled", ["true", "false", "maybe"]),
    "alter format": ("table.log.format", ["ARROW", "INDEXED"]),
    "alter engine": ("table.merge-engine", ["first_row"]),
    "alter replication": ("table.replication.factor", ["1", "3"]),
    "alter precreate": ("table.auto-partition.num-precreate", ["3"]),
    "alter unknown": ("table.nope", ["1"]),
    "alter custom": ("owner", ["me", "you", ""]),
    "alter statistics": ("table.statistics.columns", ["*"]),
    "alter standby": ("table.kv.standby-replica.enabled", ["true"]),
}
PARTITION_VALUES = ["US", "eu-1", "20310105", "a_b", LONG, "1", "2024-01-01"]
BAD_PARTITION_VALUES = ["", "a$b", "a.b", "ü", LONG + "n", "__p", "a b", "..", "2024/01/01"]


# --- one fault of a descriptor each: changes it, gives the kind ---


def spoil_property(script, desc):
    has_key = "primary_key" in desc["schema"]
    fits = [k for k, (_, key) in BAD_PROPERTIES.items() if key in (None, has_key)]
    kind = script.pick(fits)
    desc["properties"].update(BAD_PROPERTIES[kind][0])
    if kind == "auto-partition without partitions":
        desc["partition_key"] = []
        if has_key:
            desc["schema"]["primary_key"] = ["id"]
    return kind


def spoil_auto_partition(script, desc):
    schema = desc["schema"]
    count = script.pick([1, 1, 2])
    names = [f"q{i}" for i in range(count)]
    root = script.pick(["STRING", "STRING", "STRING", "INTEGER", "DATE", "BIGINT"])
    has_key = "primary_key" in schema
    for name in names:
        data_type = {"type": root, "nullable": not has_key}
        schema["columns"].append({"name": name, "data_type": data_type, "id": 60 + len(name)})
    for i, column in enumerate(schema["columns"]):
        column["id"] = i
    desc["partition_key"] = names
    if has_key:
        schema["primary_key"] = ["id", *names]
    properties = {"table.auto-partition.enabled": "true"}
    kind = f"auto-partition of {count} {root}"
    if count > 1:
        key = script.pick([None, "q0", "zz", ""])
        precreate = script.pick([None, "0", "2"])
        if key is not None:
            properties["table.auto-partition.key"] = key
        if precreate is not None:
            properties["table.auto-partition.num-precreate"] = precreate
        kind += f", key {key}, precreate {precreate}"
    elif script.chance(60):
        option, value = script.pick(
            [
                ("time-zone", "Asia/Shanghai"),
                ("time-zone", "Mars/Base"),
                ("time-zone", ""),
                ("num-precreate", "0"),
                ("num-precreate", "-1"),
                ("num-retention", "-1"),
                ("num-retention", "0"),
                ("time-unit", "YEAR"),
                ("time-unit", "month"),
                ("num-precreate", "x"),
            ]
        )
        properties[f"table.auto-partition.{option}"] = value
        kind += f", {option} {value or 'empty'}"
    desc["properties"].update(properties)
    return kind


def columns_fault(kind):
    """Register a fault of the columns."""

    def register(change):
        def fault(script, desc):
            return change(script, desc, desc["schema"]["columns"]) or kind

        FAULTS.append(fault)
        return change

    return register


FAULTS = []


@columns_fault("duplicate column")
def _(script, _desc, columns):
    columns.append({**script.pick(columns), "id": len(columns)})


@columns_fault("system column")
def _(script, _desc, columns):
    columns[1]["name"] = script.pick(SYSTEM_COLUMNS)


@columns_fault("newer system column")
def _(script, _desc, columns):
    columns[1]["name"] = script.pick(NEWER_SYSTEM_COLUMNS)


@columns_fault("empty column name")
def _(_script, _desc, columns):
    columns[1]["name"] = ""


@columns_fault("no columns")
def _(_script, desc, columns):
    columns.clear()
    desc["schema"].pop("primary_key", None)
    desc["bucket_key"] = desc["partition_key"] = []


@columns_fault("bad type")
def _(script, _desc, columns):
    kind = script.pick(BAD_TYPES)
    columns[1]["data_type"] = BAD_TYPES[kind]
    return kind


@columns_fault("nested duplicate")
def _(_script, _desc, columns):
    columns[1]["data_type"] = row_of("a", "a")


@columns_fault("nested system column")
def _(_script, _desc, columns):
    columns[1]["data_type"] = row_of("__offset", "b")


@columns_fault("nested empty name")
def _(_script, _desc, columns):
    columns[1]["data_type"] = row_of("", "b")


@columns_fault("empty ROW")
def _(_script, _desc, columns):
    columns[1]["data_type"] = row_of()


@columns_fault("column id twice")
def _(_script, _desc, columns):
    columns[2]["id"] = columns[1]["id"]


@columns_fault("negative column id")
def _(_script, _desc, columns):
    columns[2]["id"] = -7


@columns_fault("no data type")
def _(_script, _desc, columns):
    del columns[1]["data_type"]


@columns_fault("no column name")
def _(_script, _desc, columns):
    del columns[1]["name"]


@columns_fault("unknown primary key")
def _(_script, desc, _columns):
    desc["schema"]["primary_key"] = ["zz"]


@columns_fault("empty primary key")
def _(_script, desc, _columns):
    desc["schema"]["primary_key"] = []
    desc["partition_key"] = []


@columns_fault("primary key twice")
def _(_script, desc, _columns):
    desc["schema"]["primary_key"] = ["id", "id", *desc["partition_key"]]


@columns_fault("nested primary key")
def _(script, desc, columns):
    columns[1]["data_type"] = {**script.pick(NESTED), "nullable": False}
    desc["schema"]["primary_key"] = ["id", "v", *desc["partition_key"]]
    desc["bucket_key"] = []


@columns_fault("nullable primary key")
def _(_script, desc, columns):
    columns[0]["data_type"] = {"type": "INTEGER", "nullable": True}
    desc["schema"]["primary_key"] = ["id", *desc["partition_key"]]


@columns_fault("primary key of the partition keys")
def _(_script, desc, _columns):
    desc["schema"]["primary_key"] = ["id", "v"]
    desc["partition_key"] = ["v", "id"]
    desc["bucket_key"] = []


@columns_fault("partition key outside the primary key")
def _(_script, desc, _columns):
    desc["schema"]["primary_key"] = ["id"]
    desc["partition_key"] = ["text"]


@columns_fault("unknown partition key")
def _(_script, desc, _columns):
    desc["partition_key"] = ["zz"]


@columns_fault("partition key twice")
def _(_script, desc, _columns):
    desc["schema"].pop("primary_key", None)
    desc["partition_key"] = ["text", "text"]


@columns_fault("partition key type")
def _(script, desc, columns):
    columns[2]["data_type"] = script.pick([SIMPLE[11], *NESTED])
    desc["schema"].pop("primary_key", None)
    desc["partition_key"] = ["text"]


@columns_fault("unknown bucket key")
def _(_script, desc, _columns):
    desc["bucket_key"] = ["zz"]


@columns_fault("bucket key twice")
def _(_script, desc, _columns):
    desc["bucket_key"] = ["id", "id"]


@columns_fault("bucket key outside the primary key")
def _(_script, desc, _columns):
    desc["schema"]["primary_key"] = ["id", *desc["partition_key"]]
    desc["bucket_key"] = ["v"]


@columns_fault("partition key as bucket key")
def _(_script, desc, _columns):
    desc["schema"].pop("primary_key", None)
    desc["partition_key"] = ["text"]
    desc["bucket_key"] = ["text"]


@columns_fault("nested bucket key")
def _(script, desc, columns):
    columns[1]["data_type"] = script.pick(NESTED)
    desc["schema"].pop("primary_key", None)
    desc["bucket_key"] = ["v"]


@columns_fault("bucket count")
def _(script, desc, _columns):
    # 2^31 - 1 takes the official server down: it makes a plan for all of them before it refuses.
    desc["bucket_count"] = script.pick([0, -1, 200_000, -INT32_MAX])
    return f"bucket count {desc['bucket_count']}"


@columns_fault("no bucket count")
def _(_script, desc, _columns):
    del desc["bucket_count"]


@columns_fault("auto-increment")
def _(script, desc, columns):
    desc["schema"]["auto_increment_column"] = script.pick([["v"], ["zz"], ["id"], ["text"]])
    del columns[3:]
    desc["partition_key"] = []
    name = desc["schema"]["auto_increment_column"][0]
    if "primary_key" in desc["schema"]:
        desc["schema"]["primary_key"] = ["id"]
    return f"auto-increment {name}{' of a log table' * ('primary_key' not in desc['schema'])}"


@columns_fault("several faults")
def _(script, desc, columns):
    columns[1]["name"] = "__offset"
    desc["bucket_count"] = 200_000
    desc["properties"]["table.nope"] = "1"
    desc["properties"]["table.replication.factor"] = script.pick(["1", "2"])
    if desc["properties"]["table.replication.factor"] == "2":
        return "several faults with replication 2"
    return None


def bad_jsons(desc):
    """(kind, body) of texts that are no descriptor."""
    without = {
        f"JSON without {key}": {k: v for k, v in desc.items() if k != key}
        for key in desc
        if key not in ("bucket_count", "comment")
    }
    other = {
        "JSON version 2": {**desc, "version": 2},
        "JSON version text": {**desc, "version": "1"},
        "JSON version 0": {**desc, "version": 0},
        "schema version 2": {**desc, "schema": {**desc["schema"], "version": 2}},
        "schema of a list": {**desc, "schema": []},
        "columns of an object": {**desc, "schema": {**desc["schema"], "columns": {}}},
        "properties of a list": {**desc, "properties": []},
        "property of a number": {**desc, "properties": {"table.log.ttl": 7}},
        "custom property of null": {**desc, "custom_properties": {"a": None}},
        "partition_key of a text": {**desc, "partition_key": "id"},
        "bucket_count of a text": {**desc, "bucket_count": "3"},
        "bucket_count of a fraction": {**desc, "bucket_count": 1.5},
        "unknown member": {**desc, "nope": 1},
        "comment of a number": {**desc, "comment": 5},
    }
    listed = [(kind, json.dumps(body).encode()) for kind, body in {**without, **other}.items()]
    text = json.dumps(desc).encode()
    return listed + [
        ("empty JSON", b""),
        ("no JSON", b"nope"),
        ("JSON of a list", b"[]"),
        ("JSON of null", b"null"),
        ("JSON cut", text[:-1]),
        ("JSON and more", text + b"x"),
        ("JSON not UTF-8", text.replace(b'"text"', b'"te\xff"')),
    ]
