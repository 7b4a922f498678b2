# SPDX-License-Identifier: Apache-2.0
"""The command `fluss server`: its options, its configuration file, its directory, its words.

Goal and method: one claim a test; the command as a user starts it, and what it prints.
"""

import json
import socket
import subprocess
from pathlib import Path

import pytest
from command import run as run_command
from wire import BUILD, Server, ServerError, create_table, fetch, path_of, table_json

TOP = Path(__file__).resolve().parents[2]


def run(*arguments):
    return subprocess.run(
        [BUILD / "fluss", "server", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_second_server_on_the_directory_is_refused_and_a_killed_one_is_no_obstacle(tmp_path):
    server = Server(tmp_path / "data").start()
    second = run("--data-dir", str(server.data_dir), "--listen", "127.0.0.1:0")
    assert second.returncode == 1
    assert str(server.process.pid) in second.stderr
    server.kill()
    with server:
        pass


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "log.segment.file-sise=1mb"], "log.segment.file-size"),
        (["-o", "log.segment.file-size=many"], "many"),
        (["-o", "server.shards"], "KEY=VALUE"),
        (["--listen", "127.0.0.1"], "127.0.0.1"),
        (["--sasl-listen", "127.0.0.1:0"], "security.sasl.plain.credentials"),
        (["--sasl-listen", "127.0.0.1:0", "--sasl-user", "alice"], "NAME:PASSWORD"),
        (["--no-such"], "--no-such"),
        (["--data-dir", ""], "the path is empty"),
        (["-oserver.shards=many"], "many"),
        (["--listen", "127.0.0.1:99999"], "'99999' is no port"),
        (["--listen", "nohost.invalid:0"], "can't resolve nohost.invalid:0"),
        (["--config", "/does/not/exist"], "/does/not/exist"),
    ],
)
def test_a_wrong_option_is_named(tmp_path, arguments, words):
    done = run("--data-dir", str(tmp_path / "data"), *arguments)
    assert done.returncode != 0
    assert words in done.stderr
    assert done.stdout == ""


def test_a_password_is_never_shown(tmp_path):
    done = run(
        *("--data-dir", str(tmp_path / "data"), "--sasl-listen", "127.0.0.1:0"),
        *("--sasl-user", "al ice:hushhush", "--verbose"),
    )
    assert done.returncode != 0
    assert "hushhush" not in done.stderr + done.stdout
    options = ("--sasl-listen", "127.0.0.1:0", "--sasl-user", "al:hushhush")
    with Server(tmp_path / "data", *options) as server, server.connect() as connection:
        assert "hushhush" not in repr(connection.ask("DESCRIBE_CLUSTER_CONFIGS"))


def test_secrets_are_in_no_log(tmp_path):
    """Also where everything is logged, sign-ins fail, and users change while it runs."""
    log = tmp_path / "log"
    options = ("--sasl-listen", "127.0.0.1:0", "--sasl-user", "al:hushhush", "--verbose")
    with (
        log.open("wb") as stream,
        Server(tmp_path / "data", *options, log=stream) as server,
        server.connect() as connection,
    ):
        address = server.addresses[1]
        run_command(address, "databases", "--user", "al:hushhush")
        said = run_command(address, "databases", "--user", "al:wronghush", status=1)
        key = "security.sasl.plain.credentials"
        change = {"config_key": key, "config_value": "al:newhush", "op_type": 0}
        connection.ask("ALTER_CLUSTER_CONFIGS", {"alter_configs": [change]})
        run_command(address, "databases", "--user", "al:newhush")
        with pytest.raises(ServerError) as refused:
            change["config_value"] = "al-badhush"
            connection.ask("ALTER_CLUSTER_CONFIGS", {"alter_configs": [change]})
    for text in (said, refused.value.text, log.read_text()):
        assert "hush" not in text


def test_what_is_missing_floods_no_log(tmp_path):
    log = tmp_path / "log"
    missing = {"table_id": 7, "buckets_req": [{"bucket_id": 0, "keys": [b"x"]}]}
    with (
        log.open("wb") as stream,
        Server(tmp_path / "data", log=stream) as server,
        server.connect() as connection,
    ):
        for _ in range(10):
            sent = [connection.send("LOOKUP", missing) for _ in range(100)]
            sent += [connection.send("FETCH_LOG", fetch(7, 0)) for _ in range(100)]
            for request_id in sent:
                connection.answer(request_id)
    assert log.read_text() == ""


def test_a_configuration_file_and_options_that_beat_it(tmp_path):
    config = tmp_path / "server.yaml"
    config.write_text("# ours\nmax.bucket.num: 2\ndefault.bucket.number=2\n\n")
    options = ("--config", str(config), "-o", "max.bucket.num=3")
    with Server(tmp_path / "data", *options) as server, server.connect() as connection:
        request = {
            "table_path": path_of("t"),
            "table_json": table_json({"id": "INTEGER"}),
            "ignore_if_exists": False,
        }
        connection.ask("CREATE_TABLE", request)
        info = connection.ask("GET_TABLE_INFO", {"table_path": path_of("t")})
        assert json.loads(info["table_json"])["bucket_count"] == 2
        create_table(connection, "three", 3)
        with pytest.raises(ServerError):
            create_table(connection, "four", 4)


@pytest.mark.parametrize("text", [b"\0" * 200_000, b"x" * 200_000, b"max.bucket.num: 2\0\n"])
def test_a_file_that_is_no_configuration_is_refused(tmp_path, text):
    config = tmp_path / "server.yaml"
    config.write_bytes(text)
    done = run("--data-dir", str(tmp_path / "data"), "--config", str(config))
    assert done.returncode == 2
    assert f"{config}, line 1: " in done.stderr


def test_an_address_in_use_is_an_error_that_names_it(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("--data-dir", str(tmp_path / "data"), "--listen", address)
    assert done.returncode == 1
    assert address in done.stderr


def test_the_documentation_lists_exactly_the_settings():
    rows = run("--settings").stdout.splitlines()
    page = (TOP / "docs" / "server.md").read_text().partition("## Settings")[2]
    assert len(rows) > 20
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows


def test_a_command_with_closed_output_says_so(tmp_path):
    """No socket may take the number of a standard stream."""
    shell = '"$0" databases -s "$1" >&-'
    with Server(tmp_path / "data") as server:
        ended = subprocess.run(
            ["sh", "-c", shell, BUILD / "fluss", server.address],
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    assert ended.returncode == 1
    assert b"standard output" in ended.stderr
