# SPDX-License-Identifier: Apache-2.0
"""What users asked for and no other package has: whole-table reads, changelogs as Arrow, positions,
progress, schemas in words, fixtures."""

import asyncio
import datetime
import io
import itertools
import os
import subprocess
import sys
import textwrap
import time

import fluss
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

S_MAX = 30
SCHEMA = pa.schema([("id", pa.int32()), ("name", pa.string())])
ROWS = [{"id": n, "name": f"row {n}"} for n in range(10)]


def make(connection, database, schema=SCHEMA, keys=None, **options):
    path = fluss.TablePath(database, f"t{time.monotonic_ns()}")
    descriptor = fluss.TableDescriptor(fluss.Schema(schema, keys), **{"bucket_count": 1, **options})
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


def fill(table, rows=ROWS):
    writer = table.new_upsert() if table.has_primary_key() else table.new_append()
    with writer.create_writer() as opened:
        for row in rows:
            opened.upsert(row) if table.has_primary_key() else opened.append(row)


@pytest.fixture
def log_table(connection, database):
    table = make(connection, database)
    fill(table)
    return table


@pytest.fixture
def key_table(connection, database):
    return make(connection, database, keys=["id"])


# --- whole tables ---


@pytest.mark.parametrize("keyed", [False, True])
def test_whole_table_in_each_form(connection, database, keyed):
    table = make(connection, database, keys=["id"] if keyed else None, bucket_count=3)
    fill(table)
    for source in (table, table.new_scan()):
        assert source.to_arrow().sort_by("id").to_pylist() == ROWS
        assert source.to_pandas().sort_values("id").to_dict("records") == ROWS
        assert source.to_polars().result(S_MAX).sort("id").to_dicts() == ROWS
        assert pl.DataFrame(source).sort("id").to_dicts() == ROWS
    assert table.new_scan().project_by_name(["name"]).to_arrow().column_names == ["name"]


def test_whole_partitioned_table_without_partitions_is_empty(connection, database):
    table = make(connection, database, partition_keys=["name"])
    assert table.to_arrow().num_rows == 0
    assert table.to_arrow().schema.names == ["id", "name"]
    assert len(table.to_pandas()) == 0
    assert pl.DataFrame(table).columns == ["id", "name"]
    admin = connection.get_admin()
    for region in ("EU", "US"):
        admin.create_partition(table.get_table_path(), {"name": region}).result(S_MAX)
    fill(table, [(1, "EU"), (2, "US"), (3, "EU")])
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 2, 3]


def test_whole_table_is_awaited_too(log_table, run):
    async def main():
        assert isinstance(await log_table.to_arrow(), pa.Table)
        assert isinstance(await log_table.to_pandas(), pd.DataFrame)
        assert isinstance(await log_table.to_polars(), pl.DataFrame)

    run(main())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_missing_library_is_named_before_anything_is_read(servers, log_table, key_table, library):
    program = f"""
        import sys
        class Without:
            def __init__(self, finder):
                self.finder = finder
            def find_spec(self, name, *where):
                return None if name == {library!r} else self.finder.find_spec(name, *where)
        sys.meta_path[:] = map(Without, sys.meta_path)
        import fluss
        conn = fluss.FlussConnection.create(bootstrap_servers=sys.argv[1]).result()
        for name in sys.argv[3:]:
            table = conn.get_table(fluss.TablePath(sys.argv[2], name)).result()
            bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
            some = table.new_scan().limit(5).create_bucket_batch_scanner(bucket)
            sources = [table, table.new_scan(), some]
            if not table.has_primary_key():
                sources.append(table.new_scan().create_record_batch_log_scanner().result())
                sources[-1].subscribe_all()
            for source in sources:
                try:
                    source.to_{library}().result()
                except ModuleNotFoundError as error:
                    assert error.name == {library!r}, error.name
                    print(error)
            rows = some.to_arrow().result()
            assert rows.column_names == ["id", "name"], rows
        conn.close().result()
    """
    tables = [table.get_table_path().table_name for table in (log_table, key_table)]
    database = log_table.get_table_path().database_name
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), servers, database, *tables],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    needs = f"to_{library}() needs {library}, which is not installed: pip install {library}"
    assert done.stdout.splitlines() == [needs] * 7


# --- changelogs ---


def changes(table):
    found = table.new_scan().changelog_to_arrow().result(S_MAX).to_pylist()
    return [(row["_change_type"], row["_log_offset"], row["id"], row["name"]) for row in found]


def test_changelog_as_arrow(key_table):
    before = datetime.datetime.now(datetime.timezone.utc)
    fill(key_table, [(1, "a"), (2, "b")])
    fill(key_table, [(1, "c")])
    key_table.new_upsert().delete((2,)).wait().result(S_MAX)
    expected = [("+I", 0, 1, "a"), ("+I", 1, 2, "b"), ("-U", 2, 1, "a"), ("+U", 3, 1, "c")]
    assert changes(key_table) == [*expected, ("-D", 4, 2, "b")]
    found = key_table.new_scan().project_by_name(["name"]).changelog_to_arrow().result(S_MAX)
    columns = ["_change_type", "_log_offset", "_commit_timestamp", "name"]
    assert found.column_names == columns
    assert found.schema.field("_commit_timestamp").type == pa.timestamp("ms", tz="UTC")
    times = found["_commit_timestamp"].to_pylist()
    margin = datetime.timedelta(seconds=1)
    assert all(before - margin < one < before + datetime.timedelta(minutes=5) for one in times)


def test_changelog_of_an_empty_table_and_of_a_log_table(key_table, log_table):
    assert changes(key_table) == []
    assert changes(log_table) == [("+A", n, n, f"row {n}") for n in range(10)]


def test_changelog_of_many_buckets_ends_at_now(connection, database):
    table = make(connection, database, keys=["id"], bucket_count=4)
    fill(table, [(n, "x") for n in range(1000)])
    found = table.new_scan().changelog_to_arrow().result(S_MAX)
    assert sorted(found["id"].to_pylist()) == list(range(1000))


def test_poll_changelog(key_table, log_table, run):
    scanner = key_table.new_scan().create_log_scanner().result(S_MAX)
    assert scanner.poll_changelog(0).num_rows == 0  # nothing subscribed
    scanner.subscribe_all()
    fill(key_table, [(1, "a")])
    found = scanner.poll_changelog(5000).to_pylist()
    assert [(row["_change_type"], row["id"]) for row in found] == [("+I", 1)]

    async def main():
        fill(key_table, [(1, "b")])
        rows = (await scanner.poll_changelog(5000)).to_pylist()
        assert [row["_change_type"] for row in rows] == ["-U", "+U"]
        assert (await scanner.poll_changelog(50)).num_rows == 0

    run(main())
    batches = log_table.new_scan().create_record_batch_log_scanner().result(S_MAX)
    with pytest.raises(fluss.FlussError, match="poll_changelog"):
        batches.poll_changelog(1)


def test_changelog_keeps_nanoseconds(connection, database):
    schema = pa.schema([("id", pa.int32()), ("at", pa.timestamp("ns"))])
    table = make(connection, database, schema, ["id"])
    fill(table, [(1, pd.Timestamp("1969-12-31T23:59:59.999999999"))])
    found = table.new_scan().changelog_to_arrow().result(S_MAX)
    assert found["at"].cast(pa.int64()).to_pylist() == [-1]


# --- positions ---


def record_scanner(table):
    return table.new_scan().create_log_scanner().result(S_MAX)


def offsets(scanner, count):
    return [record.offset for record in itertools.islice(scanner, count)]


def test_subscribe_at_a_timestamp(connection, log_table):
    first = next(iter(record_at(log_table))).timestamp
    deadline = time.monotonic() + S_MAX
    while int(time.time() * 1000) <= first:  # the clock's next millisecond
        assert time.monotonic() < deadline
    later = int(time.time() * 1000)
    while int(time.time() * 1000) <= later:
        assert time.monotonic() < deadline
    fill(log_table, [{"id": 99, "name": "later"}])
    for subscribe in (
        lambda s: s.subscribe(0, fluss.OffsetSpec.timestamp(later)),
        lambda s: s.subscribe_buckets({0: fluss.OffsetSpec.timestamp(later)}),
        lambda s: s.subscribe_all(fluss.OffsetSpec.timestamp(later)),
    ):
        scanner = record_scanner(log_table)
        subscribe(scanner)
        assert offsets(scanner, 1) == [10]
    scanner = record_scanner(log_table)
    scanner.subscribe(0, fluss.OffsetSpec.earliest())
    assert offsets(scanner, 1) == [0]
    scanner.subscribe(0, fluss.OffsetSpec.latest())
    fill(log_table, [{"id": 100, "name": "last"}])
    assert offsets(scanner, 1) == [11]


def record_at(table):
    scanner = record_scanner(table)
    scanner.subscribe_all()
    return scanner


def test_subscribe_a_partition_at_a_timestamp(connection, database):
    table = make(connection, database, partition_keys=["name"])
    path, admin = table.get_table_path(), connection.get_admin()
    admin.create_partition(path, {"name": "EU"}).result(S_MAX)
    fill(table, [(1, "EU")])
    partition = admin.list_partition_infos(path).result(S_MAX)[0].partition_id
    scanner = record_scanner(table)
    scanner.subscribe_partition_buckets({(partition, 0): fluss.OffsetSpec.timestamp(1)})
    assert offsets(scanner, 1) == [0]
    bucket = fluss.TableBucket.with_partition(table.get_table_info().table_id, partition, 0)
    assert scanner.position(bucket) == 1
    with pytest.raises(fluss.FlussError, match="partitioned: give a TableBucket"):
        scanner.position(0)


def test_seek_and_position(log_table):
    scanner = record_at(log_table)
    assert offsets(scanner, 10) == list(range(10))
    assert scanner.position(0) == 10
    scanner.seek(0, 3)
    assert scanner.position(0) == 3
    assert offsets(scanner, 2) == [3, 4]
    scanner.seek(fluss.TableBucket(log_table.get_table_info().table_id, 0), 8)
    assert offsets(scanner, 2) == [8, 9]
    scanner.seek(0, fluss.OffsetSpec.earliest())
    assert offsets(scanner, 1) == [0]
    with pytest.raises(fluss.FlussError, match="not subscribed"):
        scanner.seek(7, 0)
    with pytest.raises(TypeError, match="offset must be int, not str"):
        scanner.seek(0, "first")
    with pytest.raises(TypeError, match="bucket must be int, not str"):
        scanner.position("0")


# --- iteration ---


def test_records_and_batches_are_iterated_without_asyncio(log_table):
    assert [record.row for record in itertools.islice(record_at(log_table), 10)] == ROWS
    scanner = log_table.new_scan().create_record_batch_log_scanner().result(S_MAX)
    scanner.subscribe_all()
    batch = next(scanner)
    assert isinstance(batch, fluss.RecordBatch) and batch.base_offset == 0


def test_records_and_batches_are_iterated_with_asyncio(log_table, run):
    async def main():
        found = []
        async for record in record_at(log_table):
            found.append(record.row)
            if len(found) == len(ROWS):
                break
        assert found == ROWS
        scanner = await log_table.new_scan().create_record_batch_log_scanner()
        scanner.subscribe_all()
        async for batch in scanner:
            assert batch.num_rows > 0
            break

    run(main())


# --- writers and lookups ---


def test_write_results_carry_their_place(log_table, key_table):
    handle = log_table.new_append().create_writer().append((1, "x"))
    handle.wait().result(S_MAX)
    assert (handle.bucket.bucket_id, handle.log_end_offset) == (0, 11)
    handle = key_table.new_upsert().upsert((1, "x"))
    handle.wait().result(S_MAX)
    assert handle.bucket == fluss.TableBucket(key_table.get_table_info().table_id, 0)


def test_writers_flush_at_the_end_of_a_with_block(log_table):
    with log_table.new_append().create_writer() as writer:
        writer.append((10, "x"))
    assert log_table.to_arrow().num_rows == 11
    with pytest.raises(ValueError, match="mine"), log_table.new_append_writer() as writer:
        writer.append((11, "x"))
        raise ValueError("mine")
    assert log_table.to_arrow().num_rows == 12


def test_frames_and_tables_are_upserted(key_table):
    frame = pd.DataFrame({"id": [1, 2], "name": ["a", None], "other": [0, 0]})
    with key_table.new_upsert().create_writer() as writer:
        writer.write_pandas(frame)
    assert key_table.to_arrow().sort_by("id").to_pylist() == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": None},
    ]
    with key_table.new_upsert(columns=["id"]).create_writer() as writer:
        writer.write_pandas(frame[["id"]])
    writer = key_table.new_upsert().create_writer()
    assert writer.delete_arrow(pl.DataFrame({"id": [1, 2]}, {"id": pl.Int32})) is None
    writer.flush().result(S_MAX)
    assert key_table.to_arrow().num_rows == 0


def test_lookup_many_keeps_the_order_of_the_keys(key_table, run):
    fill(key_table)
    keys = [(7,), {"id": 100}, [0], (7,)]
    expected = [ROWS[7], None, ROWS[0], ROWS[7]]
    assert key_table.new_lookup().lookup_many(keys).result(S_MAX) == expected
    assert key_table.new_lookup().lookup_many(iter(keys)).result(S_MAX) == expected
    found = key_table.new_lookup().lookup_arrow([(1,), (100,), (2,)]).result(S_MAX)
    assert pa.record_batch(found).to_pylist() == [ROWS[1], ROWS[2]]
    assert key_table.new_lookup().lookup_many([]).result(S_MAX) == []
    for none in ([(100,), (101,)], []):
        empty = pa.record_batch(key_table.new_lookup().lookup_arrow(none).result(S_MAX))
        assert empty.num_rows == 0 and empty.schema == pa.record_batch(found).schema


def test_overwrite_passes_the_merge_engine(connection, database):
    properties = {"table.merge-engine": "first_row"}
    table = make(connection, database, keys=["id"], properties=properties)
    fill(table, [(1, "first")])
    fill(table, [(1, "second")])
    lookup = table.new_lookup()
    assert lookup.lookup((1,)).result(S_MAX)["name"] == "first"
    with table.new_upsert(overwrite=True).create_writer() as writer:
        writer.upsert((1, "third"))
    assert lookup.lookup((1,)).result(S_MAX)["name"] == "third"


def test_lookup_inserts_what_is_absent(connection, database):
    path = fluss.TablePath(database, "numbered")
    schema = fluss.Schema.from_text("name STRING, uid BIGINT, PRIMARY KEY (name)", None, "uid")
    descriptor = fluss.TableDescriptor(schema, bucket_count=1)
    connection.get_admin().create_table(path, descriptor).result(S_MAX)
    table = connection.get_table(path).result(S_MAX)
    assert table.new_lookup().lookup(("a",)).result(S_MAX) is None
    lookup = table.new_lookup(insert_if_absent=True).create_lookuper()
    first = lookup.lookup(("a",)).result(S_MAX)
    assert first["name"] == "a" and isinstance(first["uid"], int)
    assert lookup.lookup(("a",)).result(S_MAX) == first
    assert lookup.lookup(("b",)).result(S_MAX)["uid"] != first["uid"]


# --- progress ---


def test_progress_tells_a_function_how_far_a_read_is(connection, database):
    table = make(connection, database, bucket_count=2)
    fill(table, [(n, "x") for n in range(1000)])
    seen = []
    table.to_arrow(progress=lambda done, total: seen.append((done, total))).result(S_MAX)
    assert seen[0] == (0, 1000) and seen[-1] == (1000, 1000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    seen.clear()
    table.new_scan().changelog_to_arrow(
        progress=lambda done, total: seen.append((done, total))
    ).result(S_MAX)
    assert seen[-1] == (1000, 1000)


def test_error_of_a_progress_function_ends_the_read(log_table):
    def fail(done, total):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        log_table.to_arrow(progress=fail).result(S_MAX)
    assert log_table.to_arrow().num_rows == 10
    with pytest.raises(TypeError, match="progress must be"):
        log_table.to_arrow(progress=5)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bar_is_drawn_where_it_is_wanted(log_table, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    log_table.to_arrow(progress=True).result(S_MAX)
    assert "100%" in terminal.getvalue() and "10.0/10.0" in terminal.getvalue()
    terminal.truncate(0)
    log_table.to_arrow().result(S_MAX)  # a short read
    log_table.to_arrow(progress=False).result(S_MAX)
    assert terminal.getvalue() == ""


def test_bar_of_a_long_read_comes_by_itself(log_table, monkeypatch):
    from fluss import _progress

    monkeypatch.setattr(_progress, "_BAR_AFTER_S", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    log_table.to_arrow().result(S_MAX)
    assert "100%" in terminal.getvalue()
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    log_table.to_arrow().result(S_MAX)
    assert quiet.getvalue() == ""


class Broken(Terminal):
    def write(self, text):
        raise BrokenPipeError("nobody reads")


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stderr", [lambda: None, closed, Broken])
@pytest.mark.parametrize("wanted", [None, True])
def test_a_bar_that_cannot_be_drawn_ends_no_read(log_table, key_table, monkeypatch, stderr, wanted):
    from fluss import _progress

    fill(key_table)
    monkeypatch.setattr(_progress, "_BAR_AFTER_S", 0.0)
    monkeypatch.setattr(sys, "stderr", stderr())
    for table in (log_table, key_table):
        assert len(table.to_arrow(progress=wanted).result(S_MAX)) == 10
        changes = table.new_scan().changelog_to_arrow(progress=wanted).result(S_MAX)
        assert len(changes) == 10


# --- schemas, settings, metrics ---

TEXTS = [
    ("id INT NOT NULL, name STRING", [("id", "int NOT NULL"), ("name", "string")], []),
    ("a int,b string not null, primary key(b)", [("a", "int"), ("b", "string NOT NULL")], ["b"]),
    (
        "`odd, name` DECIMAL(10, 2), m MAP<STRING, ARRAY<ROW<x INT, y STRING>>>",
        [
            ("odd, name", "decimal(10,2)"),
            ("m", "map<string NOT NULL,array<row<x: int, y: string>>>"),
        ],
        [],
    ),
    (
        "t TIMESTAMP(3), u TIMESTAMP_LTZ(9) NOT NULL,\n PRIMARY KEY (`u`, t)",
        [("t", "timestamp(3) NOT NULL"), ("u", "timestamp_ltz(9) NOT NULL")],
        ["u", "t"],
    ),
]


@pytest.mark.parametrize(("text", "columns", "keys"), TEXTS)
def test_schema_in_words(text, columns, keys):
    schema = fluss.Schema.from_text(text)
    assert schema.get_columns() == columns
    assert schema.get_primary_keys() == keys


def test_schema_in_words_has_comments_keys_and_numbers():
    schema = fluss.Schema.from_text(
        "id BIGINT, n BIGINT COMMENT 'it''s, a number'",
        primary_keys=["id"],
        auto_increment_column="n",
    )
    assert schema.get_column_comments() == [None, "it's, a number"]
    assert schema.get_primary_keys() == ["id"]
    assert schema.get_auto_increment_columns() == ["n"]
    assert fluss.Schema.from_text("id BIGINT") == fluss.Schema(pa.schema([("id", pa.int64())]))


@pytest.mark.parametrize(
    "text", ["", "id", "id INT,", "id NOTHING", "id INT(", "PRIMARY KEY (id)", "id INT, id INT"]
)
def test_bad_words_are_refused(text):
    with pytest.raises(fluss.FlussError, match="Failed to build schema"):
        fluss.Schema.from_text(text)


def test_settings_by_name(servers):
    connection = fluss.FlussConnection.create(
        bootstrap_servers=servers, writer_acks="all", client_id="me"
    ).result(S_MAX)
    connection.close().result(S_MAX)
    with pytest.raises(TypeError, match="no_such_setting"):
        fluss.FlussConnection.create(no_such_setting=1)


def test_metrics_as_a_dict(connection, log_table):
    found = connection.metrics()
    assert found["fluss_client_writer_records_total"] >= 10
    assert all(isinstance(value, int) for value in found.values())
    rows = connection.list_metrics()
    assert list(found) == [row["name"] for row in rows]
    assert {row["type"] for row in rows} == {"counter", "gauge"}


def test_metrics_of_every_shape(servers, monkeypatch):
    named = fluss.FlussConnection.create(bootstrap_servers=servers, client_id="me").result(S_MAX)
    assert {row["labels"] for row in named.list_metrics()} == {'client_id="me"'}
    assert named.metrics()["fluss_client_connects_total"] == 1  # the name is the same
    empty = {"labels": "", "value": None, "count": None, "sum": None}
    rows = [
        {**empty, "name": "a", "labels": "n=1", "type": "counter", "value": "3"},
        {**empty, "name": "a", "labels": "n=2", "type": "counter", "value": "4"},
        {**empty, "name": "b", "type": "histogram", "count": 5, "sum": 60},
    ]
    monkeypatch.setattr(fluss.FlussConnection, "list_metrics", lambda _: rows)
    assert named.metrics() == {"a{n=1}": 3, "a{n=2}": 4, "b": {"count": 5, "sum": 60}}
    named.close().result(S_MAX)


# --- the plugin of pytest ---

PLUGIN_TEST = """
    import fluss

    def test_server(fluss_server, fluss_connection):
        assert isinstance(fluss_server, fluss.Server)
        assert isinstance(fluss_connection.get_admin().list_databases().result(30), list)

    def test_same_server_for_all(fluss_server):
        connection = fluss.FlussConnection.create(
            bootstrap_servers=fluss_server.bootstrap_servers
        ).result(30)
        connection.close().result(30)
"""


def test_fixtures_are_there_for_users(tmp_path):
    (tmp_path / "test_user.py").write_text(textwrap.dedent(PLUGIN_TEST), encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    found = [
        point
        for point in __import__("importlib.metadata").metadata.entry_points(group="pytest11")
        if point.value == "fluss.pytest_plugin"
    ]
    plugin = [] if found else ["-p", "fluss.pytest_plugin"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_asyncio_user_reads_as_others_do(log_table, run):
    """One scan, all forms at once."""

    async def main():
        table, frame, polars = await asyncio.gather(
            log_table.to_arrow(), log_table.to_pandas(), log_table.to_polars()
        )
        assert table.num_rows == len(frame) == polars.height == 10

    run(main())


@pytest.mark.parametrize("batches", [False, True])
def test_iterating_over_nothing_is_an_error(log_table, run, batches):
    """No rows can come: a step that waits for them would stop the whole event loop."""
    scan = log_table.new_scan()
    made = scan.create_record_batch_log_scanner() if batches else scan.create_log_scanner()
    scanner = made.result(60)

    async def step():
        return await scanner.__aiter__().__anext__()

    for _ in range(2):
        with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
            next(scanner)
        with pytest.raises(fluss.FlussError, match="No buckets subscribed"):
            run(step())
        scanner.subscribe_all()
        for bucket in scanner.subscribed_buckets():
            scanner.unsubscribe(bucket.bucket_id)


def test_offsets_of_many_buckets_are_asked_for_at_once(connection, database, monkeypatch):
    """One call for all buckets of a partition, and the partitions are not listed for each."""
    path = fluss.TablePath(database, "many")
    schema = fluss.Schema(pa.schema([("id", pa.int32()), ("day", pa.string())]))
    admin = connection.get_admin()
    descriptor = fluss.TableDescriptor(schema, bucket_count=2, partition_keys=["day"])
    admin.create_table(path, descriptor).result(60)
    for day in range(5):
        admin.create_partition(path, {"day": str(day)}).result(60)
    table = connection.get_table(path).result(60)
    writer = table.new_append().create_writer()
    for i in range(40):
        writer.append((i, str(i % 5)))
    writer.flush().result(60)
    asked = []

    def note(name):
        inner = getattr(fluss.FlussAdmin, name)

        def noted(*arguments):
            asked.append((name, inner(*arguments)))
            return asked[-1][1]

        monkeypatch.setattr(fluss.FlussAdmin, name, noted)

    note("list_partition_infos")
    note("list_partition_offsets")
    scanner = table.new_scan().create_record_batch_log_scanner().result(60)
    scanner.subscribe_all(fluss.OffsetSpec.timestamp(0))
    names = [name for name, _ in asked]
    assert names.count("list_partition_offsets") == 5  # one of each partition, for both buckets
    assert names.count("list_partition_infos") <= 3
    assert len(scanner.subscribed_buckets()) == 10
    assert scanner.to_arrow().num_rows == 40
    assert sum(scanner.commit("all").result(60).values()) == 40


def scanner_of(servers, table, batches):
    """A scanner of all rows with a connection of its own."""
    made = fluss.FlussConnection.create(bootstrap_servers=servers).result(60)
    opened = made.get_table(table.get_table_path()).result(60)
    scan = opened.new_scan()
    future = scan.create_record_batch_log_scanner() if batches else scan.create_log_scanner()
    scanner = future.result(60)
    scanner.subscribe_all()
    return made, scanner


@pytest.mark.parametrize("is_read", [False, True])
def test_closing_the_connection_ends_no_read_early_in_silence(servers, log_table, is_read):
    """Rows that were not read any more are an error, not an end; after all rows, it is an end."""
    made, scanner = scanner_of(servers, log_table, batches=True)
    reader = scanner.to_arrow_batch_reader()
    left = log_table.to_arrow().num_rows if is_read else 0
    while left > 0:
        left -= reader.read_next_batch().num_rows
    made.close().result(60)
    if is_read:
        assert reader.read_all().num_rows == 0
    else:
        with pytest.raises(fluss.FlussError, match="the connection is closed"):
            reader.read_all()


def test_a_scanner_of_a_closed_connection_says_so(servers, log_table):
    """It does not look like one that has nothing to read, or is subscribed to nothing."""
    made, scanner = scanner_of(servers, log_table, batches=False)
    made.close().result(60)
    calls = [lambda: scanner.poll(10).count(), lambda: next(scanner)]
    calls += [lambda: scanner.commit("reader").result(60)]
    for call in calls:
        with pytest.raises(fluss.FlussError, match="the connection is closed"):
            call()
