# SPDX-License-Identifier: Apache-2.0
"""Old segments go, of logs in use and of logs that nobody has opened, and no row goes with them.

Method: tables that live for a millisecond, small segments, a server that looks every 50 ms; files
are waited for with a deadline, the server is killed after its changelogs lost their beginning.
"""

import time

from rows import Table
from wire import LIMIT_S, Server, batch, create_table, produce

OPTIONS = ("log.segment.file-size=4kb", "log.index.interval-size=1kb")
LOOKING = (*OPTIONS, "log.retention.check-interval=50ms")
TTL = "1ms"
ROWS = 200


def started(data_dir, options):
    return Server(data_dir, *[word for option in options for word in ("-o", option)]).start()


def segments(data_dir, table):
    return sorted(data_dir.glob(f"fluss/{table}-*/**/*.log"))


def wait_for(condition):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline


def log_start(connection, table_id):
    request = {"table_id": table_id, "offset_type": 0, "follower_server_id": -1, "bucket_id": [0]}
    return connection.ask("LIST_OFFSETS", request)["buckets_resp"][0]["offset"]


def fill(server, table):
    with server.connect() as connection:
        table.create(connection)
        for i in range(ROWS):
            connection.ask("PUT_KV", table.put([([i, bytes(100)], False)]))


def check_rows(server, table):
    with server.connect() as connection:
        assert log_start(connection, table.id) > 0
        keys = [[i, None] for i in range(ROWS)]
        (found,) = connection.ask("LOOKUP", table.lookup(keys))["buckets_resp"]
        assert all("values" in value for value in found["values"])


def make_table():
    return Table("rows", [("id", "INT"), ("v", "BYTES")], **{"log.ttl": TTL})


def test_a_log_that_nobody_opens_expires(tmp_path):
    data_dir = tmp_path / "data"
    server = started(data_dir, OPTIONS)
    with server.connect() as connection:
        old = create_table(connection, "old", properties={"table.log.ttl": TTL})
        kept = create_table(connection, "kept", properties={"table.log.ttl": "0ms"})
        for _ in range(20):
            for table_id in (old, kept):
                connection.ask("PRODUCE_LOG", produce(table_id, batch(bytes(1000))))
    before = len(segments(data_dir, "kept"))
    assert len(segments(data_dir, "old")) == before > 3
    assert server.stop() == 0
    server = started(data_dir, LOOKING)
    wait_for(lambda: len(segments(data_dir, "old")) == 1)
    with server.connect() as connection:
        assert log_start(connection, old) > 0
        assert log_start(connection, kept) == 0
    assert len(segments(data_dir, "kept")) == before
    assert server.stop() == 0


def test_rows_stay_when_their_changelog_expires(tmp_path):
    data_dir = tmp_path / "data"
    server, table = started(data_dir, LOOKING), make_table()
    fill(server, table)
    wait_for(lambda: len(segments(data_dir, "rows")) == 1)
    check_rows(server, table)
    for end in (server.kill, server.stop):
        end()
        server.start()
        check_rows(server, table)
    assert server.stop() == 0


def test_a_changelog_that_nobody_opens_expires(tmp_path):
    data_dir = tmp_path / "data"
    server, table = started(data_dir, OPTIONS), make_table()
    fill(server, table)
    assert len(segments(data_dir, "rows")) > 3
    server.kill()  # the rows are in the changelog only
    server = started(data_dir, LOOKING)
    wait_for(lambda: len(segments(data_dir, "rows")) == 1)
    server.kill()
    server.start()
    check_rows(server, table)
    assert server.stop() == 0
