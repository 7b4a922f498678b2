# SPDX-License-Identifier: Apache-2.0
"""Each rule of CREATE_TABLE, ALTER_TABLE, CREATE_DATABASE and CREATE_PARTITION, broken once.

Goal: each breach has the official code, a message that names the thing, and leaves nothing behind.
Method: tables of cases against one server; after each, what exists is what existed before. The
codes are compared with an official server by tests/interop/admin.py.
"""

import json

import pytest
from wire import Server, ServerError, path_of

LONG = "n" * 200
ROW = {"type": "ROW", "fields": [{"name": "a", "field_type": {"type": "INTEGER"}, "field_id": 9}]}
ARRAY = {"type": "ARRAY", "element_type": {"type": "INTEGER"}}
DECIMAL = {"type": "DECIMAL", "precision": 10, "scale": 2}
AUTO = {"table.auto-partition.enabled": "true"}


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    data_dir = tmp_path_factory.mktemp("validation") / "data"
    with Server(data_dir) as server, server.connect() as opened:
        yield opened


def column(name, data_type, **more):
    data_type = {"type": data_type} if isinstance(data_type, str) else data_type
    return {"name": name, "data_type": data_type, **more}


def table(columns=None, key=None, partitions=(), bucket_key=(), count=1, properties=None, **more):
    """A descriptor: id INT, text STRING, and `columns` {name: type}."""
    all_columns = {"id": "INTEGER", "text": "STRING", **(columns or {})}
    listed = [column(name, kind, id=i) for i, (name, kind) in enumerate(all_columns.items())]
    schema = {"version": 1, "columns": listed, "highest_field_id": 99}
    if key is not None:
        schema["primary_key"] = list(key)
    return {
        "version": 1,
        "schema": schema,
        "partition_key": list(partitions),
        "bucket_key": list(bucket_key),
        "bucket_count": count,
        "properties": properties or {},
        "custom_properties": {},
        **more,
    }


def with_columns(*columns):
    """A descriptor of these columns as they are."""
    desc = table()
    desc["schema"]["columns"] = list(columns)
    return desc


def keyed(properties=None, **more):
    return table(key=["id"], properties=properties, **more)


def auto_increment(name, key=("id",), **columns):
    desc = table(columns={"v": "BIGINT", **columns}, key=key)
    desc["schema"]["auto_increment_column"] = [name]
    return desc


#: (name of the case, descriptor or bytes, code, what the message says)
TABLES = [
    ("empty", b"", 15, "JSON at byte 0"),
    ("no JSON", b"nope", 15, "JSON at byte"),
    ("list", b"[]", 15, "expected an object"),
    ("cut", json.dumps(table()).encode()[:-1], 15, "JSON at byte"),
    ("deep", b"[" * 100_000, 15, "JSON at byte"),
    ("no schema", {"version": 1}, 15, "'schema' is missing"),
    ("no partition_key", {k: v for k, v in table().items() if k != "partition_key"}, 15, "'part"),
    ("no properties", {k: v for k, v in table().items() if k != "properties"}, 15, "'properties'"),
    ("columns", with_columns(), 15, "no column"),
    ("no name", with_columns({"data_type": {"type": "INTEGER"}}), 15, "'name' is missing"),
    ("no type", with_columns({"name": "a"}), 15, "'data_type' is missing"),
    ("empty name", with_columns(column("", "INTEGER")), 15, "empty"),
    (
        "twice",
        with_columns(column("a", "INTEGER"), column("a", "STRING")),
        15,
        "'a' is there twice",
    ),
    ("type", table({"a": "INT"}), 15, "'INT' is no type"),
    ("CHAR 0", table({"a": {"type": "CHAR", "length": 0}}), 15, "length is 0"),
    ("DECIMAL 39", table({"a": {**DECIMAL, "precision": 39}}), 15, "precision is 39"),
    ("DECIMAL scale", table({"a": {**DECIMAL, "scale": 11}}), 15, "scale is 11"),
    ("ARRAY of nothing", table({"a": {"type": "ARRAY"}}), 15, "'element_type' is missing"),
    ("MAP of nothing", table({"a": {"type": "MAP"}}), 15, "'key_type' is missing"),
    ("ROW of nothing", table({"a": {"type": "ROW"}}), 15, "'fields' is missing"),
    ("nested twice", table({"a": {**ROW, "fields": ROW["fields"] * 2}}), 15, "'a'"),
    *[
        (f"reserved {n}", table({n: "STRING"}), 15, f"'{n}' is reserved")
        for n in (
            "__offset",
            "__timestamp",
            "__bucket",
            "_change_type",
            "_log_offset",
            "_commit_timestamp",
        )
    ],
    ("key unknown", table(key=["zz"]), 15, "no column 'zz'"),
    ("key of nothing", table(key=[]), 15, "no column is named"),
    ("key twice", table(key=["id", "id"]), 15, "'id' is named twice"),
    ("key ARRAY", table({"a": ARRAY}, key=["a"]), 15, "'a' is ARRAY"),
    ("key ROW", table({"a": ROW}, key=["a"]), 15, "'a' is ROW"),
    ("partition unknown", table(partitions=["zz"]), 15, "'zz'"),
    ("partition twice", table(partitions=["text", "text"]), 15, "named twice"),
    ("partition DECIMAL", table({"a": DECIMAL}, partitions=["a"]), 15, "'a' is DECIMAL"),
    ("partition ARRAY", table({"a": ARRAY}, partitions=["a"]), 15, "'a' is ARRAY"),
    ("partition outside key", table(key=["id"], partitions=["text"]), 15, "'text'"),
    ("key of partitions", table(key=["text"], partitions=["text"]), 15, "primary key"),
    ("bucket unknown", table(bucket_key=["zz"]), 15, "'zz'"),
    ("bucket twice", table(bucket_key=["id", "id"]), 15, "named twice"),
    ("bucket ARRAY", table({"a": ARRAY}, bucket_key=["a"]), 15, "'a' is ARRAY"),
    ("bucket outside key", keyed(bucket_key=["text"]), 15, "'text'"),
    ("bucket partition", table(partitions=["text"], bucket_key=["text"]), 15, "'text'"),
    ("buckets 0", table(count=0), -1, "bucket count"),
    ("buckets -1", table(count=-1), -1, "bucket count"),
    ("buckets 4097", table(count=4097), 49, "4097, at most 4096"),
    ("buckets 2^31 - 1", table(count=(1 << 31) - 1), 49, "2147483647, at most 4096"),
    ("buckets 2^31", table(count=1 << 31), 15, "'bucket_count'"),
    ("buckets text", table(count="3"), 15, "'bucket_count'"),
    ("increment unknown", auto_increment("zz"), 15, "'zz'"),
    ("increment key", auto_increment("id"), 15, "'id'"),
    ("increment STRING", auto_increment("text"), 15, "'text'"),
    ("increment log", auto_increment("v", key=None), 15, "primary-key table"),
    ("property unknown", table(properties={"table.nope": "1"}), 39, "'table.nope'"),
    (
        "property near",
        table(properties={"table.log.tll": "1 d"}),
        39,
        "did you mean 'table.log.ttl'",
    ),
    ("property foreign", table(properties={"owner": "me"}), 39, "custom property"),
    ("log format", table(properties={"table.log.format": "CSV"}), 39, "ARROW|INDEXED|COMPACTED"),
    ("compression", table(properties={"table.log.arrow.compression.type": "GZIP"}), 39, "'GZIP'"),
    (
        "zstd 0",
        table(properties={"table.log.arrow.compression.zstd.level": "0"}),
        39,
        "from 1 to 22",
    ),
    (
        "zstd 23",
        table(properties={"table.log.arrow.compression.zstd.level": "23"}),
        39,
        "from 1 to 22",
    ),
    ("ttl", table(properties={"table.log.ttl": "soon"}), 39, "'soon', expected a duration"),
    (
        "local ttl",
        table(properties={"table.log.ttl": "1 h", "table.log.local-ttl": "2 h"}),
        39,
        "more than",
    ),
    ("segments", table(properties={"table.log.tiered.local-segments": "0"}), 39, "from 1"),
    ("replicas 0", table(properties={"table.replication.factor": "0"}), 17, "is 0, expected 1"),
    ("replicas 2", table(properties={"table.replication.factor": "2"}), 17, "is 2, but there is 1"),
    ("replicas text", table(properties={"table.replication.factor": "x"}), 39, "'x'"),
    ("bool", table(properties={"table.datalake.auto-compaction": "yes"}), 39, "'yes'"),
    ("lake", table(properties={"table.datalake.enabled": "true"}), 15, "no data lake"),
    ("kv version", keyed({"table.kv.format-version": "3"}), 39, "from 1 to 2"),
    ("kv and log", keyed({"table.log.format": "INDEXED"}), 39, "COMPACTED"),
    ("engine on log", table(properties={"table.merge-engine": "first_row"}), 39, "primary key"),
    ("delete on log", table(properties={"table.delete.behavior": "IGNORE"}), 39, "primary key"),
    ("engine", keyed({"table.merge-engine": "last_row"}), 39, "first_row|versioned|aggregation"),
    (
        "first_row ALLOW",
        keyed({"table.merge-engine": "first_row", "table.delete.behavior": "ALLOW"}),
        39,
        "IGNORE or DISABLE",
    ),
    ("no version", keyed({"table.merge-engine": "versioned"}), 39, "ver-column"),
    (
        "version unknown",
        keyed({"table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "zz"}),
        39,
        "'zz'",
    ),
    (
        "version STRING",
        keyed(
            {"table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "text"}
        ),
        39,
        "is STRING",
    ),
    (
        "aggregation WAL",
        keyed({"table.merge-engine": "aggregation", "table.changelog.image": "WAL"}),
        39,
        "FULL",
    ),
    ("image", keyed({"table.changelog.image": "NONE"}), 39, "FULL|WAL"),
    ("statistics key", keyed({"table.statistics.columns": "*"}), 39, "log tables"),
    ("statistics unknown", table(properties={"table.statistics.columns": "zz"}), 39, "'zz'"),
    (
        "statistics type",
        table({"a": ARRAY}, properties={"table.statistics.columns": "a"}),
        39,
        "ARRAY",
    ),
    ("statistics none", table(properties={"table.statistics.columns": " "}), 39, "no column"),
    ("auto without key", table(properties=AUTO), 39, "partition key"),
    (
        "auto unit",
        table(partitions=["text"], properties={**AUTO, "table.auto-partition.time-unit": "WEEK"}),
        39,
        "YEAR|QUARTER",
    ),
    (
        "auto zone",
        table(
            partitions=["text"], properties={**AUTO, "table.auto-partition.time-zone": "Mars/Base"}
        ),
        39,
        "no such time zone",
    ),
    (
        "auto zone path",
        table(
            partitions=["text"],
            properties={**AUTO, "table.auto-partition.time-zone": "../../etc/passwd"},
        ),
        39,
        "not the name of a time zone",
    ),
    (
        "auto format",
        table(
            partitions=["text"], properties={**AUTO, "table.auto-partition.time-format": "yyyyMM"}
        ),
        15,
        "missing",
    ),
    (
        "auto format sign",
        table(
            partitions=["text"],
            properties={**AUTO, "table.auto-partition.time-format": "yyyy/MM/dd"},
        ),
        15,
        "literal",
    ),
    (
        "auto format reserved",
        table(
            partitions=["text"],
            properties={**AUTO, "table.auto-partition.time-format": "'__'yyyyMMdd"},
        ),
        15,
        "reserved",
    ),
    ("auto DATE", table({"d": "DATE"}, partitions=["d"], properties=AUTO), 15, "yyyy-MM-dd"),
    ("auto two keys", table(partitions=["text", "id"], properties=AUTO), 15, "auto-partition.key"),
    (
        "auto other key",
        table(partitions=["text", "id"], properties={**AUTO, "table.auto-partition.key": "zz"}),
        15,
        "'zz'",
    ),
    (
        "auto two keys precreate",
        table(
            partitions=["text", "id"],
            properties={
                **AUTO,
                "table.auto-partition.key": "text",
                "table.auto-partition.num-precreate": "2",
            },
        ),
        15,
        "must be 0",
    ),
]
NAMES = [
    ("", "empty"),
    (LONG + "n", "201 bytes"),
    (".", "'.'"),
    ("..", "'..'"),
    ("a.b", "'.' at position 2"),
    ("a b", "' ' at position 2"),
    ("ä", "'ä' at position 1"),
    ("a\n", "0x0a"),
    ("__x", "reserved"),
]
#: (name, change, code, what the message says) of a table with columns id, text
ALTERS = [
    ("unknown", {"config_changes": [("table.nope", "1")]}, 56, "'table.nope'"),
    (
        "all three named",
        {"config_changes": [("table.a", "1"), ("table.b", "1"), ("table.c", "1")]},
        56,
        "'table.b'",
    ),
    (
        "fixed",
        {"config_changes": [("table.log.format", "INDEXED")]},
        56,
        "'table.log.format' can't",
    ),
    ("value", {"config_changes": [("table.log.ttl", "x")]}, 39, "'x'"),
    ("lake", {"config_changes": [("table.datalake.enabled", "true")]}, 56, "no data lake"),
    (
        "standby",
        {"config_changes": [("table.kv.standby-replica.enabled", "true")]},
        56,
        "primary key",
    ),
    ("operation", {"config_changes": [("table.log.ttl", "1 d", 2)]}, -1, "operation 2"),
    ("name taken", {"add_columns": [("text", {"type": "STRING"})]}, 56, "'text'"),
    (
        "name reserved",
        {"add_columns": [("__offset", {"type": "STRING"})]},
        15,
        "'__offset' is reserved",
    ),
    ("not null", {"add_columns": [("n", {"type": "STRING", "nullable": False})]}, -1, "nullable"),
    ("type", {"add_columns": [("n", {"type": "NOPE"})]}, -1, "'NOPE'"),
    ("first", {"add_columns": [("n", {"type": "STRING"}, 1)]}, -1, "at the end"),
    ("drop", {"drop_columns": [{"column_name": "text"}]}, -1, "can't be dropped"),
    (
        "rename",
        {"rename_columns": [{"old_column_name": "text", "new_column_name": "b"}]},
        -1,
        "renamed",
    ),
    (
        "both",
        {"add_columns": [("n", {"type": "STRING"})], "config_changes": [("k", "v")]},
        56,
        "one request",
    ),
]


def state_of(connection):
    """All that exists."""
    out = {}
    for database in sorted(connection.ask("LIST_DATABASES")["database_name"]):
        for name in connection.ask("LIST_TABLES", {"database_name": database})["table_name"]:
            request = {"table_path": path_of(name, database)}
            info = connection.ask("GET_TABLE_INFO", request)
            desc = json.loads(info["table_json"])
            parts = []
            if desc["partition_key"]:
                parts = connection.ask("LIST_PARTITION_INFOS", request)["partitions_info"]
            out[database, name] = (info["schema_id"], desc, parts)
        out.setdefault((database, ""), None)
    return out


def refused(connection, api, message, code, text):
    before = state_of(connection)
    with pytest.raises(ServerError) as caught:
        connection.ask(api, message)
    assert caught.value.code == code, caught.value
    assert text in caught.value.text, caught.value.text
    assert "Exception" not in caught.value.text
    assert state_of(connection) == before


def create(name, desc):
    body = desc if isinstance(desc, bytes) else json.dumps(desc).encode()
    return {"table_path": path_of(name), "table_json": body, "ignore_if_exists": False}


@pytest.mark.parametrize(
    ("desc", "code", "text"), [c[1:] for c in TABLES], ids=[c[0] for c in TABLES]
)
def test_a_wrong_table_is_refused(connection, desc, code, text):
    refused(connection, "CREATE_TABLE", create("wrong", desc), code, text)


@pytest.mark.parametrize(("name", "text"), NAMES)
def test_a_wrong_name_is_refused(connection, name, text):
    refused(connection, "CREATE_TABLE", create(name, table()), 15, text)
    message = {"database_name": name, "ignore_if_exists": False}
    refused(connection, "CREATE_DATABASE", message, 16, text)
    elsewhere = {**create("t", table()), "table_path": path_of("t", name)}
    refused(connection, "CREATE_TABLE", elsewhere, 16, text)


def test_the_largest_that_is_allowed_is_made(connection):
    connection.ask("CREATE_TABLE", create(LONG, table(count=4096)))
    connection.ask("DROP_TABLE", {"table_path": path_of(LONG), "ignore_if_not_exists": False})
    message = {"database_name": LONG, "ignore_if_exists": False}
    connection.ask("CREATE_DATABASE", message)
    dropped = {"database_name": LONG, "ignore_if_not_exists": False, "cascade": False}
    connection.ask("DROP_DATABASE", dropped)


@pytest.mark.parametrize(
    ("changes", "code", "text"), [c[1:] for c in ALTERS], ids=[c[0] for c in ALTERS]
)
def test_a_wrong_alteration_is_refused(connection, changes, code, text):
    name = "altered"
    request = create(name, table())
    connection.ask("CREATE_TABLE", {**request, "ignore_if_exists": True})
    message = {"table_path": path_of(name), "ignore_if_not_exists": False, **changes}
    for key, make in (("config_changes", config_change), ("add_columns", added_column)):
        if key in changes:
            message[key] = [make(*each) for each in changes[key]]
    refused(connection, "ALTER_TABLE", message, code, text)


def config_change(key, value, operation=0):
    return {"config_key": key, "config_value": value, "op_type": operation}


def added_column(name, data_type, position=0):
    body = json.dumps(data_type).encode()
    return {"column_name": name, "data_type_json": body, "column_position_type": position}


@pytest.mark.parametrize("body", [b"nope", b"[]", b"{", b'{"version": 1}', b'{"comment": 5}'])
def test_a_wrong_database_descriptor_is_refused(connection, body):
    message = {"database_name": "d", "ignore_if_exists": False, "database_json": body}
    refused(connection, "CREATE_DATABASE", message, -1, "database descriptor")


SPECS = [
    ("too few", {"a": "1"}, 43, "2 partition keys"),
    ("too many", {"a": "1", "b": "2", "c": "3"}, 43, "2 partition keys"),
    ("other key", {"a": "1", "c": "2"}, 43, "'b'"),
    *[(f"value {value[:9]!r}", {"a": "1", "b": value}, 43, text) for value, text in NAMES],
    ("value $", {"a": "1", "b": "x$y"}, 43, "'$' at position 2"),
]


@pytest.mark.parametrize(
    ("spec", "code", "text"), [c[1:] for c in SPECS], ids=[c[0] for c in SPECS]
)
def test_a_wrong_partition_is_refused(connection, spec, code, text):
    desc = table({"a": "STRING", "b": "STRING"}, partitions=["a", "b"])
    connection.ask("CREATE_TABLE", {**create("parts", desc), "ignore_if_exists": True})
    refused(connection, "CREATE_PARTITION", partition("parts", spec), code, text)


def partition(name, spec, ignore=False):
    pairs = [{"key": key, "value": value} for key, value in spec.items()]
    return {
        "table_path": path_of(name),
        "partition_spec": {"partition_key_values": pairs},
        "ignore_if_not_exists": ignore,
    }


def test_a_table_may_have_many_partition_keys(connection):
    spec = {f"k{i}": str(i) for i in range(400)}
    desc = table({name: "STRING" for name in spec}, partitions=list(spec))
    connection.ask("CREATE_TABLE", create("many_keys", desc))
    refused(connection, "DROP_PARTITION", partition("many_keys", spec), 36, "k0=0/k1=1")
    connection.ask("CREATE_PARTITION", partition("many_keys", spec))
    request = {"table_path": path_of("many_keys")}
    found = connection.ask("LIST_PARTITION_INFOS", request)["partitions_info"]
    assert [each["partition_spec"] for each in found] == [
        partition("many_keys", spec)["partition_spec"]
    ]
    connection.ask("DROP_PARTITION", partition("many_keys", spec))
    assert connection.ask("LIST_PARTITION_INFOS", request)["partitions_info"] == []


TIMES = [
    ("YEAR", "2031", ["0000", "31", "2031x"]),
    ("QUARTER", "20314", ["20310", "20315", "2031"]),
    ("MONTH", "203112", ["203113", "203100", "2031"]),
    ("DAY", "20320229", ["20310229", "20310431", "20311301", "2031-01-01", "20310100"]),
    ("HOUR", "2031010523", ["2031010524", "20310105", "2031023001"]),
]


@pytest.mark.parametrize(("unit", "good", "bad"), TIMES)
def test_a_value_that_is_no_such_time_is_refused(connection, unit, good, bad):
    properties = {**AUTO, "table.auto-partition.time-unit": unit}
    name = f"by_{unit.lower()}"
    connection.ask("CREATE_TABLE", create(name, table(partitions=["text"], properties=properties)))
    for value in bad:
        message = partition(name, {"text": value})
        refused(connection, "CREATE_PARTITION", message, 43, "is no date in the form")
    refused(connection, "CREATE_PARTITION", partition(name, {"text": "1" + good[1:]}), 43, "older")
    connection.ask("CREATE_PARTITION", partition(name, {"text": good}))
    refused(connection, "CREATE_PARTITION", partition(name, {"text": good}), 42, good)


def test_partitions_and_buckets_have_their_limits(tmp_path):
    options = ("-o", "max.partition.num=2", "-o", "max.bucket.num=3")
    with Server(tmp_path / "data", *options) as server, server.connect() as connection:
        refused(connection, "CREATE_TABLE", create("t", table(count=4)), 49, "4, at most 3")
        connection.ask("CREATE_TABLE", create("t", table(partitions=["text"], count=3)))
        for value in ("a", "b"):
            connection.ask("CREATE_PARTITION", partition("t", {"text": value}))
        refused(
            connection, "CREATE_PARTITION", partition("t", {"text": "c"}), 45, "max.partition.num"
        )
        connection.ask("CREATE_PARTITION", partition("t", {"text": "a"}, ignore=True))
