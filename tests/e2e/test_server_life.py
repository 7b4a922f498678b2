# SPDX-License-Identifier: Apache-2.0
"""The life of `fluss server`: signals, and a machine that has no descriptors, disk or time left.

Goal: it stops in good order and loses nothing that was acknowledged; when something runs out it
answers with an error that names it, stays up, and goes on when there is some again.
"""

import base64
import contextlib
import random
import resource
import signal
import socket
import threading

import pytest
from command import run, start
from wire import (
    BUILD,
    LIMIT_S,
    Server,
    ServerError,
    batch,
    create_table,
    produce,
    read_log,
    table_json,
)


@contextlib.contextmanager
def limited(kind, amount):
    """Processes started meanwhile get a limit."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (amount, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


# ---- signals ----


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_it_in_good_order(tmp_path, number):
    server = Server(tmp_path / "data").start()
    server.process.send_signal(number)
    assert server.process.wait(LIMIT_S) == 0
    server.process.stdout.close()


def test_under_nohup_the_end_of_the_terminal_is_nothing(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        server = Server(tmp_path / "data").start()
    finally:
        signal.signal(signal.SIGHUP, before)
    with server.connect() as connection:
        server.process.send_signal(signal.SIGHUP)
        create_table(connection, "t")
    assert server.stop() == 0


def test_what_was_acknowledged_before_the_stop_is_there(tmp_path):
    server = Server(tmp_path / "data").start()
    with server.connect() as connection:
        table_id = create_table(connection, "t", buckets=4)
    acknowledged, enough = [[] for _ in range(4)], threading.Semaphore(0)

    def write(bucket):
        with server.connect() as connection, contextlib.suppress(OSError, ServerError):
            for i in range(1_000_000):
                payload = b"%d" % i
                connection.ask("PRODUCE_LOG", produce(table_id, batch(payload), bucket))
                acknowledged[bucket].append(payload)
                enough.release()

    writers = [threading.Thread(target=write, args=(bucket,)) for bucket in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(200):
        assert enough.acquire(timeout=LIMIT_S)
    assert server.stop() == 0
    for writer in writers:
        writer.join(LIMIT_S)
    with server, server.connect() as connection:
        for bucket, expected in enumerate(acknowledged):
            found = [each["payload"] for each in read_log(connection, table_id, bucket)]
            assert found[: len(expected)] == expected
            assert len(found) <= len(expected) + 1, "at most the one that was under way"


# ---- connections ----


def test_connections_that_say_nothing_or_little_hold_nobody_up(tmp_path):
    with Server(tmp_path / "data") as server, contextlib.ExitStack() as stack:
        host, _, port = server.address.rpartition(":")
        for i in range(300):
            silent = stack.enter_context(socket.create_connection((host, int(port)), LIMIT_S))
            silent.sendall(b"\0\0\0\x40\x03\xf3"[: i % 7])  # up to the middle of a head
        before = server.rss_kib()
        with server.connect() as connection:
            table_id = create_table(connection, "t")
            for _ in range(20):
                connection.ask("PRODUCE_LOG", produce(table_id, batch(b"x")))
            assert len(read_log(connection, table_id)) == 20
        assert server.rss_kib() < before + 16 * 1024


def test_few_descriptors_do_for_many_buckets(tmp_path):
    """Logs give theirs back; connections beyond what is there wait, and the log is not flooded."""
    log = tmp_path / "log"
    with log.open("wb") as stream:
        server = Server(tmp_path / "data", log=stream)
        server.command = _with_hard_limit(tmp_path, server.command, 64)
        server.start()
    columns = ("id INT", "--buckets", "40", "--bucket-key", "id")
    run(server.address, "create-table", "fluss.t", *columns)
    rows = b"".join(b'{"id": %d}\n' % i for i in range(1000))
    run(server.address, "append", "fluss.t", stdin=rows)
    host, _, port = server.address.rpartition(":")
    with contextlib.ExitStack() as stack:
        for _ in range(80):
            stack.enter_context(socket.create_connection((host, int(port)), LIMIT_S))
        scan = start(server.address, "scan", "fluss.t", "--json", "--limit", "0")
    out, err = scan.communicate(timeout=LIMIT_S)
    assert (len(out.splitlines()), err) == (1000, b"")
    assert server.stop() == 0
    assert log.read_text().count("Too many open files") <= 1


def _with_hard_limit(tmp_path, command, amount):
    """The server raises a soft limit, so a shell lowers the hard one."""
    script = tmp_path / "limited"
    script.write_text(f'#!/bin/sh\nulimit -n {amount} && exec "{command.resolve()}" "$@"\n')
    script.chmod(0o755)
    return script


# ---- disk ----


@pytest.fixture
def short_disk(tmp_path):
    """A server that believes that so many KiB are free; gives it and what sets the number."""
    free = tmp_path / "free_kib"
    shim = (BUILD / "tests" / "e2e" / "libfull_disk.so").resolve()
    environment = {"LD_PRELOAD": str(shim), "FULL_DISK_FREE_KIB": str(free)}
    ratios = ("-o", "server.data-disk.write-limit-ratio=1.0")
    ratios += ("-o", "server.data-disk.write-recover-ratio=1.0")
    return Server(tmp_path / "data", *ratios, environment=environment), free


def test_a_full_disk_refuses_changes_of_the_catalog_and_nothing_else(short_disk):
    server, free = short_disk
    request = {"table_json": table_json({"id": "INTEGER"}), "ignore_if_exists": False}
    with server, server.connect() as connection:
        table_id = create_table(connection, "t")
        free.write_text("900")
        path = {"database_name": "fluss", "table_name": "u"}
        with pytest.raises(ServerError, match="the disk is full: 900 KiB are free"):
            connection.ask("CREATE_TABLE", {**request, "table_path": path})
        assert read_log(connection, table_id) == []
        said = run(server.address, "create-database", "d", "--timeout", "1", status=1)
        assert "no result within 1000 milliseconds; last: " in said
        assert "the disk is full: 900 KiB are free, at least 10" in said
        append = ("append", "fluss.t", "--timeout", "1")  # its writer id is a change too
        said = run(server.address, *append, stdin=b'{"id": 1}\n', status=1)
        assert "last: a writer id is asked for again: " in said and "the disk is full" in said
        free.write_text("9000")
        create_table(connection, "u")


def test_a_server_does_not_start_on_a_full_disk(short_disk):
    server, free = short_disk
    with server:
        pass
    free.write_text("3000")
    with (server.data_dir.parent / "log").open("w+b") as server.log:
        with pytest.raises(AssertionError, match="ended with status 1"):
            server.start()
        server.log.seek(0)
        assert b"the disk is full: 3000 KiB are free, at least 4096" in server.log.read()
    free.write_text("9000")
    server.log = None
    with server:
        pass


def test_a_file_that_may_not_grow_is_an_error_not_the_end(tmp_path):
    server = Server(tmp_path / "data")
    with limited(resource.RLIMIT_FSIZE, 200_000):
        server.start()
    rows = b"".join(b'{"id": %d, "v": "%s"}\n' % (i, b"%064d" % (i * i)) for i in range(50))
    run(server.address, "create-table", "fluss.t", "id INT, v BYTES")
    run(server.address, "append", "fluss.t", stdin=rows)
    said = run(
        *(server.address, "append", "fluss.t", "--timeout", "1"),
        stdin=b'{"v": "%s"}\n' % base64.b64encode(random.Random(1).randbytes(300_000)),
        status=1,
    )
    assert "File too large" in said
    kept = run(server.address, "scan", "fluss.t", "--json")
    assert len(kept.splitlines()) == 50
    assert server.stop() == 0
    with server:
        assert run(server.address, "scan", "fluss.t", "--json") == kept
        run(server.address, "append", "fluss.t", stdin=rows)
