#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random administration calls to the official server and to ours; answers compared.

    admin.py OFFICIAL OURS [--seeds 1-20] [--calls 200] [--verbose]

OFFICIAL and OURS are HOST:PORT. Each seed is a script (admin_script.py) that both servers get call
by call, at the level of frames. Codes must be the same, and so must answers, after what no two
servers share is masked. A difference passes only when a row of the table in
docs/admin-differences.md has it; rows that no call needed are listed. Where one server made a
change and the other refused it, the thing is dropped from both, so that the scripts go on alike.
A script that the official server breaks off, by not answering, runs once more.
Closes with "N passed, M failed".
"""

import argparse
import contextlib
import fnmatch
import json
import sys
import time
from collections import Counter
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from admin_script import PartitionId, Script, TableId  # noqa: E402
from wire import API, SUCCESS, Connection  # noqa: E402

TABLE = TOP / "docs" / "admin-differences.md"
SETTLE_S = 2.0  # the official server's metadata follow its changes within this time
LATE_SHARE_MAX = 0.03  # of the calls: its leaders are elected later still, when it is busy
MISSING_ID = 987654321
CHANGES = {
    "CREATE_DATABASE",
    "DROP_DATABASE",
    "CREATE_TABLE",
    "DROP_TABLE",
    "ALTER_TABLE",
    "CREATE_PARTITION",
    "DROP_PARTITION",
    "REGISTER_PRODUCER_OFFSETS",
    "DELETE_PRODUCER_OFFSETS",
}
MASKED = {
    "created_time",
    "modified_time",
    "host",
    "port",
    "node_id",
    "error_message",
    "rack",
    "table_id",
    "partition_id",
    "remote_data_dir",
    "leader_id",
    "leader_epoch",
    "replica_id",
    "expiration_time",
    "coordinator_server",
    "tablet_servers",
    "token",
}


class Peer:
    """A server: one connection to each of its roles."""

    def __init__(self, address):
        self.first = Connection(address)
        self.connections = {}  # API key: connection
        found = self.first.ask("GET_METADATA", {})
        others = [f"{node['host']}:{node['port']}" for node in found["tablet_servers"]]
        for connection in [Connection(other) for other in others] + [self.first]:
            client = {"client_software_name": "admin", "client_software_version": "1"}
            for api in connection.ask("API_VERSIONS", client)["api_versions"]:
                self.connections[api["api_key"]] = connection

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        for connection in {id(each): each for each in self.connections.values()}.values():
            connection.close()

    def serves(self, api):
        return API[api][0] in self.connections

    def ask(self, api, message):
        """(code, answer): code 0 is success."""
        connection = self.connections.get(API[api][0])
        if connection is None:
            return "unknown API", {}
        kind, answer = connection.answer(connection.send(api, message))
        if kind == SUCCESS:
            return 0, answer
        return answer["error_code"], {"error_message": answer.get("error_message", "")}

    def resolve(self, value):
        """A message with this server's ids."""
        if isinstance(value, TableId):
            path = {"database_name": value.database, "table_name": value.table}
            code, answer = self.ask("GET_TABLE_INFO", {"table_path": path})
            return answer["table_id"] if code == 0 else MISSING_ID
        if isinstance(value, PartitionId):
            path = {"database_name": value.database, "table_name": value.table}
            for info in self.partitions(path):
                pairs = info["partition_spec"]["partition_key_values"]
                if {(p["key"], p["value"]) for p in pairs} == set(value.spec):
                    return info["partition_id"]
            return MISSING_ID
        if isinstance(value, dict):
            return {key: self.resolve(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.resolve(each) for each in value]
        return value

    def partitions(self, path):
        code, answer = self.ask("LIST_PARTITION_INFOS", {"table_path": path})
        return answer["partitions_info"] if code == 0 else []

    def is_by_time(self, path):
        code, answer = self.ask("GET_TABLE_INFO", {"table_path": path})
        return code == 0 and b'"table.auto-partition.enabled":"true"' in answer["table_json"]

    def drop(self, thing):
        if thing[0] == "database":
            message = {"database_name": thing[1], "ignore_if_not_exists": True, "cascade": True}
            self.ask("DROP_DATABASE", message)
            return
        path = {"database_name": thing[1], "table_name": thing[2]}
        message = {"table_path": path, "ignore_if_not_exists": True}
        # While the official server makes partitions by time it fails to drop their table, or makes
        # it anew; they come within a second, or never.
        deadline = time.monotonic() + (1.0 if self.is_by_time(path) else 0.0)
        while time.monotonic() < deadline and not self.partitions(path):
            time.sleep(0.02)
        for _ in range(100):
            if self.ask("DROP_TABLE", message)[0] in (0, 15, 16):
                _, answer = self.ask("TABLE_EXISTS", {"table_path": path})
                if not answer.get("exists"):
                    return
            time.sleep(0.02)


# --- answers as {path: value} ---


def flatten(value, path="", prefix=None):
    """What two servers can have in common of an answer."""
    if isinstance(value, dict):
        out = {}
        for key, each in value.items():
            inner = f"{path}.{key}" if path else key
            if key in MASKED:
                if key != "error_message":
                    out[inner] = "set"
            elif key == "database_name" and isinstance(each, list):
                out[inner] = sorted(name for name in each if name.startswith(prefix))
            elif key == "database_summary":
                kept = [s for s in each if s["database_name"].startswith(prefix)]
                kept.sort(key=lambda s: s["database_name"])
                out.update(flatten(kept, inner, prefix))
            else:
                out.update(flatten(each, inner, prefix))
        return out
    if isinstance(value, list):
        if all(isinstance(each, dict) for each in value):
            value = sorted(value, key=lambda each: json.dumps(flatten(each, "", prefix)))
            out = {f"{path}.count": len(value)}
            for i, each in enumerate(value):
                out.update(flatten(each, f"{path}[{i}]", prefix))
            return out
        return {path: sorted(value, key=str)}
    if isinstance(value, bytes):
        try:
            return flatten_json(json.loads(value), path)
        except ValueError:
            return {path: value}
    return {path: value}


def flatten_json(value, path):
    """A descriptor: the order of its lists counts, the order of its members does not."""
    if isinstance(value, dict) and value:
        out = {}
        for key, each in value.items():
            out.update(flatten_json(each, f"{path}.{key}"))
        return out
    return {path: value}


# --- the table of differences ---


class Row:
    def __init__(self, cells):
        self.api, self.kind, self.field, self.official, self.ours, self.why = cells
        self.uses = 0

    def matches(self, api, kind, field, official, ours):
        return (
            fnmatch.fnmatchcase(api, self.api)
            and any(fnmatch.fnmatchcase(kind, each.strip()) for each in self.kind.split(";"))
            and fnmatch.fnmatchcase(field, self.field)
            and fnmatch.fnmatchcase(official, self.official)
            and fnmatch.fnmatchcase(ours, self.ours)
        )


def read_table():
    """The rows of the table, whose cells are in backticks but for the reason."""
    rows = []
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("| `") or len(cells) != 6:
            continue
        rows.append(Row([cell.strip("`") for cell in cells[:5]] + cells[5:]))
    return rows


def is_late(field, official, _ours):
    """Whether the official server has no leader yet: no fault of either."""
    last = field.rpartition(".")[2]
    return (last in ("leader_id", "leader_epoch") and official == "-") or (
        field.startswith("buckets_resp")
        and (official in ("12", "21") or field.endswith(("offset", "count")))
    )


class Comparison:
    def __init__(self, rows, verbose):
        self.rows, self.verbose = rows, verbose
        self.official = self.ours = None  # peers
        self.current = ""
        self.passed = self.failed = self.justified = self.late = 0
        self.codes = Counter()

    def differences(self, call, prefix, official, ours):
        """[(field, official, ours)] that no row justifies."""
        found = []
        if official[0] != ours[0]:
            found.append(("code", str(official[0]), str(ours[0])))
        elif official[0] == 0:
            a, b = flatten(official[1], "", prefix), flatten(ours[1], "", prefix)
            for path in sorted(a.keys() | b.keys()):
                if a.get(path) != b.get(path):
                    found.append((path, str(a.get(path, "-")), str(b.get(path, "-"))))
        unjustified = []
        for field, x, y in found:
            row = next((r for r in self.rows if r.matches(call.api, call.kind, field, x, y)), None)
            if row is None:
                unjustified.append((field, x, y))
            else:
                row.uses += 1
        return found, unjustified

    def run(self, seed, number, call, prefix):
        if not self.official.serves(call.api):
            return
        ours = self.ours.ask(call.api, self.ours.resolve(call.message))
        deadline = time.monotonic() + SETTLE_S
        while True:
            official = self.official.ask(call.api, self.official.resolve(call.message))
            found, unjustified = self.differences(call, prefix, official, ours)
            if call.api in CHANGES or not unjustified or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        self.codes[official[0]] += 1
        if official[0] != ours[0] and 0 in (official[0], ours[0]):
            for thing in call.touches:
                self.official.drop(thing)
                self.ours.drop(thing)
        if unjustified and all(is_late(*each) for each in unjustified):
            self.late += 1
            unjustified = []
        if not unjustified:
            self.passed += 1
            self.justified += bool(found)
            if self.verbose:
                print(f"seed {seed} call {number}: {call.api}: {call.kind}: {ours[0]}")
            return
        self.failed += 1
        print(f"DIFFERENT seed {seed} call {number}: {call.api}: {call.kind}")
        for field, x, y in unjustified:
            print(f"    {field}: official {x[:300]}, ours {y[:300]}")
        print(f"    official says: {official[1].get('error_message', '')[:300]!r}")
        print(f"    ours says:     {ours[1].get('error_message', '')[:300]!r}")
        print(f"    {json.dumps(call.message, default=str)[:1500]}", flush=True)


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def clean(comparison, script):
    """Leave nothing of a script on the servers."""
    for peer in (comparison.official, comparison.ours):
        for producer in script.producers:
            peer.ask("DELETE_PRODUCER_OFFSETS", {"producer_id": producer})
        for name in peer.ask("LIST_DATABASES", {})[1]["database_name"]:
            if name.startswith(script.prefix):
                peer.drop(("database", name))


def run_seed(comparison, options, seed):
    """One script, on new connections."""
    script = Script(seed, options.calls)
    with contextlib.ExitStack() as stack:
        comparison.official = stack.enter_context(Peer(options.official))
        comparison.ours = stack.enter_context(Peer(options.ours))
        clean(comparison, script)
        for number, call in enumerate(script.calls):
            comparison.current = f"call {number}, {call.api}: {call.kind}"
            comparison.run(seed, number, call, script.prefix)
        clean(comparison, script)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("official")
    parser.add_argument("ours")
    parser.add_argument("--seeds", type=seeds_of, default=range(1, 4))
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    rows = read_table()
    comparison = Comparison(rows, options.verbose)
    for seed in options.seeds:
        for attempt in (1, 2):
            try:
                run_seed(comparison, options, seed)
                break
            except OSError as error:
                what = f"{type(error).__name__}: {error} at {comparison.current}"
                print(f"seed {seed} BROKE OFF: {what}", flush=True)
                comparison.failed += attempt == 2
    codes = ", ".join(
        f"{code}: {count}" for code, count in sorted(comparison.codes.items(), key=str)
    )
    print(f"official codes: {codes}")
    print(f"{comparison.justified} calls differ as the table says")
    for row in rows:
        if row.uses == 0:
            print(f"no call needed this row: {row.api} | {row.kind} | {row.field}")
    print(f"{comparison.late} calls found no leader on the official server")
    if comparison.late > LATE_SHARE_MAX * comparison.passed:
        print("FAILED: that is too many to mean anything")
        comparison.failed += 1
    print(f"{comparison.passed} passed, {comparison.failed} failed")
    return 1 if comparison.failed or not comparison.passed else 0


if __name__ == "__main__":
    sys.exit(main())
