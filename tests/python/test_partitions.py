# SPDX-License-Identifier: Apache-2.0
"""Partitions as they come and go: names of every type, writers and scanners that run meanwhile,
Arrow batches that span them.

Method: tables of the test's own on the session's server; with FLUSS_BOOTSTRAP_SERVERS on an
official one.
"""

import datetime
import decimal
import threading
import time

import fluss
import pyarrow as pa
import pytest

S_MAX = 60
UTC = datetime.UTC
SCHEMA = pa.schema([("id", pa.int32()), ("region", pa.string()), ("value", pa.int64())])


@pytest.fixture
def admin(connection):
    return connection.get_admin()


def configured(servers, **settings):
    settings = {key.replace("__", ".").replace("_", "-"): v for key, v in settings.items()}
    config = fluss.Config({"bootstrap.servers": servers, **settings})
    return fluss.FlussConnection.create(config).result(S_MAX)


def make(connection, database, name="t", schema=SCHEMA, keys=("region",), **more):
    path = fluss.TablePath(database, name)
    primary = more.pop("primary_keys", None)
    description = fluss.TableDescriptor(
        fluss.Schema(schema, primary_keys=primary), partition_keys=list(keys), **more
    )
    connection.get_admin().create_table(path, description).result(S_MAX)
    return connection.get_table(path).result(S_MAX)


def add(table, admin, *regions):
    """Make partitions; their ids."""
    path = table.get_table_path()
    for region in regions:
        admin.create_partition(path, {"region": region}).result(S_MAX)
    return [ids(table, admin)[region] for region in regions]


def drop(table, admin, region):
    admin.drop_partition(table.get_table_path(), {"region": region}).result(S_MAX)


def ids(table, admin):
    """{partition name: id}."""
    infos = admin.list_partition_infos(table.get_table_path()).result(S_MAX)
    return {info.partition_name: info.partition_id for info in infos}


def append(table, *rows):
    writer = table.new_append().create_writer()
    for row in rows:
        writer.append(row)
    writer.flush().result(S_MAX)


def row(i, region):
    return {"id": i, "region": region, "value": i * 10}


def read(scanner, count, key="id"):
    """The next `count` values of a column, in any order of buckets."""
    found, deadline = [], time.monotonic() + S_MAX
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {found}"
        found += [record.row[key] for record in scanner.poll(200).result(S_MAX)]
    return sorted(found)


def record_scanner(table):
    return table.new_scan().create_log_scanner().result(S_MAX)


# ---- names ----

#: (type, value, name, another value, its name)
TYPES = [
    (pa.string(), "eu-1", "eu-1", "A_b", "A_b"),
    (pa.bool_(), True, "true", False, "false"),
    (pa.int8(), -128, "-128", 7, "7"),
    (pa.int16(), -32768, "-32768", 0, "0"),
    (pa.int32(), -(2**31), "-2147483648", 5, "5"),
    (pa.int64(), 2**63 - 1, "9223372036854775807", -1, "-1"),
    (pa.binary(), b"\x00\xff", "00ff", b"Fluss", "466c757373"),
    (pa.binary(3), b"\x01\x02\xab", "0102ab", b"abc", "616263"),
    (
        pa.date32(),
        datetime.date(2031, 1, 5),
        "2031-01-05",
        datetime.date(999, 12, 31),
        "0999-12-31",
    ),
    (
        pa.time32("ms"),
        datetime.time(1, 2, 3, 4000),
        "01-02-03_004",
        datetime.time(0),
        "00-00-00_000",
    ),
    (
        pa.timestamp("us"),
        datetime.datetime(2031, 1, 5, 1, 2, 3, 450000),
        "2031-01-05-01-02-03_45",
        datetime.datetime(1969, 12, 31, 23, 59, 59),
        "1969-12-31-23-59-59_",
    ),
    (
        pa.timestamp("us", "UTC"),
        datetime.datetime(2031, 1, 5, 1, 2, 3, 7, UTC),
        "2031-01-05-01-02-03_000007",
        datetime.datetime(1970, 1, 1, tzinfo=UTC),
        "1970-01-01-00-00-00_",
    ),
    (pa.float32(), 1.5, "1_5", -0.0, "-0_0"),
    (pa.float64(), 1e300, "1_0E300", float("nan"), "NaN"),
]


@pytest.mark.parametrize("case", TYPES, ids=[str(case[0]).replace(" ", "") for case in TYPES])
@pytest.mark.parametrize("kind", ["log", "pk"])
def test_a_value_of_every_type_names_its_partition(servers, database, case, kind):
    data_type, *pairs = case
    cases = {pairs[1]: pairs[0], pairs[3]: pairs[2]}  # name: value
    connection = configured(servers, writer__dynamic_create_partition__enabled="true")
    schema = pa.schema([("id", pa.int32()), ("part", data_type)])
    keys = {"primary_keys": ["id", "part"]} if kind == "pk" else {}
    table = make(connection, database, schema=schema, keys=["part"], **keys)
    writer = (table.new_upsert() if keys else table.new_append()).create_writer()
    for i, value in enumerate(cases.values()):
        (writer.upsert if keys else writer.append)({"id": i, "part": value})
    writer.flush().result(S_MAX)
    assert set(ids(table, connection.get_admin())) == set(cases)
    found = table.new_scan().to_arrow().sort_by("id").column("part").to_pylist()
    assert repr(found) == repr(pa.array(cases.values(), data_type).to_pylist())
    if keys:
        lookuper = table.new_lookup().create_lookuper()
        for i, value in enumerate(cases.values()):
            assert lookuper.lookup({"id": i, "part": value}).result(S_MAX)["id"] == i
    connection.close().result(S_MAX)


def test_several_partition_columns_stand_in_their_order(connection, database, admin):
    schema = pa.schema([("region", pa.string()), ("id", pa.int32()), ("shift", pa.int32())])
    table = make(connection, database, schema=schema, keys=["region", "shift"])
    path = table.get_table_path()
    for region, shift in (("east", 1), ("east", 10), ("west", 1)):
        spec = {"shift": str(shift), "region": region}
        admin.create_partition(path, spec).result(S_MAX)
    append(
        table,
        {"region": "east", "id": 1, "shift": 1},
        {"region": "east", "id": 2, "shift": 10},
        {"region": "west", "id": 3, "shift": 1},
    )
    assert sorted(ids(table, admin)) == ["east$1", "east$10", "west$1"]
    narrowed = admin.list_partition_infos(path, {"region": "east"}).result(S_MAX)
    assert sorted(info.partition_name for info in narrowed) == ["east$1", "east$10"]
    narrowed = admin.list_partition_infos(path, {"shift": "1"}).result(S_MAX)
    assert sorted(info.partition_name for info in narrowed) == ["east$1", "west$1"]
    scanner = record_scanner(table)
    scanner.subscribe_partition(ids(table, admin)["east$1"], 0, fluss.EARLIEST_OFFSET)
    assert read(scanner, 1) == [1]
    assert list(scanner.poll(300).result(S_MAX)) == []


@pytest.mark.parametrize("value", ["a$b", "a/b", "", "ü", "n" * 201, ".."])
def test_a_value_that_can_name_no_partition_is_refused(connection, database, value):
    table = make(connection, database)
    writer = table.new_append().create_writer()
    with pytest.raises(fluss.FlussError) as caught:
        writer.append(row(1, value))
    assert caught.value.error_code == fluss.ErrorCode.PARTITION_SPEC_INVALID_EXCEPTION
    writer.flush().result(S_MAX)


def test_a_decimal_names_no_partition(connection, database):
    schema = pa.schema([("id", pa.int32()), ("amount", pa.decimal128(10, 2))])
    with pytest.raises(fluss.FlussError, match="amount"):
        make(connection, database, schema=schema, keys=["amount"])
    assert decimal.Decimal("1.50") is not None


# ---- writers ----


def test_a_running_writer_sees_new_partitions(connection, database, admin):
    table = make(connection, database)
    add(table, admin, "first")
    writer = table.new_append().create_writer()
    writer.append(row(1, "first"))
    writer.flush().result(S_MAX)
    waiting = writer.append(row(2, "second"))
    add(table, admin, "second")
    waiting.wait().result(S_MAX)
    assert sorted(table.new_scan().to_arrow().column("id").to_pylist()) == [1, 2]


def test_a_writer_goes_on_in_a_partition_that_was_made_anew(connection, database, admin):
    table = make(connection, database)
    (old,) = add(table, admin, "a")
    writer = table.new_append().create_writer()
    writer.append(row(1, "a"))
    writer.flush().result(S_MAX)
    drop(table, admin, "a")
    (new,) = add(table, admin, "a")
    assert new != old
    for i in range(2, 12):
        writer.append(row(i, "a"))
    writer.flush().result(S_MAX)
    assert sorted(table.new_scan().to_arrow().column("id").to_pylist()) == list(range(2, 12))


def test_a_dropped_partition_fails_its_own_rows_only(servers, database, admin):
    connection = configured(servers, writer__partition_wait_timeout_ms="200")
    table = make(connection, database)
    add(table, admin, "gone", "stays")
    writer = table.new_append().create_writer()
    writer.append(row(1, "gone"))
    writer.append(row(2, "stays"))
    writer.flush().result(S_MAX)
    drop(table, admin, "gone")
    kept = writer.append(row(4, "stays"))
    with pytest.raises(fluss.FlussError) as caught:
        for _ in range(1000):  # an official server takes a moment to drop it
            writer.append(row(3, "gone")).wait().result(S_MAX)
    kept.wait().result(S_MAX)
    assert caught.value.error_code == fluss.ErrorCode.PARTITION_NOT_EXISTS
    assert "gone" in str(caught.value)
    add(table, admin, "gone")
    writer.append(row(5, "gone"))
    writer.flush().result(S_MAX)
    assert sorted(table.new_scan().to_arrow().column("id").to_pylist()) == [2, 4, 5]
    connection.close().result(S_MAX)


def test_a_partition_of_many_columns_is_made_on_demand(servers, database):
    connection = configured(servers, writer__dynamic_create_partition__enabled="true")
    keys = [f"k{i}" for i in range(40)]
    schema = pa.schema([("id", pa.int32()), *((key, pa.string()) for key in keys)])
    table = make(connection, database, schema=schema, keys=keys)
    written = {"id": 1, **{key: str(i) for i, key in enumerate(keys)}}
    table.new_append().create_writer().append(written).wait().result(S_MAX)
    assert table.new_scan().to_arrow().to_pylist() == [written]
    connection.close().result(S_MAX)


def test_many_writers_make_partitions_on_demand(servers, database, admin):
    connection = configured(servers, writer__dynamic_create_partition__enabled="true")
    table = make(connection, database, bucket_count=2)
    count, parts, failures = 2000, 12, []

    def write(number):
        try:
            writer = table.new_append().create_writer()
            for i in range(count):
                writer.append(row(number * count + i, f"p{i * parts // count}"))
            writer.flush().result(S_MAX)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    assert len(ids(table, admin)) == parts
    found = table.new_scan().to_arrow().column("id").to_pylist()
    assert sorted(found) == list(range(4 * count))
    connection.close().result(S_MAX)


def test_arrow_batches_span_partitions_and_buckets(connection, database, admin):
    table = make(connection, database, bucket_keys=["id"], bucket_count=3)
    regions = ["r0", "r1", "r2"]
    add(table, admin, *regions)
    count = 300
    batch = pa.record_batch(
        [
            pa.array(range(count), pa.int32()),
            pa.array([regions[i * i % 3] for i in range(count)]),
            pa.array([None if i % 5 == 0 else i for i in range(count)], pa.int64()),
        ],
        schema=SCHEMA,
    )
    writer = table.new_append().create_writer()
    writer.write_arrow_batch(batch.slice(7, 100))
    writer.write_arrow_batch(batch.slice(250, 1))
    writer.write_arrow_batch(batch.slice(299, 0))
    writer.flush().result(S_MAX)
    wanted = batch.slice(7, 100).to_pylist() + batch.slice(250, 1).to_pylist()
    found = table.new_scan().to_arrow().sort_by("id").to_pylist()
    assert found == sorted(wanted, key=lambda each: each["id"])
    by_id = {number: name for name, number in ids(table, admin).items()}
    scanner = record_scanner(table)
    scanner.subscribe_all()
    seen, deadline = 0, time.monotonic() + S_MAX
    while seen < len(wanted):
        assert time.monotonic() < deadline
        records = scanner.poll(200).result(S_MAX)
        for bucket in records.buckets():
            for record in records.records(bucket):
                assert record.row["region"] == by_id[bucket.partition_id]
                seen += 1


def test_a_null_partition_value_is_refused(connection, database, admin):
    table = make(connection, database)
    add(table, admin, "a")
    writer = table.new_append().create_writer()
    with pytest.raises(fluss.FlussError, match="'region' must not be null"):
        writer.append({"id": 1, "region": None, "value": 1})
    batch = pa.record_batch(
        [pa.array([1, 2], pa.int32()), pa.array(["a", None]), pa.array([1, 2], pa.int64())],
        schema=SCHEMA,
    )
    with pytest.raises(fluss.FlussError, match="'region' must not be null"):
        writer.write_arrow_batch(batch)
    writer.flush().result(S_MAX)
    assert table.new_scan().to_arrow().num_rows == 0


# ---- readers ----


def test_a_running_scanner_takes_new_partitions(connection, database, admin):
    table = make(connection, database)
    (first,) = add(table, admin, "first")
    scanner = record_scanner(table)
    scanner.subscribe_partition(first, 0, fluss.EARLIEST_OFFSET)
    append(table, row(1, "first"))
    assert read(scanner, 1) == [1]
    (second,) = add(table, admin, "second")
    append(table, row(2, "second"))
    scanner.subscribe_partition(second, 0, fluss.EARLIEST_OFFSET)
    append(table, row(3, "first"))
    assert read(scanner, 2) == [2, 3]


def test_new_partitions_are_read_from_their_beginning(connection, database, admin):
    table = make(connection, database)
    (first,) = add(table, admin, "first")
    append(table, row(1, "first"))
    scanner = record_scanner(table)
    scanner.subscribe_all(fluss.LATEST_OFFSET)
    assert scanner.subscribe_new() == []
    new = add(table, admin, "second", "third")
    append(table, row(2, "second"), row(3, "third"), row(4, "first"))
    assert sorted(scanner.subscribe_new()) == sorted(new)
    assert read(scanner, 3) == [2, 3, 4]
    assert first not in scanner.subscribe_new()


def test_a_dropped_partition_ends_its_own_reads_once(connection, database, admin):
    table = make(connection, database)
    add(table, admin, "gone", "stays")
    scanner = record_scanner(table)
    scanner.subscribe_all()
    append(table, row(1, "gone"), row(2, "stays"))
    assert read(scanner, 2) == [1, 2]
    drop(table, admin, "gone")
    found, errors, deadline = [], [], time.monotonic() + S_MAX
    append(table, row(3, "stays"))
    while not errors or found != [3]:
        assert time.monotonic() < deadline, (found, errors)
        try:
            found += [record.row["id"] for record in scanner.poll(200).result(S_MAX)]
        except fluss.FlussError as error:
            errors.append(error)
    assert [error.error_code for error in errors] == [fluss.ErrorCode.PARTITION_NOT_EXISTS]
    for i in range(4, 12):  # for as long as a second error would take
        append(table, row(i, "stays"))
        assert read(scanner, 1) == [i]
        assert list(scanner.poll(300).result(S_MAX)) == []


def test_a_handle_from_before_reads_a_new_partition(connection, database, admin):
    table = make(connection, database)
    (new,) = add(table, admin, "new")
    append(table, *[row(i, "new") for i in range(8)])
    bucket = fluss.TableBucket.with_partition(table.get_table_info().table_id, new, 0)
    scanner = table.new_scan().limit(5).create_bucket_batch_scanner(bucket)
    assert scanner.to_arrow().num_rows == 5


def test_offsets_are_those_of_the_partition(connection, database, admin):
    table = make(connection, database)
    add(table, admin, "p1", "p2")
    append(table, *[row(i, "p1") for i in range(3)], *[row(i, "p2") for i in range(8)])
    path, latest = table.get_table_path(), fluss.OffsetSpec.latest()
    for name, count in (("p1", 3), ("p2", 8)):
        found = admin.list_partition_offsets(path, name, [0], latest).result(S_MAX)
        assert found == {0: count}
    with pytest.raises(fluss.FlussError):
        admin.list_offsets(path, [0], latest).result(S_MAX)
    with pytest.raises(fluss.FlussError):
        admin.list_partition_offsets(path, "nope", [0], latest).result(S_MAX)


def test_lookups_in_a_missing_partition_find_nothing_and_make_none(connection, database, admin):
    table = make(connection, database, primary_keys=["region", "id"])
    lookuper = table.new_lookup().create_lookuper()
    assert lookuper.lookup({"region": "none", "id": 1}).result(S_MAX) is None
    assert ids(table, admin) == {}


@pytest.mark.parametrize("assigner", ["sticky", "round_robin"])
def test_rows_without_a_bucket_key_use_every_bucket(servers, database, admin, assigner):
    settings = {"writer__bucket__no_key_assigner": assigner, "writer__batch_size": "2000"}
    settings["writer__dynamic_batch_size__enabled"] = "false"
    connection = configured(servers, **settings)
    table = make(connection, database, bucket_count=3)
    add(table, admin, "a", "b")
    append(table, *[row(i, "ab"[i % 2]) for i in range(3000)])
    for name in ("a", "b"):
        offsets = admin.list_partition_offsets(
            table.get_table_path(), name, [0, 1, 2], fluss.OffsetSpec.latest()
        ).result(S_MAX)
        assert sum(offsets.values()) == 1500
        assert all(count > 0 for count in offsets.values()), offsets
    connection.close().result(S_MAX)
