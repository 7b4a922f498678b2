# SPDX-License-Identifier: Apache-2.0
"""Tables of many columns: made, written, projected by name, read.

Goal: what a column costs does not depend on how many others there are, so a table of 10,000 costs
about ten times what one of 1,000 does. Method: the processor time of this process, in which the
server runs too, for each of the steps; the best of a few rounds, since other programs disturb it.
A step that compares each column with each other takes a hundred times as long.
"""

import time

import fluss
import pyarrow as pa
import pytest

CALL_S_MAX = 60
NARROW, WIDE = 1000, 10_000
RATIO_MAX = 25
FLOOR_S = 0.002  # below it is the cost of a call as such
ROUNDS_MAX = 3


def names_of(count):
    return [f"column_{i:05d}" for i in range(count)]


def make(admin, path, count, keys=None):
    schema = pa.schema([(name, pa.int32()) for name in names_of(count)])
    descriptor = fluss.TableDescriptor(fluss.Schema(schema, primary_keys=keys), bucket_count=1)
    admin.create_table(path, descriptor).result(CALL_S_MAX)


def write_rows(table, count):
    writer = table.new_append().create_writer()
    writer.append(dict(zip(names_of(count), range(count))))
    writer.append(list(range(count)))
    writer.flush().result(CALL_S_MAX)
    with pytest.raises(fluss.FlussError, match="unknown field 'no_column'"):
        writer.append(dict.fromkeys([*names_of(count)[1:], "no_column"], 1))


def write_arrow(table, count):
    """In the order of the table, and in the opposite one."""
    writer = table.new_append().create_writer()
    for order in (range(count), range(count - 1, -1, -1)):
        arrays = [pa.array([i], pa.int32()) for i in order]
        names = [f"column_{i:05d}" for i in order]
        writer.write_arrow_batch(pa.record_batch(arrays, names=names))
    writer.flush().result(CALL_S_MAX)


def scan(table, count):
    every = pa.schema([(name, pa.int32()) for name in names_of(count)])
    found = table.new_scan().to_arrow().result(CALL_S_MAX)
    assert found.schema == every
    assert found.to_pylist() == [dict(zip(every.names, range(count)))] * 4


def project(table, count):
    names = names_of(count)[::-2]
    found = table.new_scan().project_by_name(names).to_arrow().result(CALL_S_MAX)
    assert found.to_pylist() == [dict(zip(names, range(count - 1, -1, -2)))] * 4


def poll(table, count):
    scanner = table.new_scan().create_log_scanner().result(CALL_S_MAX)
    scanner.subscribe(0, 0)
    found = 0
    while found < 4:
        for record in scanner.poll(CALL_S_MAX * 1000):
            assert record.row == dict(zip(names_of(count), range(count)))
            found += 1


def update_some(table, count):
    names = names_of(count)
    given = [names[0], *names[1::2]]
    writer = table.new_upsert().partial_update_by_name(given).create_writer()
    writer.upsert(dict.fromkeys(given, 7))
    writer.write_arrow_batch(pa.record_batch([pa.array([8], pa.int32())] * len(given), given))
    writer.flush().result(CALL_S_MAX)
    lookuper = table.new_lookup().create_lookuper()
    found = lookuper.lookup({names[0]: 8}).result(CALL_S_MAX)
    assert found == {
        name: 8 if name in {names[0]} or i % 2 else None for i, name in enumerate(names)
    }


def costs(connection, database, count, round_number):
    """Seconds of processor time by step."""
    admin = connection.get_admin()
    log, pk = (
        fluss.TablePath(database, f"{kind}_{count}_{round_number}") for kind in ("log", "pk")
    )
    found = {}

    def step(name, work, *args):
        started = time.process_time()
        result = work(*args)
        found[name] = time.process_time() - started
        return result

    def opened(path):
        return connection.get_table(path).result(CALL_S_MAX)

    step("create", make, admin, log, count)
    table = step("open", opened, log)
    for work in (write_rows, write_arrow, scan, project, poll):
        step(work.__name__, work, table, count)
    step("create with key", make, admin, pk, count, names_of(1))
    step("update_some", update_some, opened(pk), count)
    return found


def test_cost_of_a_column_is_the_same_in_wide_tables(connection, database):
    narrow, wide, slow = {}, {}, {}
    for round_number in range(ROUNDS_MAX):
        for count, best in ((NARROW, narrow), (WIDE, wide)):
            for step, cost in costs(connection, database, count, round_number).items():
                best[step] = min(cost, best.get(step, cost))
        slow = {
            step: f"{wide[step]:.3f} s against {narrow[step]:.3f} s"
            for step in wide
            if wide[step] > RATIO_MAX * max(narrow[step], FLOOR_S)
        }
        if not slow:
            break
    assert not slow
    for step in wide:
        print(f"{step}: {narrow[step] * 1e3:.1f} ms, {wide[step] * 1e3:.1f} ms")
