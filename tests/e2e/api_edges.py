# SPDX-License-Identifier: Apache-2.0
"""Requests at the edge of what is allowed, for our server and the official one.

Steps as in api_script.py, on a database of their own: payloads that are empty, cut off or damaged,
limits of zero, below zero and far too large, keys that are no keys. Where an official server
answers otherwise, api_differences.py says what and why.
"""

import struct

from api_script import SCRIPT, drop, first, learn_id, make, on_coordinator, step
from rows import Table
from wire import batch, crc32c, fetch, path_of, produce, table_json

DB = "edges"
LOG, INDEXED, PK, PAIRS = (path_of(name, DB) for name in ("log", "indexed", "pk", "pairs"))
COLUMNS = {"id": "INTEGER", "p": "STRING"}
PK_TABLE = Table("pk", [("id", "INT NOT NULL"), ("p", "STRING")])
PAIR_TABLE = Table("pairs", [("a", "INT NOT NULL"), ("b", "INT NOT NULL")], key=("a", "b"))
INT_MAX, INT_MIN, LONG_MIN = (1 << 31) - 1, -(1 << 31), -(1 << 63)
KEYS_MANY = 20_000


# ---- batches ----

GOOD = batch(b"\0" * 64)


def changed(position, value, form="B"):
    out = bytearray(GOOD)
    struct.pack_into("<" + form, out, position, value)
    return bytes(out)


def of_writer(writer_id, *sequences):
    return b"".join(batch(b"x", writer_id=writer_id, sequence=each) for each in sequences)


def with_delta(delta):
    checked = struct.pack("<hbiqii", 1, 1, delta, -1, -1, 1)
    return struct.pack("<qibqI", 0, 36, 0, 0, crc32c(checked)) + checked


ROW = PK_TABLE.batch([([1, "v1"], False)])


def wrong_key():
    class Other(Table):
        def encode_key(self, values):
            return b"\2"

    return Other("pk", [("id", "INT NOT NULL"), ("p", "STRING")]).batch([([1, "v1"], False)])


WRONG_KEY = wrong_key()


# ---- steps ----


def base_offset(answer):
    return first(answer, "buckets_resp").get("base_offset")


def writes(label, records, code=0, expected=None, bucket=0, **more):
    """PRODUCE_LOG of one bucket; shows its base offset, where one is expected."""
    shows = base_offset if expected is not None else None
    return step(
        "PRODUCE_LOG",
        label,
        lambda k: {**produce(k["edge_log"], records, bucket), **more},
        code,
        shows=shows,
        expected=expected,
    )


def puts(label, records, code=0, **more):
    return step("PUT_KV", label, lambda k: {**produce(k["edge_pk"], records), **more}, code)


def records_of(answer):
    return len(first(answer, "tables_resp", "buckets_resp").get("records", b""))


def fetches(label, offset, code=0, expected=None, table="edge_log", size=1 << 20, **more):
    """FETCH_LOG of bucket 1, of which this script knows each byte; shows how many came."""

    def request(known):
        asked = fetch(known[table], offset, bucket=1)
        asked["tables_req"][0]["buckets_req"][0]["max_fetch_bytes"] = size
        top = {name: value for name, value in more.items() if name in asked}
        asked["tables_req"][0] |= {n: v for n, v in more.items() if n not in asked}
        return {**asked, **top}

    shows = records_of if code == 0 else None
    return step("FETCH_LOG", label, request, code, shows=shows, expected=expected)


def projects(label, columns, code, table="edge_log"):
    more = {"projection_pushdown_enabled": True, "projected_fields": columns}
    return fetches(label, 0, code, table=table, **more)


def values_of(answer):
    return [
        len(v["values"]) if "values" in v else None for v in first(answer, "buckets_resp")["values"]
    ]


def groups_of(answer):
    return [len(each["values"]) for each in first(answer, "buckets_resp")["value_lists"]]


def looks_up(label, keys, expected=None, code=0, table="edge_pk", bucket=0, **more):
    return step(
        "LOOKUP",
        label,
        lambda k: {
            "table_id": k[table],
            "buckets_req": [{"bucket_id": bucket, "keys": keys}],
            **more,
        },
        code,
        shows=values_of if code == 0 else None,
        expected=expected,
    )


def looks_up_prefix(label, keys, expected=None, code=0, table="edge_pairs", bucket=0):
    return step(
        "PREFIX_LOOKUP",
        label,
        lambda k: {"table_id": k[table], "buckets_req": [{"bucket_id": bucket, "keys": keys}]},
        code,
        shows=groups_of if code == 0 else None,
        expected=expected,
    )


def scans(label, limit, code=0, expected=None, table="edge_pk", bucket=0):
    return step(
        "LIMIT_SCAN",
        label,
        lambda k: {"table_id": k[table], "bucket_id": bucket, "limit": limit},
        code,
        shows=(lambda a: len(a["records"])) if code == 0 else None,
        expected=expected,
    )


def asks_offsets(label, kind, code=0, expected=None, timestamp=None):
    return step(
        "LIST_OFFSETS",
        label,
        lambda k: {
            "follower_server_id": -1,
            "offset_type": kind,
            "table_id": k["edge_log"],
            "bucket_id": [1],
            "start_timestamp": timestamp,
        },
        code,
        shows=(lambda a: first(a, "buckets_resp")["offset"]) if code == 0 else None,
        expected=expected,
    )


def makes(path, table, name):
    request = {"table_path": path, "table_json": table, **make}
    yield on_coordinator("CREATE_TABLE", f"for edges: {name}", request)
    yield step("GET_TABLE_INFO", f"for edges: {name}", {"table_path": path}, learns=learn_id(name))


INSERT = {"insert_if_not_exists": True, "acks": -1, "timeout_ms": 30000}
INDEXED_LOG = {"properties": {"table.log.format": "INDEXED"}}

EDGES = [
    on_coordinator("CREATE_DATABASE", "for edges", {"database_name": DB, **make}),
    *makes(LOG, table_json(COLUMNS, bucket_count=2, bucket_key=[]), "edge_log"),
    *makes(
        INDEXED, table_json(COLUMNS, bucket_count=2, bucket_key=[], **INDEXED_LOG), "edge_indexed"
    ),
    *makes(PK, PK_TABLE.json(2), "edge_pk"),
    *makes(PAIRS, PAIR_TABLE.json(2), "edge_pairs"),
    # whole batches; bucket 1 has 0, 1, 2 and 3 then
    writes("the first of bucket 1", GOOD, expected=0, bucket=1),
    writes("two at once", GOOD + GOOD, expected=1, bucket=1),
    writes("acks 0", GOOD, expected=3, bucket=1, acks=0),
    writes("of a writer", of_writer(6, 0), expected=0),
    writes("of a writer, again", of_writer(6, 0), expected=0),
    writes("of a writer, the next two", of_writer(6, 1, 2), expected=1),
    writes("of a writer, with a gap inside", of_writer(6, 3, 5), 31),
    writes("of a writer nobody knows", of_writer(7, 3), 31),
    writes("to no bucket", GOOD, buckets_req=[]),
    writes("to a bucket below 0", GOOD, 21, bucket=-1),
    writes(
        "to a partition of none",
        GOOD,
        21,
        buckets_req=[{"partition_id": 3, "bucket_id": 0, "records": GOOD}],
    ),
    writes("acks below -1", GOOD, 18, acks=-2),
    # what is no batch
    writes("nothing", b"", 14),
    writes("a cut header", GOOD[:20], 14),
    writes("a batch cut by one byte", GOOD[:-1], 14),
    writes("a batch, then a cut header", GOOD + GOOD[:30], 14),
    writes("a batch, then a cut one", GOOD + GOOD[:60], 14),
    writes("a batch, then zeros", GOOD + bytes(48), 14),
    writes("an unknown magic", changed(12, 9), 14),
    writes("a wrong checksum", changed(21, GOOD[21] ^ 1), 14),
    writes("a flipped payload", changed(111, 1), 14),
    *(
        writes(f"a length of {n}", changed(8, n, "i"), 14)
        for n in (-1, 0, 35, 36, INT_MAX, INT_MIN)
    ),
    writes("offsets that go back", with_delta(-7), 14),
    step("PRODUCE_LOG", "to a primary-key table", lambda k: produce(k["edge_pk"], GOOD, 1), 15),
    # reading bucket 1: four batches of 112 bytes
    fetches("from the start", 0, expected=448),
    fetches("from the earliest", -2, expected=448),
    fetches("from the end", 4, expected=0),
    fetches("below the start", -1, 19),
    fetches("far below the start", LONG_MIN, 19),
    fetches("behind the end", 5, 19),
    fetches("far behind the end", -1 - LONG_MIN, 19),
    fetches("no bytes, so one batch", 0, expected=112, max_bytes=0),
    fetches("one byte, so one batch", 0, expected=112, max_bytes=1),
    fetches("fewer bytes than none", 0, expected=112, max_bytes=-1),
    fetches("no bytes of the bucket", 0, expected=112, size=0),
    fetches("two batches and a half", 0, expected=224, size=300),
    fetches("min_bytes below 0", 0, expected=448, min_bytes=-1),
    fetches(
        "min_bytes that never come, no wait", 0, expected=448, min_bytes=INT_MAX, max_wait_ms=0
    ),
    fetches(
        "min_bytes that never come, a wait below 0",
        0,
        expected=448,
        min_bytes=INT_MAX,
        max_wait_ms=-5,
    ),
    fetches(
        "min_bytes that never come, a short wait",
        0,
        expected=448,
        min_bytes=INT_MAX,
        max_wait_ms=50,
    ),
    fetches("a wait without min_bytes", 4, expected=0, min_bytes=None, max_wait_ms=INT_MAX),
    fetches(
        "a long wait for a bucket that is not there",
        0,
        21,
        min_bytes=1,
        max_wait_ms=INT_MAX,
        buckets_req=[{"bucket_id": 7, "fetch_offset": 0, "max_fetch_bytes": 1}],
    ),
    fetches("as a server that is none", 0, expected=448, follower_server_id=5),
    fetches("columns without projection", 0, expected=448, projected_fields=[7]),
    step("FETCH_LOG", "no tables", {**fetch(0, 0), "tables_req": []}),
    projects("one column twice", [0, 0], 34),
    projects("columns out of order", [1, 0], 34),
    projects("a column that is not there", [2], 34),
    projects("a column below 0", [-1], 34),
    projects("columns of an empty INDEXED log", [0], 34, table="edge_indexed"),
    # offsets
    asks_offsets("earliest", 0, expected=0),
    asks_offsets("at a time below 0", 2, expected=0, timestamp=-1),
    asks_offsets("at the earliest time", 2, expected=0, timestamp=LONG_MIN),
    asks_offsets("at the latest time", 2, 38, timestamp=-1 - LONG_MIN),
    asks_offsets("at no time", 2, -1),
    asks_offsets("of a kind below 0", -1, -1),
    asks_offsets("of an unknown kind", 3, -1),
    # rows
    puts("five rows", PK_TABLE.batch([([i, f"v{i}"], False) for i in range(1, 6)])),
    puts("of no rows", PK_TABLE.batch([])),
    puts("a key that is not there goes", PK_TABLE.batch([([77, ""], True)])),
    puts("acks 5", ROW, 18, acks=5),
    puts("nothing", b"", 14),
    puts("a cut header", ROW[:20], 14),
    puts("a batch cut by one byte", ROW[:-1], 14),
    puts("two batches", ROW + ROW, 14),
    puts("a batch and more", ROW + b"xyz", 14),
    puts("an unknown magic", ROW[:4] + b"\x09" + ROW[5:], 14),
    puts("a wrong checksum", ROW[:5] + bytes([ROW[5] ^ 1]) + ROW[6:], 14),
    puts("a schema that is not there", PK_TABLE.batch([([1, "v1"], False)], schema_id=9), 9),
    puts("a key that is not that of its row", WRONG_KEY, 14),
    puts("target columns without the key", ROW, 35, target_columns=[1]),
    puts("a target column twice", ROW, 35, target_columns=[0, 0]),
    puts("a target column that is not there", ROW, 35, target_columns=[0, 9]),
    puts("a target column below 0", ROW, 35, target_columns=[-1, 0]),
    puts("the row as it was", ROW),
    step(
        "PUT_KV",
        "pairs",
        lambda k: (
            PAIR_TABLE.put([([1, 1], False), ([1, 2], False), ([2, 1], False)])
            | {"table_id": k["edge_pairs"]}
        ),
    ),
    # keys: a stored value is the schema id, null bits, and the columns
    looks_up("no keys", [], []),
    looks_up("a key twice", [b"\1", b"\1"], [7, 7]),
    looks_up("an empty key", [b""], [None]),
    looks_up("a key of 70,000 bytes", [b"\1" * 70_000], [None]),
    looks_up("in the other bucket", [b"\1"], [None], bucket=1),
    looks_up("in a bucket that is not there", [b"\1"], code=21, bucket=7),
    looks_up("a log table without keys", [], code=20, table="edge_log"),
    step(
        "LOOKUP",
        "many keys",
        lambda k: PK_TABLE.lookup([[i, ""] for i in range(KEYS_MANY)]) | {"table_id": k["edge_pk"]},
        shows=lambda a: (len(values_of(a)), len([v for v in values_of(a) if v])),
        expected=(KEYS_MANY, 5),
    ),
    looks_up("an insert without acks", [b"\x5a"], code=-1, insert_if_not_exists=True),
    looks_up("an insert with acks 9", [b"\x5a"], code=18, **{**INSERT, "acks": 9}),
    looks_up("an insert of one key twice", [b"\x5a", b"\x5a"], [4, 4], **INSERT),
    looks_up("an insert of no key", [], [], **INSERT),
    looks_up("an insert of an empty key", [b""], code=14, **INSERT),
    looks_up("an insert of a key that is none", [b"\xff" * 20], code=14, **INSERT),
    looks_up_prefix("no prefixes", [], []),
    looks_up_prefix("prefixes", [b"\1", b"\2", b"\3"], [2, 1, 0]),
    looks_up_prefix("the empty prefix", [b""], [3]),
    looks_up_prefix("a whole key", [b"\1\1"], [1]),
    looks_up_prefix("more than a key", [b"\1\1\1"], [0]),
    looks_up_prefix("in a bucket that is not there", [b"\1"], code=21, bucket=7),
    looks_up_prefix("a log table without keys", [], code=20, table="edge_log"),
    # limits; a batch of values has 9 bytes, and 4 in front of each
    scans("no rows", 0, expected=9),
    scans("three rows", 3, expected=42),
    scans("fewer rows than none", -1, -1),
    scans("a limit far below", INT_MIN, -1),
    scans("no rows of a log", 0, expected=0, table="edge_log"),
    scans("more rows than a log has", INT_MAX, expected=448, table="edge_log", bucket=1),
    scans("fewer rows of a log than none", -1, -1, table="edge_log"),
    step("INIT_WRITER", "for no table", {}, shows=lambda a: "writer_id" in a, expected=True),
    step(
        "GET_METADATA",
        "a table twice",
        {"table_path": [LOG, LOG]},
        shows=lambda a: len(a["table_metadata"]),
        expected=2,
    ),
    step("GET_METADATA", "an unknown partition id", {"partitions_id": [10**6]}, 36),
    step("AUTHENTICATE", "PLAINTEXT in capitals", {"protocol": "PLAINTEXT", "token": b"x"}),
    step("AUTHENTICATE", "no mechanism", {"protocol": "", "token": b""}, 46),
    step("AUTHENTICATE", "a token of 1 MB", {"protocol": "PLAIN", "token": bytes(1 << 20)}, 46),
    on_coordinator("DROP_DATABASE", "of the edges", {"database_name": DB, **drop, "cascade": True}),
]
ALL = SCRIPT + EDGES
