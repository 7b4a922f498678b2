# SPDX-License-Identifier: Apache-2.0
"""Filters against brute force: the server leaves out batches, never a row that matches.

Random batches of every type that has statistics, with nulls, NaN, -0.0 and infinities, and random
trees of conditions. Expected rows come from the plain evaluation below: unknown where a null takes
part, floats in the order of Java's Float.compare. `FLUSS_FILTER_ROUNDS` sets the number of trees,
`FLUSS_FILTER_SEED` the seed, which a failure prints.
"""

import datetime
import decimal
import math
import os
import random

import fluss
import pyarrow as pa
import pytest

CALL_S_MAX = 60
ROUNDS = int(os.environ.get("FLUSS_FILTER_ROUNDS", "60"))
SEED = int(os.environ.get("FLUSS_FILTER_SEED", "20261129"))
EPOCH = datetime.datetime(1970, 1, 1)
UTC = datetime.timezone.utc
BATCHES, ROWS_MAX = 40, 6


def at(milliseconds, microseconds=0):
    return EPOCH + datetime.timedelta(milliseconds=milliseconds, microseconds=microseconds)


FLOATS = [-math.inf, -2.5, -0.0, 0.0, 1.5, 3.25, math.inf, math.nan]
TEXTS = ["", "a", "ab", "abc", "ab\x7f", "abcdefgh", "abcdefghij", "b", "é", "\uffff", "😀"]
DECIMALS = [decimal.Decimal(i).scaleb(-2) for i in (-12345, -1, 0, 1, 999, 12345)]
WIDE = [decimal.Decimal(i).scaleb(-5) for i in (-(10**21), -(2**63) - 1, 0, 7, 2**64, 10**21)]
# Name, Arrow type, values in rising order.
COLUMNS = [
    ("flag", pa.bool_(), [False, True]),
    ("tiny", pa.int8(), [-128, -1, 0, 1, 127]),
    ("small", pa.int16(), [-32768, -1, 0, 300, 32767]),
    ("int", pa.int32(), [-(2**31), -5, 0, 5, 2**31 - 1]),
    ("big", pa.int64(), [-(2**63), -5, 0, 5, 2**40, 2**63 - 1]),
    ("float", pa.float32(), FLOATS),
    ("double", pa.float64(), FLOATS),
    ("text", pa.string(), TEXTS),
    ("price", pa.decimal128(10, 2), DECIMALS),
    ("wide", pa.decimal128(30, 5), WIDE),
    (
        "day",
        pa.date32(),
        [at(0).date() + datetime.timedelta(days=i) for i in (-40000, 0, 1, 30000)],
    ),
    ("time", pa.time32("ms"), [at(i).time() for i in (0, 1000, 1001, 86_399_999)]),
    ("ts3", pa.timestamp("ms"), [at(i) for i in (-(10**12), -1, 0, 1, 10**12)]),
    ("ts6", pa.timestamp("us"), [at(i, j) for i, j in ((-1, 1), (0, 0), (0, 1), (0, 2), (5, 0))]),
    ("ltz", pa.timestamp("us", "UTC"), [at(i, 1).replace(tzinfo=UTC) for i in (-5, 0, 7, 10**12)]),
]
VALUES = {name: values for name, _, values in COLUMNS}
SCHEMA = pa.schema([("id", pa.int32()), *((name, kind) for name, kind, _ in COLUMNS)])


def order(value):
    """A sort key with the order of the column's type."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1, value) > 0)
    return value.encode() if isinstance(value, str) else value


def holds(found, operator, literals):
    """True, False, or None for unknown."""
    if operator in ("is_null", "is_not_null"):
        return (found is None) == (operator == "is_null")
    if found is None:
        return None
    if operator in ("is_in", "not_in"):
        if any(x is not None and order(x) == order(found) for x in literals):
            return operator == "is_in"
        return None if None in literals else operator == "not_in"
    (literal,) = literals
    if operator == "starts_with":
        return found.startswith(literal)
    if operator == "ends_with":
        return found.endswith(literal)
    if operator == "contains":
        return literal in found
    a, b = order(found), order(literal)
    if isinstance(found, float) and math.isnan(found) and math.isnan(literal):
        a = b
    tests = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
    return tests[operator]


def random_condition(rng):
    name, _, values = rng.choice(COLUMNS)
    operators = ["==", "!=", "<", "<=", ">", ">=", "is_null", "is_not_null", "is_in", "not_in"]
    operators += ["starts_with", "ends_with", "contains"] * (name == "text")
    operator = rng.choice(operators)
    if operator in ("is_null", "is_not_null"):
        return name, operator, ()
    if operator in ("is_in", "not_in"):
        chosen = rng.sample(values, rng.randint(0, min(3, len(values))))
        return name, operator, tuple(chosen)
    return name, operator, (rng.choice(values),)


def random_tree(rng, depth):
    if depth == 0 or rng.random() < 0.4:
        return random_condition(rng)
    children = [random_tree(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    return rng.choice(["and", "or"]), children


def evaluate(tree, row):
    if tree[0] not in ("and", "or"):
        name, operator, literals = tree
        return holds(row[name], operator, literals)
    found = [evaluate(child, row) for child in tree[1]]
    decisive = tree[0] == "or"
    if decisive in found:
        return decisive
    return None if None in found else not decisive


def predicate(tree):
    if tree[0] in ("and", "or"):
        joined = predicate(tree[1][0])
        for child in tree[1][1:]:
            joined = joined & predicate(child) if tree[0] == "and" else joined | predicate(child)
        return joined
    name, operator, literals = tree
    column = fluss.col(name)
    if operator in ("is_in", "not_in"):
        return getattr(column, operator)(list(literals))
    method = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__"}
    return getattr(column, {**method, ">=": "__ge__"}.get(operator, operator))(*literals)


def random_batches(rng):
    """Batches whose values lie close together, so that some can be left out."""
    batches, next_id = [], 0
    for _ in range(BATCHES):
        rows = []
        for _ in range(rng.randint(1, ROWS_MAX)):
            rows.append({"id": next_id})
            next_id += 1
        for name, _, values in COLUMNS:
            first = rng.randrange(len(values))
            near = values[first : first + rng.randint(1, 3)]
            null_share = rng.choice([0, 0, 0.3, 1])
            for row in rows:
                row[name] = None if rng.random() < null_share else rng.choice(near)
        batches.append(rows)
    return batches


def scanned(table, tree, exact, columns=None):
    scan = table.new_scan().filter(predicate(tree), exact=exact)
    if columns:
        scan = scan.project_by_name(columns)
    return scan.to_arrow().result(CALL_S_MAX)


def make_table(connection, database, name, statistics="*", buckets=1):
    path = fluss.TablePath(database, name)
    properties = {"table.statistics.columns": statistics} if statistics else {}
    description = fluss.TableDescriptor(
        fluss.Schema(SCHEMA), bucket_count=buckets, properties=properties
    )
    connection.get_admin().create_table(path, description).result(CALL_S_MAX)
    return connection.get_table(path).result(CALL_S_MAX)


def write(table, batches):
    writer = table.new_append().create_writer()
    for rows in batches:
        writer.write_arrow_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
    writer.flush().result(CALL_S_MAX)


def metric(connection, name):
    return connection.metrics()[name]


@pytest.fixture(scope="module")
def batches():
    return random_batches(random.Random(SEED))


def check_rounds(table, batches, rounds):
    rng = random.Random(SEED + 1)
    pruned = 0
    for _ in range(rounds):
        tree = random_tree(rng, 2)
        matching = [[r["id"] for r in rows if evaluate(tree, r) is True] for rows in batches]
        expected = [i for ids in matching for i in ids]
        exact = scanned(table, tree, True, rng.choice([None, ["id"], ["text", "id"]]))
        assert exact.column("id").to_pylist() == expected, f"seed {SEED}: {tree}"
        rough = set(scanned(table, tree, False).column("id").to_pylist())
        assert rough >= set(expected), f"seed {SEED}: {tree} lost a row"
        for rows in batches:
            ids = {row["id"] for row in rows}
            assert ids <= rough or not ids & rough, f"seed {SEED}: {tree} split a batch"
            pruned += not ids & rough
    return pruned


def test_exact_filters_equal_brute_force_and_pruning_loses_no_row(connection, database, batches):
    table = make_table(connection, database, "pruned")
    write(table, batches)
    assert check_rounds(table, batches, ROUNDS) > ROUNDS  # batches were left out


def test_without_statistics_nothing_is_left_out(connection, database, batches):
    table = make_table(connection, database, "plain", statistics=None)
    write(table, batches)
    assert check_rounds(table, batches, ROUNDS // 4) == 0


def test_pruning_reads_fewer_bytes(connection, database):
    table = make_table(connection, database, "bytes")
    empty = {name: None for name in SCHEMA.names}
    rows = [
        [{**empty, "id": 100 * i + j, "big": i, "text": "x" * 500} for j in range(100)]
        for i in range(20)
    ]
    write(table, rows)

    def bytes_of(tree):
        before = metric(connection, "fluss_client_scanner_bytes_total")
        count = scanned(table, tree, True).num_rows
        return metric(connection, "fluss_client_scanner_bytes_total") - before, count

    whole, all_rows = bytes_of(("big", ">=", (0,)))
    part, some_rows = bytes_of(("big", "==", (7,)))
    assert (all_rows, some_rows) == (2000, 100)
    assert part * 10 < whole


def test_a_scan_in_which_nothing_matches_ends_with_few_requests(connection, database, batches):
    table = make_table(connection, database, "nothing")
    write(table, batches)
    before = metric(connection, "fluss_client_scanner_fetches_total")
    tree = ("price", ">", (decimal.Decimal("200.00"),))
    assert scanned(table, tree, False).num_rows == 0
    assert metric(connection, "fluss_client_scanner_fetches_total") - before <= 3


def test_a_running_scanner_passes_what_is_left_out(connection, database):
    table = make_table(connection, database, "running")
    empty = {name: None for name in SCHEMA.names}
    matching = table.new_scan().filter(fluss.col("int") == 1).create_log_scanner()
    scanner = matching.result(CALL_S_MAX)
    scanner.subscribe(0, 0)
    for i in range(30):
        write(table, [[{**empty, "id": i, "int": i % 3}]])
    found = []
    while len(found) < 10:
        records = scanner.poll(10_000)
        assert len(records) > 0, f"only {found} arrived"
        found += [record.row["id"] for record in records]
    assert found == list(range(1, 30, 3))
    scanner.close()


def test_an_exact_filter_works_on_the_row_formats(connection, database, batches):
    for log_format in ("INDEXED", "COMPACTED"):
        path = fluss.TablePath(database, f"rows_{log_format.lower()}")
        description = fluss.TableDescriptor(fluss.Schema(SCHEMA), log_format=log_format)
        connection.get_admin().create_table(path, description).result(CALL_S_MAX)
        table = connection.get_table(path).result(CALL_S_MAX)
        write(table, batches)
        assert check_rounds(table, batches, ROUNDS // 6) == 0


@pytest.mark.parametrize(
    "condition",
    [
        lambda: fluss.col("price") == decimal.Decimal("12.345"),
        lambda: fluss.col("ts3") == at(0, 1),
        lambda: fluss.col("tiny") == 128,
        lambda: fluss.col("int").starts_with("1"),
        lambda: fluss.col("nowhere") == 1,
    ],
)
def test_a_literal_that_the_column_cannot_hold_is_refused(connection, database, condition):
    table = make_table(connection, database, "refused")
    with pytest.raises((fluss.FlussError, ValueError, TypeError, OverflowError)):
        table.new_scan().filter(condition(), exact=True).create_log_scanner().result(CALL_S_MAX)


class NotATime(datetime.datetime):
    """Like pandas.NaT: a datetime that differs from itself."""

    __hash__ = None

    def __eq__(self, other):
        return False

    def __ne__(self, other):
        return True


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        (lambda: fluss.col("int").is_in(range(65_537)), "values has more than 65536 literals"),
        (lambda: fluss.col("text") == "x" * (9 << 20), "literals take .* bytes; at most 8388608"),
        (lambda: fluss.col("timestamp") == NotATime(2020, 1, 1), "value is NaT"),
    ],
)
def test_a_filter_beyond_the_limits_is_refused_by_name(connection, database, condition, what):
    """A filter is a part of each fetch; one that no server takes would be tried for ever."""
    table = make_table(connection, database, "beyond")
    with pytest.raises((fluss.FlussError, TypeError), match=what):
        table.new_scan().filter(condition()).create_log_scanner().result(CALL_S_MAX)
