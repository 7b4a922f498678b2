# SPDX-License-Identifier: Apache-2.0
"""What the server promises, asked over a socket.

Goal and method: one claim a test; servers on fresh directories and free ports, requests by wire.py.
"""

import concurrent.futures
import json
import re
import shutil
import time
from pathlib import Path

import pytest
from wire import (
    API,
    ERROR,
    SUCCESS,
    Connection,
    Server,
    ServerError,
    batch,
    batches,
    create_table,
    fetch,
    fetched,
    path_of,
    produce,
    read_log,
    table_json,
)

TOP = Path(__file__).resolve().parents[2]
ALICE = ("--sasl-listen", "127.0.0.1:0", "--sasl-user", "alice:secret")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("server") / "data", "-o", "server.shards=3") as running:
        yield running


@pytest.fixture
def connection(server):
    with server.connect() as open_connection:
        yield open_connection


@pytest.fixture
def table(request, connection):
    """A log table of three buckets, named after the test."""
    return create_table(connection, re.sub(r"\W", "_", request.node.name)[:150], buckets=3)


def offsets(connection, table_id, buckets, offset_type=1, **more):
    request = {
        "follower_server_id": -1,
        "offset_type": offset_type,
        "table_id": table_id,
        "bucket_id": buckets,
        **more,
    }
    answers = connection.ask("LIST_OFFSETS", request)["buckets_resp"]
    return {
        answer["bucket_id"]: answer.get("offset", answer.get("error_code")) for answer in answers
    }


def code_of(connection, api, message):
    with pytest.raises(ServerError) as caught:
        connection.ask(api, message)
    return caught.value.code


# ---- writing ----


@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_each_kind_of_acks_is_answered_with_the_base_offset(connection, table, acks):
    for expected in (0, 5, 10):
        answer = connection.ask("PRODUCE_LOG", produce(table, batch(b"x", 5), acks=acks))
        assert answer["buckets_resp"] == [{"bucket_id": 0, "base_offset": expected}]


def test_other_acks_are_refused(connection, table):
    assert code_of(connection, "PRODUCE_LOG", produce(table, batch(b"x"), acks=2)) == 18


def test_a_broken_batch_is_refused_and_the_others_of_the_request_are_written(connection, table):
    broken = bytearray(batch(b"payload"))
    broken[-1] ^= 1
    request = produce(table, bytes(broken))
    request["buckets_req"].append({"bucket_id": 1, "records": batch(b"good")})
    request["buckets_req"].append({"bucket_id": 3, "records": batch(b"no such bucket")})
    answers = connection.ask("PRODUCE_LOG", request)["buckets_resp"]
    codes = {answer["bucket_id"]: answer.get("error_code") for answer in answers}
    assert codes == {0: 14, 1: None, 3: 21}
    assert offsets(connection, table, [0, 1, 2]) == {0: 0, 1: 1, 2: 0}


def test_a_repeated_batch_is_acknowledged_but_not_written_again(connection, table):
    writer_id = connection.ask("INIT_WRITER")["writer_id"]
    for sequence in range(8):
        records = batch(b"%d" % sequence, 2, writer_id, sequence)
        for _ in range(2):
            answer = connection.ask("PRODUCE_LOG", produce(table, records))["buckets_resp"][0]
            assert answer["base_offset"] == sequence * 2
    assert offsets(connection, table, [0]) == {0: 16}
    skipped = connection.ask("PRODUCE_LOG", produce(table, batch(b"", 1, writer_id, 9)))
    assert skipped["buckets_resp"][0]["error_code"] == 31


def test_log_batches_are_refused_by_a_primary_key_table(connection):
    desc = json.loads(table_json({"id": "INTEGER"}))
    desc["schema"]["primary_key"] = ["id"]
    desc["schema"]["columns"][0]["data_type"]["nullable"] = False
    request = {
        "table_path": path_of("with_key"),
        "table_json": json.dumps(desc).encode(),
        "ignore_if_exists": False,
    }
    connection.ask("CREATE_TABLE", request)
    info = connection.ask("GET_TABLE_INFO", {"table_path": path_of("with_key")})
    answer = connection.ask("PRODUCE_LOG", produce(info["table_id"], batch(b"x")))
    assert answer["buckets_resp"][0]["error_code"] == 15


def test_many_writers_share_the_buckets_without_a_hole(server, connection, table):
    def write(number):
        with server.connect() as own:
            ids = [
                own.send("PRODUCE_LOG", produce(table, batch(b"x", 3), i % 3)) for i in range(60)
            ]
            return [own.answer(i)[1]["buckets_resp"][0]["base_offset"] for i in ids]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        bases = [base for answer in pool.map(write, range(8)) for base in answer]
    assert sorted(bases) == sorted([i * 3 for i in range(160)] * 3)
    for bucket in range(3):
        found = read_log(connection, table, bucket)
        assert [b["base_offset"] for b in found] == [i * 3 for i in range(160)]


# ---- reading ----


def test_a_fetch_at_the_end_waits_until_its_time_is_over(connection, table):
    started = time.monotonic()
    answer = fetched(connection.ask("FETCH_LOG", fetch(table, 0, wait_ms=300)))
    assert 0.25 < time.monotonic() - started < 20
    assert answer == {"bucket_id": 0, "high_watermark": 0, "log_start_offset": 0, "records": b""}


def test_an_append_wakes_waiting_fetches_of_that_bucket_at_once(server, connection, table):
    waits = {b: connection.send("FETCH_LOG", fetch(table, 0, b, wait_ms=60_000)) for b in range(3)}
    connection.ask("LIST_DATABASES")
    with server.connect() as writer:
        for bucket in (2, 0, 1):
            started = time.monotonic()
            writer.ask("PRODUCE_LOG", produce(table, batch(b"row %d" % bucket), bucket))
            kind, answer = connection.answer(waits[bucket])
            assert time.monotonic() - started < 20
            assert kind == SUCCESS
            assert batches(fetched(answer)["records"])[0]["payload"] == b"row %d" % bucket


def test_a_fetch_over_all_buckets_is_woken_by_any(server, connection, table):
    request = fetch(table, 0, wait_ms=60_000)
    request["tables_req"][0]["buckets_req"] = [
        {"bucket_id": b, "fetch_offset": 0, "max_fetch_bytes": 1 << 20} for b in range(3)
    ]
    for bucket in range(3):
        waiting = connection.send("FETCH_LOG", request)
        with server.connect() as writer:
            writer.ask("PRODUCE_LOG", produce(table, batch(b"row"), bucket))
        answer = connection.answer(waiting)[1]["tables_resp"][0]["buckets_resp"]
        got = {b["bucket_id"]: len(batches(b["records"])) for b in answer}
        assert got == {b: 1 if b == bucket else 0 for b in range(3)}
        request["tables_req"][0]["buckets_req"][bucket]["fetch_offset"] = 1


def test_a_fetch_waits_for_as_many_bytes_as_it_asks_for(server, connection, table):
    waiting = connection.send("FETCH_LOG", fetch(table, 0, wait_ms=60_000, min_bytes=500))
    with server.connect() as writer:
        for _ in range(5):
            writer.ask("PRODUCE_LOG", produce(table, batch(bytes(100))))
    records = fetched(connection.answer(waiting)[1])["records"]
    assert len(records) >= 500


def test_a_dropped_table_ends_the_fetches_that_wait_for_it(server, connection):
    table_id = create_table(connection, "short_lived")
    waiting = connection.send("FETCH_LOG", fetch(table_id, 0, wait_ms=60_000))
    with server.connect() as admin:
        drop = {"table_path": path_of("short_lived"), "ignore_if_not_exists": False}
        admin.ask("DROP_TABLE", drop)
        again = create_table(admin, "short_lived")
    started = time.monotonic()
    assert again > table_id
    answer = fetched(connection.ask("FETCH_LOG", fetch(table_id, 0)))
    assert answer["error_code"] == 21
    connection.send("FETCH_LOG", fetch(again, 0))
    assert time.monotonic() - started < 20
    assert waiting not in connection.answers or connection.answers[waiting][0] == SUCCESS


@pytest.mark.parametrize(
    ("offset", "code"), [(-1, 19), (-3, 19), (4, 19), (10**15, 19), (-2, None), (3, None)]
)
def test_fetch_offsets_out_of_range_are_refused_at_once(connection, table, offset, code):
    connection.ask("PRODUCE_LOG", produce(table, batch(b"x", 3)))
    answer = fetched(connection.ask("FETCH_LOG", fetch(table, offset, wait_ms=100)))
    assert answer.get("error_code") == code
    if code is not None:
        assert f"{offset} is not in the range 0 to 3" in answer["error_message"]


def test_a_fetch_in_the_middle_of_a_batch_gives_the_whole_batch(connection, table):
    for _ in range(3):
        connection.ask("PRODUCE_LOG", produce(table, batch(b"x", 10)))
    found = batches(fetched(connection.ask("FETCH_LOG", fetch(table, 15)))["records"])
    assert [b["base_offset"] for b in found] == [10, 20]


def test_limits_of_bytes_give_whole_batches_and_at_least_one(connection, table):
    for _ in range(4):
        connection.ask("PRODUCE_LOG", produce(table, batch(bytes(1000))))
    request = fetch(table, 0)
    for limit, count in ((1, 1), (1048, 1), (2095, 1), (2096, 2), (1 << 20, 4)):
        request["tables_req"][0]["buckets_req"][0]["max_fetch_bytes"] = limit
        answer = fetched(connection.ask("FETCH_LOG", request))
        found = batches(answer["records"])
        assert (len(found), len(answer["records"])) == (count, count * 1048)


def test_a_projection_of_a_table_that_is_not_arrow_is_refused(connection):
    table_id = create_table(connection, "indexed", properties={"table.log.format": "INDEXED"})
    connection.ask("PRODUCE_LOG", produce(table_id, batch(b"x")))
    request = fetch(table_id, 0, projection_pushdown_enabled=True, projected_fields=[0])
    assert fetched(connection.ask("FETCH_LOG", request))["error_code"] == 34


def test_a_limit_scan_gives_the_last_batches(connection, table):
    for i in range(5):
        connection.ask("PRODUCE_LOG", produce(table, batch(b"%d" % i, 10)))
    for limit, bases in (
        (0, []),
        (1, [40]),
        (10, [40]),
        (11, [30, 40]),
        (10**9, [0, 10, 20, 30, 40]),
    ):
        answer = connection.ask("LIMIT_SCAN", {"table_id": table, "bucket_id": 0, "limit": limit})
        assert answer["is_log_table"] is True
        assert [b["base_offset"] for b in batches(answer["records"])] == bases
    answer = connection.ask("LIMIT_SCAN", {"table_id": table, "bucket_id": 9, "limit": 1})
    assert answer["error_code"] == 21


def test_offsets_by_kind_and_time(connection, table):
    before_ms = int(time.time() * 1000) - 1
    connection.ask("PRODUCE_LOG", produce(table, batch(b"x", 7)))
    stamp = batches(fetched(connection.ask("FETCH_LOG", fetch(table, 0)))["records"])[0][
        "timestamp"
    ]
    assert offsets(connection, table, [0, 1], 0) == {0: 0, 1: 0}
    assert offsets(connection, table, [0, 1, 9], 1) == {0: 7, 1: 0, 9: 21}
    assert offsets(connection, table, [0, 1], 2, start_timestamp=0) == {0: 0, 1: 0}
    assert offsets(connection, table, [0], 2, start_timestamp=before_ms) == {0: 0}
    assert offsets(connection, table, [0], 2, start_timestamp=stamp) == {0: 0}
    assert offsets(connection, table, [0], 2, start_timestamp=10**15) == {0: 38}
    assert offsets(connection, table, [0], 2) == {0: -1}
    assert offsets(connection, table, [0], 7) == {0: -1}
    while int(time.time() * 1000) <= stamp + 1:
        pass
    assert offsets(connection, table, [0], 2, start_timestamp=stamp + 1) == {0: 7}


def test_table_stats_count_the_rows_of_each_bucket(connection, table):
    connection.ask("PRODUCE_LOG", produce(table, batch(b"x", 7), 1))
    request = {"table_id": table, "buckets_req": [{"bucket_id": b} for b in (0, 1, 8)]}
    answers = connection.ask("GET_TABLE_STATS", request)["buckets_resp"]
    assert [a.get("row_count", a.get("error_code")) for a in answers] == [0, 7, 21]


# ---- tables ----


def test_limits_of_buckets(server, connection):
    def create(name, buckets):
        before = server.cpu_s()
        create_table(connection, name, buckets)
        return server.cpu_s() - before

    assert create("thousand", 1024) < 2
    create("most", 4096)
    for buckets, code in ((4097, 49), (2**31 - 1, 49), (0, -1), (-1, -1)):
        with pytest.raises(ServerError) as caught:
            create(f"b{buckets}".replace("-", "_"), buckets)
        assert caught.value.code == code
    metadata = connection.ask("GET_METADATA", {"table_path": [path_of("thousand")]})
    assert [b["leader_id"] for b in metadata["table_metadata"][0]["bucket_metadata"]] == [0] * 1024


def test_one_of_many_creators_wins_and_ids_are_never_used_twice(server, connection):
    request = {
        "table_path": path_of("raced"),
        "table_json": table_json({"id": "INTEGER"}),
        "ignore_if_exists": False,
    }

    def create(_):
        with server.connect() as own:
            kind, answer = own.answer(own.send("CREATE_TABLE", request))
            return 0 if kind == SUCCESS else answer["error_code"]

    seen = set()
    for _ in range(3):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            assert sorted(pool.map(create, range(16))) == [0] + [8] * 15
        seen.add(connection.ask("GET_TABLE_INFO", {"table_path": path_of("raced")})["table_id"])
        connection.ask(
            "DROP_TABLE", {"table_path": path_of("raced"), "ignore_if_not_exists": False}
        )
    assert len(seen) == 3


def test_the_default_database_stays(connection):
    request = {"database_name": "fluss", "ignore_if_not_exists": True, "cascade": True}
    assert code_of(connection, "DROP_DATABASE", request) == -1


def test_summaries_count_the_tables(connection):
    for name, count in (("db_0", 0), ("db_2", 2)):
        connection.ask("CREATE_DATABASE", {"database_name": name, "ignore_if_exists": False})
        for i in range(count):
            request = {
                "table_path": path_of(f"t{i}", name),
                "table_json": table_json({"id": "INTEGER"}),
                "ignore_if_exists": False,
            }
            connection.ask("CREATE_TABLE", request)
    answer = connection.ask("LIST_DATABASES", {"include_summary": True})
    counts = {s["database_name"]: s["table_count"] for s in answer["database_summary"]}
    assert (counts["db_0"], counts["db_2"], answer["database_name"]) == (0, 2, [])
    drop = {"database_name": "db_2", "ignore_if_not_exists": False, "cascade": True}
    connection.ask("DROP_DATABASE", drop)
    assert not connection.ask("DATABASE_EXISTS", {"database_name": "db_2"})["exists"]


def test_an_unknown_table_is_named_by_metadata(connection):
    with pytest.raises(ServerError, match=r"'fluss\.nowhere'") as caught:
        connection.ask("GET_METADATA", {"table_path": [path_of("nowhere")]})
    assert caught.value.code == 7


def test_metadata_names_the_address_that_the_client_came_to(server, connection):
    node = connection.ask("GET_METADATA")["tablet_servers"][0]
    assert f"{node['host']}:{node['port']}" == server.address


# ---- changes of tables and databases ----


def alter(connection, table, changes=(), columns=(), **more):
    """changes: (key, value or None); columns: (name, type, nullable)."""
    request = {
        "table_path": path_of(table),
        "ignore_if_not_exists": False,
        "config_changes": [
            {"config_key": key, "config_value": value, "op_type": 0 if value is not None else 1}
            for key, value in changes
        ],
        "add_columns": [
            {
                "column_name": name,
                "data_type_json": json.dumps({"type": root, "nullable": nullable}).encode(),
                "column_position_type": 0,
            }
            for name, root, nullable in columns
        ],
        **more,
    }
    connection.ask("ALTER_TABLE", request)


def info_of(connection, table):
    info = connection.ask("GET_TABLE_INFO", {"table_path": path_of(table)})
    return info, json.loads(info["table_json"])


def test_properties_can_be_set_and_reset(connection):
    create_table(connection, "altered")
    before, _ = info_of(connection, "altered")
    alter(connection, "altered", [("table.log.ttl", "3 d"), ("owner", "me")])
    after, desc = info_of(connection, "altered")
    assert desc["properties"]["table.log.ttl"] == "3 d"
    assert desc["custom_properties"] == {"owner": "me"}
    assert after["schema_id"] == 1
    assert after["modified_time"] >= before["modified_time"] == after["created_time"]
    alter(connection, "altered", [("table.log.ttl", None), ("owner", None)])
    _, desc = info_of(connection, "altered")
    assert "table.log.ttl" not in desc["properties"]
    assert desc["custom_properties"] == {}


def test_all_wrong_properties_are_named_and_nothing_changes(connection):
    create_table(connection, "unaltered")
    before = info_of(connection, "unaltered")
    changes = [("table.no.a", "1"), ("owner", "me"), ("table.no.b", "1"), ("table.no.c", "1")]
    with pytest.raises(ServerError, match=r"(?s)(?=.*no\.a)(?=.*no\.b)(?=.*no\.c)"):
        alter(connection, "unaltered", changes)
    for change, code in (
        (("table.log.format", "INDEXED"), 56),
        (("table.log.ttl", "soon"), 39),
    ):
        with pytest.raises(ServerError) as caught:
            alter(connection, "unaltered", [change])
        assert caught.value.code == code
    assert info_of(connection, "unaltered") == before


def test_columns_can_be_added_at_the_end(connection):
    table_id = create_table(connection, "wider")
    connection.ask("PRODUCE_LOG", produce(table_id, batch(b"old")))
    alter(connection, "wider", columns=[("note", "STRING", True), ("n", "BIGINT", True)])
    info, desc = info_of(connection, "wider")
    columns = [(c["name"], c["id"]) for c in desc["schema"]["columns"]]
    assert (info["schema_id"], columns) == (2, [("id", 0), ("note", 1), ("n", 2)])
    for schema_id, count in ((1, 1), (2, 3), (None, 3)):
        request = {"table_path": path_of("wider"), "schema_id": schema_id}
        answer = connection.ask("GET_TABLE_SCHEMA", request)
        assert answer["schema_id"] == (schema_id or 2)
        assert len(json.loads(answer["schema_json"])["columns"]) == count
    connection.ask("PRODUCE_LOG", produce(table_id, batch(b"new")))
    assert len(read_log(connection, table_id)) == 2
    for column, code in ((("id", "INTEGER", True), 56), (("m", "INTEGER", False), -1)):
        with pytest.raises(ServerError) as caught:
            alter(connection, "wider", columns=[column])
        assert caught.value.code == code
    with pytest.raises(ServerError) as caught:
        alter(connection, "wider", [("a", "b")], [("x", "STRING", True)])
    assert caught.value.code == 56
    with pytest.raises(ServerError) as caught:
        alter(connection, "wider", drop_columns=[{"column_name": "note"}])
    assert caught.value.code == -1
    with pytest.raises(ServerError) as caught:
        alter(connection, "not_there", [("a", "b")])
    assert caught.value.code == 7


def test_a_database_can_be_altered(connection):
    name = {"database_name": "changing"}
    connection.ask("CREATE_DATABASE", {**name, "ignore_if_exists": False})
    request = {**name, "ignore_if_not_exists": False, "comment": "hello"}
    request["config_changes"] = [{"config_key": "a", "config_value": "1", "op_type": 0}]
    connection.ask("ALTER_DATABASE", request)
    found = json.loads(connection.ask("GET_DATABASE_INFO", name)["database_json"])
    assert (found["comment"], found["custom_properties"]) == ("hello", {"a": "1"})
    request["config_changes"] = [{"config_key": "a", "op_type": 1}]
    connection.ask("ALTER_DATABASE", {**request, "comment": ""})
    found = json.loads(connection.ask("GET_DATABASE_INFO", name)["database_json"])
    assert "comment" not in found and found["custom_properties"] == {}
    request["database_name"] = "nowhere"
    assert code_of(connection, "ALTER_DATABASE", request) == 4


# ---- the cluster ----


def test_every_advertised_key_is_served_and_no_other(server, connection):
    hello = {"client_software_name": "t", "client_software_version": "1"}
    answer = connection.ask("API_VERSIONS", hello)
    keys = [version["api_key"] for version in answer["api_versions"]]
    assert keys == sorted(set(keys))
    assert "server_type" not in answer
    for name, (key, _, _) in API.items():
        kind, answer = connection.answer(connection.send(name, body=b"\xff"))
        assert kind == ERROR
        assert (answer["error_code"] == 2) == (key not in keys), name


def test_the_last_rebalance_is_known_after_a_kill(tmp_path):
    with Server(tmp_path / "data") as server:
        with server.connect() as connection:
            rebalance = connection.ask("REBALANCE", {"goals": [0]})["rebalance_id"]
        server.kill()
        with server.start().connect() as connection:
            found = connection.ask("LIST_REBALANCE_PROGRESS", {"rebalance_id": rebalance})
    assert (found["rebalance_id"], found["rebalance_status"]) == (rebalance, 3)


def test_what_one_server_has_not_is_answered_like_an_unused_feature(connection):
    filters = {"resource_type": 1, "operation_type": 1, "permission_type": 1}
    assert code_of(connection, "LIST_ACLS", {"acl_filter": filters}) == 47
    assert code_of(connection, "CREATE_ACLS", {}) == 47
    assert code_of(connection, "DROP_ACLS", {}) == 47
    assert connection.ask("LIST_REBALANCE_PROGRESS") == {"table_progress": []}
    assert connection.ask("CANCEL_REBALANCE") == {}
    rebalance = connection.ask("REBALANCE", {"goals": [0]})["rebalance_id"]
    assert connection.ask("LIST_REBALANCE_PROGRESS")["rebalance_id"] == rebalance
    snapshot = {"table_id": 0, "bucket_id": 0, "snapshot_id": 1}
    assert code_of(connection, "GET_KV_SNAPSHOT_METADATA", snapshot) == 41
    create_table(connection, "no_key")
    request = {"table_path": path_of("no_key")}
    assert code_of(connection, "GET_LATEST_KV_SNAPSHOTS", request) == 20
    assert code_of(connection, "GET_LAKE_SNAPSHOT", request) == 53
    health = connection.ask("GET_CLUSTER_HEALTH")
    assert health["status"] == 0
    assert health["num_replicas"] == health["active_leader_replicas"] >= 1


def test_settings_are_shown_and_stay(connection):
    configs = connection.ask("DESCRIBE_CLUSTER_CONFIGS")["configs"]
    shown = {c["config_key"]: (c["config_value"], c["config_source"]) for c in configs}
    assert shown["server.shards"] == ("3", "INITIAL_SERVER_CONFIG")
    change = {"config_key": "server.shards", "config_value": "4", "op_type": 0}
    assert code_of(connection, "ALTER_CLUSTER_CONFIGS", {"alter_configs": [change]}) == 64


def test_the_first_offsets_of_a_producer_stay_until_deleted(connection):
    def register(offset, **more):
        bucket = {"bucket_id": 1, "log_end_offset": offset}
        tables = [{"table_id": 7, "bucket_offsets": [bucket]}]
        request = {"producer_id": "job-1", "table_offsets": tables, **more}
        return connection.ask("REGISTER_PRODUCER_OFFSETS", request)["result"]

    def noted():
        answer = connection.ask("GET_PRODUCER_OFFSETS", {"producer_id": "job-1"})
        return [t["bucket_offsets"][0]["log_end_offset"] for t in answer["table_offsets"]]

    assert noted() == []
    assert (register(5), register(6), noted()) == (0, 1, [5])
    for _ in range(2):
        connection.ask("DELETE_PRODUCER_OFFSETS", {"producer_id": "job-1"})
    assert noted() == []
    assert register(8, ttl_ms=1) == 0
    deadline = time.monotonic() + 30
    while noted() and time.monotonic() < deadline:
        pass
    assert (noted(), register(9)) == ([], 0)
    with pytest.raises(ServerError, match="producer id: table name 'no/good'") as refused:
        connection.ask("GET_PRODUCER_OFFSETS", {"producer_id": "no/good"})
    assert refused.value.code == 63


# ---- partitions ----


def spec(**values):
    return {"partition_key_values": [{"key": k, "value": v} for k, v in values.items()]}


def partitioned(connection, name, properties=None, keys=("day",)):
    columns = {"id": "INTEGER", **{key: "STRING" for key in keys}}
    create_table(
        connection, name, 2, columns, partition_key=list(keys), properties=properties or {}
    )
    return path_of(name)


def names(connection, path):
    infos = connection.ask("LIST_PARTITION_INFOS", {"table_path": path})["partitions_info"]
    return [info["partition_spec"]["partition_key_values"][-1]["value"] for info in infos]


def test_partitions_of_two_keys_in_any_order(connection):
    path = partitioned(connection, "two_keys", keys=("region", "day"))
    request = {"table_path": path, "ignore_if_not_exists": False}
    request["partition_spec"] = spec(day="1", region="EU")
    connection.ask("CREATE_PARTITION", request)
    metadata = {"partitions_path": [{**path, "partition_name": "EU$1"}]}
    (found,) = connection.ask("GET_METADATA", {"table_path": [path], **metadata})[
        "partition_metadata"
    ]
    assert (found["partition_name"], len(found["bucket_metadata"])) == ("EU$1", 2)
    part = found["partition_id"]
    answer = connection.ask("PRODUCE_LOG", produce(found["table_id"], batch(b"x"), 1, -1, part))
    assert answer["buckets_resp"] == [{"partition_id": part, "bucket_id": 1, "base_offset": 0}]
    assert offsets(connection, found["table_id"], [0, 1], partition_id=part) == {0: 0, 1: 1}
    assert offsets(connection, found["table_id"], [0]) == {0: 21}
    listing = {"table_path": path, "partial_partition_spec": spec(region="US")}
    assert connection.ask("LIST_PARTITION_INFOS", listing)["partitions_info"] == []
    connection.ask("DROP_PARTITION", request)
    assert names(connection, path) == []


def test_one_of_many_creators_of_a_partition_wins(server, connection):
    path = partitioned(connection, "partition_race")

    def create(ignore):
        request = {"table_path": path, "partition_spec": spec(day="1")}
        with server.connect() as own:
            kind, answer = own.answer(
                own.send("CREATE_PARTITION", {**request, "ignore_if_not_exists": ignore})
            )
            return 0 if kind == SUCCESS else answer["error_code"]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert list(pool.map(create, [True] * 16)) == [0] * 16
        assert names(connection, path) == ["1"]
        assert list(pool.map(create, [False] * 16)) == [42] * 16


def test_partitions_by_time_are_made_with_the_table(connection):
    properties = {
        "table.auto-partition.enabled": "true",
        "table.auto-partition.time-unit": "YEAR",
        "table.auto-partition.time-zone": "UTC",
        "table.auto-partition.num-precreate": "3",
        "table.auto-partition.num-retention": "1",
    }
    path = partitioned(connection, "yearly", properties)
    year = time.gmtime().tm_year
    assert names(connection, path) == [str(year + i) for i in range(3)]
    request = {"table_path": path, "ignore_if_not_exists": False}
    for value, code in ((str(year - 2), 43), ("20x1", 43), ("202", 43), (str(year), 42)):
        request["partition_spec"] = spec(day=value)
        assert code_of(connection, "CREATE_PARTITION", request) == code
    request["partition_spec"] = spec(day=str(year - 1))
    connection.ask("CREATE_PARTITION", request)


# ---- restarts, the directory ----


def test_everything_is_there_after_a_restart_and_what_was_dropped_is_gone(tmp_path):
    server = Server(tmp_path / "data").start()
    with server.connect() as connection:
        keep = create_table(connection, "keep", 2)
        drop = create_table(connection, "drop")
        alter(connection, "keep", columns=[("note", "STRING", True)])
        writer_id = connection.ask("INIT_WRITER")["writer_id"]
        path = partitioned(connection, "parts")
        for day in ("1", "2"):
            request = {"table_path": path, "ignore_if_not_exists": False}
            connection.ask("CREATE_PARTITION", {**request, "partition_spec": spec(day=day)})
        for table_id in (keep, drop):
            connection.ask("PRODUCE_LOG", produce(table_id, batch(b"x", 3, writer_id, 0)))
        before = connection.ask("GET_TABLE_INFO", {"table_path": path_of("keep")})
        dropped = server.data_dir / "fluss" / f"drop-{drop}"
        assert (dropped / "log-0").is_dir()
        connection.ask("DROP_TABLE", {"table_path": path_of("drop"), "ignore_if_not_exists": False})
        connection.ask("DROP_PARTITION", {**request, "partition_spec": spec(day="2")})
    assert server.stop() == 0
    assert not dropped.exists()
    shutil.copytree(server.data_dir / "fluss" / f"keep-{keep}", dropped)
    with server:
        assert not dropped.exists(), "what a crash leaves of a dropped table is swept"
        with server.connect() as connection:
            assert connection.ask("GET_TABLE_INFO", {"table_path": path_of("keep")}) == before
            assert names(connection, path) == ["1"]
            again = produce(keep, batch(b"x", 3, writer_id, 0))
            assert connection.ask("PRODUCE_LOG", again)["buckets_resp"][0]["base_offset"] == 0
            assert len(read_log(connection, keep)) == 1
            assert create_table(connection, "drop") > drop
            assert connection.ask("INIT_WRITER")["writer_id"] > writer_id


# ---- authentication ----


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("guarded") / "data", *ALICE) as running:
        yield running


def authenticate(connection, token, protocol="PLAIN"):
    return connection.ask("AUTHENTICATE", {"protocol": protocol, "token": token})


def test_only_the_right_password_opens_a_sasl_connection(guarded):
    with Connection(guarded.addresses[1]) as connection:
        connection.ask(
            "API_VERSIONS", {"client_software_name": "t", "client_software_version": "1"}
        )
        assert code_of(connection, "LIST_DATABASES", {}) == 46
        wrong = [
            b"",
            b"\0alice\0wrong",
            b"\0alice\0",
            b"\0\0secret",
            b"alice\0secret",
            b"\0bob\0secret",
        ]
        wrong += [
            b"bob\0alice\0secret",
            b"\0alice\0secret\0",
            b"\0alice\0secre",
            b"\0alice\0secretsecret",
        ]
        for token in wrong:
            request = {"protocol": "PLAIN", "token": token}
            assert code_of(connection, "AUTHENTICATE", request) == 46
            assert code_of(connection, "LIST_DATABASES", {}) == 46
        request = {"protocol": "SCRAM", "token": b"\0alice\0secret"}
        assert code_of(connection, "AUTHENTICATE", request) == 46
        assert authenticate(connection, b"\0alice\0secret") == {"challenge": b""}
        assert authenticate(connection, b"") == {}
        assert connection.ask("LIST_DATABASES")["database_name"] == ["fluss"]


def test_a_plain_listener_needs_no_authentication_and_takes_its_own(guarded):
    with guarded.connect() as connection:
        assert authenticate(connection, b"", "plaintext") == {}
        assert code_of(connection, "AUTHENTICATE", {"protocol": "PLAIN", "token": b""}) == 46
        connection.ask("LIST_DATABASES")
