# SPDX-License-Identifier: Apache-2.0
"""The recorded requests of pyfluss to an official server, sent to ours (frames/README.md).

Goal: our server answers each request as the official one did. Method: all scenarios in the order
in which they were recorded, each recorded connection as one of ours; responses compared as decoded
messages, after what no two servers share is masked: ids (mapped), times, addresses, texts of
errors, the order of lists that have none. Of batches that a server makes (projected ones,
changelogs) headers, change types and values are compared, not bytes: ours are aligned to 8 bytes
and not to 64. Where ours differs on purpose, DIFFERENT says so.
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from test_batches import schema_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from wire import API, SCHEMA, SUCCESS, Connection, Server, batches, decode  # noqa: E402

FRAMES = Path(__file__).resolve().parent / "frames"
USERS = ("--sasl-user", "admin:admin-secret", "--sasl-user", "alice:alice-secret")
LISTENERS = ("--listen", "127.0.0.1:0", "--sasl-listen", "127.0.0.1:0")
SCENARIOS = [
    "connect",
    "databases",
    "log_arrow_none",
    "log_arrow_lz4_frame",
    "log_arrow_zstd",
    "log_indexed",
    "log_projection",
    "list_offsets",
    "tables",
    "pk_full",
    "pk_wal",
    "pk_all_types",
    "pk_key_types",
    "partitions_log",
    "partitions_pk",
    "sasl_plain",
    "drop_all",
]
SASL = {"sasl_plain"}
#: (scenario, api, recorded code): our code, where it is another one on purpose.
DIFFERENT = {
    ("tables", "GET_METADATA", -1): 7,  # a table that is not there has its own code
}
MASKED = {"created_time", "modified_time", "host", "port", "node_id", "error_message", "rack"}
#: Properties written by servers of 1.0, not by the recorded 0.9.1.
NEWER = {"table.kv.standby-replica.enabled"}
IDS = {"table_id": "tables", "partition_id": "partitions"}


class Replay:
    """The connections, what they still owe, and the ids of both servers."""

    def __init__(self, server):
        self.server = server
        self.connections = {}
        self.ids = {"tables": {}, "partitions": {}}
        self.sent = {}  # (conn, request id): our request id
        self.projected = {}  # the same keys: the columns of the only table

    def connection(self, number, is_sasl):
        if number not in self.connections:
            address = self.server.addresses[1 if is_sasl else 0]
            self.connections[number] = Connection(address)
        return self.connections[number]

    def translated(self, name, message):
        """A recorded request with our ids."""
        out = {}
        for f in SCHEMA[name].fields:
            if f.name not in message:
                continue
            value = message[f.name]
            if f.is_message:
                out[f.name] = (
                    [self.translated(f.type, each) for each in value]
                    if f.is_repeated
                    else self.translated(f.type, value)
                )
            elif f.name in IDS:
                out[f.name] = self.ids[IDS[f.name]].get(value, value)
            else:
                out[f.name] = value
        return out

    def send(self, frame, is_sasl):
        body = bytes.fromhex(frame["frame_hex"])[12:]
        message = self.translated(API[frame["api"]][1], decode(API[frame["api"]][1], body))
        connection = self.connection(frame["conn"], is_sasl)
        key = (frame["conn"], frame["request_id"])
        self.sent[key] = connection.send(frame["api"], message)
        for table in message.get("tables_req", []):
            if table["projected_fields"]:
                self.projected[key] = table["projected_fields"]

    def answer(self, frame):
        """(recorded, ours) of a response: (type, message) each."""
        connection = self.connections[frame["conn"]]
        kind = frame["response_type"]
        name = API[frame["api"]][2] if kind == SUCCESS else "ErrorResponse"
        recorded = decode(name, bytes.fromhex(frame["frame_hex"])[9:])
        key = (frame["conn"], frame["request_id"])
        return (kind, recorded), connection.answer(self.sent.pop(key))

    def masked(self, message, is_ours, columns, table_id=None):
        """A message in comparable form, with our ids."""
        out = {}
        if "buckets_resp" in message and "table_id" in message:
            table_id = self.recorded_id(message["table_id"], is_ours)
        for name, value in message.items():
            if name in MASKED:
                continue
            if name in ("table_json", "schema_json", "database_json"):
                value = json.loads(value)
                for newer in NEWER:
                    value.get("properties", {}).pop(newer, None)
            elif name == "records":
                value = self.masked_records(value, table_id, columns)
            elif name in IDS:
                value = value if is_ours else self.ids[IDS[name]].get(value, value)
            elif isinstance(value, dict):
                value = self.masked(value, is_ours, columns, table_id)
            elif isinstance(value, list):
                value = [
                    self.masked(v, is_ours, columns, table_id) if isinstance(v, dict) else v
                    for v in value
                ]
                value.sort(key=lambda v: json.dumps(v, sort_keys=True, default=repr))
            out[name] = value
        return out

    def recorded_id(self, table_id, is_ours):
        """The id of a table in the recording."""
        ids = {ours: recorded for recorded, ours in self.ids["tables"].items()}
        return ids[table_id] if is_ours else table_id

    @staticmethod
    def masked_records(data, table_id, columns):
        """Batches without their time; values of those that a server makes; other bytes as is."""
        found = batches(data)
        if not found or sum(12 + b["length"] for b in found) != len(data):
            return data
        out = []
        for b in found:
            is_changelog = b["magic"] == 0 and b["bytes"][27] & 1 == 0
            end = 48 + (b["records"] if is_changelog else 0)
            if is_changelog or columns:
                values = rows_of(b["bytes"][end:], schema_of(str(table_id), columns))
                assert len(values) == b["records"]
                out.append((b["bytes"][:8] + b["bytes"][25:end], values))
            else:
                out.append(b["bytes"][:13] + b["bytes"][21:])
        return out

    def learn(self, recorded, ours):
        """Pair the ids of two answers by the order of what they describe."""
        for name, value in recorded.items():
            if name in IDS and name in ours:
                known = self.ids[IDS[name]].setdefault(value, ours[name])
                assert known == ours[name], f"{name} {value} was {known}, is {ours[name]}"
            elif isinstance(value, dict) and isinstance(ours.get(name), dict):
                self.learn(value, ours[name])
            elif isinstance(value, list) and len(value) == len(ours.get(name, [])):
                for a, b in zip(in_order(value), in_order(ours[name])):
                    if isinstance(a, dict):
                        self.learn(a, b)


def rows_of(payload, schema):
    """The rows of an Arrow payload, as text: a NaN equals itself. No payload: no rows."""
    if not payload:
        return []
    batch = pa.ipc.read_record_batch(pa.ipc.read_message(pa.py_buffer(payload)), schema)
    batch.validate(full=True)
    return [repr(row) for row in batch.to_pylist()]


def in_order(values):
    """Sorted by everything that both servers share."""

    def shared(value):
        if not isinstance(value, dict):
            return value
        return {
            name: shared(v)
            if isinstance(v, dict)
            else [shared(x) for x in v]
            if isinstance(v, list)
            else v
            for name, v in value.items()
            if name not in MASKED | set(IDS) | {"table_json", "records"}
        }

    return sorted(values, key=lambda v: json.dumps(shared(v), sort_keys=True, default=repr))


def frames_of(scenario):
    lines = (FRAMES / f"{scenario}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    data_dir = tmp_path_factory.mktemp("replay") / "data"
    with Server(data_dir, *LISTENERS, *USERS) as server:
        yield Replay(server)


def check_versions(recorded, ours):
    """Ours may be fewer or more APIs; the ranges must overlap, and no role is claimed."""
    theirs = {v["api_key"]: v for v in recorded["api_versions"]}
    assert "server_type" not in ours
    for version in ours["api_versions"]:
        other = theirs.get(version["api_key"])
        assert other is None or version["min_version"] <= other["max_version"]


def compare(replay, scenario, frame):
    """What differs between a recorded answer and ours; None: nothing."""
    (kind, recorded), (our_kind, ours) = replay.answer(frame)
    code = DIFFERENT.get((scenario, frame["api"], recorded.get("error_code", 0)))
    if code is not None:
        return None if ours.get("error_code", 0) == code else ours
    if (our_kind, ours.get("error_code")) != (kind, recorded.get("error_code")):
        return ours, recorded
    if frame["api"] == "API_VERSIONS":
        check_versions(recorded, ours)
        return None
    replay.learn(recorded, ours)
    columns = replay.projected.get((frame["conn"], frame["request_id"]))
    ours = replay.masked(ours, True, columns)
    recorded = replay.masked(recorded, False, columns)
    return None if ours == recorded else (ours, recorded)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_answers_are_those_of_the_official_server(replay, scenario):
    """All requests are sent, whatever differs on the way: later scenarios build on them."""
    differences = {}
    for frame in frames_of(scenario):
        if frame["dir"] == "request":
            replay.send(frame, scenario in SASL)
            continue
        found = compare(replay, scenario, frame)
        if found is not None:
            differences[f"{frame['api']}, request {frame['request_id']}"] = found
    assert differences == {}
