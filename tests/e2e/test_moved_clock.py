# SPDX-License-Identifier: Apache-2.0
"""What the server does by the time of day, on a clock that the test moves by days and months.

Method: moved_clock.c; the server looks every 50 ms, what it does is waited for with a deadline.
"""

import datetime
import struct
import time

import pytest
from rows import Table
from wire import BUILD, LIMIT_S, Server, batch, create_table, path_of, produce, table_json

HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS
START = datetime.datetime(2027, 2, 26, 12, tzinfo=datetime.timezone.utc)
UNKNOWN_WRITER = 31
OPTIONS = {
    "auto-partition.check.interval": "50ms",
    "log.retention.check-interval": "50ms",
    "log.segment.file-size": "4kb",
    "server.writer-id.expiration-time": "7d",
}


class Clock:
    """The server's time of day, which goes on from where it is set."""

    def __init__(self, path):
        self.path = path
        self.set(START)

    def set(self, moment):
        shift_ms = int((moment.timestamp() - time.time()) * 1000)
        fresh = self.path.with_suffix(".new")
        fresh.write_bytes(struct.pack("=q", shift_ms))
        fresh.replace(self.path)

    def go_on(self, **time_delta):
        self.moment = getattr(self, "moment", START) + datetime.timedelta(**time_delta)
        self.set(self.moment)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


@pytest.fixture
def server(tmp_path, clock, request):
    more = getattr(request, "param", {})
    shim = (BUILD / "tests" / "e2e" / "libmoved_clock.so").resolve()
    environment = {"LD_PRELOAD": str(shim), "MOVED_CLOCK": str(clock.path)}
    settings = [w for pair in {**OPTIONS, **more}.items() for w in ("-o", "=".join(pair))]
    with Server(tmp_path / "data", *settings, environment=environment) as started:
        yield started


@pytest.fixture
def connection(server):
    with server.connect() as opened:
        yield opened


def wait_for(find, expected):
    deadline = time.monotonic() + LIMIT_S
    while (found := find()) != expected:
        assert time.monotonic() < deadline, f"found {found}, expected {expected}"


def make_partitioned(connection, name, unit, precreate, retention):
    properties = {
        "table.auto-partition.enabled": "true",
        "table.auto-partition.time-unit": unit,
        "table.auto-partition.num-precreate": str(precreate),
        "table.auto-partition.num-retention": str(retention),
        "table.auto-partition.time-zone": "UTC",
    }
    more = {"partition_key": ["p"], "bucket_key": [], "bucket_count": 1}
    json_bytes = table_json({"id": "INTEGER", "p": "STRING"}, properties=properties, **more)
    request = {"table_path": path_of(name), "table_json": json_bytes, "ignore_if_exists": False}
    connection.ask("CREATE_TABLE", request)


def partitions(connection, name):
    found = connection.ask("LIST_PARTITION_INFOS", {"table_path": path_of(name)})
    return sorted(
        each["partition_spec"]["partition_key_values"][0]["value"]
        for each in found["partitions_info"]
    )


def test_partitions_follow_the_days_over_the_end_of_a_month(connection, clock):
    make_partitioned(connection, "days", "DAY", 2, 1)
    wait_for(lambda: partitions(connection, "days"), ["20270226", "20270227"])
    clock.go_on(days=1)
    wait_for(lambda: partitions(connection, "days"), ["20270226", "20270227", "20270228"])
    clock.go_on(days=1)
    wait_for(lambda: partitions(connection, "days"), ["20270227", "20270228", "20270301"])


def test_partitions_of_days_when_the_server_slept(connection, clock):
    make_partitioned(connection, "slept", "DAY", 1, 1)
    clock.go_on(days=40)  # those between are not made
    wait_for(lambda: partitions(connection, "slept"), ["20270407"])


def test_partitions_follow_months_and_years(connection, clock):
    make_partitioned(connection, "months", "MONTH", 2, 1)
    make_partitioned(connection, "years", "YEAR", 1, 1)
    clock.go_on(days=31 + 10)  # 8 April: March is kept
    wait_for(lambda: partitions(connection, "months"), ["202703", "202704", "202705"])
    clock.go_on(days=300)  # 2 February 2028
    wait_for(lambda: partitions(connection, "months"), ["202802", "202803"])
    wait_for(lambda: partitions(connection, "years"), ["2027", "2028"])


def test_a_clock_that_goes_back_drops_nothing(connection, clock):
    make_partitioned(connection, "back", "DAY", 1, 1)
    clock.go_on(days=-2)
    wait_for(lambda: partitions(connection, "back"), ["20270224", "20270226"])


def log_range(connection, table_id):
    ask = {"table_id": table_id, "follower_server_id": -1, "bucket_id": [0]}
    answers = [connection.ask("LIST_OFFSETS", {**ask, "offset_type": kind}) for kind in (0, 1)]
    return tuple(answer["buckets_resp"][0]["offset"] for answer in answers)


def fill(connection, table_id, count):
    for _ in range(count):
        connection.ask("PRODUCE_LOG", produce(table_id, batch(bytes(1000))))


def test_segments_go_when_they_are_seven_days_old(connection, clock):
    table_id = create_table(connection, "old", properties={"table.log.ttl": "7d"})
    fill(connection, table_id, 10)
    clock.go_on(days=6)
    fill(connection, table_id, 10)
    assert log_range(connection, table_id) == (0, 20)
    clock.go_on(days=2)
    wait_for(lambda: log_range(connection, table_id)[0] > 0, True)
    start, end = log_range(connection, table_id)
    assert start <= 10 and end == 20, "the second ten are two days old"
    clock.go_on(days=6)
    wait_for(lambda: log_range(connection, table_id)[0] > 10, True)
    assert log_range(connection, table_id)[0] < 20, "the segment that is written to stays"


ROLLING = {"log.retention.roll-active-segment.enabled": "true"}


@pytest.mark.parametrize("server", [ROLLING], indirect=True)
def test_the_segment_that_is_written_to_goes_too_when_asked_for(server, connection, clock):
    table_id = create_table(connection, "rolled", properties={"table.log.ttl": "7d"})
    rows = Table("rows", [("id", "INT"), ("v", "BYTES")], **{"log.ttl": "7d"}).create(connection)
    fill(connection, table_id, 1)
    connection.ask("PUT_KV", rows.put([([1, b"x"], False)]))
    clock.go_on(days=8)
    wait_for(lambda: log_range(connection, table_id), (1, 1))
    wait_for(lambda: log_range(connection, rows.id), (1, 1))
    found = connection.ask("LOOKUP", rows.lookup([[1, None]]))
    assert "values" in found["buckets_resp"][0]["values"][0], "rows live longer than their log"
    server.kill()
    with server.start().connect() as again:
        assert log_range(again, table_id) == (1, 1), "offsets go on where they were"
        assert log_range(again, rows.id) == (1, 1)
        fill(again, table_id, 1)
        assert log_range(again, table_id) == (1, 2)


def test_rolling_is_switched_on_at_run_time(connection, clock):
    table_id = create_table(connection, "switched", properties={"table.log.ttl": "7d"})
    fill(connection, table_id, 1)
    clock.go_on(days=8)
    (key,) = ROLLING
    change = {"config_key": key, "config_value": "true", "op_type": 0}
    connection.ask("ALTER_CLUSTER_CONFIGS", {"alter_configs": [change]})
    wait_for(lambda: log_range(connection, table_id), (1, 1))


def test_a_silent_writer_is_forgotten_after_seven_days(connection, clock):
    table_id = create_table(connection, "silent")

    def write(sequence):
        records = batch(b"x", writer_id=5, sequence=sequence)
        return connection.ask("PRODUCE_LOG", produce(table_id, records))["buckets_resp"][0]

    assert write(0)["base_offset"] == 0
    clock.go_on(days=6)
    assert write(1)["base_offset"] == 1
    clock.go_on(days=8)
    assert write(2)["error_code"] == UNKNOWN_WRITER
    assert write(0)["base_offset"] == 2, "it begins anew"
