# SPDX-License-Identifier: Apache-2.0
"""Who may do what: every API is asked by someone who may not, who may, and who may do all but that.

Goal: no API can be used without its right, and its right is enough. Method: access_matrix.py has a
request for each public API; alice asks it with no ACL, with every single operation on the table,
the database and the cluster. A matrix that lacks a public API fails.
"""

import itertools
import os
import random
import re
import signal
import subprocess
import time

import pytest
from access_matrix import (
    ALL,
    ALTER,
    ANY_ACL,
    CLUSTER,
    CREATE,
    DATABASE,
    DB,
    DESCRIBE,
    LOG,
    MATRIX,
    NAMES,
    NOT_AUTHORIZED,
    OPERATIONS,
    READ,
    TABLE,
    WRITE,
    acl,
    granted,
    implied,
    is_allowed,
    login,
    prepare,
)
from rows import Table
from wire import (
    BUILD,
    SUCCESS,
    TOP,
    Server,
    ServerError,
    batch,
    create_table,
    fetch,
    fetched,
    path_of,
    produce,
    read_log,
)

OPTIONS = (
    *("--listen", "127.0.0.1:0", "--sasl-listen", "127.0.0.1:0"),
    *("--sasl-user", "admin:admin-secret", "--sasl-user", "alice:alice-secret"),
    *("-o", "authorizer.enabled=true", "-o", "super.users=User:admin", "-o", "server.shards=3"),
)
SECURITY_DISABLED, UNKNOWN_TABLE_OR_BUCKET, UNKNOWN_SCANNER = 47, 21, 67
BY_API = {row.api: row for row in MATRIX}
NEEDING = [row for row in MATRIX if row.operation is not None]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("access") / "data", *OPTIONS) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server):
    with login(server.addresses[1], "admin", "admin-secret") as connection:
        yield connection


@pytest.fixture(scope="module")
def alice(server):
    with login(server.addresses[1], "alice", "alice-secret") as connection:
        yield connection


@pytest.fixture
def world(admin):
    return prepare(admin)


@pytest.fixture
def kept_world(request, admin):
    """The same world for all tests that change nothing."""
    if not hasattr(request.module, "_world"):
        request.module._world = prepare(admin)
    return request.module._world


def may(row, connection, world):
    return is_allowed(row, *connection.answer(connection.send(row.api, row.request(world))))


def code_of(connection, api, message):
    kind, answer = connection.answer(connection.send(api, message))
    return 0 if kind == SUCCESS else answer["error_code"]


def levels(row):
    """(level, name) of the resources on which a right covers the row's."""
    names = {**NAMES, TABLE: row.table}
    return [(level, names[level]) for level in (CLUSTER, DATABASE, TABLE) if level <= row.level]


def prepared(row, admin, world):
    """What an API that shows something needs to show."""
    if row.api in ("GET_PRODUCER_OFFSETS", "DELETE_PRODUCER_OFFSETS"):
        message = BY_API["REGISTER_PRODUCER_OFFSETS"].request(world)
        admin.ask("REGISTER_PRODUCER_OFFSETS", message)
    if row.api in ("LIST_ACLS", "DROP_ACLS"):
        admin.ask("CREATE_ACLS", {"acl": [acl("bob", READ, TABLE)]})


def test_the_matrix_has_every_public_api():
    text = (TOP / "src" / "protocol" / "api_keys.def").read_text()
    public = re.findall(r"FL_API\(\d+,\s*(\w+),\s*\w+,\s*\d+,\s*\d+,\s*1,", text)
    assert [row.api for row in MATRIX] == public


def test_the_server_advertises_every_public_api_with_its_versions(admin):
    text = (TOP / "src" / "protocol" / "api_keys.def").read_text()
    rows = re.findall(r"FL_API\((\d+),\s*\w+,\s*\w+,\s*(\d+),\s*(\d+),\s*1,", text)
    answer = admin.ask("API_VERSIONS", BY_API["API_VERSIONS"].request(None))
    found = [(v["api_key"], v["min_version"], v["max_version"]) for v in answer["api_versions"]]
    assert found == [tuple(map(int, row)) for row in rows]
    assert len(found) == 52


@pytest.mark.parametrize("row", NEEDING, ids=lambda row: row.api)
def test_without_an_acl_nobody_may(row, server, alice, kept_world, admin):
    prepared(row, admin, kept_world)
    assert not may(row, alice, kept_world)
    with server.connect() as anonymous:
        assert not may(row, anonymous, kept_world)


@pytest.mark.parametrize("row", NEEDING, ids=lambda row: row.api)
def test_one_right_operation_is_enough(row, alice, admin, kept_world):
    """Alone, on the resource and on each that encloses it; DESCRIBE by any operation."""
    grants = itertools.product(implied(row.operation), levels(row)[-1:])
    grants = [*grants, *itertools.product({row.operation}, levels(row)[:-1])]
    refused = []
    for operation, (level, name) in grants:
        prepared(row, admin, kept_world)
        with granted(admin, acl("alice", operation, level, name)):
            if not may(row, alice, kept_world):
                refused.append((operation, level))
    assert refused == []


@pytest.mark.parametrize(
    "row", [row for row in NEEDING if row.operation != DESCRIBE], ids=lambda row: row.api
)
def test_all_other_operations_together_are_not_enough(row, alice, admin, kept_world):
    prepared(row, admin, kept_world)
    wrong = itertools.product((OPERATIONS | {ALL}) - implied(row.operation), levels(row))
    with granted(admin, *[acl("alice", operation, *where) for operation, where in wrong]):
        assert not may(row, alice, kept_world)


@pytest.mark.parametrize("row", NEEDING, ids=lambda row: row.api)
def test_super_users_may_everything(row, admin, kept_world):
    prepared(row, admin, kept_world)
    assert may(row, admin, kept_world)


def test_rights_on_something_else_do_not_count(alice, admin, world):
    row = BY_API["GET_TABLE_INFO"]
    others = [
        acl("alice", ALL, TABLE, "access.lo"),
        acl("alice", ALL, TABLE, "access.logs"),
        acl("alice", ALL, TABLE, "other.log"),
        acl("alice", ALL, DATABASE, "acces"),
        acl("alice", ALL, DATABASE, "access.log"),
        acl("alice", ALL, CLUSTER, "other-cluster"),
        acl("alicia", ALL, CLUSTER),
        acl("alice", ALL, CLUSTER, principal_type="Group"),
        acl("*", ALL, CLUSTER),  # everyone is "*" of the type "*"
        acl("Alice", ALL, CLUSTER),
        acl("alice", ALL, CLUSTER, host="10.1.2.3"),
        acl("alice", ALL, DATABASE, "*"),  # all databases, but not their tables
    ]
    for other in others:
        with granted(admin, other):
            assert not may(row, alice, world), other


@pytest.mark.parametrize(
    "grant",
    [
        acl("alice", READ, TABLE, "*"),
        acl("*", READ, TABLE, principal_type="*"),
        acl("alice", READ, TABLE, host="127.0.0.1"),
        acl("alice", READ, CLUSTER, "*"),
    ],
    ids=["all tables", "everyone", "this host", "all clusters"],
)
def test_wildcards(grant, alice, admin, world):
    row = BY_API["FETCH_LOG"]
    with granted(admin, grant):
        assert may(row, alice, world) == (grant["resource_type"] != CLUSTER)


def test_a_change_counts_for_open_connections_at_once(alice, admin, world):
    row = BY_API["LIMIT_SCAN"]
    for _ in range(20):
        with granted(admin, acl("alice", READ, TABLE)):
            assert may(row, alice, world)
        assert not may(row, alice, world)


def test_a_fetch_that_claims_to_be_of_a_follower_is_checked(alice, world):
    message = {**fetch(world.log, 0), "follower_server_id": 0}
    assert fetched(alice.ask("FETCH_LOG", message))["error_code"] == NOT_AUTHORIZED


def test_of_several_tables_only_those_allowed_are_read(alice, admin, world):
    admin.ask("PRODUCE_LOG", produce(world.log, batch(b"payload")))
    message = fetch(world.log, 0)
    message["tables_req"] = [
        {**message["tables_req"][0], "table_id": table} for table in (world.pk, 999999, world.log)
    ]
    with granted(admin, acl("alice", READ, TABLE)):
        answer = alice.ask("FETCH_LOG", message)
        found = {t["table_id"]: t["buckets_resp"][0] for t in answer["tables_resp"]}
        assert found[world.pk]["error_code"] == NOT_AUTHORIZED
        assert found[999999]["error_code"] == UNKNOWN_TABLE_OR_BUCKET
        assert found[world.log].get("error_code") is None and found[world.log]["records"]


def test_a_lookup_that_inserts_needs_the_right_to_write(alice, admin, world):
    message = {**BY_API["LOOKUP"].request(world), "insert_if_not_exists": True, "acks": -1}
    message["timeout_ms"] = 1000
    with granted(admin, acl("alice", READ, TABLE, "access.pk")):
        assert code_of(alice, "LOOKUP", message) == NOT_AUTHORIZED
    with granted(admin, acl("alice", WRITE, TABLE, "access.pk")):
        assert code_of(alice, "LOOKUP", message) != NOT_AUTHORIZED


def open_scan(alice, table):
    """Open a scan of more rows than its first answer has; gives what asks for the rest."""
    request = {"table_id": table.id, "bucket_id": 0}
    request = {"bucket_scan_req": request, "call_seq_id": 0, "batch_size_bytes": 1}
    answer = alice.ask("SCAN_KV", request)
    assert answer["has_more_results"]
    return {"scanner_id": answer["scanner_id"], "call_seq_id": 1, "batch_size_bytes": 1}


def with_rows(admin, name):
    table = Table(name, [("id", "INT")]).create(admin, database=DB)
    admin.ask("PUT_KV", table.put([([i], False) for i in range(9)]))
    return table


def test_a_scan_ends_when_its_right_is_taken_away(alice, admin, world):
    table = with_rows(admin, "scanned")
    with granted(admin, acl("alice", READ, TABLE, f"{DB}.scanned")):
        go_on = open_scan(alice, table)
        assert alice.ask("SCAN_KV", go_on)["has_more_results"]
    go_on["call_seq_id"] = 2
    assert alice.ask("SCAN_KV", go_on)["error_code"] == NOT_AUTHORIZED
    with granted(admin, acl("alice", READ, TABLE, f"{DB}.scanned")):
        assert alice.ask("SCAN_KV", go_on)["error_code"] == UNKNOWN_SCANNER


def test_who_knows_the_id_of_a_scan_needs_the_right_too(alice, admin, world):
    table = with_rows(admin, "overheard")
    go_on = open_scan(admin, table)
    assert alice.ask("SCAN_KV", go_on)["error_code"] == NOT_AUTHORIZED


def test_a_scan_ends_when_its_table_is_dropped(admin, world):
    table = with_rows(admin, "dropped")
    go_on = open_scan(admin, table)
    path = {"database_name": DB, "table_name": "dropped"}
    admin.ask("DROP_TABLE", {"table_path": path, "ignore_if_not_exists": False})
    assert admin.ask("SCAN_KV", go_on)["error_code"] == UNKNOWN_SCANNER


def test_an_unknown_table_id_is_named_as_unknown(alice, world):
    message = produce(999999, batch(b"x"))
    assert code_of(alice, "PRODUCE_LOG", message) == UNKNOWN_TABLE_OR_BUCKET


def test_the_default_database_may_be_known_by_all(alice, world):
    assert alice.ask("DATABASE_EXISTS", {"database_name": "fluss"})["exists"]
    assert not alice.ask("DATABASE_EXISTS", {"database_name": DB})["exists"]


def test_lists_show_what_the_user_may_see(alice, admin, world):
    with granted(admin, acl("alice", WRITE, TABLE, "access.pk")):
        assert alice.ask("LIST_TABLES", {"database_name": DB})["table_name"] == ["pk"]
        assert alice.ask("LIST_DATABASES", {})["database_name"] == []
        summaries = alice.ask("LIST_DATABASES", {"include_summary": True})
        assert summaries["database_summary"] == []
        metadata = alice.ask("GET_METADATA", {"table_path": [LOG, path_of("pk", DB)]})
        assert [t["table_id"] for t in metadata["table_metadata"]] == [world.pk]


def test_the_refusal_names_user_operation_and_resource(alice, world):
    with pytest.raises(ServerError) as caught:
        alice.ask("GET_TABLE_INFO", {"table_path": LOG})
    assert caught.value.code == NOT_AUTHORIZED
    for part in ("alice", "127.0.0.1", "DESCRIBE", "'access.log'"):
        assert part in caught.value.text


def test_an_id_does_not_tell_the_name_of_an_unseen_table(alice, admin, world):
    message = produce(world.log, batch(b"x"))
    with pytest.raises(ServerError) as caught:
        alice.ask("PRODUCE_LOG", message)
    assert caught.value.code == NOT_AUTHORIZED and "log" not in caught.value.text
    with (
        granted(admin, acl("alice", DESCRIBE, TABLE)),
        pytest.raises(ServerError, match="'access.log'"),
    ):
        alice.ask("PRODUCE_LOG", message)


# ---- ACLs themselves ----


def listed(connection, **more):
    return connection.ask("LIST_ACLS", {"acl_filter": {**ANY_ACL, **more}})["acl"]


def test_filters_fit_by_all_their_fields(admin, world):
    acls = [
        acl("alice", READ, TABLE),
        acl("bob", WRITE, TABLE, host="10.0.0.1"),
        acl("alice", CREATE, DATABASE),
        acl("alice", ALTER, CLUSTER),
    ]
    admin.ask("CREATE_ACLS", {"acl": acls})
    assert listed(admin) == acls
    assert listed(admin, resource_type=TABLE) == acls[:2]
    assert listed(admin, resource_type=TABLE, resource_name="access.log") == acls[:2]
    assert listed(admin, resource_type=TABLE, resource_name="access.pk") == []
    assert listed(admin, host="10.0.0.1") == [acls[1]]
    assert listed(admin, operation_type=CREATE) == [acls[2]]
    assert listed(admin, principal_name="alice", principal_type="User") == [acls[0], *acls[2:]]
    assert listed(admin, principal_name="alice") == acls  # a name without a type fits all
    dropped = admin.ask("DROP_ACLS", {"acl_filter": [ANY_ACL, ANY_ACL]})["filter_results"]
    assert [each["acl"] for each in dropped[0]["matching_acls"]] == acls
    assert dropped[1]["matching_acls"] == []
    assert listed(admin) == []


def test_an_acl_that_is_there_is_made_again_without_effect(admin, world):
    one = acl("alice", READ, TABLE)
    for _ in range(2):
        results = admin.ask("CREATE_ACLS", {"acl": [one, one]})["acl_res"]
        assert [each["error_code"] for each in results] == [0, 0]
    assert listed(admin) == [one]


@pytest.mark.parametrize(
    "change",
    [
        {"resource_type": 0},
        {"resource_type": 5},
        {"operation_type": 9},
        {"operation_type": -1},
        {"permission_type": 3},
        {"resource_name": ""},
        {"principal_name": "x" * 1001},
        {"host": ""},
    ],
    ids=str,
)
def test_a_wrong_acl_is_refused_and_nothing_is_made(change, admin, world):
    good = acl("alice", READ, TABLE)
    assert code_of(admin, "CREATE_ACLS", {"acl": [good, {**good, **change}]}) == -1
    assert listed(admin) == []


def test_a_user_without_the_right_changes_nothing(alice, admin, world):
    with granted(admin, acl("alice", ALL, TABLE), acl("alice", ALTER, CLUSTER)):
        before = listed(admin)
        mixed = [acl("alice", ALL, TABLE), acl("alice", ALL, CLUSTER)]
        assert code_of(alice, "CREATE_ACLS", {"acl": mixed}) == NOT_AUTHORIZED
        assert code_of(alice, "DROP_ACLS", {"acl_filter": [ANY_ACL]}) == NOT_AUTHORIZED
        assert listed(admin) == before


def test_who_has_all_on_a_database_gives_rights_on_its_tables(alice, admin, world):
    with granted(admin, acl("alice", ALL, DATABASE)):
        alice.ask("CREATE_ACLS", {"acl": [acl("bob", READ, TABLE)]})
        assert code_of(alice, "CREATE_ACLS", {"acl": [acl("bob", READ, CLUSTER)]}) == NOT_AUTHORIZED
        assert {each["principal_name"] for each in listed(alice)} == {"alice", "bob"}
        alice.ask("DROP_ACLS", {"acl_filter": [{**ANY_ACL, "resource_type": TABLE}]})
    assert listed(admin) == []


def test_without_an_authorizer_acl_calls_say_so(tmp_path):
    with Server(tmp_path / "data") as plain, plain.connect() as connection:
        for api in ("CREATE_ACLS", "LIST_ACLS", "DROP_ACLS"):
            message = {"acl_filter": ANY_ACL} if api == "LIST_ACLS" else {}
            assert code_of(connection, api, message) == SECURITY_DISABLED


def test_the_internal_listener_passes(tmp_path):
    options = [*OPTIONS, "-o", "internal.listener.name=FLUSS"]
    with (
        Server(tmp_path / "data", *options) as server,
        server.connect() as inside,
        login(server.addresses[1], "alice", "alice-secret") as outside,
    ):
        assert code_of(inside, "GET_CLUSTER_HEALTH", {}) == 0
        assert code_of(outside, "GET_CLUSTER_HEALTH", {}) == NOT_AUTHORIZED


def test_case_can_be_ignored(tmp_path):
    options = [*OPTIONS, "-o", "security.acl.principal.ignore-case=true"]
    options[options.index("super.users=User:admin")] = "super.users= user:ADMIN ; User:x"
    with Server(tmp_path / "data", *options) as server:
        with login(server.addresses[1], "admin", "admin-secret") as admin:
            admin.ask(
                "CREATE_ACLS", {"acl": [acl("ALICE", DESCRIBE, CLUSTER, principal_type="USER")]}
            )
        with login(server.addresses[1], "alice", "alice-secret") as alice:
            assert code_of(alice, "GET_CLUSTER_HEALTH", {}) == 0


@pytest.mark.parametrize(
    "option, named",
    [
        ("super.users=admin", "super.users"),
        ("super.users=User:", "TYPE:NAME"),
        ("authorizer.type=ranger", "authorizer.type"),
        ("internal.listener.name=NONE", "internal.listener.name"),
        ("authorizer.enabled=yes", "true or false"),
    ],
)
def test_wrong_settings_are_named(option, named, tmp_path):
    done = subprocess.run(
        [BUILD / "fluss", "server", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0"]
        + ["-o", option],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode != 0 and named in done.stderr


def test_acls_are_there_after_a_kill_all_of_a_request_or_none(tmp_path):
    """Requests of 20 ACLs each, killed in the middle; FLUSS_ACL_KILLS rounds."""
    seed = int(os.environ.get("FLUSS_TEST_SEED", "20261130"))
    print(f"FLUSS_TEST_SEED={seed}")
    chance = random.Random(seed)
    sent, answered = 0, 0
    server = Server(tmp_path / "data", *OPTIONS).start()
    for _ in range(int(os.environ.get("FLUSS_ACL_KILLS", "5"))):
        connection = login(server.addresses[1], "admin", "admin-secret")
        ids, end = [], sent + chance.randrange(1, 30)
        for number in range(sent, end):
            acls = [acl(f"u{number}", READ, TABLE, f"db.t{i}") for i in range(20)]
            ids.append(connection.send("CREATE_ACLS", {"acl": acls}))
        for request in ids[: chance.randrange(len(ids) + 1)]:
            assert connection.answer(request)[0] == SUCCESS
            answered += 1
        server.process.send_signal(signal.SIGKILL)
        server._over()
        connection.close()
        server.start()
        with login(server.addresses[1], "admin", "admin-secret") as after:
            found = [each["principal_name"] for each in listed(after)]
        numbers = {name: found.count(name) for name in found}
        assert set(numbers.values()) <= {20}, "part of a request is there"
        assert {f"u{number}" for number in range(answered)} <= set(numbers)
        sent, answered = end, len(numbers)
        for number in range(len(numbers)):
            assert f"u{number}" in numbers, "a later change is there without an earlier one"
        sent = len(numbers)
    assert server.stop() == 0


# ---- users and settings at run time ----


def alter(connection, *changes):
    configs = [dict(zip(("config_key", "config_value", "op_type"), each)) for each in changes]
    return code_of(connection, "ALTER_CLUSTER_CONFIGS", {"alter_configs": configs})


USERS = "security.sasl.plain.credentials"
SET, DELETE, APPEND, SUBTRACT = range(4)
CONFIG_EXCEPTION = 64


def described(connection):
    answer = connection.ask("DESCRIBE_CLUSTER_CONFIGS")["configs"]
    return {c["config_key"]: (c["config_value"], c["config_source"]) for c in answer}


def can_log_in(server, user, password):
    try:
        login(server.addresses[1], user, password).close()
    except ServerError as error:
        assert error.code == 46
        return False
    return True


def test_users_come_and_go_at_run_time(tmp_path):
    with Server(tmp_path / "data", *OPTIONS) as server:
        with login(server.addresses[1], "admin", "admin-secret") as admin:
            assert alter(admin, (USERS, "carol:secret", APPEND)) == 0
            assert can_log_in(server, "carol", "secret") and can_log_in(
                server, "alice", "alice-secret"
            )
            assert alter(admin, (USERS, "alice:whatever", SUBTRACT)) == 0
            assert not can_log_in(server, "alice", "alice-secret")
            shown = described(admin)[USERS]
            assert shown == ("admin:******,carol:******", "DYNAMIC_SERVER_CONFIG")
            for wrong in ("carol:again", "nocolon", "x:", "a b:c"):
                assert alter(admin, (USERS, wrong, APPEND)) == CONFIG_EXCEPTION
        server.kill()
        server.start()
        assert can_log_in(server, "carol", "secret")
        assert not can_log_in(server, "alice", "alice-secret")
        with login(server.addresses[1], "admin", "admin-secret") as admin:
            assert alter(admin, (USERS, None, DELETE)) == 0
            assert described(admin)[USERS][1] == "INITIAL_SERVER_CONFIG"
        assert can_log_in(server, "alice", "alice-secret") and not can_log_in(
            server, "carol", "secret"
        )


def test_the_last_user_stays(tmp_path):
    with Server(tmp_path / "data", *OPTIONS) as server:
        with login(server.addresses[1], "admin", "admin-secret") as admin:
            assert alter(admin, (USERS, "admin:new", SET)) == 0
            assert alter(admin, (USERS, "admin", SUBTRACT)) == CONFIG_EXCEPTION
        assert can_log_in(server, "admin", "new")


LIMIT, RECOVER = "server.data-disk.write-limit-ratio", "server.data-disk.write-recover-ratio"


def test_the_disk_limit_changes_at_run_time(tmp_path):
    """A limit of almost nothing: the disk counts as full, until the limit is taken back."""
    with Server(tmp_path / "data") as server, server.connect() as connection:
        world = create_table(connection, "log")
        assert code_of(connection, "PRODUCE_LOG", produce(world, batch(b"1"))) == 0
        assert alter(connection, (LIMIT, "0.0001", SET), (RECOVER, "0.0", SET)) == 0
        wait_for(lambda: code_of(connection, "PRODUCE_LOG", produce(world, batch(b"2"))) == 70)
        assert alter(connection, (LIMIT, None, DELETE), (RECOVER, None, DELETE)) == 0
        wait_for(lambda: code_of(connection, "PRODUCE_LOG", produce(world, batch(b"3"))) == 0)
        assert len(read_log(connection, world)) >= 2


def wait_for(condition, limit_s=30):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    "changes",
    [
        [("data.dir", "/tmp/x", SET)],
        [("datalake.format", "paimon", SET)],
        [("remote.data.dirs", "/tmp/x", SET)],
        [("no.such.setting", "1", SET)],
        [(LIMIT, "1.5", SET)],
        [(LIMIT, "much", SET)],
        [(LIMIT, None, SET)],
        [(LIMIT, "0.5", SET), (RECOVER, "0.6", SET)],
        [("kv.snapshot.interval", "often", SET)],
        [("kv.snapshot.interval", "1 min", APPEND)],
        [("log.replica.min-in-sync-replicas-number", "2", SET)],
        [("log.retention.roll-active-segment.enabled", "maybe", SET)],
    ],
    ids=lambda changes: " ".join(f"{key}={value}" for key, value, _ in changes),
)
def test_wrong_changes_of_settings_are_refused_whole(changes, tmp_path_factory, plain):
    good = ("kv.snapshot.interval", "1 min", SET)
    before = described(plain)
    assert alter(plain, good, *changes) == CONFIG_EXCEPTION
    assert described(plain) == before


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("plain") / "data") as server, server.connect() as open_one:
        yield open_one


def test_an_unknown_operation_on_a_setting_is_a_bad_argument(plain):
    assert alter(plain, ("kv.snapshot.interval", "1 min", 7)) == -1


def test_changed_settings_outlive_a_kill(tmp_path):
    with Server(tmp_path / "data") as server:
        with server.connect() as connection:
            assert alter(connection, ("kv.snapshot.interval", "7 min", SET)) == 0
        server.kill()
        server.start()
        with server.connect() as connection:
            shown = described(connection)["kv.snapshot.interval"]
            assert shown == ("7 min", "DYNAMIC_SERVER_CONFIG")
