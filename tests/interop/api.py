#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The script of every public API, sent to the official server and to ours; answers compared.

    api.py OFFICIAL OURS

OFFICIAL is the address of an official coordinator, its tablet server has the next port; OURS is
ours. Both are plain listeners without an authorizer. The steps are those of
tests/e2e/api_script.py and api_edges.py. A difference must stand in tests/e2e/api_differences.py,
with what the official server answers and why ours is another; one that stands there and was not
seen is a failure too. Closes with "N passed, M failed".
"""

import socket
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from api_differences import ABSENT, DIFFERENT  # noqa: E402
from api_edges import ALL  # noqa: E402
from api_edges import DB as EDGES_DB  # noqa: E402
from api_script import COORDINATOR, DB, TABLET, code_in, run  # noqa: E402
from wire import API, Connection  # noqa: E402

RETRIED = {21, 12, 36, 44}  # a cluster's servers hear of new tables a moment later
SETTLE_S = 10
HELLO = {"client_software_name": "api", "client_software_version": "1"}


class Side:
    """The connections to one of the two; steps go to the role that answers them."""

    def __init__(self, coordinator, tablet):
        self.connections = {COORDINATOR: Connection(coordinator), TABLET: Connection(tablet)}
        self.apis = {
            role: {v["api_key"] for v in connection.ask("API_VERSIONS", HELLO)["api_versions"]}
            for role, connection in self.connections.items()
        }
        for name in (DB, EDGES_DB):
            gone = {"database_name": name, "ignore_if_not_exists": True, "cascade": True}
            self.connections[COORDINATOR].ask("DROP_DATABASE", gone)

    def ask(self, step, request):
        if API[step.api][0] not in self.apis[step.role]:
            return None
        connection = self.connections[step.role]
        deadline = time.monotonic() + SETTLE_S
        while True:
            answer = connection.answer(connection.send(step.api, request))
            code = code_in(*answer)
            is_settled = code == step.code or code not in RETRIED
            if is_settled or time.monotonic() > deadline:
                return answer
            time.sleep(0.1)


def next_port(address):
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1}"


def main():
    official = run(Side(sys.argv[1], next_port(sys.argv[1])).ask, ALL)
    ours = run(Side(sys.argv[2], sys.argv[2]).ask, ALL)
    passed, failed = 0, 0
    seen = set()
    for (step, code, shown), (_, our_code, our_shown) in zip(official, ours):
        key = (step.api, step.label)
        theirs = ABSENT if code is None else (code, shown)
        recorded = DIFFERENT.get(key) or DIFFERENT.get((step.api, "*"))
        wanted = recorded[0] if recorded else (our_code, our_shown)
        is_right = theirs == wanted and (our_code, our_shown) == (step.code, step.expected)
        if theirs != (our_code, our_shown):
            seen |= {key, (step.api, "*")}
        passed, failed = passed + is_right, failed + (not is_right)
        note = "the same" if theirs == (our_code, our_shown) else f"official {theirs}"
        print(f"{'ok' if is_right else 'FAILED':7s}{step.api}: {step.label}: {note}", flush=True)
        if not is_right:
            print(f"    official {theirs}, recorded {wanted}, ours {(our_code, our_shown)}")
    for key in sorted(set(DIFFERENT) - seen):
        failed += 1
        print(f"FAILED {key}: this recorded difference was not seen")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except socket.timeout:
        sys.exit("a server did not answer in time")
