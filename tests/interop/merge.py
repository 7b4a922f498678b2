# SPDX-License-Identifier: Apache-2.0
"""What does a server make of writes to primary-key tables, value by value?

    merge.py record HOST:PORT FILE [SEED [STEPS]]    run the script on a server, note its answers
    merge.py compare FILE FILE                       official first: list what differs
    merge.py shorten FILE FILE                       codes and hashes: tests/golden/merge.jsonl

The script: for each merge engine, delete behaviour, changelog image and version type, and for each
aggregation function with each type that it takes, a table, and random upserts, partial updates,
deletes, overwrites, repeated batches, insert-if-absent lookups and impossible requests. Noted are
the code and log end offset of every request, and at the end every stored row, by lookup and by
scan, as bytes, and the whole changelog: offsets, change types and values.

Prints a line a table and closes with `N passed, N failed`.
"""

import hashlib
import json
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from bitmaps import draw_bitmap  # noqa: E402
from rows import Table, value_records  # noqa: E402
from wire import SUCCESS, Connection, path_of  # noqa: E402

SEED, STEPS = 1, 60
KEYS = range(6)
DATABASE = "merge"
FULL_ROW_PERCENT, DELETE_PERCENT = 60, 20
LEADER_LIMIT_S, LEADER_TRIES = 15, 3
#: A code of the official server for which ours has another one on purpose (docs/wire-notes.md).
OTHER_CODES = {(-1, 35): "engines that take whole rows only"}

#: Targets that cover all columns are a whole row for Fluss 1.0 and for us, not for 0.9.1, so
#: a default engine is not given them. The bits of a NaN that is computed are nobody's promise.
MOMENTS = [-62_135_596_800_000, -1001, -1, 0, 999, 86_400_000, 1_700_000_000_123, 2**41]
FLOATS = [0.0, -0.0, 1.5, -2.25, 3.0e38, -3.0e38, float("inf"), float("-inf"), float("nan"), 1e-40]
FLOATS_OF = {
    "sum": [0.0, -0.0, 1.5, -2.25, 3.0e38, float("inf"), 1e-40],
    "product": [1.5, -2.25, 3.0e38, -0.5, float("-inf")],
}
TEXTS = ["", "a", "b", "ab", "é", "\U0001f600", "zz", "\uffff"]
NUMBERS = [
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(5,2)",
    "DECIMAL(18,0)",
    "DECIMAL(18,18)",
    "DECIMAL(19,3)",
    "DECIMAL(38,0)",
    "DECIMAL(38,19)",
    "DECIMAL(38,38)",
]
TIMES = [f"TIMESTAMP({p})" for p in (0, 3, 6, 9)] + [f"TIMESTAMP_LTZ({p})" for p in (0, 3, 6, 9)]
ORDERED = [*NUMBERS, "CHAR(4)", "STRING", "DATE", "TIME(0)", "TIME(3)", *TIMES]
ANY = [*ORDERED, "BOOLEAN", "BINARY(3)", "BYTES", "ARRAY<INT>", "ROW<INT>"]
FUNCTIONS = {
    "sum": NUMBERS,
    "product": NUMBERS,
    "max": ORDERED,
    "min": ORDERED,
    "last_value": ANY,
    "last_value_ignore_nulls": ANY,
    "first_value": ANY,
    "first_value_ignore_nulls": ANY,
    "listagg": ["STRING"],
    "string_agg": ["STRING"],
    "listagg ;": ["STRING"],
    "string_agg éé": ["STRING"],
    "bool_and": ["BOOLEAN"],
    "bool_or": ["BOOLEAN"],
    "rbm32": ["BYTES"],
    "rbm64": ["BYTES"],
}


# ---- values ----


def draw_timestamp(chance, precision):
    ms = chance.choice(MOMENTS) + chance.choice([0, 0, 1])
    if precision == 0:
        return (ms // 1000 * 1000, 0)
    if precision <= 3:
        return (ms, 0)
    if precision > 6:
        ms = max(ms, -(2**62) // 10**6)  # the 64-bit nanoseconds of the changelog
    step = 10 ** (9 - precision)
    return (ms, chance.choice([0, step, 999_999 // step * step]))


def draw_integer(chance, limit):
    edges = [0, 1, -1, 2, 3, -7, limit - 1, -limit + 1]
    return chance.choice([*edges, chance.randrange(-limit + 1, limit)])


def draw(chance, kind, function):
    """A value of a type, often one that others are likely to equal or to overflow with."""
    root = kind.root
    if function in ("rbm32", "rbm64"):
        return draw_bitmap(chance, function)
    if root == "BOOLEAN":
        return chance.random() < 0.5
    if root in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}[root]
        return draw_integer(chance, 1 << bits)
    if root in ("FLOAT", "DOUBLE"):
        return chance.choice(FLOATS_OF.get(function, FLOATS))
    if root == "DECIMAL":
        return draw_integer(chance, 10 ** chance.choice([1, kind.size // 2 + 1, kind.size]))
    if root == "DATE":
        return chance.choice([-719_162, -1, 0, 1, 20_000, 2_932_896])
    if root == "TIME":
        return chance.choice([0, 1000, 43_200_000, 86_399_000])
    if root.startswith("TIMESTAMP"):
        return draw_timestamp(chance, kind.size)
    if root in ("CHAR", "STRING"):
        return chance.choice(TEXTS)
    if root == "BINARY":
        return chance.choice([b"\0\0\0", b"abc", b"\xff\xfe\0"])
    if root == "BYTES":
        return chance.choice([b"", b"\0", b"xyz", b"\xff" * 9])
    return [chance.randrange(-3, 3) for _ in range(1 if root == "ROW" else chance.randrange(4))]


# ---- tables ----


def engine_tables():
    plain = [("id", "INT"), *((f"c{i}", kind) for i, kind in enumerate(ANY))]
    for image in ("FULL", "WAL"):
        for behavior in ("ALLOW", "IGNORE", "DISABLE"):
            more = {"changelog.image": image, "delete.behavior": behavior}
            yield Table(f"plain_{image}_{behavior}".lower(), plain, **more)
        strict = [("id", "INT"), ("a", "STRING NOT NULL"), ("b", "INT")]
        yield Table(f"strict_{image}".lower(), strict, **{"changelog.image": image})
        for behavior in (None, "DISABLE"):
            more = {"changelog.image": image, "merge__engine": "first_row"}
            if behavior:
                more["delete.behavior"] = behavior
            yield Table(f"first_{image}_{behavior}".lower(), plain, **more)
    for i, version in enumerate(["INT", "BIGINT", *TIMES]):
        more = {
            "changelog.image": ("FULL", "WAL")[i % 2],
            "merge__engine": "versioned",
            "merge__engine.versioned.ver__column": "v",
        }
        if i % 3 == 2:
            more["delete.behavior"] = "DISABLE"
        columns = [("id", "INT"), ("v", version), ("c", "STRING")]
        yield Table(f"versioned_{i}", columns, **more)


def aggregation_tables():
    engine = {"merge__engine": "aggregation"}
    for i, (function, types) in enumerate(FUNCTIONS.items()):
        columns = [("id", "INT"), *((f"c{j}", kind, function) for j, kind in enumerate(types))]
        columns.append(("plain", "INT"))
        behavior = (None, "ALLOW", "IGNORE", "DISABLE", "ALLOW")[i % 5]
        more = {**engine, **({"delete.behavior": behavior} if behavior else {})}
        yield Table(f"agg_{i}_{function.split()[0]}", columns, **more)
    mixed = [("id", "INT"), ("a", "INT", "sum"), ("b", "STRING", "listagg"), ("c", "INT", "max")]
    yield Table("agg_mixed", mixed, **engine, **{"delete.behavior": "ALLOW"})
    strict = [("id", "INT"), ("a", "INT NOT NULL", "sum"), ("b", "STRING", "last_value")]
    yield Table("agg_strict", strict, **engine, **{"delete.behavior": "ALLOW"})


def auto_increment_tables():
    columns = [("id", "INT"), ("n", "BIGINT"), ("a", "STRING"), ("b", "INT")]
    small = [("id", "INT"), ("n", "INT"), ("a", "STRING")]
    for image in ("FULL", "WAL"):
        more = {"changelog.image": image, "auto_increment": "n"}
        yield Table(f"auto_{image}".lower(), columns, **more)
        yield Table(f"auto_int_{image}".lower(), small, **more)
    summed = [*columns[:3], ("b", "INT", "sum")]
    more = {"merge__engine": "aggregation", "delete.behavior": "ALLOW", "auto_increment": "n"}
    yield Table("auto_agg", summed, **more)


def all_tables():
    return [*engine_tables(), *aggregation_tables(), *auto_increment_tables()]


# ---- the script ----


def draw_row(chance, table, targets):
    """A row; what is not a target is null, as clients send it."""
    row = []
    for i, (kind, function) in enumerate(zip(table.types, table.functions)):
        if table.names[i] in table.key:
            row.append(chance.choice(KEYS))
        elif (targets and i not in targets) or (kind.is_nullable and chance.random() < 0.2):
            row.append(None)
        else:
            row.append(draw(chance, kind, function))
    return row


def draw_targets(chance, table):
    """Target columns; sometimes all of them, only the key, or ones that are refused."""
    count = len(table.names)
    targets = [i for i in range(1, count) if table.names[i] != table.auto_increment]
    if table.auto_increment is None and chance.randrange(100) < FULL_ROW_PERCENT:
        return []
    most = len(targets) - (0 if "merge__engine" in table.properties else 1)
    chosen = chance.sample(targets, chance.choice([0, 1, len(targets) // 2, most]))
    if chance.random() < 0.04:
        return sorted(chosen) or [1]  # without the key
    if table.auto_increment and chance.random() < 0.1:
        return chance.choice([[], [0, table.names.index(table.auto_increment)]])
    return sorted([0, *chosen])


class Writer:
    """The batches of an idempotent writer, some of them sent twice."""

    def __init__(self, connection, table):
        self.id = connection.ask("INIT_WRITER", {"table_path": [path_of(table.name, DATABASE)]})
        self.id = self.id["writer_id"]
        self.sequence, self.last = 0, None


def ask(connection, api, request):
    """The only bucket of an answer, or the error of the whole."""
    kind, answer = connection.answer(connection.send(api, request))
    return answer["buckets_resp"][0] if kind == SUCCESS else answer


def code_of(answer):
    return answer.get("error_code", 0)


def step_put(chance, connection, table, writer):
    targets = draw_targets(chance, table)
    overwrites = chance.random() < 0.12 and len(targets) < len(table.names)
    count = chance.choice([1, 1, 2, 3, 6])
    records = [
        (draw_row(chance, table, targets), chance.randrange(100) < DELETE_PERCENT)
        for _ in range(count)
    ]
    request = table.put(
        records,
        targets=targets,
        mode=1 if overwrites else None,
        writer_id=writer.id,
        sequence=writer.sequence,
    )
    answer = ask(connection, "PUT_KV", request)
    if code_of(answer) == 0:
        writer.sequence += 1
        writer.last = request
    return ["put", code_of(answer), answer.get("log_end_offset")]


def step_insert(chance, connection, table):
    keys = [[k] + [None] * (len(table.names) - 1) for k in chance.sample(KEYS, 2)]
    request = {**table.lookup(keys), "insert_if_not_exists": True, "acks": -1, "timeout_ms": 30000}
    answer = ask(connection, "LOOKUP", request)
    values = [value.get("values", b"").hex() for value in answer.get("values", [])]
    return ["insert", code_of(answer), values]


def step(chance, connection, table, writer):
    what = chance.random()
    if what < 0.08 and writer.last is not None:
        answer = ask(connection, "PUT_KV", writer.last)
        return ["again", code_of(answer), answer.get("log_end_offset")]
    if what < 0.12:
        return step_insert(chance, connection, table)
    return step_put(chance, connection, table, writer)


def run_table(connection, table, seed, steps):
    """What a server answers and holds, as JSON values."""
    chance = random.Random(f"{seed} {table.name}")
    writer = Writer(connection, table)
    answers = [step(chance, connection, table, writer) for _ in range(steps)]
    keys = [[key] + [None] * (len(table.names) - 1) for key in KEYS]
    found = ask(connection, "LOOKUP", table.lookup(keys))
    scan = connection.ask("LIMIT_SCAN", {"table_id": table.id, "bucket_id": 0, "limit": 1000})
    return {
        "table": table.name,
        "answers": answers,
        "lookups": [value.get("values", b"").hex() for value in found["values"]],
        "scan": [value.hex() for value in value_records(scan["records"])],
        "changelog": [
            [offset, change, repr(values)] for offset, change, values in table.changelog(connection)
        ],
    }


# ---- servers ----


def create_database(admin):
    admin.ask("CREATE_DATABASE", {"database_name": DATABASE, "ignore_if_exists": False})


def find_leader(admin, table):
    """The address of the tablet server that leads the table's only bucket; None in time."""
    request = {"table_path": [path_of(table.name, DATABASE)]}
    deadline = time.monotonic() + LEADER_LIMIT_S
    while time.monotonic() < deadline:
        metadata = admin.ask("GET_METADATA", request)
        nodes = {node["node_id"]: node for node in metadata["tablet_servers"]}
        (bucket,) = metadata["table_metadata"][0]["bucket_metadata"]
        leader = nodes.get(bucket.get("leader_id"))
        if leader:
            with Connection(f"{leader['host']}:{leader['port']}") as probe:
                if code_of(ask(probe, "LOOKUP", table.lookup([]))) == 0:
                    return f"{leader['host']}:{leader['port']}"
    return None


def create_led(admin, table):
    """Make a table; where its leader is. The official server sometimes gives it none: once more."""
    for _ in range(LEADER_TRIES):
        table.create(admin, database=DATABASE)
        address = find_leader(admin, table)
        if address:
            return address
        path = path_of(table.name, DATABASE)
        admin.ask("DROP_TABLE", {"table_path": path, "ignore_if_not_exists": False})
    raise AssertionError(f"{table.name} has no leader")


def record(address, file, seed=SEED, steps=STEPS):
    with Connection(address) as admin, open(file, "w") as out:
        drop = {"database_name": DATABASE, "ignore_if_not_exists": True, "cascade": True}
        admin.ask("DROP_DATABASE", drop)
        create_database(admin)
        for table in all_tables():
            with Connection(create_led(admin, table)) as connection:
                noted = run_table(connection, table, seed, int(steps))
            out.write(json.dumps(noted) + "\n")
        admin.ask("DROP_DATABASE", drop)
    return len(all_tables()), 0


def hashed(values):
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def short(noted):
    """The same with one hash for each list of values."""
    answers = [
        [what, code, hashed(value) if isinstance(value, list) else value]
        for what, code, value in noted["answers"]
    ]
    return {
        **noted,
        "answers": answers,
        **{what: hashed(noted[what]) for what in ("lookups", "scan", "changelog")},
    }


def read_notes(file):
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def shorten(noted, out):
    lines = [json.dumps(short(line)) for line in read_notes(noted)]
    Path(out).write_text("\n".join(lines) + "\n")
    return len(lines), 0


# ---- comparison ----


def differences(official, ours):
    """What differs between two notes of a table, as texts."""
    out = []
    for i, (a, b) in enumerate(zip(official["answers"], ours["answers"])):
        if a != b and (a[1], b[1]) not in OTHER_CODES:
            out.append(f"step {i}: {a}, ours {b}")
    for what in ("lookups", "scan", "changelog"):
        pairs = [(i, a, b) for i, (a, b) in enumerate(zip(official[what], ours[what])) if a != b]
        out += [f"{what} {i}: {a}, ours {b}" for i, a, b in pairs[:3]]
        if len(official[what]) != len(ours[what]):
            out.append(f"{what}: {len(official[what])} entries, ours {len(ours[what])}")
    return out


def compare(official, ours):
    passed = failed = 0
    left, right = read_notes(official), read_notes(ours)
    assert [a["table"] for a in left] == [b["table"] for b in right]
    for a, b in zip(left, right):
        found = differences(a, b)
        size = len(a["answers"]) + len(a["lookups"]) + len(a["scan"]) + len(a["changelog"])
        passed += size if not found else 0
        failed += len(found)
        print(f"{'FAILED ' if found else 'ok     '} {a['table']} ({size} values)")
        for text in found[:6]:
            print("        " + text[:600])
    return passed, failed


def main():
    action, *arguments = sys.argv[1:]
    passed, failed = {"record": record, "compare": compare, "shorten": shorten}[action](*arguments)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
