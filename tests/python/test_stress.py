# SPDX-License-Identifier: Apache-2.0
"""Eight threads, each with an event loop of 200 tasks, which write, upsert, delete, look up, poll,
ask the administration and cancel, over one connection, for $FLUSS_STRESS_S seconds (60 for a
thorough run). Each answer is checked; afterwards every row is there, no thread is left, and memory
is where it was after the first part. The program runs on its own, in the interpreter's development
mode, with the debug allocator."""

import os
import subprocess
import sys

STRESS_S = float(os.environ.get("FLUSS_STRESS_S", "4"))
PROGRAM = """
import asyncio, contextlib, gc, os, random, sys, threading, time
import fluss, pyarrow as pa

THREADS, TASKS = 8, 200
address, seconds = sys.argv[1], float(sys.argv[2])
connection = fluss.FlussConnection.create(bootstrap_servers=address).result(30)
admin = connection.get_admin()
database = "stress_" + os.urandom(6).hex()
admin.create_database(database).result(30)
schema = pa.schema([("id", pa.int64()), ("text", pa.string())])

def make_table(name, keys):
    path = fluss.TablePath(database, name)
    described = fluss.TableDescriptor(fluss.Schema(schema, primary_keys=keys), bucket_count=2)
    admin.create_table(path, described).result(30)
    return connection.get_table(path).result(30)

log, keyed = make_table("log", None), make_table("keyed", ["id"])
appender, upserter = log.new_append().create_writer(), keyed.new_upsert().create_writer()
lookuper = keyed.new_lookup().create_lookuper()
appended, failures = [0] * THREADS, []

async def task(thread, number, until):
    key = thread * TASKS + number
    dice = random.Random(key)
    version = 0
    scanner = None
    if number % 50 == 0:
        scanner = await log.new_scan().create_log_scanner()
        scanner.subscribe_all()
    while time.monotonic() < until:
        choice = dice.randrange(7)
        if choice == 0:
            await appender.append([key, "x" * dice.randrange(200)]).wait()
            appended[thread] += 1
        elif choice == 1:
            version += 1
            await upserter.upsert({"id": key, "text": f"{key}.{version}"}).wait()
            assert await lookuper.lookup([key]) == {"id": key, "text": f"{key}.{version}"}
        elif choice == 2:
            await upserter.delete([key]).wait()
            assert await lookuper.lookup([key]) is None
        elif choice == 3:
            assert await admin.database_exists(database)
        elif choice == 4 and scanner is not None:
            for record in await scanner.poll(20):
                assert record.row["id"] < THREADS * TASKS
        elif choice == 5:
            waiting = lookuper.lookup([key])
            waiting.cancel()
            assert waiting.cancelled() or waiting.done()
        elif choice == 6:
            try:
                await asyncio.wait_for(admin.list_databases(), dice.choice([0.0005, 10]))
            except asyncio.TimeoutError:
                pass
        else:
            await asyncio.sleep(0)

def work(thread, until):
    async def main():
        await asyncio.gather(*[task(thread, n, until) for n in range(TASKS)])
    try:
        asyncio.run(main(), debug=False)
    except BaseException as error:
        failures.append(error)

def part(length):
    until = time.monotonic() + length
    threads = [threading.Thread(target=work, args=(n, until)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    gc.collect()
    return len(gc.get_objects())

def thread_names():
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as file:
            yield file.read().strip()

def wait_for_threads(count, prefix=""):
    # One that was joined is there for a moment.
    deadline = time.monotonic() + 20
    while sum(name.startswith(prefix) for name in thread_names()) > count:
        assert time.monotonic() < deadline, list(thread_names())
        time.sleep(0.01)

first = part(seconds / 3)
threads = len(list(thread_names()))
last = part(seconds * 2 / 3)
wait_for_threads(threads + 1)
appender.flush().result(60)
rows = log.new_scan().to_arrow().num_rows
assert rows == sum(appended), (rows, appended)
assert last - first < 3000, (first, last)
admin.drop_database(database, True, True).result(60)
connection.close().result(60)

# What is left is the pool of libuv, which belongs to the process.
del connection, admin, log, keyed, appender, upserter, lookuper
gc.collect()
wait_for_threads(4, "fluss")
assert threading.active_count() == 1, threading.enumerate()
print("appended", rows)
"""


def test_mixed_calls(servers):
    # Under a sanitizer, which hands out the blocks itself, as elsewhere.
    allocator = "malloc_debug" if os.environ.get("PYTHONMALLOC") == "malloc" else "debug"
    environment = dict(os.environ, PYTHONMALLOC=allocator, PYTHONDEVMODE="1")
    command = [sys.executable, "-W", "error", "-c", PROGRAM, servers, str(STRESS_S)]
    ended = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=STRESS_S + 200
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr[-4000:]
    assert int(ended.stdout.split()[1]) > 0
