# SPDX-License-Identifier: Apache-2.0
"""What the runners in tools/, tests/interop and bench share: results, and a server to test."""

import contextlib
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SASL_USERS = ["admin:admin-secret", "alice:alice-secret"]
START_S = 30
PYTEST_BROKE_OFF = 3  # pytest's exit status for an end from within; the acceptance kit's too
STOP_S = 30


def unwind_on_sigterm():
    """Let SIGTERM, such as a time limit's, end the servers that a runner has started too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


class Tally:
    """Results of one suite."""

    def __init__(self, name):
        self.name = name
        self.passed = 0
        self.failed = []  # titles
        self.skipped = []  # (title, reason)
        self.seconds = 0.0
        self.may_be_empty = False
        self.broke_off = False  # pytest ended before its last test

    def fail(self, title):
        self.failed.append(title)

    def skip(self, title, reason):
        self.skipped.append((title, reason))

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def require_some(self):
        """A runner that ran nothing has failed."""
        if not self.may_be_empty and self.passed + len(self.failed) == 0:
            self.fail(f"{self.name}: no test ran")

    @staticmethod
    def close(tallies):
        """Print a line a suite, what failed and was skipped, and the sum; the exit status."""
        print()
        for tally in tallies:
            for title in tally.failed:
                print(f"FAILED  {tally.name}: {title}")
        reasons = {}
        for tally in tallies:
            for title, reason in tally.skipped:
                reasons.setdefault((tally.name, reason), []).append(title)
        for (name, reason), titles in reasons.items():
            shown = ", ".join(titles[:5]) + (
                f" and {len(titles) - 5} more" if len(titles) > 5 else ""
            )
            print(f"SKIPPED {name}: {shown} ({reason})")
        for tally in tallies:
            print(
                f"{tally.name:14s} {tally.passed:6d} passed  {len(tally.failed):4d} failed"
                f"  {len(tally.skipped):4d} skipped  {tally.seconds:7.1f} s"
            )
        passed = sum(tally.passed for tally in tallies)
        failed = sum(len(tally.failed) for tally in tallies)
        skipped = sum(len(tally.skipped) for tally in tallies)
        print(
            f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""),
            flush=True,
        )
        return 1 if failed or not passed else 0


def cmocka_tally(entry):
    """Results of one unit test program, from its entry in meson's testlog.json."""
    name = entry["name"]
    tally = Tally(name)
    output = entry.get("stdout", "") + entry.get("stderr", "")

    def count(word):
        return sum(map(int, re.findall(rf"\[  {word} *\] (\d+) test\(s\)", output)))

    tally.passed = count("PASSED")
    for title in sorted(set(re.findall(r"\[  FAILED  \] (\w+)$", output, re.MULTILINE))):
        tally.fail(f"{name}: {title}")
    for _ in range(count("SKIPPED")):
        tally.skip(name, "skipped by the program")
    if entry["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and not tally.failed:
        tally.fail(f"{name}: {entry['result']}, status {entry.get('returncode')}")
    if entry["result"] == "OK" and tally.passed == 0 and not tally.skipped:
        tally.passed = 1  # a program without cmocka counts as one test
    return tally


def pytest_tally(name, command, env, cwd, may_crash_at_exit=False):
    """Run pytest and count from its JUnit file; a run that broke off is a failure more. A package
    of others may end its process by a signal after its last test: told, and no failure."""
    tally = Tally(name)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder) / "junit.xml"
        command = [*command, f"--junitxml={junit}"]
        done = subprocess.run(command, cwd=cwd, env=env, check=False, stdin=subprocess.DEVNULL)
        cases = ElementTree.parse(junit).iter("testcase") if junit.exists() else []
        for case in cases:
            title = f"{case.get('classname')}::{case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                tally.fail(title)
            elif case.find("skipped") is not None:
                tally.skip(title, case.find("skipped").get("message", ""))
            else:
                tally.passed += 1
    tally.broke_off = done.returncode == PYTEST_BROKE_OFF
    if may_crash_at_exit and done.returncode < 0 and tally.passed:
        print(f"{name}: ALL TESTS RAN, then the process ended with status {done.returncode}")
    elif done.returncode != 0 and not tally.failed:
        tally.fail(f"pytest ended with status {done.returncode}")
    tally.seconds = time.monotonic() - started
    return tally


def _read_line(process, deadline):
    """The next line of the process's unbuffered output; raises when none comes in time."""
    line = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise RuntimeError(f"no complete line within {START_S} s, only {line!r}")
            byte = process.stdout.read(1)
            if not byte:
                raise RuntimeError(f"it ended with status {process.wait()}")
            line += byte
    return line.decode().strip()


@contextlib.contextmanager
def server(command, sasl=False, options=(), log=None):
    """Run `fluss server` on free ports and a fresh folder; gives its addresses, plain, SASL."""
    folder = tempfile.mkdtemp(prefix="fluss-test-")
    arguments = [
        str(command),
        "server",
        "--data-dir",
        str(Path(folder) / "data"),
        "--listen",
        "127.0.0.1:0",
    ]
    if sasl:
        arguments += ["--sasl-listen", "127.0.0.1:0"]
        for user in SASL_USERS:
            arguments += ["--sasl-user", user]
    if not Path(command).exists():
        raise RuntimeError(f"there is no {command}; run make")
    process = subprocess.Popen(
        [*arguments, *options],
        stdout=subprocess.PIPE,
        stderr=log,
        stdin=subprocess.DEVNULL,
        bufsize=0,
    )
    try:
        deadline = time.monotonic() + START_S
        addresses = []
        for _ in range(2 if sasl else 1):
            line = _read_line(process, deadline)
            if not line.startswith("listening on "):
                raise RuntimeError(f"its line is '{line}', not 'listening on HOST:PORT'")
            addresses.append(line.split()[2])
        yield addresses
        if process.poll() is not None:
            raise RuntimeError(f"it ended by itself, status {process.returncode}")
        process.terminate()
        if process.wait(STOP_S) != 0:
            raise RuntimeError(f"it ended with status {process.returncode} after SIGTERM")
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it did not stop within {STOP_S} s of SIGTERM") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
