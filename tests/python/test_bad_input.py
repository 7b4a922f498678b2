# SPDX-License-Identifier: Apache-2.0
"""Every method of the package with every wrong kind of argument.

Goal: a mistake in a program is answered by an exception of the natural class that names the
argument, never by a crash, a hang, or an error from inside. Method: the public surface is listed at
run time; each parameter of each method is given each value below, the others what they need. A
value may be right by chance, so a call may also succeed."""

import inspect
import os

import fluss
import pyarrow as pa
import pytest

S_MAX = 20
HUGE = 10**5000  # Python refuses to write it out


class Odd:
    """An object of no use."""

    def __repr__(self):
        return "Odd()"


class Raises:
    """An object whose every use fails."""

    def __len__(self):
        raise ZeroDivisionError("len")

    def __iter__(self):
        raise ZeroDivisionError("iter")

    def __index__(self):
        raise ZeroDivisionError("index")


WRONG = [
    *[None, True, 5, -1, -7, 2**31, 2**63, 2**70, -(2**70), HUGE, 1.5, float("nan"), float("inf")],
    *["", "x", "\0", "\ud800", "x" * 70_000, b"", b"x", bytearray(b"x"), memoryview(b"x")],
    *[
        [],
        [None],
        ["x"],
        [[]],
        [5],
        [2**70],
        (),
        (1,),
        ("a", "b"),
        {},
        {"x": 1},
        {1: 2},
        {"x": None},
    ],
    *[{("a", "b"): 1}, {(1, 2, 3): 1}, {None: None}, set(), {1}, range(3), iter(()), Odd(), Odd],
    *[
        lambda: None,
        int,
        pa.schema([]),
        pa.table({"x": [1]}),
        pa.array([1]),
        Ellipsis,
    ],
    *[
        fluss.TablePath("a", "b"),
        fluss.TableBucket(1, 0),
        fluss.OffsetSpec.latest(),
        fluss.col("x"),
    ],
]
# Every day each parameter gets some of them; with $FLUSS_TEST_FULL all.
STEP = 1 if os.environ.get("FLUSS_TEST_FULL") else 5
ALLOWED = (TypeError, ValueError, OverflowError, KeyError, fluss.FlussError)
# Methods whose arguments may be anything, or which end what the others need.
ANYTHING = {"cancel", "add_done_callback", "remove_done_callback", "with_traceback", "add_note"}
LEFT_OUT = {"close", "release_kv_snapshot_lease", "rebalance", "cancel_rebalance"}


@pytest.fixture(scope="module")
def world(servers):
    """One object of each class, with tables that are there."""
    connection = fluss.FlussConnection.create(
        bootstrap_servers=servers, request_timeout_ms=5000, writer_partition_wait_timeout_ms=500
    ).result(S_MAX)
    admin = connection.get_admin()
    admin.create_database("bad_input", ignore_if_exists=True).result(S_MAX)
    tables = {}
    for name, keys in (("log", None), ("keyed", ["a", "b"])):
        schema = fluss.Schema.from_text("a INT NOT NULL, b STRING NOT NULL, c DOUBLE", keys)
        options = {"bucket_keys": ["a"]} if keys else {}
        descriptor = fluss.TableDescriptor(schema, bucket_count=1, **options)
        path = fluss.TablePath("bad_input", name)
        admin.create_table(path, descriptor, True).result(S_MAX)
        tables[name] = connection.get_table(path).result(S_MAX)
    yield objects_of(connection, admin, tables)
    admin.drop_database("bad_input", True, True).result(S_MAX)
    connection.close().result(S_MAX)


def objects_of(connection, admin, tables):
    log, keyed = tables["log"], tables["keyed"]
    with log.new_append().create_writer() as writer:
        handle = writer.append((1, "x", None))
    records = log.new_scan().create_log_scanner().result(S_MAX)
    records.subscribe_all()
    batches = log.new_scan().create_record_batch_log_scanner().result(S_MAX)
    batches.subscribe_all()
    bucket = fluss.TableBucket(log.get_table_info().table_id, 0)
    found = [
        *[connection, admin, log, keyed, log.new_scan(), keyed.new_scan(), records, batches],
        *[log.new_scan().limit(3).create_bucket_batch_scanner(bucket), records.poll(5000)],
        *[batches.poll_record_batch(5000)[0], log.new_append(), log.new_append().create_writer()],
        *[keyed.new_upsert(), keyed.new_upsert().create_writer(), keyed.new_lookup()],
        *[keyed.new_lookup().create_lookuper(), keyed.new_lookup().lookup_by(["a"])],
        *[keyed.new_lookup().lookup_by(["a"]).create_lookuper(), handle, fluss.col("a")],
        *[fluss.col("a") == 1, log.get_table_info(), log.get_table_path(), bucket, fluss.Config()],
        *[log.get_table_info().get_schema(), fluss.OffsetSpec.latest(), fluss.LakeSnapshot(1)],
        *[fluss.DatabaseDescriptor("x"), admin.get_database_info("bad_input").result(S_MAX)],
        *[admin.get_server_nodes().result(S_MAX)[0], fluss.ChangeType.Insert],
    ]
    seen = {}
    for one in found:
        name = type(one).__name__
        count = sum(type(other).__name__ == name for other in seen.values())
        seen[f"{name}{count or ''}"] = one
    return seen


def good_values(world):
    """What a parameter of that name wants."""
    log = world["FlussTable"]
    bucket = fluss.TableBucket(log.get_table_info().table_id, 0)
    return {
        "table_path": log.get_table_path(),
        "database_name": "bad_input",
        "table_name": "log",
        "table_descriptor": fluss.TableDescriptor(log.get_table_info().get_schema()),
        "partition_spec": {"a": "1"},
        "partition_name": "p",
        "bucket_ids": [0],
        "offset_spec": fluss.OffsetSpec.latest(),
        "bucket": bucket,
        "bucket_id": 0,
        "partition_id": 0,
        "start_offset": 0,
        "offset": 0,
        "bucket_offsets": {0: 0},
        "partition_bucket_offsets": {(0, 0): 0},
        "timeout_ms": 1,
        "timeout": 1,
        "indices": [0],
        "names": ["a"],
        "columns": ["a", "b"],
        "column_indices": [0, 1],
        "column_names": ["a"],
        "fixed_schema": True,
        "n": 1,
        "predicate": fluss.col("a") == 1,
        "other": fluss.col("a") == 1,
        "row": (1, "x", None),
        "pk": (1, "x"),
        "pks": [(1, "x")],
        "prefix": (1,),
        "suffix": "x",
        "infix": "x",
        "value": 1,
        "values": [1],
        "changes": {},
        "config": None,
        "schema": pa.schema([("a", pa.int32())]),
        "text": "a INT",
        "name": "a",
        "table_id": 1,
        "snapshot_id": 1,
        "ts": 1,
        "message": "x",
        "lease_id": "x",
        "snapshots": {},
        "duration_ms": 1,
        "producer_id": "x",
        "offsets": {bucket: 1},
        "acls": [],
        "filters": [],
        "server_ids": [0],
        "tag": 0,
        "goals": [0],
        "table": pa.table({"a": pa.array([1], pa.int32()), "b": ["x"], "c": [1.0]}),
        "batch": pa.record_batch({"a": pa.array([1], pa.int32()), "b": ["x"], "c": [1.0]}),
        "df": pa.table({"a": [1], "b": ["x"], "c": [1.0]}).to_pandas(),
    }


def public_methods(one):
    for name in dir(type(one)):
        static = inspect.getattr_static(type(one), name)
        is_method = callable(getattr(type(one), name)) and not isinstance(static, type)
        is_method = is_method and not hasattr(int, name)  # of the enumeration's base
        if not name.startswith("_") and is_method and name not in ANYTHING | LEFT_OUT:
            yield name


def parameters_of(call):
    try:
        found = inspect.signature(call).parameters.values()
    except ValueError:  # of the standard library, such as those of int
        return []
    return [p for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]


def settle(result):
    """Use what a call has given, so that errors come out."""
    if isinstance(result, fluss.FlussFuture) or type(result).__name__.startswith("Deferred"):
        fluss.FlussFuture.result(result, S_MAX)
    elif inspect.isawaitable(result) and hasattr(result, "wait"):
        result.wait().result(S_MAX)
    elif isinstance(result, fluss.ScanRecords):
        result.result(S_MAX)


def call_wrongly(call, parameter, value, good):
    """What is wrong with the answer; None when it is as it should be."""
    arguments = {
        p.name: good[p.name]
        for p in parameters_of(call)
        if p.default is p.empty and p.name != parameter.name and p.name in good
    }
    try:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            result = call(value)
        else:
            result = call(**arguments, **{parameter.name: value})
        settle(result)
    except ALLOWED as error:
        is_its_own = parameter.name == "progress" and callable(value)  # an error of the callable
        if type(error) is TypeError and parameter.name not in str(error) and not is_its_own:
            return f"TypeError does not name {parameter.name}: {error}"
        is_python_s_own = "int_max_str_digits" in str(error)
        return None if str(error).strip() and not is_python_s_own else f"{error!r} says nothing"
    except BaseException as error:  # noqa: B036 - that is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def short(value):
    return "HUGE" if value is HUGE else f"{value!r:.40}"


def run_all(where, call, good):
    """Complaints, one of a kind and parameter."""
    complaints = {}
    for i, parameter in enumerate(parameters_of(call)):
        for value in WRONG[(i + len(where)) % STEP :: STEP]:
            is_long = type(value) is int and 10_000 < value < 2**63
            if parameter.name == "timeout_ms" and is_long:
                continue  # right: a long wait
            complaint = call_wrongly(call, parameter, value, good)
            if complaint is not None:
                kind = (parameter.name, complaint.split()[0])
                given = f"{parameter.name}={type(value).__name__} {short(value)}"
                complaints.setdefault(kind, f"{where}({given}): {complaint:.200}")
    return list(complaints.values())


def test_every_method_with_every_wrong_kind_of_argument(world):
    good, complaints, count = good_values(world), [], 0
    for label, one in world.items():
        for name in public_methods(one):
            count += 1
            wanted = good
            if name.startswith("drop_"):  # what the others need stays
                absent = fluss.TablePath("absent", "absent")
                wanted = {**good, "table_path": absent, "database_name": "absent"}
            if name == "alter_table":
                wanted = {**good, "changes": []}
            if name == "with_partition":
                wanted = {**good, "bucket": 0}
            complaints += run_all(f"{label}.{name}", getattr(one, name), wanted)
    assert count > 200
    assert not complaints, f"{len(complaints)} complaints\n" + "\n".join(complaints)


CONSTRUCTORS = [
    *[fluss.TablePath, fluss.TableBucket, fluss.TableBucket.with_partition, fluss.Schema],
    *[fluss.Schema.from_text, fluss.TableDescriptor, fluss.DatabaseDescriptor, fluss.LakeSnapshot],
    *[fluss.Config, fluss.ColumnRef, fluss.col, fluss.OffsetSpec.timestamp, fluss.Server],
    *[fluss.FlussConnection.create],
]


@pytest.mark.parametrize("call", CONSTRUCTORS, ids=lambda call: call.__qualname__)
def test_every_constructor_with_every_wrong_kind_of_argument(world, call):
    good = dict(good_values(world), config=fluss.Config({"connect-timeout": "200"}))
    if call in (fluss.TableBucket, fluss.TableBucket.with_partition):
        good["bucket"] = 0
    if call is fluss.TableDescriptor:
        good["schema"] = fluss.Schema(good["schema"])
    if call is fluss.Server:  # a start costs time: what is wrong must be seen before it
        return check_server_arguments()
    complaints = run_all(call.__qualname__, call, good)
    assert not complaints, "\n".join(complaints)


def check_server_arguments():
    for arguments in ({"listen": 5}, {"settings": 5}, {"settings": {5: 5}}, {"data_dir": 5}):
        with pytest.raises(TypeError, match=next(iter(arguments))):
            fluss.Server(**arguments)
    for listen in ("", "nowhere", "127.0.0.1:99999"):
        with pytest.raises(fluss.FlussError):
            fluss.Server(listen=listen)


PROPERTIES = [
    name for name in dir(fluss.Config) if isinstance(getattr(fluss.Config, name), property)
]


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_setting_with_every_wrong_kind_of_value(name):
    complaints = []
    for value in WRONG:
        config = fluss.Config()
        before = getattr(config, name)
        try:
            setattr(config, name, value)
        except ALLOWED as error:
            if getattr(config, name) != before:
                complaints.append(f"{short(value)} was refused and is there")
            if not str(error).strip() or "int_max_str_digits" in str(error):
                complaints.append(f"{short(value)}: {error!r} says nothing")
        except BaseException as error:  # noqa: B036
            complaints.append(f"{short(value)}: {error!r}")
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("name", ["append", "upsert", "delete"])
def test_row_whose_use_fails_gives_its_own_error(world, name):
    writer = world["AppendWriter" if name == "append" else "UpsertWriter"]
    for row in ((Raises(), "x", None), {"a": Raises(), "b": "x"}):
        with pytest.raises((ZeroDivisionError, fluss.FlussError)):
            getattr(writer, name)(row)


# --- texts that the C library, the protocol or the system would cut ---

NUL = "a\0b"
COLUMNS = pa.schema([("x", pa.int32()), ("y", pa.string())])
# What is done with a NUL in it, by the argument that the error names.
CUT = [
    ("a name in schema", lambda a: fluss.Schema(pa.schema([(NUL, pa.int32())]))),
    ("a name in schema", lambda a: fluss.Schema(pa.schema([("r", pa.struct([(NUL, pa.int8())]))]))),
    ("comment of column 'x'", lambda a: fluss.Schema(pa.schema([commented(NUL)]))),
    ("primary_keys element", lambda a: fluss.Schema(COLUMNS, primary_keys=[NUL])),
    ("auto_increment_column", lambda a: fluss.Schema(COLUMNS, ["x"], NUL)),
    ("text", lambda a: fluss.Schema.from_text("x INT COMMENT 'a\0b'")),
    ("comment", lambda a: describe(comment=NUL)),
    ("partition_keys element", lambda a: describe(partition_keys=[NUL])),
    ("bucket_keys element", lambda a: describe(bucket_keys=[NUL])),
    ("properties key", lambda a: describe(properties={NUL: "1"})),
    ("properties['k']", lambda a: describe(properties={"k": NUL})),
    ("custom_properties key", lambda a: describe(custom_properties={NUL: "1"})),
    ("custom_properties['k']", lambda a: describe(custom_properties={"k": NUL})),
    ("database_name", lambda a: fluss.TablePath(NUL, "t")),
    ("table_name", lambda a: fluss.TablePath("fluss", NUL)),
    ("comment", lambda a: fluss.DatabaseDescriptor(NUL)),
    ("custom_properties['k']", lambda a: fluss.DatabaseDescriptor(None, {"k": NUL})),
    ("database_name", lambda a: a.create_database(NUL)),
    ("database_name", lambda a: a.database_exists(NUL)),
    ("partition_spec value", lambda a: a.create_partition(PATH, {"y": NUL})),
    ("partition_spec key", lambda a: a.drop_partition(PATH, {NUL: "v"})),
    ("partition_name", lambda a: a.list_partition_offsets(PATH, NUL, [0], EARLIEST)),
    ("changes element['value']", lambda a: a.alter_table(PATH, [change(value=NUL)])),
    ("changes element['type']", lambda a: a.alter_table(PATH, [change(type="INT\0")])),
    ("acls element['principal']", lambda a: a.create_acls([{"principal": NUL}])),
    ("filter element['host']", lambda a: a.list_acls({"host": NUL})),
    ("changes key", lambda a: a.alter_cluster_configs({NUL: "1"})),
    ("changes['k']", lambda a: a.alter_database("fluss", {"k": NUL})),
    ("producer_id", lambda a: a.get_producer_offsets(NUL)),
    ("name", lambda a: fluss.col(NUL)),
    ("'bootstrap.servers'", lambda a: fluss.Config({"bootstrap.servers": "127.0.0.1:1\0x"})),
    ("'security.sasl.password'", lambda a: fluss.Config({"security.sasl.password": NUL})),
    ("listen", lambda a: fluss.Server(listen="127.0.0.1:0\0x")),
    ("data_dir", lambda a: fluss.Server("/tmp\0x")),
    ("settings key", lambda a: fluss.Server(settings={"log.flush\0": "os"})),
    ("settings['log.flush']", lambda a: fluss.Server(settings={"log.flush": "os\0x"})),
]
PATH = fluss.TablePath("fluss", "absent")
EARLIEST = fluss.OffsetSpec.earliest()


def commented(comment):
    return pa.field("x", pa.int32(), metadata={"comment": comment})


def describe(**more):
    return fluss.TableDescriptor(fluss.Schema(COLUMNS), **more)


def change(**more):
    return {"change": "add_column", "name": "z", **more}


@pytest.mark.parametrize("case", range(len(CUT)))
def test_text_with_a_nul_is_refused_by_its_name(case, connection):
    argument, call = CUT[case]
    with pytest.raises(fluss.FlussError) as error:
        call(connection.get_admin())
    assert f"{argument} holds a NUL character" in error.value.message
    assert NUL not in error.value.message


def test_an_empty_path_is_no_temporary_directory():
    """A variable that is not set must not cost the data."""
    with pytest.raises(ValueError, match="data_dir is empty"):
        fluss.Server("")


def test_text_of_a_row_may_have_a_nul(connection):
    admin, path = connection.get_admin(), fluss.TablePath("fluss", "nul_in_rows")
    admin.create_table(path, describe(), ignore_if_exists=True).result(S_MAX)
    table = connection.get_table(path).result(S_MAX)
    writer = table.new_append().create_writer()
    writer.append({"x": 1, "y": NUL})
    writer.flush().result(S_MAX)
    assert NUL in table.to_arrow().result(S_MAX)["y"].to_pylist()
    fluss.col("y").starts_with(NUL)


def test_partition_value_with_a_nul_is_refused(connection):
    admin, path = connection.get_admin(), fluss.TablePath("fluss", "nul_in_partitions")
    admin.create_table(path, describe(partition_keys=["y"]), ignore_if_exists=True).result(S_MAX)
    writer = connection.get_table(path).result(S_MAX).new_append().create_writer()
    with pytest.raises(fluss.FlussError):
        writer.append({"x": 1, "y": NUL})
        writer.flush().result(S_MAX)
    assert admin.list_partition_infos(path).result(S_MAX) == []
