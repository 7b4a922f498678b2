# SPDX-License-Identifier: Apache-2.0
"""The recorded requests of pyfluss to an official server, sent to ours (frames/README.md).

Goal: our server answers each request as the official one did. Method: all scenarios in the order
in which they were recorded, each recorded connection as one of ours; responses compared as decoded
messages, after what no two servers share is masked: ids (mapped), times, addresses, texts of
errors, the order of lists that have none. Of batches that a server makes (projected ones,
changelogs) only headers and change types are compared: ours are aligned to 8 bytes and not to 64.
Their values are compared by the acceptance tests and tests/interop. Where ours differs on purpose,
DIFFERENT says so.
"""

import json
import sys
from pathlib import Path

import pytest

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
        self.projected = set()  # the same keys

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
        if any(table["projected_fields"] for table in message.get("tables_req", [])):
            self.projected.add(key)

    def answer(self, frame):
        """(recorded, ours) of a response: (type, message) each."""
        connection = self.connections[frame["conn"]]
        kind = frame["response_type"]
        name = API[frame["api"]][2] if kind == SUCCESS else "ErrorResponse"
        recorded = decode(name, bytes.fromhex(frame["frame_hex"])[9:])
        key = (frame["conn"], frame["request_id"])
        return (kind, recorded), connection.answer(self.sent.pop(key))

    def masked(self, message, is_ours, is_projected):
        """A message in comparable form, with our ids."""
        out = {}
        for name, value in message.items():
            if name in MASKED:
                continue
            if name in ("table_json", "schema_json", "database_json"):
                value = json.loads(value)
                for newer in NEWER:
                    value.get("properties", {}).pop(newer, None)
            elif name == "records":
                value = self.masked_records(value, is_projected)
            elif name in IDS:
                value = value if is_ours else self.ids[IDS[name]].get(value, value)
            elif isinstance(value, dict):
                value = self.masked(value, is_ours, is_projected)
            elif isinstance(value, list):
                value = [
                    self.masked(v, is_ours, is_projected) if isinstance(v, dict) else v
                    for v in value
                ]
                value.sort(key=lambda v: json.dumps(v, sort_keys=True, default=repr))
            out[name] = value
        return out

    @staticmethod
    def masked_records(data, is_projected):
        """Batches without their time; other bytes as they are."""
        found = batches(data)
        if not found or sum(12 + b["length"] for b in found) != len(data):
            return data
        out = []
        for b in found:
            is_changelog = b["magic"] == 0 and b["bytes"][27] & 1 == 0
            end = 48 + (b["records"] if is_changelog else 0)
            is_made = is_projected or is_changelog
            out.append(
                b["bytes"][:8] + b["bytes"][25:end]
                if is_made
                else b["bytes"][:13] + b["bytes"][21:]
            )
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
    is_projected = (frame["conn"], frame["request_id"]) in replay.projected
    ours = replay.masked(ours, True, is_projected)
    recorded = replay.masked(recorded, False, is_projected)
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
