# SPDX-License-Identifier: Apache-2.0
"""The command `fluss` as a test runs it: at once, or in the background while something happens."""

import subprocess

from wire import BUILD, LIMIT_S


def run(address, *arguments, stdin=b"", status=0, **more):
    """Run to the end; standard output, or standard error where a failure is expected."""
    command = [BUILD / "fluss", *arguments, "--server", address]
    done = subprocess.run(
        command, input=stdin, capture_output=True, timeout=LIMIT_S, check=False, **more
    )
    assert done.returncode == status, (done.returncode, done.stdout[-500:], done.stderr[-2000:])
    return (done.stdout if status == 0 else done.stderr).decode()


def start(address, *arguments, **more):
    """Start, with pipes to all three streams."""
    command = [BUILD / "fluss", *arguments, "--server", address]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, **more)
