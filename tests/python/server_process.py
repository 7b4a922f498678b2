# SPDX-License-Identifier: Apache-2.0
"""A server in a process of its own, which can be halted: it answers nothing then."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

BUILD = Path(os.environ.get("FLUSS_BUILD", Path(__file__).resolve().parents[2] / "build"))


class ServerProcess:
    def __init__(self, process):
        self._process = process
        self.pid = process.pid
        self.address = process.stdout.readline().split()[-1].decode()

    def _states(self):
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with (
                contextlib.suppress(OSError),  # one that ends just now
                open(f"/proc/{self.pid}/task/{task}/stat") as file,
            ):
                yield file.read().rpartition(")")[2].split()[0]

    def halt(self):
        """Returns when every thread has stopped."""
        self._process.send_signal(signal.SIGSTOP)
        while any(state != "T" for state in self._states()):
            time.sleep(0.001)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def server_process(folder, *options):
    """A server on a free port with its data in the folder."""
    command = [BUILD / "fluss", "server", "--listen", "127.0.0.1:0", "--data-dir", folder, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield ServerProcess(process)
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
