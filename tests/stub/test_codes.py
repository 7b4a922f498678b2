# SPDX-License-Identifier: Apache-2.0
"""Every error code of the protocol at every step of the client.

Goal and method: the table of codes (include/fluss/fluss_codes.def) times the steps below. At a
step, a code that can pass is answered once: the call succeeds, its effect is there once. A code
that can not is answered each time: exactly the calls concerned end with that code, what goes on
beside them succeeds, and afterwards the same call does. Exceptions stand with the steps, with why.
Every day each step has a fifth of the codes, and each code a fifth of the steps; all of them where
FLUSS_TEST_FULL is set.
"""

import re
import time
from pathlib import Path

import fluss
import pyarrow as pa
import pytest
from stub import Stub, bucket_error, error

from client import FULL, LIMIT_S, Client, outcome

TOP = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^FLUSS_CODE\((-?\d+), (\w+), ([01]), ([01]),", re.MULTILINE)
TABLE = ROW.findall((TOP / "include" / "fluss" / "fluss_codes.def").read_text())
CODES = {int(number): retriable == "1" for number, _, retriable, _ in TABLE}
for local in (-2, 0):  # never sent
    del CODES[local]
CODES[9999] = False  # of a server that knows more
CODES[-77] = False
SHARE = 1 if FULL else 5
ROW_TYPE = {"id": "INTEGER", "note": "STRING"}
PATH = fluss.TablePath("fluss", "log")
SIGNED = dict(
    security_protocol="SASL", security_sasl_username="alice", security_sasl_password="secret"
)


class Scene:
    """A cluster with a log table and a primary-key table of two buckets each, and a client."""

    def __init__(self):
        self.stub = Stub().__enter__()
        self.log = self.stub.create_table("log", ROW_TYPE, buckets=2, bucket_key=["id"])
        keyed = dict(primary_key=["id"], buckets=2)
        self.pk = self.stub.create_table("pk", ROW_TYPE, **keyed)
        self.stub.create_table(
            "prefixed",
            {"a": "INTEGER", "b": "INTEGER"},
            primary_key=["a", "b"],
            bucket_key=["a"],
            buckets=2,
        )
        self.client = Client(self.stub, client_bucket_hash="java").__enter__()
        self.append = self.client.writer("log")
        self.upsert = self.client.writer("pk")
        self.ids = {}  # bucket: an id that lies there
        for i in range(20):
            handle = self.append.append({"id": i, "note": "x"})
            assert outcome(handle) is None
            assert outcome(self.upsert.upsert({"id": i, "note": "x"})) is None
            self.ids[handle.bucket.bucket_id] = i
        writer = self.client.writer("prefixed")
        for i in range(20):
            assert outcome(writer.upsert({"a": i, "b": 0})) is None
        self.lookup = self.client.open("pk").new_lookup().create_lookuper()
        prefix = self.client.open("prefixed").new_lookup().lookup_by(["a"])
        self.prefix = prefix.create_lookuper()

    def close(self):
        self.client.__exit__()
        self.stub.__exit__(None)

    def both(self, start):
        """What a call for each of the two buckets ends with: (bucket 0, bucket 1)."""
        calls = [start(self.ids[bucket]) for bucket in (0, 1)]
        return [outcome(call) for call in calls]


@pytest.fixture(scope="module")
def scene():
    made = Scene()
    yield made
    made.close()


def one(call):
    """A step of a single call."""
    return lambda scene: [outcome(call(scene))]


def read(scene):
    """Poll from the end of each bucket after a row was written to it; the errors by bucket."""
    table = scene.client.open("log")
    results = []
    for bucket in (0, 1):
        scanner = table.new_scan().create_log_scanner().result(LIMIT_S)
        scanner.subscribe(bucket, scene.log.of(bucket).end - 1)
        result, until = "silent", time.monotonic() + LIMIT_S
        while result == "silent" and time.monotonic() < until:
            try:
                if len(scanner.poll(300).result(LIMIT_S)) == 1:
                    result = None
            except fluss.FlussError as failure:
                result = failure.error_code
        results.append(result)
        scanner.close()
    return results


def limit_scan(scene):
    table = scene.client.open("pk")
    scans = []
    for bucket in (0, 1):
        place = fluss.TableBucket(scene.pk.id, bucket)
        scan = table.new_scan().limit(3).create_bucket_batch_scanner(place)
        scans.append(scan.to_arrow())
    return [outcome(scan) for scan in scans]


def scan_error(code):
    """An error in the body of a limit scan of bucket 0."""

    def act(exchange):
        if exchange.message["bucket_id"] == 0:
            exchange.send(exchange.success({"error_code": code, "error_message": "scripted"}))
        else:
            exchange.serve()

    return act


def offsets_of(bucket):
    return lambda scene: scene.client.admin.list_offsets(PATH, [bucket], fluss.OffsetSpec.latest())


def subscribe_latest(scene):
    table = scene.client.open("log")
    results = []
    for bucket in (0, 1):
        scanner = table.new_scan().create_log_scanner().result(LIMIT_S)
        try:
            scanner.subscribe(bucket, fluss.LATEST_OFFSET)
            results.append(None)
        except fluss.FlussError as failure:
            results.append(failure.error_code)
        scanner.close()
    return results


def connect_once(**settings):
    def step(scene):
        try:
            with Client(scene.stub, **settings):
                return [None]
        except fluss.FlussError as failure:
            return [failure.error_code]

    return step


def first_write(scene):
    """The first row of a client of its own, which asks for a writer id."""
    with Client(scene.stub, client_bucket_hash="java") as client:
        return [outcome(client.writer("log").append({"id": 1, "note": ""}))]


def new_table(scene):
    schema = fluss.Schema(pa.schema([("id", pa.int32())]))
    return scene.client.admin.create_table(
        fluss.TablePath("fluss", "made"), fluss.TableDescriptor(schema), ignore_if_exists=True
    )


def on_bucket(code):
    return bucket_error(code, bucket=0, applied=code == HAS_IT)


def on_write(code):
    """Of a whole write request; all its buckets have the batch where the code says so."""
    return bucket_error(code, applied=True) if code == HAS_IT else error(code)


PASSES = None
HAS_IT = 32
SEQUENCES = {
    31: 31,  # refused although all before it was acknowledged: the server has lost rows
    HAS_IT: PASSES,  # the server has the batch already
    33: PASSES,  # the batch surely is not there: numbered anew
}
FETCHED_AGAIN = {-1: PASSES, 23: PASSES, 24: PASSES}  # as the official scanners do
COORDINATOR = {65: PASSES}  # another coordinator leads: asked for, and asked
admin = one
# name: (API, action of a code, call, calls concerned, exceptions)
STEPS = {
    "handshake": ("API_VERSIONS", error, connect_once(), [0], {}),
    "sign in": ("AUTHENTICATE", error, connect_once(**SIGNED), [0], {}),
    "metadata": ("GET_METADATA", error, connect_once(), [0], {}),
    "writer id": ("INIT_WRITER", error, first_write, [0], {}),
    "produce, request": (
        "PRODUCE_LOG",
        on_write,
        lambda s: s.both(lambda i: s.append.append({"id": i, "note": ""})),
        [0, 1],
        SEQUENCES,
    ),
    "produce, bucket": (
        "PRODUCE_LOG",
        on_bucket,
        lambda s: s.both(lambda i: s.append.append({"id": i, "note": ""})),
        [0],
        SEQUENCES,
    ),
    "put, request": (
        "PUT_KV",
        on_write,
        lambda s: s.both(lambda i: s.upsert.upsert({"id": i, "note": ""})),
        [0, 1],
        SEQUENCES,
    ),
    "put, bucket": (
        "PUT_KV",
        on_bucket,
        lambda s: s.both(lambda i: s.upsert.upsert({"id": i, "note": ""})),
        [0],
        SEQUENCES,
    ),
    "fetch, request": ("FETCH_LOG", error, read, [0, 1], FETCHED_AGAIN),
    "fetch, bucket": ("FETCH_LOG", on_bucket, read, [0], FETCHED_AGAIN),
    "offsets, request": ("LIST_OFFSETS", error, one(offsets_of(0)), [0], {}),
    "offsets, bucket": ("LIST_OFFSETS", on_bucket, one(offsets_of(0)), [0], {}),
    "latest, request": ("LIST_OFFSETS", error, subscribe_latest, [0, 1], {}),
    "latest, bucket": ("LIST_OFFSETS", on_bucket, subscribe_latest, [0], {}),
    "lookup, request": (
        "LOOKUP",
        error,
        lambda s: s.both(lambda i: s.lookup.lookup({"id": i})),
        [0, 1],
        {},
    ),
    "lookup, bucket": (
        "LOOKUP",
        on_bucket,
        lambda s: s.both(lambda i: s.lookup.lookup({"id": i})),
        [0],
        {},
    ),
    "prefix lookup, request": (
        "PREFIX_LOOKUP",
        error,
        lambda s: s.both(lambda i: s.prefix.lookup({"a": i})),
        [0, 1],
        {},
    ),
    "prefix lookup, bucket": (
        "PREFIX_LOOKUP",
        on_bucket,
        lambda s: s.both(lambda i: s.prefix.lookup({"a": i})),
        [0],
        {},
    ),
    "limit scan, request": ("LIMIT_SCAN", error, limit_scan, [0, 1], {}),
    "limit scan, body": ("LIMIT_SCAN", scan_error, limit_scan, [0], {}),
    "open a table": (
        "GET_TABLE_INFO",
        error,
        admin(lambda s: s.client.connection.get_table(PATH)),
        [0],
        COORDINATOR,
    ),
    "list databases": (
        "LIST_DATABASES",
        error,
        admin(lambda s: s.client.admin.list_databases()),
        [0],
        COORDINATOR,
    ),
    "make a database": (
        "CREATE_DATABASE",
        error,
        admin(lambda s: s.client.admin.create_database("made", None, True)),
        [0],
        COORDINATOR,
    ),
    "make a table": ("CREATE_TABLE", error, admin(new_table), [0], COORDINATOR),
    "is there a table": (
        "TABLE_EXISTS",
        error,
        admin(lambda s: s.client.admin.table_exists(PATH)),
        [0],
        COORDINATOR,
    ),
    "list tables": (
        "LIST_TABLES",
        error,
        admin(lambda s: s.client.admin.list_tables("fluss")),
        [0],
        COORDINATOR,
    ),
}


def share_of(index):
    """The codes that are tried at a step."""
    return set(list(CODES)[index % SHARE :: SHARE])


@pytest.mark.parametrize("name", STEPS, ids=lambda name: name.replace(", ", "_").replace(" ", "_"))
def test_every_code_at(scene, name):
    api, action, call, concerned, exceptions = STEPS[name]
    wrong = []
    if name == "sign in":
        scene.stub.cluster.users = {"alice": "secret"}
    try:
        for code in share_of(list(STEPS).index(name)) | exceptions.keys():
            wanted = exceptions.get(code, None if CODES[code] else code)
            rule = scene.stub.on(api, action(code), times=1 if wanted is None else -1)
            found = call(scene)
            hits = rule.hits
            scene.stub.off()
            expected = [wanted if i in concerned else None for i in range(len(found))]
            if wanted is None:
                expected = [None] * len(found)
            if found != expected or hits == 0:
                wrong.append(f"code {code}: ended with {found}, expected {expected}; {hits} hits")
            after = call(scene)
            if set(after) != {None}:
                wrong.append(f"after code {code}: {after}")
    finally:
        scene.stub.cluster.users = {}
    assert not wrong, "\n".join(wrong)


def test_rows_of_the_matrix_are_there_once(scene):
    """What the steps wrote and were told is there, and nothing else."""
    for table in (scene.log, scene.pk):
        for bucket in table.buckets.values():
            for batches in bucket.writers.values():
                numbers = [sequence for sequence, _ in batches]
                assert numbers == sorted(set(numbers))


def test_metadata_codes_while_writing():
    """A refresh that a write waits for: what can pass does, else the rows end with the code."""
    wrong = []
    with Stub() as stub:
        stub.create_table("log", ROW_TYPE)
        other = stub.create_table("other", ROW_TYPE)
        with Client(stub) as client:
            writer, bystander = client.writer("log"), client.writer("other")
            assert outcome(writer.append({"id": 0, "note": ""})) is None
            assert outcome(bystander.append({"id": 0, "note": ""})) is None
            for code in share_of(0) - {7, 36}:  # what may be unknown for a while
                wanted = None if CODES[code] else code
                stub.on("PRODUCE_LOG", bucket_error(12), times=1, when=not_of(other))
                stub.on("GET_METADATA", error(code), times=1 if wanted is None else -1)
                handles = [writer.append({"id": i, "note": ""}) for i in range(3)]
                beside = outcome(bystander.append({"id": 1, "note": ""}))
                found = {outcome(handle) for handle in handles}
                stub.off()
                if found != {wanted} or beside is not None:
                    wrong.append(f"code {code}: {found}, beside it {beside}")
                if outcome(writer.append({"id": 1, "note": ""})) is not None:
                    wrong.append(f"after code {code}")
    assert not wrong, "\n".join(wrong)


def not_of(table):
    return lambda exchange: exchange.message["table_id"] != table.id


def test_text_and_number_of_an_unknown_code(scene):
    scene.stub.on("TABLE_EXISTS", error(9999, "a text of its own"), times=1)
    with pytest.raises(fluss.FlussError) as caught:
        scene.client.admin.table_exists(PATH).result(LIMIT_S)
    assert caught.value.error_code == 9999 and not caught.value.is_retriable
    assert "a text of its own" in caught.value.message
