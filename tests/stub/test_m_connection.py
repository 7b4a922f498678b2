# SPDX-License-Identifier: Apache-2.0
"""Connections: servers that are late, gone, moved, silent, older or newer, or speak nonsense.

Goal and method: one known fault of this field a test, by its id; times are bounds, far above what
is needed.
"""

import socket
import struct
import threading
import time

import fluss
import pytest
from stub import (
    Hold,
    bucket_error,
    change,
    close,
    error,
    forge,
    lose,
    reset,
    twice,
)
from wire import SUCCESS, encode

from client import LIMIT_S, LOST_MS, PATIENT, Client, drain, ids, outcome, share

LOG = {"id": "INTEGER", "note": "STRING"}


@pytest.fixture
def log(stub):
    return stub.create_table("log", LOG)


def connecting(servers, **settings):
    config = fluss.Config({"bootstrap.servers": servers, **PATIENT, **settings})
    return fluss.FlussConnection.create(config)


def failure_of(future):
    with pytest.raises(fluss.FlussError) as caught:
        future.result(LIMIT_S)
    return caught.value


def write(client, name="log", rows=3, start=0):
    writer = client.writer(name)
    return [outcome(writer.append({"id": i, "note": ""})) for i in range(start, start + rows)]


def test_m02_server_that_starts_after_the_client(stub):
    port = stub.servers[0].port
    stub.servers[0].stop()
    future = connecting(f"127.0.0.1:{port}")
    threading.Timer(0.5, lambda: stub.servers[0].start()).start()
    connection = future.result(LIMIT_S)
    assert connection.get_admin().list_databases().result(LIMIT_S) == ["fluss"]
    connection.close()


def test_m03_several_bootstrap_addresses(stub):
    for servers in (
        f"127.0.0.1:1, 127.0.0.1:{stub.servers[0].port}",
        f" 127.0.0.1:{stub.servers[0].port} ,127.0.0.1:1 ",
        f"127.0.0.1:1,,127.0.0.1:{stub.servers[0].port}",
    ):
        connecting(servers).result(LIMIT_S).close()
    for servers in ("", " , ", "nonsense", "127.0.0.1:notaport", "127.0.0.1:70000"):
        assert failure_of(connecting(servers)).message


def test_m03_ipv6(stub):
    listener = socket.socket(socket.AF_INET6)
    try:
        listener.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on this machine")
    listener.listen()
    listener.setblocking(False)
    with stub.lock:
        stub.selector.unregister(stub.servers[0].listener)
        stub.servers[0].listener.close()
        stub.servers[0].listener = listener
        stub.selector.register(listener, 1, stub.servers[0])
    stub.wake()
    stub.on("GET_METADATA", change(lambda m: with_host(m, "::1", listener.getsockname()[1])))
    connection = connecting(f"[::1]:{listener.getsockname()[1]}").result(LIMIT_S)
    assert connection.get_admin().list_databases().result(LIMIT_S) == ["fluss"]
    connection.close()


def with_host(message, host, port):
    for node in [message["coordinator_server"], *message["tablet_servers"]]:
        node.update(host=host, port=port)


def test_m04_all_addresses_stale(cluster, connect):
    """Every server but the bootstrap moves: the client asks there again and goes on."""
    table = cluster.create_table("log", LOG, buckets=3, bucket_key=["id"])
    client = connect(cluster, client_bucket_hash="java")
    assert set(write(client, rows=12)) == {None}
    for server in cluster.servers[1:]:
        server.stop()
        server.start(0)
    with cluster.lock:
        cluster.cluster.coordinator_id = 1
    assert set(write(client, rows=12, start=12)) == {None}
    assert client.admin.list_databases().result(LIMIT_S) == ["fluss"]
    assert sum(table.of(i).end for i in range(3)) == 24


def test_a_cluster_that_names_no_coordinator(stub, connect):
    """The cluster names no coordinator any more while a call is under way: the call says so."""
    stub.create_table("keyed", LOG, key=["id"])
    client = connect(stub)
    stub.on("GET_METADATA", change(without_coordinator))
    path = fluss.TablePath("fluss", "keyed")
    failure = failure_of(client.admin.get_kv_snapshot_files(path, 0, 1))
    assert "the cluster names no coordinator" in str(failure)


def without_coordinator(message):
    return {key: value for key, value in message.items() if key != "coordinator_server"}


def test_m05_two_servers_swap_ports(cluster, connect):
    table = cluster.create_table("log", LOG, buckets=3, bucket_key=["id"])
    client = connect(cluster, client_bucket_hash="java")
    assert set(write(client, rows=12)) == {None}
    one, two = cluster.servers[1:]
    for server in (one, two):
        server.stop()
    ports = one.port, two.port
    one.start(ports[1])
    two.start(ports[0])
    asked = len(cluster.asked("GET_METADATA"))
    assert set(write(client, rows=12, start=12)) == {None}
    assert len(cluster.asked("GET_METADATA")) - asked < 30
    assert sorted(i for b in range(3) for i in ids(table, b)) == list(range(24))


def test_m06_shape_of_metadata_requests(stub, connect):
    """Plain tables are asked for by path, partitions in their own part of the request."""
    stub.create_table("plain", LOG)
    parted = stub.create_table("parted", {"id": "INTEGER", "day": "STRING"}, partition_key=["day"])
    with stub.lock:
        stub.cluster.add_partition(parted, "20310105")
    client = connect(stub)
    plain, other = client.writer("plain"), client.writer("parted")
    stub.on("PRODUCE_LOG", bucket_error(12), times=2)
    handles = [
        plain.append({"id": 1, "note": ""}),
        other.append({"id": 2, "day": "20310105"}),
    ]
    assert {outcome(h) for h in handles} == {None}
    for exchange in stub.asked("GET_METADATA"):
        for path in exchange.message["partitions_path"]:
            assert path["table_name"] == "parted" and path["partition_name"] == "20310105"
        assert all("partition_name" not in path for path in exchange.message["table_path"])


def test_m06_malformed_metadata_request_at_our_server(tmp_path):
    from wire import Server, ServerError, create_table, path_of

    with Server(tmp_path / "data") as server, server.connect() as connection:
        create_table(connection, "plain")
        path = {**path_of("plain"), "partition_name": "none"}
        with pytest.raises(ServerError) as caught:
            connection.ask("GET_METADATA", {"partitions_path": [path]})
        assert caught.value.code != 0
        assert connection.ask("LIST_DATABASES")["database_name"] == ["fluss"]


def test_m07_server_that_never_answers(stub):
    stub.on("*", lose(applied=False))
    started = time.monotonic()
    failure = failure_of(connecting(stub.address, **{"request-timeout": "500"}))
    assert failure.is_retriable and time.monotonic() - started < LIMIT_S / 2


def test_m07_requests_that_are_not_answered(stub, connect, log):
    client = connect(stub, request_timeout=500)
    stub.on("LIST_DATABASES", lose())
    stub.on("GET_TABLE_INFO", lose())
    stub.on("LIST_OFFSETS", lose())
    for call in (
        lambda: client.admin.list_databases(),
        lambda: client.connection.get_table(fluss.TablePath("fluss", "log")),
        lambda: client.admin.list_offsets(
            fluss.TablePath("fluss", "log"), [0], fluss.OffsetSpec.latest()
        ),
    ):
        started = time.monotonic()
        assert failure_of(call()).error_code == fluss.ErrorCode.REQUEST_TIME_OUT
        assert time.monotonic() - started < LIMIT_S / 2


def test_m07_address_that_swallows_everything():
    """A full backlog: the system answers nothing at all."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        started = time.monotonic()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        failure = failure_of(connecting(address, **{"connect-timeout": "300"}))
        assert failure.is_retriable and time.monotonic() - started < LIMIT_S / 2
        for filler in fillers:
            filler.close()


def test_m08_older_server(stub, connect):
    with stub.lock:
        for name, (low, _) in stub.cluster.api_versions.items():
            stub.cluster.api_versions[name] = (low, 0)
        del stub.cluster.api_versions["LIMIT_SCAN"], stub.cluster.api_versions["GET_TABLE_STATS"]
    stub.create_table("pk", LOG, primary_key=["id"])
    client = connect(stub)
    assert outcome(client.writer("pk").upsert({"id": 1, "note": "x"})) is None
    lookup = client.open("pk").new_lookup().create_lookuper()
    assert lookup.lookup({"id": 1}).result(LIMIT_S) == {"id": 1, "note": "x"}
    assert {e.version for e in stub.requests} == {0}
    table = client.open("pk")
    bucket = fluss.TableBucket(table.get_table_info().table_id, 0)
    scan = table.new_scan().limit(5).create_bucket_batch_scanner(bucket)
    assert failure_of(scan.to_arrow()).error_code == fluss.ErrorCode.UNSUPPORTED_VERSION
    assert not stub.asked("LIMIT_SCAN")


def test_m08_newer_server(stub, connect):
    """It offers higher versions, keys without a name here, and fields that are not known."""
    stub.create_table("pk", LOG, primary_key=["id"])

    def answer(exchange):
        message = exchange.apply()
        message["api_versions"] += [
            {"api_key": key, "min_version": 0, "max_version": 3} for key in (7, 999, 1999, 32767)
        ]
        message["api_versions"].append({"api_key": 1016, "min_version": 5, "max_version": 1})
        body = encode("ApiVersionsResponse", message) + b"\xf8\x06\x01\xfa\x06\x03new"
        return exchange.frame(SUCCESS, body)

    stub.on("API_VERSIONS", lambda exchange: exchange.send(answer(exchange)))
    stub.on("PUT_KV", with_unknown_fields)
    stub.on("LOOKUP", with_unknown_fields)
    client = connect(stub)
    assert outcome(client.writer("pk").upsert({"id": 1, "note": "x"})) is None
    lookup = client.open("pk").new_lookup().create_lookuper()
    assert lookup.lookup({"id": 1}).result(LIMIT_S) == {"id": 1, "note": "x"}
    assert {e.version for e in stub.asked("PUT_KV")} == {2}


def with_unknown_fields(exchange):
    response = exchange.response()
    exchange.send(exchange.frame(SUCCESS, response[9:] + b"\xfa\x06\x03new\xf8\x06\x01"))


@pytest.mark.parametrize("versions", [{}, {"GET_METADATA": (4, 9)}])
def test_m08_nothing_in_common(stub, versions):
    with stub.lock:
        stub.cluster.api_versions = versions
    failure = failure_of(connecting(stub.address))
    assert failure.error_code == fluss.ErrorCode.UNSUPPORTED_VERSION
    assert "GET_METADATA".lower() in failure.message.lower().replace(" ", "_")


@pytest.mark.full
def test_m10_close_without_a_server():
    for _ in range(100):
        future = connecting("127.0.0.1:1", **{"connect-timeout": "50", "request-timeout": "50"})
        future.cancel()
    assert failure_of(connecting("127.0.0.1:1")).is_retriable


@pytest.mark.parametrize("length", share([1, 2, 63, 64, 127, 128, 199, 200], 2))
def test_m10_names_of_all_lengths(stub, connect, length):
    admin = connect(stub).admin
    admin.create_database("d" * length).result(LIMIT_S)
    assert admin.database_exists("d" * length).result(LIMIT_S) is True


@pytest.mark.parametrize("after", share(range(12), 4))
def test_m11_reset_inside_a_frame(stub, connect, log, after):
    """At each byte of the header: every pending call ends or is asked again."""
    client = connect(stub)
    assert write(client, rows=1) == [None]
    stub.on("PRODUCE_LOG", reset(applied=True, after=after), times=1)
    stub.on("LIST_DATABASES", reset(after=after), times=1)
    writer = client.writer("log")
    handles = [writer.append({"id": i, "note": ""}) for i in range(1, 5)]
    listed = client.admin.list_databases()
    assert {outcome(h) for h in handles} == {None}
    assert listed.result(LIMIT_S) == ["fluss"]
    assert ids(log) == [0, 1, 2, 3, 4]


def test_m11_write_whose_fate_is_unknown_is_not_repeated(stub, connect):
    """Of administration: a database that may have been made already is not made again."""
    client = connect(stub)
    stub.on("CREATE_DATABASE", close(applied=True), times=1)
    failure = failure_of(client.admin.create_database("mine"))
    assert failure.is_retriable
    assert len(stub.asked("CREATE_DATABASE")) == 1
    assert client.admin.list_databases().result(LIMIT_S) == ["fluss", "mine"]


def test_m12_answers_in_reverse(stub, connect):
    client = connect(stub)
    hold = Hold()
    rule = stub.on("DATABASE_EXISTS", hold)
    futures = [client.admin.database_exists(name) for name in ("fluss", "b", "fluss")]
    stub.wait_until(lambda: rule.hits == 3, "three requests")
    hold.release(stub, order=[2, 1, 0])
    assert [f.result(LIMIT_S) for f in futures] == [True, False, True]


@pytest.mark.parametrize(
    "trouble",
    {
        "unknown id": forge(lambda e: e.frame(SUCCESS, b"")[:5] + struct.pack(">i", 4711)),
        "twice": twice(),
        "unknown type": forge(lambda e: b"\x00\x00\x00\x05\x07" + struct.pack(">i", e.request_id)),
        "too short": forge(lambda e: b"\x00\x00\x00\x02\x00\x01"),
        "length 0": forge(lambda e: b"\x00\x00\x00\x00"),
        "length -1": forge(lambda e: b"\xff\xff\xff\xff"),
        "length 2^31-1": forge(lambda e: b"\x7f\xff\xff\xff\x00"),
        "HTTP": forge(lambda e: b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    }.items(),
    ids=lambda item: item[0].replace(" ", "_"),
)
def test_m12_nonsense_ends_the_connection(stub, connect, log, trouble):
    """The next connection serves all that waited."""
    client = connect(stub)
    assert write(client, rows=1) == [None]
    stub.on("PRODUCE_LOG", trouble[1], times=1)
    writer = client.writer("log")
    handles = [writer.append({"id": i, "note": ""}) for i in range(1, 5)]
    assert {outcome(h) for h in handles} == {None}
    assert outcome(writer.append({"id": 5, "note": ""})) is None
    assert ids(log) == [0, 1, 2, 3, 4, 5]
    assert client.metric("fluss_client_connects_total") >= 2


@pytest.mark.full
def test_m12_late_answer_to_a_request_that_was_given_up(stub, connect):
    client = connect(stub, request_timeout=1500)
    hold = Hold()
    stub.on("DATABASE_EXISTS", hold, times=1)
    given_up = client.admin.database_exists("fluss")
    until = time.monotonic() + 1.8
    while time.monotonic() < until:
        assert client.admin.list_databases().result(LIMIT_S) == ["fluss"]
    failure = failure_of(given_up)
    assert failure.error_code == fluss.ErrorCode.REQUEST_TIME_OUT
    hold.release(stub)
    assert client.admin.list_databases().result(LIMIT_S) == ["fluss"]
    assert client.metric("fluss_client_connects_total") == 1


def test_m12_failure_frame(stub, connect, log):
    """A server's word that it ends the connection reaches the caller."""
    client = connect(stub)
    body = encode("ErrorResponse", {"error_code": -1, "error_message": "too large"})
    stub.on("DATABASE_EXISTS", forge(lambda e: e.frame(2, body)), times=1)
    assert "too large" in failure_of(client.admin.database_exists("fluss")).message
    assert client.admin.database_exists("fluss").result(LIMIT_S) is True


# ---- SASL ----


@pytest.fixture
def guarded(stub):
    with stub.lock:
        stub.cluster.users = {"alice": "secret"}
    return stub


def as_user(stub, user="alice", password="secret", **more):
    return connecting(
        stub.address,
        **{
            "security.protocol": "SASL",
            "security.sasl.username": user,
            "security.sasl.password": password,
            **more,
        },
    )


def test_sasl_signs_in_on_every_connection(guarded):
    connection = as_user(guarded).result(LIMIT_S)
    assert len(guarded.asked("AUTHENTICATE")) == len(guarded.servers[0].connections())
    connection.close()


def test_sasl_wrong_password_is_told_at_once(guarded):
    started = time.monotonic()
    failure = failure_of(as_user(guarded, password="wrong"))
    assert failure.error_code == fluss.ErrorCode.AUTHENTICATE_EXCEPTION
    assert "wrong user or password" in failure.message and "wrong\0" not in failure.message
    assert time.monotonic() - started < LIMIT_S / 2
    assert len(guarded.asked("AUTHENTICATE")) == 1


def test_sasl_mechanism_that_the_server_does_not_have(guarded):
    guarded.on("AUTHENTICATE", error(46, "the enabled mechanisms are [SCRAM]"))
    failure = failure_of(as_user(guarded))
    assert failure.error_code == fluss.ErrorCode.AUTHENTICATE_EXCEPTION
    assert "SCRAM" in failure.message


def test_sasl_mechanism_that_the_client_does_not_have(guarded):
    with pytest.raises(fluss.FlussError, match="'SCRAM-SHA-256' is not known; only PLAIN is"):
        fluss.Config({"security.sasl.mechanism": "SCRAM-SHA-256"})


def test_sasl_without_signing_in(guarded):
    failure = failure_of(connecting(guarded.address))
    assert failure.error_code == fluss.ErrorCode.AUTHENTICATE_EXCEPTION


def test_sasl_refusal_that_passes(guarded):
    guarded.on("AUTHENTICATE", error(51, "try again"), times=2)
    connection = as_user(guarded, **{"request-timeout": "5000"}).result(LIMIT_S)
    assert len(guarded.asked("AUTHENTICATE")) == 3
    assert connection.get_admin().list_databases().result(LIMIT_S) == ["fluss"]
    connection.close()


@pytest.mark.full
def test_sasl_refusal_that_does_not_pass_ends(guarded):
    guarded.on("AUTHENTICATE", error(51, "try again"))
    started = time.monotonic()
    assert failure_of(as_user(guarded, **{"request-timeout": str(LOST_MS)})).error_code
    assert time.monotonic() - started < LIMIT_S / 2


@pytest.mark.parametrize("answer", [b"\x01\x02", b"x" * 100])
def test_sasl_challenge_that_plain_has_not(guarded, answer):
    guarded.on("AUTHENTICATE", change(lambda m: {"challenge": answer}))
    assert "challenge" in failure_of(as_user(guarded)).message


def test_sasl_session_that_ends_in_the_middle(guarded, log):
    """The client signs in again, and what it asked is served."""
    settings = dict(
        security_protocol="SASL",
        security_sasl_username="alice",
        security_sasl_password="secret",
    )
    with Client(guarded, **settings) as client:
        assert write(client) == [None] * 3
        guarded.on("PRODUCE_LOG", error(46, "session expired"), times=1)
        guarded.on("LIST_DATABASES", error(46, "session expired"), times=1)
        signed_in = len(guarded.asked("AUTHENTICATE"))
        assert write(client, start=3) == [None] * 3
        assert client.admin.list_databases().result(LIMIT_S) == ["fluss"]
        assert len(guarded.asked("AUTHENTICATE")) >= signed_in + 2
    with guarded.lock:
        guarded.cluster.users = {}
    assert ids(log) == [0, 1, 2, 3, 4, 5]


def test_sasl_rights_that_were_taken_away(guarded, log):
    """Signing in again does not help: the writes say so, once each."""
    settings = dict(
        security_protocol="SASL",
        security_sasl_username="alice",
        security_sasl_password="secret",
    )
    with Client(guarded, **settings) as client:
        assert write(client) == [None] * 3
        with guarded.lock:
            guarded.cluster.users = {"alice": "another"}
        guarded.on("PRODUCE_LOG", error(46, "session expired"))
        assert set(write(client, start=3)) == {46}


# ---- the cluster changes ----


def test_leader_moves_while_writing_and_reading(cluster, connect):
    table = cluster.create_table("log", LOG)
    client = connect(cluster)
    scanner = client.scanner("log")
    writer = client.writer("log")
    handles = []
    for i in range(300):
        handles.append(writer.append({"id": i, "note": ""}))
        if i % 50 == 25:
            with cluster.lock:
                table.of(0).leader = (table.of(0).leader + 1) % 3
    assert {outcome(h) for h in handles} == {None}
    assert [row["id"] for _, _, row in drain(scanner, 300)] == list(range(300))


def test_partitions_are_made_while_writing(stub, connect):
    """Each value once, also when making one fails at first."""
    table = stub.create_table("parted", {"id": "INTEGER", "day": "STRING"}, partition_key=["day"])
    client = connect(stub, writer_dynamic_create_partition_enabled="true")
    stub.on("CREATE_PARTITION", error(25), times=2)
    writer = client.writer("parted")
    handles = [writer.append({"id": i, "day": f"d{i % 5}"}) for i in range(50)]
    assert {outcome(h) for h in handles} == {None}
    assert sorted(table.partitions) == [f"d{i}" for i in range(5)]
    for name, partition_id in table.partitions.items():
        assert ids(table, 0, partition_id) == [i for i in range(50) if f"d{i % 5}" == name]


@pytest.mark.parametrize("code", [45, 48])
def test_a_partition_that_cannot_be_made_fails_its_rows_only(stub, connect, code):
    stub.create_table("parted", {"id": "INTEGER", "day": "STRING"}, partition_key=["day"])
    client = connect(stub, writer_dynamic_create_partition_enabled="true")

    def is_bad(exchange):
        return "bad" in str(exchange.message)

    stub.on("CREATE_PARTITION", error(code), when=is_bad)
    writer = client.writer("parted")
    good = [writer.append({"id": i, "day": "good"}) for i in range(5)]
    bad = [writer.append({"id": i, "day": "bad"}) for i in range(5)]
    assert {outcome(h) for h in good} == {None}
    assert {outcome(h) for h in bad} == {code}


def test_a_partition_dropped_and_made_again_under_the_writer(stub, connect):
    table = stub.create_table("parted", {"id": "INTEGER", "day": "STRING"}, partition_key=["day"])
    client = connect(stub, writer_dynamic_create_partition_enabled="true")
    writer = client.writer("parted")
    assert {outcome(writer.append({"id": i, "day": "a"})) for i in range(3)} == {None}
    with stub.lock:
        stub.cluster.tables["fluss", "parted"].buckets.pop((table.partitions.pop("a"), 0))
    assert {outcome(writer.append({"id": i, "day": "a"})) for i in range(3, 6)} == {None}
    assert ids(table, 0, table.partitions["a"]) == [3, 4, 5]
