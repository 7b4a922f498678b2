#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The right that each API needs, found out from the official server and from ours.

    access.py OFFICIAL OURS

OFFICIAL is the SASL address of an official coordinator, its tablet server's port is the next one;
OURS is our SASL address. Both run with authorizer.enabled and super.users=User:admin, and know the
users admin and alice. For each row of tests/e2e/access_matrix.py both are asked by alice without an
ACL, with each single operation on the smallest resource, and with ALL on the cluster. What differs
must stand in DIFFERENT, with the reason; a row there that did not differ is a failure too. Then
both are asked whether each ACL of SHAPES, odd names and hosts among them, lets her see the table.
"""

import contextlib
import socket
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "e2e"))
from access_matrix import (  # noqa: E402
    ALL,
    ANY_ACL,
    CLUSTER,
    DATABASE,
    DB,
    MATRIX,
    NAMES,
    OPERATIONS,
    READ,
    TABLE,
    acl,
    drop_everything,
    implied,
    is_allowed,
    login,
    prepare,
    settles,
)
from wire import API  # noqa: E402

ABSENT = "0.9.1 has no such API"
ALTER_IS_ENOUGH = "0.9.1 asks for ALTER; the official 1.0 asks for ALL, as we do"
OPEN = "0.9.1 asks for no right; the official 1.0 asks for DESCRIBE, as we do"
#: API: why the official 0.9.1 differs from ours, which follows 1.0
DIFFERENT = {
    "DATABASE_EXISTS": OPEN,
    "TABLE_EXISTS": OPEN,
    "LIST_OFFSETS": OPEN,
    "CREATE_ACLS": ALTER_IS_ENOUGH,
    "DROP_ACLS": ALTER_IS_ENOUGH,
    "ALTER_DATABASE": ABSENT,
    "SCAN_KV": ABSENT,
    "GET_CLUSTER_HEALTH": ABSENT,
    "LIST_REMOTE_LOG_MANIFESTS": ABSENT,
    "LIST_KV_SNAPSHOTS": ABSENT,
}
NOTHING = "no ACL"


#: an ACL: whether it lets alice see the table access.log
SHAPES = {
    "its database": (acl("alice", READ, DATABASE, DB), True),
    "all tables": (acl("alice", READ, TABLE, "*"), True),
    "all databases": (acl("alice", READ, DATABASE, "*"), False),
    "the cluster": (acl("alice", READ, CLUSTER, "fluss-cluster"), True),
    "all clusters": (acl("alice", READ, CLUSTER, "*"), False),
    "a prefix": (acl("alice", READ, TABLE, f"{DB}.*"), False),
    "a shorter prefix": (acl("alice", READ, TABLE, DB), False),
    "a name in capitals": (acl("alice", READ, TABLE, f"{DB}.LOG"), False),
    "everyone": (acl("*", READ, TABLE, principal_type="*"), True),
    "every user": (acl("*", READ, TABLE, principal_type="User"), False),
    "any type": (acl("alice", READ, TABLE, principal_type="*"), False),
    "a group": (acl("alice", READ, TABLE, principal_type="Group"), False),
    "a type in small letters": (acl("alice", READ, TABLE, principal_type="user"), False),
    "a user in capitals": (acl("Alice", READ, TABLE), False),
    "her host": (acl("alice", READ, TABLE, host="127.0.0.1"), True),
    "the name of her host": (acl("alice", READ, TABLE, host="localhost"), False),
    "hosts like hers": (acl("alice", READ, TABLE, host="127.*"), False),
    "any operation": (acl("alice", 1, TABLE), False),
    "any permission": ({**acl("alice", READ, TABLE), "permission_type": 1}, False),
}


class Cluster:
    """Connections of both users to each role."""

    def __init__(self, coordinator, tablet):
        self.admin = login(coordinator, "admin", "admin-secret")
        self.alice = {
            "coordinator": login(coordinator, "alice", "alice-secret"),
            "tablet": login(tablet, "alice", "alice-secret"),
        }
        self.apis = self._apis()
        self.world = prepare(self.admin)

    def _apis(self):
        hello = {"client_software_name": "access", "client_software_version": "1"}
        found = set()
        for connection in self.alice.values():
            found |= {v["api_key"] for v in connection.ask("API_VERSIONS", hello)["api_versions"]}
        return found

    def may(self, row):
        connection = self.alice[row.role]
        return is_allowed(
            row, *connection.answer(connection.send(row.api, row.request(self.world)))
        )

    def prepare_for(self, row):
        if row.api in ("GET_PRODUCER_OFFSETS", "DELETE_PRODUCER_OFFSETS"):
            message = next(r for r in MATRIX if r.api == "REGISTER_PRODUCER_OFFSETS")
            self.admin.ask("REGISTER_PRODUCER_OFFSETS", message.request(self.world))
        if row.api in ("LIST_ACLS", "DROP_ACLS"):
            self.admin.ask("CREATE_ACLS", {"acl": [acl("bob", READ, TABLE)]})

    def rights(self, row, wanted):
        """What alice may with each grant, as a dict. Waits until a grant counts as wanted."""
        found = {}
        level = row.level or CLUSTER
        name = row.table if level == TABLE else NAMES[level]
        grants = {NOTHING: []}
        grants |= {op: [acl("alice", op, level, name)] for op in sorted(OPERATIONS | {ALL})}
        grants["ALL on the cluster"] = [acl("alice", ALL, CLUSTER)]
        for grant, acls in grants.items():
            self.admin.ask("DROP_ACLS", {"acl_filter": [ANY_ACL]})
            if acls:
                self.admin.ask("CREATE_ACLS", {"acl": acls})
            self.prepare_for(row)
            found[grant] = settles(lambda: self.may(row), wanted[grant], 3.0)
        return found

    def sees(self, shape, wanted):
        """Whether alice sees the table with this ACL alone. Waits until it counts as wanted."""
        row = next(row for row in MATRIX if row.api == "GET_TABLE_INFO")
        self.admin.ask("DROP_ACLS", {"acl_filter": [ANY_ACL]})
        settles(lambda: self.may(row), False, 3.0)
        self.admin.ask("CREATE_ACLS", {"acl": [shape]})
        return settles(lambda: self.may(row), wanted, 0.3 if not wanted else 3.0)


def wanted_of(row):
    wanted = {NOTHING: row.operation is None, "ALL on the cluster": True}
    for operation in OPERATIONS | {ALL}:
        wanted[operation] = row.operation is None or operation in implied(row.operation)
    return wanted


def next_port(address):
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1}"


def main():
    official = Cluster(sys.argv[1], next_port(sys.argv[1]))
    ours = Cluster(sys.argv[2], sys.argv[2])
    passed, failed = 0, 0
    for row in MATRIX:
        wanted = wanted_of(row)
        mine = ours.rights(row, wanted)
        theirs = None
        if API[row.api][0] in official.apis:
            reached = wanted if DIFFERENT.get(row.api) != OPEN else dict.fromkeys(wanted, True)
            with contextlib.suppress(socket.timeout):
                theirs = official.rights(row, reached)
        differs = mine != theirs
        is_right = mine == wanted and differs == (row.api in DIFFERENT)
        passed, failed = passed + is_right, failed + (not is_right)
        note = DIFFERENT.get(row.api, "the same" if not differs else "DIFFERS")
        print(f"{'ok' if is_right else 'FAILED':7s}{row.api:30s} {note}", flush=True)
        if not is_right:
            print(f"   wanted   {wanted}\n   ours     {mine}\n   official {theirs}")
    for name, (shape, wanted) in SHAPES.items():
        found = [cluster.sees(shape, wanted) for cluster in (ours, official)]
        is_right = found == [wanted, wanted]
        passed, failed = passed + is_right, failed + (not is_right)
        print(f"{'ok' if is_right else 'FAILED':7s}a right for {name}: ours, official {found}")
    for cluster in (official, ours):
        drop_everything(cluster.admin)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
