# SPDX-License-Identifier: Apache-2.0
"""Both sides of tests and benchmarks: our build, and the official peers from $FLUSS_SHARED."""

import contextlib
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
VENV_PYTHON = str(TOP / ".venv" / "bin" / "python")  # what tools/setup made, with the test packages
BUILD = TOP / os.environ.get("FLUSS_BUILD", "build")
SHARED = Path(os.environ.get("FLUSS_SHARED", TOP.parent / "shared"))
PEER = SHARED / "conformance" / "peer"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "libfluss-interop"
PYFLUSS = "1.0.0"


class Missing(Exception):
    """A peer that cannot be had here; says why."""


def _run(script, *arguments, env=None):
    if not script.exists():
        raise Missing(f"{script} is not there")
    done = subprocess.run(
        [script, *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise RuntimeError(f"{script.name}: {done.stderr.strip()[-500:]}")
    return done.stdout


def our_python():
    """The command of an interpreter that imports the package from the build."""
    return ["env", f"PYTHONPATH={BUILD / 'python'}", VENV_PYTHON]


def pyfluss_python():
    """The command of an interpreter that has pyfluss; its environment is made on first use."""
    return [_run(PEER / "pyfluss_venv.sh").strip()]


def _free_port_base():
    """A port below the ephemeral range with four free ones after it."""
    for base in range(21000 + os.getpid() % 4000, 32000, 8):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(base, base + 5):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return base
    raise Missing("there are no five free ports in a row")


@contextlib.contextmanager
def official_server(settings="", folder=None):
    """Run the official server; gives its addresses, plain and SASL.

    `settings` are more lines of its configuration. In `folder`, when it is given, `state/remote`
    is what it tiers to."""
    script = PEER / "official_server.sh"
    env = dict(os.environ, FLUSS_PEER_PORT=str(_free_port_base()))
    if folder is not None:
        (Path(folder) / "settings").write_text(settings, encoding="utf-8")
        env["FLUSS_PEER_CONFIG"] = str(Path(folder) / "settings")
        env["FLUSS_PEER_STATE"] = str(Path(folder) / "state")
    lines = _run(script, "start", env=env).split()
    try:
        yield [line.split("=")[1] for line in lines]
    finally:
        _run(script, "stop", env=env)


# pip asks the build backend of a source package for its name and version; the real one would want
# Rust to tell.
_STAND_IN_BACKEND = f"""
import pathlib

def prepare_metadata_for_build_wheel(directory, config_settings=None):
    folder = pathlib.Path(directory, "pyfluss-{PYFLUSS}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\\nName: pyfluss\\nVersion: {PYFLUSS}\\n"
    )
    return folder.name
"""


def pyfluss_sources():
    """The unpacked source package of pyfluss, from the package index on first use: its type stub
    `fluss/__init__.pyi`, and its tests and examples in `bindings/python`."""
    target = CACHE / f"pyfluss-{PYFLUSS}"
    if not (target / ".complete").exists():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "maturin.py").write_text(_STAND_IN_BACKEND, encoding="utf-8")
            command = [VENV_PYTHON, "-m", "pip", "--disable-pip-version-check", "-q", "download"]
            command += ["--no-deps", "--no-build-isolation", "--no-binary", "pyfluss"]
            command += ["-d", folder, f"pyfluss=={PYFLUSS}"]
            done = subprocess.run(
                command,
                env=dict(os.environ, PYTHONPATH=folder),
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            archives = list(Path(folder).glob("pyfluss-*.tar.gz"))
            if done.returncode or not archives:
                raise Missing(f"pip cannot fetch pyfluss' sources: {done.stderr.strip()[-300:]}")
            shutil.rmtree(target, ignore_errors=True)
            with tarfile.open(archives[0]) as archive:
                archive.extractall(folder, filter="data")
            CACHE.mkdir(parents=True, exist_ok=True)
            shutil.copytree(Path(folder) / f"pyfluss-{PYFLUSS}", target)
        (target / ".complete").touch()
    return target
