# SPDX-License-Identifier: Apache-2.0
"""A bare client of the Fluss protocol for tests of the server: frames and messages as plain dicts.

It shares no code with the library; only the schema of the messages is read from src/protocol.
"""

import os
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FLUSS_BUILD", TOP / "build"))
sys.path.insert(0, str(TOP / "tests" / "unit" / "protocol"))
from codec_tool import load_schema  # noqa: E402

SCHEMA = load_schema()
LIMIT_S = 30
API = {}  # name: (key, request, response)
SUCCESS, ERROR, FAILURE = 0, 1, 2


def _read_apis():
    """The table of src/protocol/api_keys.def."""
    by_c_name = {message.c_name: message.name for message in SCHEMA.values()}
    text = (TOP / "src" / "protocol" / "api_keys.def").read_text()
    row = r"FL_API\((\d+),\s*(\w+),\s*\w+,\s*\d+,\s*\d+,\s*\d+,\s*(\w+),\s*(\w+)\)"
    for key, name, request, response in re.findall(row, text):
        API[name] = (int(key), by_c_name["fl_msg_" + request], by_c_name["fl_msg_" + response])


_read_apis()


# ---- messages ----


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _scalar(f, value):
    if f.type in ("int32", "int64", "bool"):
        return 0, varint(int(value))
    if f.type == "float":
        return 5, struct.pack("<f", value)
    if f.type == "double":
        return 1, struct.pack("<d", value)
    if f.is_message:
        body = encode(f.type, value)
    else:
        body = value.encode() if isinstance(value, str) else bytes(value)
    return 2, varint(len(body)) + body


def encode(name, message):
    """The bytes of a message; fields that are absent are left out, also required ones."""
    out = b""
    unknown = set(message) - {f.name for f in SCHEMA[name].fields}
    assert not unknown, f"{name} has no field {unknown}"
    for f in SCHEMA[name].fields:
        if message.get(f.name) is None:
            continue
        values = message[f.name] if f.is_repeated else [message[f.name]]
        if f.label == "PACKED":
            body = b"".join(_scalar(f, value)[1] for value in values)
            out += varint(f.number << 3 | 2) + varint(len(body)) + body if values else b""
            continue
        for value in values:
            wire_type, body = _scalar(f, value)
            out += varint(f.number << 3 | wire_type) + body
    return out


def _read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _signed(f, value):
    if f.type == "bool":
        return bool(value)
    return value - (1 << 64) if value >= 1 << 63 else value


def decode(name, data):
    """A message as a dict; strings as str, bytes as bytes, int64 as int."""
    fields = {f.number: f for f in SCHEMA[name].fields}
    out = {f.name: [] for f in SCHEMA[name].fields if f.is_repeated}
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        f = fields[tag >> 3]
        values = []
        if tag & 7 == 0:
            value, at = _read_varint(data, at)
            values = [_signed(f, value)]
        elif tag & 7 == 5:
            values = list(struct.unpack_from("<f", data, at))
            at += 4
        elif tag & 7 == 1:
            values = list(struct.unpack_from("<d", data, at))
            at += 8
        else:
            size, at = _read_varint(data, at)
            body, at = data[at : at + size], at + size
            if f.is_message:
                values = [decode(f.type, body)]
            elif f.type == "string":
                values = [body.decode()]
            elif f.type == "bytes":
                values = [bytes(body)]
            else:
                inner = 0
                while inner < len(body):
                    value, inner = _read_varint(body, inner)
                    values.append(_signed(f, value))
        if f.is_repeated:
            out[f.name] += values
        else:
            out[f.name] = values[-1]
    return out


# ---- connections ----


class ServerError(Exception):
    """An error response."""

    def __init__(self, message):
        super().__init__(f"code {message['error_code']}: {message.get('error_message', '')}")
        self.code = message["error_code"]
        self.text = message.get("error_message", "")


class Connection:
    """One connection. Responses may come in any order; they are kept until someone asks."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=LIMIT_S)
        self.next_id = 0
        self.asked = {}  # request id: response message
        self.answers = {}  # request id: (type, body)
        self.read = b""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, api, message=None, body=None, version=0):
        """Send a request, or any bytes as its body; gives its id."""
        key, request, response = API[api]
        body = encode(request, message or {}) if body is None else body
        request_id = self.next_id
        self.next_id += 1
        self.asked[request_id] = response
        header = struct.pack(">ihhi", 8 + len(body), key, version, request_id)
        self.socket.sendall(header + body)
        return request_id

    def _receive(self, size):
        while len(self.read) < size:
            got = self.socket.recv(1 << 20)
            if not got:
                raise ConnectionError("closed by the server")
            self.read += got
        data, self.read = self.read[:size], self.read[size:]
        return data

    def frame(self):
        """The next frame: (type, request id or None, body)."""
        (size,) = struct.unpack(">i", self._receive(4))
        data = self._receive(size)
        if data[0] == FAILURE:
            return FAILURE, None, data[1:]
        return data[0], struct.unpack(">i", data[1:5])[0], data[5:]

    def answer(self, request_id):
        """(type, message) of a request."""
        while request_id not in self.answers:
            kind, answered, body = self.frame()
            self.answers[answered] = (kind, body)
        kind, body = self.answers.pop(request_id)
        name = self.asked.pop(request_id) if kind == SUCCESS else "ErrorResponse"
        return kind, decode(name, body)

    def ask(self, api, message=None, body=None, version=0):
        """Send and wait; an error response is raised."""
        kind, answer = self.answer(self.send(api, message, body, version))
        if kind != SUCCESS:
            raise ServerError(answer)
        return answer


# ---- servers ----


class Port:
    """A port of 127.0.0.1 for servers that come and go: meanwhile no other program is given it."""

    def __init__(self, number=0):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers have it
        self.socket.bind(("127.0.0.1", number))
        self.number = self.socket.getsockname()[1]
        self.address = f"127.0.0.1:{self.number}"

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.socket.close()


class Server:
    """A `fluss server` process on a data directory."""

    def __init__(self, data_dir, *options, command=None, environment=None, log=None):
        self.data_dir = Path(data_dir)
        self.options = options
        self.command = command or BUILD / "fluss"
        self.environment = environment
        self.log = log  # a file for standard error
        self.process = None

    def start(self):
        arguments = [self.command, "server", "--data-dir", self.data_dir]
        if "--listen" not in self.options:
            arguments += ["--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [*map(str, arguments), *self.options],
            stdout=subprocess.PIPE,
            stderr=self.log,
            bufsize=0,
            env={**os.environ, **(self.environment or {})},
        )
        count = 2 if "--sasl-listen" in self.options else 1
        self.addresses = [self._line() for _ in range(count)]
        self.address = self.addresses[0]
        return self

    def _line(self):
        line, deadline = b"", time.monotonic() + LIMIT_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                assert selector.select(deadline - time.monotonic()), "the server does not answer"
                byte = self.process.stdout.read(1)
                assert byte, f"the server ended with status {self.process.wait()}"
                line += byte
        words = line.decode().split()
        assert words[:2] == ["listening", "on"], line
        return words[2]

    def connect(self):
        return Connection(self.address)

    def rss_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def cpu_s(self):
        """Seconds of a processor that it used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._over()

    def stop(self):
        """SIGTERM; gives the exit status."""
        self.process.terminate()
        return self._over()

    def _over(self):
        status = self.process.wait(LIMIT_S)
        self.process.stdout.close()
        self.process = None
        return status

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *exc_info):
        if self.process is None:
            return
        if self.process.poll() is not None or kind is not None:
            self.process.kill()
            status = self._over()
            assert kind is not None or status == 0, f"the server ended by itself, status {status}"
        else:
            assert self.stop() == 0


# ---- tables and batches ----


def table_json(columns, **more):
    """A table descriptor: columns {name: type root}."""
    import json

    schema = {
        "version": 1,
        "columns": [
            {"name": name, "data_type": {"type": root}, "id": i}
            for i, (name, root) in enumerate(columns.items())
        ],
        "highest_field_id": len(columns) - 1,
    }
    desc = {
        "version": 1,
        "schema": schema,
        "partition_key": [],
        "properties": {},
        "custom_properties": {},
    }
    return json.dumps({**desc, **more}).encode()


def path_of(table, database="fluss"):
    return {"database_name": database, "table_name": table}


def create_table(connection, table, buckets=1, columns=None, **more):
    """Make a log table; gives its id."""
    json_bytes = table_json(
        columns or {"id": "INTEGER"}, bucket_key=[], bucket_count=buckets, **more
    )
    request = {
        "table_path": path_of(table),
        "table_json": json_bytes,
        "ignore_if_exists": False,
    }
    connection.ask("CREATE_TABLE", request)
    return connection.ask("GET_TABLE_INFO", {"table_path": path_of(table)})["table_id"]


def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_CRC = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


BATCH = struct.Struct("<qibqIhbiqii")  # the header of magic 0, 48 bytes


def batch(payload, records=1, writer_id=-1, sequence=-1):
    """A log batch. The payload is not looked into by the server."""
    checked = struct.pack("<hbiqii", 1, 1, max(records - 1, 0), writer_id, sequence, records)
    checked += payload
    head = struct.pack("<qibqI", 0, 48 - 12 + len(payload), 0, 0, crc32c(checked))
    return head + checked


def batches(data):
    """The whole batches of fetched records: dicts."""
    out, at = [], 0
    names = "base_offset length magic timestamp crc schema_id attributes delta writer_id sequence"
    while at + 48 <= len(data):
        values = BATCH.unpack_from(data, at)
        found = dict(zip((names + " records").split(), values))
        end = at + 12 + found["length"]
        if end > len(data):
            break
        found["payload"] = bytes(data[at + 48 : end])
        found["bytes"] = bytes(data[at:end])
        out.append(found)
        at = end
    return out


def produce(table_id, records, bucket=0, acks=-1, partition_id=None):
    return {
        "acks": acks,
        "table_id": table_id,
        "timeout_ms": 30000,
        "buckets_req": [{"partition_id": partition_id, "bucket_id": bucket, "records": records}],
    }


def fetch(table_id, offset, bucket=0, wait_ms=0, min_bytes=1, **more):
    return {
        "follower_server_id": -1,
        "max_bytes": 16 << 20,
        "min_bytes": min_bytes,
        "max_wait_ms": wait_ms,
        "tables_req": [
            {
                "table_id": table_id,
                "projection_pushdown_enabled": False,
                "buckets_req": [
                    {"bucket_id": bucket, "fetch_offset": offset, "max_fetch_bytes": 1 << 20}
                ],
                **more,
            }
        ],
    }


def fetched(answer):
    """The only bucket of a fetch's answer."""
    return answer["tables_resp"][0]["buckets_resp"][0]


def read_log(connection, table_id, bucket=0):
    """All batches of a bucket."""
    out, offset = [], 0
    while True:
        answer = fetched(connection.ask("FETCH_LOG", fetch(table_id, offset, bucket)))
        assert answer.get("error_code") is None, answer
        got = batches(answer["records"])
        out += got
        if not got:
            assert offset == answer["high_watermark"]
            return out
        offset = got[-1]["base_offset"] + got[-1]["delta"] + 1
