# SPDX-License-Identifier: Apache-2.0
"""Signals as a program has them that is started in the foreground. A job in the background, or
under nohup, has some of them ignored, which the programs under test would inherit and keep so."""

import signal


def pytest_configure(config):
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)  # children start with the default
