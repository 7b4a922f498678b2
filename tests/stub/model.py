# SPDX-License-Identifier: Apache-2.0
"""What the stub server's cluster knows, and the honest answer to each request.

Batches are kept as they come in; of their bytes only the headers are read. Keys are compared as
bytes. A request that must wait (a fetch without data) raises StillWaiting and is asked again.
"""

import collections
import contextlib
import json
import struct
import time

from wire import API, BATCH, table_json

DUPLICATES_KEPT = 5
KV_HEADER = struct.Struct("<iBIhBqii")  # length magic crc schema attributes writer sequence count


class Refused(Exception):
    """An error response."""

    def __init__(self, code, text=""):
        super().__init__(f"{code} {text}")
        self.code, self.text = code, text


class StillWaiting(Exception):
    def __init__(self, until_s):
        super().__init__()
        self.until_s = until_s


class Bucket:
    """One bucket's log, keys and writers."""

    def __init__(self, leader):
        self.leader = leader  # server id; None: none just now
        self.log = []  # (base offset, records, bytes)
        self.start, self.end = 0, 0
        self.rows = {}  # key: value, schema id first
        self.writers = {}  # writer id: deque of (sequence, base offset)

    def known(self, writer_id, sequence):
        """The base offset of a batch that is there already; None: it is next in line."""
        if writer_id < 0:
            return None
        kept = self.writers.setdefault(writer_id, collections.deque(maxlen=DUPLICATES_KEPT))
        for known, base_offset in kept:
            if known == sequence:
                return base_offset
        if sequence != (kept[-1][0] + 1 if kept else 0):
            raise Refused(31, f"writer {writer_id}: sequence {sequence} is out of order")
        return None

    def append(self, count, data, writer_id, sequence):
        base_offset = self.end
        stamped = struct.pack("<q", base_offset) + data[8:13] + struct.pack("<q", _now_ms())
        self.log.append((base_offset, count, stamped + data[21:]))
        self.took(max(count, 1), writer_id, sequence)
        return base_offset

    def took(self, count, writer_id, sequence):
        if writer_id >= 0:
            self.writers[writer_id].append((sequence, self.end))
        self.end += count


class Table:
    def __init__(self, stub, table_id, path, description):
        self.stub, self.id, self.path, self.json = stub, table_id, path, description
        parsed = json.loads(description)
        self.bucket_count = parsed.get("bucket_count") or 1
        self.is_keyed = bool(parsed["schema"].get("primary_key"))
        self.partition_keys = parsed.get("partition_key", [])
        self.partitions = {}  # name: id
        self.buckets = {}  # (partition id or None, bucket): Bucket

    def of(self, bucket, partition_id=None):
        return self.buckets[partition_id, bucket]


class Cluster:
    """Databases, tables, leaders, writer ids."""

    def __init__(self, stub):
        self.stub = stub
        self.databases = {"fluss"}
        self.tables = {}  # path: Table
        self.next_table_id = self.next_partition_id = self.next_writer_id = 1
        self.users = {}  # name: password; empty: no SASL
        self.api_versions = {name: (0, 9) for name in API}
        self.coordinator_id = 0
        self.is_time_over = False
        self._refused, self._refusal = set(), None

    def create_table(self, path, columns, buckets=1, primary_key=(), **more):
        more = {"bucket_key": [], "bucket_count": buckets, **more}
        if primary_key:
            more["bucket_key"] = more["bucket_key"] or list(primary_key)
        described = json.loads(table_json(columns, **more))
        if primary_key:
            described["schema"]["primary_key"] = list(primary_key)
            for column in described["schema"]["columns"]:
                column["data_type"]["nullable"] = column["name"] not in primary_key
        return self.add_table(path, json.dumps(described).encode())

    def add_table(self, path, description):
        table = Table(self.stub, self.next_table_id, path, description)
        self.next_table_id += 1
        self.tables[path] = table
        if not table.partition_keys:
            self.lead(table, None)
        return table

    def add_partition(self, table, name):
        table.partitions[name] = self.next_partition_id
        self.next_partition_id += 1
        self.lead(table, table.partitions[name])
        return table.partitions[name]

    def lead(self, table, partition_id):
        for i in range(table.bucket_count):
            leader = self.stub.servers[i % len(self.stub.servers)].id
            table.buckets[partition_id, i] = Bucket(leader)

    def table_at(self, path):
        found = self.tables.get((path["database_name"], path["table_name"]))
        if found is None:
            raise Refused(7, f"Table '{path['table_name']}' does not exist.")
        return found

    def by_id(self, table_id):
        return next((t for t in self.tables.values() if t.id == table_id), None)

    def bucket_for(self, exchange, table_id, part):
        """The bucket of one part of a request, at the server that leads it."""
        key = (table_id, part.get("partition_id"), part["bucket_id"])
        if key in self._refused and not self._refusal[2]:
            raise Refused(*self._refusal[:2])
        table = self.by_id(table_id)
        bucket = table and table.buckets.get(key[1:])
        if bucket is None:
            raise Refused(21, "no such bucket here")
        if bucket.leader != exchange.server.id:
            raise Refused(12, f"bucket {part['bucket_id']} is led by {bucket.leader}")
        return table, bucket

    @contextlib.contextmanager
    def refusing(self, keys, code, text, applied):
        """Meanwhile refuse these (table id, partition id, bucket): before or after the effect."""
        self._refused, self._refusal = keys, (code, text, applied)
        try:
            yield
        finally:
            self._refused = set()

    def for_buckets(self, exchange, table_id, parts, serve):
        """One answer a part; an error is the part's own."""
        answers = []
        for part in parts:
            answer = {"bucket_id": part["bucket_id"], "partition_id": part.get("partition_id")}
            try:
                table, bucket = self.bucket_for(exchange, table_id, part)
                answer.update(serve(table, bucket, part))
                if (table_id, part.get("partition_id"), part["bucket_id"]) in self._refused:
                    raise Refused(*self._refusal[:2])
            except Refused as refused:
                answer = {k: answer[k] for k in ("bucket_id", "partition_id")}
                answer.update(error_code=refused.code, error_message=refused.text)
            answers.append(answer)
        return answers


def _now_ms():
    return int(time.time() * 1000)


# ---- honest answers ----

HANDLERS = {}


def handler(function):
    HANDLERS[function.__name__.upper()] = function
    return function


@handler
def api_versions(cluster, exchange):
    versions = [
        {"api_key": API[name][0], "min_version": low, "max_version": high}
        for name, (low, high) in cluster.api_versions.items()
    ]
    return {"api_versions": versions}


@handler
def authenticate(cluster, exchange):
    if exchange.message["protocol"] != "PLAIN":
        raise Refused(46, "the enabled mechanisms are [PLAIN]")
    token = exchange.message["token"].split(b"\0")
    user = token[1].decode() if len(token) == 3 else ""
    if cluster.users.get(user) != (token[2].decode() if len(token) == 3 else None):
        raise Refused(46, "wrong user or password")
    exchange.connection.is_authenticated = True
    return {"challenge": b""}


def bucket_metadata(table, partition_id):
    return [
        {"bucket_id": bucket, "leader_id": state.leader, "replica_id": [0]}
        for (partition, bucket), state in table.buckets.items()
        if partition == partition_id
    ]


@handler
def get_metadata(cluster, exchange):
    if cluster.users and not exchange.connection.is_authenticated:
        raise Refused(46, "not authenticated")
    nodes = [{"node_id": s.id, "host": "127.0.0.1", "port": s.port} for s in cluster.stub.servers]
    answer = {
        "coordinator_server": nodes[cluster.coordinator_id],
        "tablet_servers": nodes,
        "table_metadata": [],
        "partition_metadata": [],
    }
    named = []
    for path in exchange.message["table_path"]:
        try:
            table = cluster.table_at(path)
        except Refused as refused:
            text = f"org.apache.fluss.exception.TableNotExistException: {refused.text}"
            raise Refused(-1, text) from None
        named.append(table)
        answer["table_metadata"].append(
            {
                "table_path": path,
                "table_id": table.id,
                "schema_id": 1,
                "table_json": table.json,
                "bucket_metadata": bucket_metadata(table, None),
                "created_time": 0,
                "modified_time": 0,
            }
        )
    wanted = []
    for path in exchange.message["partitions_path"]:
        table = cluster.table_at(path)
        if path["partition_name"] not in table.partitions:
            raise Refused(36, f"partition {path['partition_name']} does not exist")
        wanted.append((table, path["partition_name"]))
    for partition_id in exchange.message["partitions_id"]:
        found = [(t, n) for t in named for n, i in t.partitions.items() if i == partition_id]
        if not found:
            raise Refused(36, f"partition id {partition_id} does not exist")
        wanted += found
    for table, name in wanted:
        answer["partition_metadata"].append(
            {
                "table_id": table.id,
                "partition_name": name,
                "partition_id": table.partitions[name],
                "bucket_metadata": bucket_metadata(table, table.partitions[name]),
            }
        )
    return answer


@handler
def get_table_info(cluster, exchange):
    table = cluster.table_at(exchange.message["table_path"])
    return {
        "table_id": table.id,
        "schema_id": 1,
        "table_json": table.json,
        "created_time": 0,
        "modified_time": 0,
    }


@handler
def get_table_schema(cluster, exchange):
    table = cluster.table_at(exchange.message["table_path"])
    if exchange.message.get("schema_id") not in (None, 1):
        raise Refused(9, "no such schema")
    return {"schema_id": 1, "schema_json": json.dumps(json.loads(table.json)["schema"]).encode()}


@handler
def list_databases(cluster, exchange):
    return {"database_name": sorted(cluster.databases)}


@handler
def database_exists(cluster, exchange):
    return {"exists": exchange.message["database_name"] in cluster.databases}


@handler
def create_database(cluster, exchange):
    cluster.databases.add(exchange.message["database_name"])
    return {}


@handler
def drop_database(cluster, exchange):
    cluster.databases.discard(exchange.message["database_name"])
    return {}


@handler
def get_database_info(cluster, exchange):
    return {"database_json": b'{"version":1}', "created_time": 0, "modified_time": 0}


@handler
def list_tables(cluster, exchange):
    return {"table_name": [name for _, name in cluster.tables]}


@handler
def table_exists(cluster, exchange):
    path = exchange.message["table_path"]
    return {"exists": (path["database_name"], path["table_name"]) in cluster.tables}


@handler
def create_table(cluster, exchange):
    path = exchange.message["table_path"]
    key = (path["database_name"], path["table_name"])
    if key in cluster.tables:
        if exchange.message["ignore_if_exists"]:
            return {}
        raise Refused(8, "the table exists")
    cluster.add_table(key, exchange.message["table_json"])
    return {}


@handler
def drop_table(cluster, exchange):
    table = cluster.table_at(exchange.message["table_path"])
    del cluster.tables[table.path]
    return {}


@handler
def list_partition_infos(cluster, exchange):
    table = cluster.table_at(exchange.message["table_path"])
    infos = []
    for name, partition_id in table.partitions.items():
        values = dict(zip(table.partition_keys, name.split("$")))
        spec = {"partition_key_values": [{"key": k, "value": v} for k, v in values.items()]}
        infos.append({"partition_id": partition_id, "partition_spec": spec})
    return {"partitions_info": infos}


@handler
def create_partition(cluster, exchange):
    table = cluster.table_at(exchange.message["table_path"])
    pairs = exchange.message["partition_spec"]["partition_key_values"]
    name = "$".join(pair["value"] for pair in pairs)
    if name not in table.partitions:
        cluster.add_partition(table, name)
    elif not exchange.message["ignore_if_not_exists"]:
        raise Refused(42, "the partition exists")
    return {}


@handler
def drop_partition(cluster, exchange):
    table = cluster.table_at(exchange.message["table_path"])
    pairs = exchange.message["partition_spec"]["partition_key_values"]
    table.partitions.pop("$".join(pair["value"] for pair in pairs), None)
    return {}


@handler
def init_writer(cluster, exchange):
    cluster.next_writer_id += 1
    return {"writer_id": cluster.next_writer_id - 1}


@handler
def produce_log(cluster, exchange):
    def serve(table, bucket, part):
        head = BATCH.unpack_from(part["records"])
        writer_id, sequence, count = head[8:11]
        base_offset = bucket.known(writer_id, sequence)
        if base_offset is None:
            base_offset = bucket.append(count, part["records"], writer_id, sequence)
        return {"base_offset": base_offset}

    message = exchange.message
    parts = cluster.for_buckets(exchange, message["table_id"], message["buckets_req"], serve)
    return {"buckets_resp": parts}


def kv_records(data, count):
    """(key, row or None) of a KV batch."""
    at = KV_HEADER.size
    for _ in range(count):
        (size,) = struct.unpack_from("<i", data, at)
        body, at = data[at + 4 : at + 4 + size], at + 4 + size
        key_size = shift = used = 0
        while True:
            byte = body[used]
            used += 1
            key_size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        row = body[used + key_size :]
        yield body[used : used + key_size], row or None


@handler
def put_kv(cluster, exchange):
    def serve(table, bucket, part):
        head = KV_HEADER.unpack_from(part["records"])
        schema_id, writer_id, sequence, count = head[3], head[5], head[6], head[7]
        if bucket.known(writer_id, sequence) is None:
            for key, row in kv_records(part["records"], count):
                if row is None:
                    bucket.rows.pop(key, None)
                else:
                    bucket.rows[key] = struct.pack("<h", schema_id) + row
            bucket.took(count, writer_id, sequence)
        return {"log_end_offset": bucket.end}

    message = exchange.message
    parts = cluster.for_buckets(exchange, message["table_id"], message["buckets_req"], serve)
    return {"buckets_resp": parts}


@handler
def fetch_log(cluster, exchange):
    message = exchange.message
    left = message["max_bytes"]
    found, has_error = 0, False
    tables = []
    for wanted in message["tables_req"]:

        def serve(table, bucket, part):
            nonlocal left, found
            offset = bucket.start if part["fetch_offset"] == -2 else part["fetch_offset"]
            if not bucket.start <= offset <= bucket.end:
                text = f"offset {offset} is out of range [{bucket.start}, {bucket.end})"
                raise Refused(19, text)
            records = b""
            room = min(left, part["max_fetch_bytes"])
            for base, count, data in bucket.log:
                if base + max(count, 1) <= offset:
                    continue
                if len(records) + len(data) > room and (records or found):
                    break
                records += data
            found += len(records)
            left -= len(records)
            return {
                "records": records,
                "high_watermark": bucket.end,
                "log_start_offset": bucket.start,
            }

        parts = cluster.for_buckets(exchange, wanted["table_id"], wanted["buckets_req"], serve)
        has_error = has_error or any("error_code" in part for part in parts)
        tables.append({"table_id": wanted["table_id"], "buckets_resp": parts})
    until_s = exchange.at_s + (message.get("max_wait_ms") or 0) / 1000
    is_late = cluster.is_time_over or time.monotonic() >= until_s
    if found < (message.get("min_bytes") or 0) and not has_error and not is_late:
        raise StillWaiting(until_s)
    return {"tables_resp": tables}


@handler
def list_offsets(cluster, exchange):
    message = exchange.message

    def serve(table, bucket, part):
        return {"offset": bucket.start if message["offset_type"] == 0 else bucket.end}

    wanted = [
        {"bucket_id": i, "partition_id": message.get("partition_id")} for i in message["bucket_id"]
    ]
    parts = cluster.for_buckets(exchange, message["table_id"], wanted, serve)
    for part in parts:
        part.pop("partition_id")
    return {"buckets_resp": parts}


@handler
def lookup(cluster, exchange):
    def serve(table, bucket, part):
        return {"values": [{"values": bucket.rows.get(key)} for key in part["keys"]]}

    message = exchange.message
    parts = cluster.for_buckets(exchange, message["table_id"], message["buckets_req"], serve)
    return {"buckets_resp": parts}


@handler
def prefix_lookup(cluster, exchange):
    def serve(table, bucket, part):
        lists = []
        for prefix in part["keys"]:
            keys = sorted(key for key in bucket.rows if key.startswith(prefix))
            lists.append({"values": [bucket.rows[key] for key in keys]})
        return {"value_lists": lists}

    message = exchange.message
    parts = cluster.for_buckets(exchange, message["table_id"], message["buckets_req"], serve)
    return {"buckets_resp": parts}


@handler
def limit_scan(cluster, exchange):
    message = exchange.message
    try:
        table, bucket = cluster.bucket_for(exchange, message["table_id"], message)
    except Refused as refused:
        return {"error_code": refused.code, "error_message": refused.text}
    if not table.is_keyed:
        kept, rows = [], 0
        for _, count, data in reversed(bucket.log):
            if rows >= message["limit"]:
                break
            kept.insert(0, data)
            rows += count
        return {"is_log_table": True, "records": b"".join(kept)}
    values = [bucket.rows[key] for key in sorted(bucket.rows)][: message["limit"]]
    body = b"".join(struct.pack("<i", len(value)) + value for value in values)
    head = struct.pack("<iBi", 5 + len(body), 0, len(values))
    return {"is_log_table": False, "records": head + body}
