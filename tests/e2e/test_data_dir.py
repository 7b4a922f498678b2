# SPDX-License-Identifier: Apache-2.0
"""Data directories with damage: what can be made anew is, what is lost is said, nothing is removed.

Goal: no file that is cut, empty, missing or full of noise ends the server by a crash, hides rows
that are there, or makes it remove rows. Method: a directory with a log table, a table with primary
key and a partition, made once; each test damages a copy and starts a server on it.
"""

import random
import shutil
import subprocess

import pytest
from command import run
from wire import BUILD, LIMIT_S, Server

ROWS = 600
LOG = "fluss/log-0/log-0"
SEGMENT = "00000000000000000000"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original") / "data"
    with Server(folder) as server:
        run(server.address, "create-table", "fluss.log", "id INT, v STRING")
        run(server.address, "create-table", "fluss.keyed", "id INT, v STRING", "--key", "id")
        run(server.address, "create-table", "fluss.part", "id INT, d STRING", "--partitioned-by=d")
        run(server.address, "create-partition", "fluss.part", "d=2026")
        for begin in range(0, ROWS, ROWS // 3):
            ids = range(begin, begin + ROWS // 3)
            rows = "".join(f'{{"id": {i}, "v": "value {i}"}}\n' for i in ids).encode()
            run(server.address, "append", "fluss.log", stdin=rows)
            run(server.address, "append", "fluss.keyed", stdin=rows)
        run(server.address, "append", "fluss.part", stdin=b'{"id": 1, "d": "2026"}\n')
    return folder


@pytest.fixture
def copy(original, tmp_path):
    return shutil.copytree(original, tmp_path / "data")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def noise(path):
    path.write_bytes(random.Random(path.name).randbytes(max(64, path.stat().st_size)))


def missing(path):
    path.unlink()


def files_of_logs(folder):
    return sorted(path for path in folder.rglob("*") if "log-0/" in str(path) and path.is_file())


def refusal(folder):
    """What a server says that does not start; no file of a log may be gone."""
    before = {path: path.read_bytes() for path in files_of_logs(folder)}
    command = [BUILD / "fluss", "server", "--data-dir", folder, "--listen", "127.0.0.1:0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert {path: path.read_bytes() for path in files_of_logs(folder)} == before
    return done.stderr


def count(address, table):
    return len(run(address, "scan", table, "--json", "--limit", "0").splitlines())


@pytest.mark.parametrize("damage", [cut, empty, noise, missing])
def test_what_can_be_made_anew_is(copy, damage):
    """Indexes, snapshots of writers, checkpoints, the lock file, the engine's notes."""
    for path in files_of_logs(copy):
        if path.suffix != ".log":
            damage(path)
    for path in [copy / "fluss.lock", copy / "kv.rocksdb/LOG", copy / "kv.rocksdb/IDENTITY"]:
        damage(path)
    with Server(copy) as server:
        assert count(server.address, "fluss.log") == count(server.address, "fluss.keyed") == ROWS
        assert count(server.address, "fluss.part") == 1
        assert f'"id":{ROWS - 1},' in run(
            server.address, "lookup", "fluss.keyed", str(ROWS - 1), "--json"
        )
        run(server.address, "append", "fluss.log", stdin=b'{"id": -1}\n')
        assert count(server.address, "fluss.log") == ROWS + 1


@pytest.mark.parametrize("damage", [cut, empty, noise, missing])
def test_rows_that_are_lost_are_told(copy, damage):
    damage(copy / LOG / f"{SEGMENT}.log")
    log = copy.parent / "log"
    with log.open("wb") as stream, Server(copy, log=stream) as server:
        left = count(server.address, "fluss.log")
        assert left < ROWS
        assert count(server.address, "fluss.keyed") == ROWS, "the others are as they were"
        run(server.address, "append", "fluss.log", stdin=b'{"id": -1}\n')
        assert count(server.address, "fluss.log") == left + 1
    said = [line for line in log.read_text().splitlines() if line.startswith("error ")]
    assert len(said) == 1
    assert (
        f"{copy / LOG}: the log ends at offset {left}, but up to {ROWS} it was on disk" in said[0]
    )


@pytest.mark.parametrize("end", [0, ROWS // 3])
def test_rows_that_a_changelog_has_lost_are_told(copy, end):
    """Its folder is gone, or its end: the table goes on with what the changelog still has."""
    (folder,) = copy.glob("fluss/keyed-*/log-0")
    if end == 0:
        shutil.rmtree(folder)
    else:
        with (folder / f"{SEGMENT}.log").open("r+b") as segment:
            segment.truncate(segment.seek(0, 2) // 2)
    log = copy.parent / "log"
    with log.open("wb") as stream, Server(copy, log=stream) as server:
        left = count(server.address, "fluss.keyed")
        assert left == end
        run(server.address, "append", "fluss.keyed", stdin=b'{"id": -1}\n')
        assert count(server.address, "fluss.keyed") == left + 1
    assert (
        f"error server: table fluss.keyed, bucket 0: the rows are those of log offset {ROWS}, but "
        f"the log ends at {left}; they are made anew from it\n" in log.read_text()
    )


def truncated_manifest(folder):
    (manifest,) = folder.glob("kv.rocksdb/MANIFEST-*")
    cut(manifest)


def no_catalog(folder):
    shutil.rmtree(folder / "kv.rocksdb")


@pytest.mark.parametrize("lose", [truncated_manifest, no_catalog])
def test_rows_whose_catalog_is_lost_are_kept(copy, lose):
    lose(copy)
    said = refusal(copy)
    assert "the catalog has lost records" in said
    assert f"{copy}/fluss/" in said


@pytest.mark.parametrize("damage", [cut, empty, noise, missing])
def test_a_catalog_that_cannot_be_read_is_named(copy, damage):
    damage(copy / "kv.rocksdb" / "CURRENT")
    assert f"{copy}/kv.rocksdb" in refusal(copy)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fluss-data-format 2\n", "format version 2; this program knows versions up to 1"),
        ("fluss-data-format 1", "damaged, or not ours"),
        ("", "holds other things"),
        ("\0" * 64, "holds other things"),
        ("x" * 100_000, "damaged, or not ours"),
    ],
)
def test_a_format_that_is_not_ours_is_refused(copy, text, words):
    (copy / "fluss.format").write_text(text)
    assert words in refusal(copy)


def test_strays_are_left_alone(copy):
    strays = [copy / "notes", copy / "fluss" / "notes", copy / LOG / "notes.txt"]
    for path in strays:
        path.write_text("mine")
    folder = copy / "fluss" / "my notes"
    folder.mkdir()
    with Server(copy) as server:
        assert count(server.address, "fluss.log") == ROWS
    assert [path.read_text() for path in strays] == ["mine"] * 3
    assert folder.is_dir()
