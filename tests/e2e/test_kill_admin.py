# SPDX-License-Identifier: Apache-2.0
"""Kill -9 in the middle of administration, again and again.

Goal: a change of databases, tables or partitions is whole or not there, what was answered is there,
and nothing of what was dropped is left on disk. Method: one data directory; workers that each make,
alter, drop and fill things in databases of their own; a kill after a random time; a new server,
whose state must be what each worker knew, or that plus the one change it had no answer to; after
the last round an empty server. FLUSS_TEST_SEED makes another run, FLUSS_TEST_KILLS sets the rounds.
"""

import json
import os
import random
import threading
import time

from wire import Server, ServerError, batch, path_of, produce, table_json

KILLS = int(os.environ.get("FLUSS_TEST_KILLS", "12"))
WORKERS = 3
LONGEST_S = 0.12  # of a round
SETTLE_S = 30


def partitions_of(connection, database, table):
    request = {"table_path": path_of(table, database)}
    infos = connection.ask("LIST_PARTITION_INFOS", request)["partitions_info"]
    return {
        info["partition_spec"]["partition_key_values"][0]["value"]: info["partition_id"]
        for info in infos
    }


def state_of(connection, prefix):
    """{database: {table: (columns, properties, partition names or None)}} of a worker."""
    out = {}
    for database in connection.ask("LIST_DATABASES")["database_name"]:
        if not database.startswith(prefix):
            continue
        tables = out[database] = {}
        for name in connection.ask("LIST_TABLES", {"database_name": database})["table_name"]:
            info = connection.ask("GET_TABLE_INFO", {"table_path": path_of(name, database)})
            desc = json.loads(info["table_json"])
            parts = None
            if desc["partition_key"]:
                parts = tuple(sorted(partitions_of(connection, database, name)))
            owner = desc["custom_properties"].get("owner")
            tables[name] = (len(desc["schema"]["columns"]), owner, parts)
    return out


class Worker:
    """Changes things one after the other until its connection breaks."""

    def __init__(self, number, seed):
        self.prefix = f"w{number}_"
        self.random = random.Random(seed)
        self.state = {}  # as state_of gives it
        self.next = None  # the state if the change that has no answer was made
        self.count = self.answered = 0

    def run(self, server):
        try:
            with server.connect() as connection:
                while True:
                    self.step(connection)
        except OSError:
            return

    def step(self, connection):
        new = {database: dict(tables) for database, tables in self.state.items()}
        api, message = self.choose(new)
        self.next = new
        try:
            connection.ask(api, message)
        except ServerError as error:
            raise AssertionError(f"{api} {message}: {error}") from None
        self.state, self.next = new, None
        self.answered += 1
        if api in ("CREATE_TABLE", "CREATE_PARTITION"):
            self.fill(connection, message["table_path"])

    def fill(self, connection, path):
        """Rows, so that there are files."""
        info = connection.ask("GET_TABLE_INFO", {"table_path": path})
        parts = [None]
        if json.loads(info["table_json"])["partition_key"]:
            found = partitions_of(connection, path["database_name"], path["table_name"])
            parts = list(found.values())
        for partition_id in parts:
            request = produce(info["table_id"], batch(b"x" * 50), partition_id=partition_id, acks=1)
            connection.ask("PRODUCE_LOG", request)

    def choose(self, new):
        """A change, made in `new`: (API, message)."""
        self.count += 1
        tables = [(d, t) for d, found in new.items() for t in found]
        roll = self.random.random()
        if not new or roll < 0.1:
            name = f"{self.prefix}d{self.count}"
            new[name] = {}
            return "CREATE_DATABASE", {"database_name": name, "ignore_if_exists": False}
        database = self.random.choice(sorted(new))
        if roll < 0.18:
            del new[database]
            gone = {"ignore_if_not_exists": False, "cascade": True}
            return "DROP_DATABASE", {"database_name": database, **gone}
        if not tables or roll < 0.45:
            return self.create_table(new, database)
        database, table = self.random.choice(sorted(tables))
        columns, owner, parts = new[database][table]
        message = {"table_path": path_of(table, database), "ignore_if_not_exists": False}
        if roll < 0.55:
            del new[database][table]
            return "DROP_TABLE", message
        if roll < 0.65:
            new[database][table] = (columns + 1, owner, parts)
            added = {
                "column_name": f"c{self.count}",
                "data_type_json": b'{"type":"STRING"}',
                "column_position_type": 0,
            }
            return "ALTER_TABLE", {**message, "add_columns": [added]}
        if parts is None or roll < 0.7:
            new[database][table] = (columns, str(self.count), parts)
            change = {"config_key": "owner", "config_value": str(self.count), "op_type": 0}
            return "ALTER_TABLE", {**message, "config_changes": [change]}
        if parts and roll < 0.8:
            value = self.random.choice(parts)
            left = tuple(part for part in parts if part != value)
            api = "DROP_PARTITION"
        else:
            value = f"p{self.count}"
            left = tuple(sorted([*parts, value]))
            api = "CREATE_PARTITION"
        new[database][table] = (columns, owner, left)
        message["partition_spec"] = {"partition_key_values": [{"key": "day", "value": value}]}
        return api, message

    def create_table(self, new, database):
        name = f"t{self.count}"
        is_partitioned = self.random.random() < 0.6
        columns = {"id": "INTEGER", "day": "STRING"}
        keys = {"partition_key": ["day"] if is_partitioned else []}
        body = table_json(columns, bucket_key=[], bucket_count=2, **keys)
        new[database][name] = (2, None, () if is_partitioned else None)
        return "CREATE_TABLE", {
            "table_path": path_of(name, database),
            "table_json": body,
            "ignore_if_exists": False,
        }


def known_dirs(connection):
    """The directories that may be in the data directory."""
    out = set()
    for database in connection.ask("LIST_DATABASES")["database_name"]:
        for name in connection.ask("LIST_TABLES", {"database_name": database})["table_name"]:
            info = connection.ask("GET_TABLE_INFO", {"table_path": path_of(name, database)})
            table = f"{database}/{name}-{info['table_id']}"
            homes = [table]
            if json.loads(info["table_json"])["partition_key"]:
                found = partitions_of(connection, database, name)
                homes = [f"{table}/{value}-p{part_id}" for value, part_id in found.items()]
            out |= {database, table, *homes}
            out |= {f"{home}/log-{bucket}" for home in homes for bucket in range(2)}
    return out


def dirs_on_disk(data_dir):
    """Directories below the data directory, without those of the server itself."""
    out = set()
    for folder, names, _ in os.walk(data_dir):
        names[:] = [name for name in names if "." not in name]
        out |= {os.path.relpath(os.path.join(folder, name), data_dir) for name in names}
    return out


def check(server, workers, connection):
    for worker in workers:
        found = state_of(connection, worker.prefix)
        assert found in (worker.state, worker.next), (
            f"{worker.prefix}: found {found}, known {worker.state}, or {worker.next}"
        )
        worker.state, worker.next = found, None
    strange = dirs_on_disk(server.data_dir) - known_dirs(connection)
    assert not strange, f"left on disk: {sorted(strange)}"


def drop_all(server, workers, connection):
    """Everything goes, and its directories with it, while the server runs."""
    for worker in workers:
        for database in worker.state:
            gone = {"ignore_if_not_exists": False, "cascade": True}
            connection.ask("DROP_DATABASE", {"database_name": database, **gone})
    deadline = time.monotonic() + SETTLE_S
    while dirs_on_disk(server.data_dir):
        assert time.monotonic() < deadline, f"left: {sorted(dirs_on_disk(server.data_dir))}"
        time.sleep(0.01)


def test_a_kill_leaves_nothing_half_made(tmp_path):
    seed = int(os.environ.get("FLUSS_TEST_SEED", "20261130"))
    print(f"FLUSS_TEST_SEED={seed}")
    chance = random.Random(seed)
    workers = [Worker(number, seed + number) for number in range(WORKERS)]
    server = Server(tmp_path / "data", "-o", "server.shards=2", "-o", "log.flush=os")
    failures = []

    def run(worker):
        try:
            worker.run(server)
        except Exception as error:
            failures.append(error)

    for _ in range(KILLS):
        server.start()
        with server.connect() as connection:
            check(server, workers, connection)
        threads = [threading.Thread(target=run, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0, LONGEST_S))  # the moment of the kill
        server.kill()
        for thread in threads:
            thread.join()
        assert not failures, failures
    with server, server.connect() as connection:
        check(server, workers, connection)
        drop_all(server, workers, connection)
    print(f"{sum(worker.answered for worker in workers)} changes, {KILLS} kills")
    assert sum(worker.answered for worker in workers) > KILLS
