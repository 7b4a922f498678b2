# SPDX-License-Identifier: Apache-2.0
"""The package and the ends of things: event loops that are closed early, interpreters that exit
while calls are under way, forks, subinterpreters.

Each case is a program of its own, run with the interpreter's development mode, whose exit status
and output are what is looked at. A program that does not end has failed."""

import subprocess
import sys
import textwrap

import pytest

END_S_MAX = 60
PRELUDE = """
import asyncio, contextlib, logging, os, sys, threading, time
import fluss, pyarrow as pa

# That a step of a loop took long on a busy machine is no complaint.
logging.getLogger("asyncio").setLevel(logging.ERROR)

def connect():
    return fluss.FlussConnection.create(bootstrap_servers=sys.argv[1]).result(30)

def make_table(connection, **more):
    admin = connection.get_admin()
    path = fluss.TablePath("fluss", "exit_" + os.urandom(6).hex())
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    admin.create_table(path, fluss.TableDescriptor(fluss.Schema(schema), **more)).result(30)
    return connection.get_table(path).result(30)

def wait_for_child(pid):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "the child hangs"
"""


def run_program(body, *arguments):
    """The output of a program that must end well and complain of nothing."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", PRELUDE + textwrap.dedent(body)]
    ended = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, timeout=END_S_MAX
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr
    return ended.stdout


# --- event loops ---


def test_loop_closed_before_its_calls_complete(servers):
    out = run_program(
        """
        connection = connect()
        admin = connection.get_admin()
        table = make_table(connection)
        scanner = table.new_scan().create_log_scanner().result()
        scanner.subscribe_all()

        async def leave_behind():
            polling = scanner.poll(60_000)
            several = [asyncio.ensure_future(admin.list_databases()) for _ in range(50)]
            polling.add_done_callback(lambda ended: None)
            await asyncio.wait([several[0]])

        async def go_on():
            return await admin.database_exists("fluss")

        for _ in range(20):
            asyncio.run(leave_behind())
        loop = asyncio.new_event_loop()
        pending = [admin.list_databases() for _ in range(50)]
        for one in pending:
            loop.call_soon(one.add_done_callback, lambda ended: None)
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
        assert all("fluss" in one.result(30) for one in pending)
        print(asyncio.run(go_on()))
        connection.close().result(30)
        """,
        servers,
    )
    assert out.splitlines()[-1] == "True"


def test_connection_outlives_its_loops(servers):
    run_program(
        """
        async def use(connection):
            return await asyncio.gather(*[connection.get_admin().list_databases()] * 5)

        async def make():
            return await fluss.FlussConnection.create(bootstrap_servers=sys.argv[1])

        connection = asyncio.run(make())
        for _ in range(5):
            assert len(asyncio.run(use(connection))) == 5
        asyncio.run(asyncio.wait_for(connection.close(), 30))
        """,
        servers,
    )


def test_loops_of_another_kind(servers):
    pytest.importorskip("uvloop")
    run_program(
        """
        import uvloop

        connection = connect()
        table = make_table(connection)
        writer = table.new_append().create_writer()

        async def use(rows):
            scanner = await table.new_scan().create_log_scanner()
            scanner.subscribe_all(rows - 500)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(scanner.poll(60_000), 0.01)
            waits = [writer.append([i, "x"]).wait() for i in range(500)]
            await asyncio.gather(*waits, connection.get_admin().list_databases())
            found = 0
            while found < 500:
                found += len(await scanner.poll(10_000))
            scanner.poll(60_000).add_done_callback(lambda ended: None)  # left behind

        def run(rows):
            uvloop.run(asyncio.wait_for(use(rows), 30))

        run(500)
        thread = threading.Thread(target=run, args=(1000,))
        thread.start()
        thread.join()
        asyncio.run(use(1500))
        connection.close().result(30)
        """,
        servers,
    )


# --- exits ---


def test_exit_with_pending_writes_delivers_them(servers):
    path = run_program(
        """
        connection = connect()
        table = make_table(connection)
        writer = table.new_append().create_writer()
        for i in range(20_000):
            writer.append([i, "x" * 20])
        path = table.get_table_path()
        print(path.database_name, path.table_name)
        """,
        servers,
    ).split()
    out = run_program(
        """
        connection = connect()
        table = connection.get_table(fluss.TablePath(sys.argv[2], sys.argv[3])).result(30)
        print(table.new_scan().to_arrow().num_rows)
        connection.close().result(30)
        """,
        servers,
        *path,
    )
    assert int(out) == 20_000


EXITS = {
    "pending poll": "poll = batches.poll_arrow(60_000)",
    "pending poll of records": "poll = records.poll(60_000)",
    "poll awaited by a daemon thread": """
started = threading.Event()
def wait():
    async def main():
        asyncio.get_running_loop().call_soon(started.set)
        with contextlib.suppress(fluss.FlussError):
            await records.poll(60_000)
    asyncio.run(main())
threading.Thread(target=wait, daemon=True).start()
started.wait(30)
""",
    "result() in a daemon thread": """
started = threading.Event()
def wait():
    started.set()
    try:
        records.poll(60_000).result()
    except fluss.FlussError:
        pass
threading.Thread(target=wait, daemon=True).start()
started.wait(30)
""",
    "live reader": "reader = batches.to_arrow_batch_reader()",
    "reader that was half read": """
reader = batches.to_arrow_batch_reader()
reader.read_next_batch()
""",
    "capsules": "held = batches.poll_record_batch(10_000).result()[0].__arrow_c_array__()",
    "read in the background": "table_of_all = batches.to_arrow()",
    "call that nobody waited for": "left = connection.get_admin().list_databases()",
    "reference cycle": """
class Holder: pass
a = Holder()
a.me = a
a.all = [connection, table, writer, records, batches, records.poll(1)]
del connection, table, writer, records, batches, a
""",
}


@pytest.mark.parametrize("what", EXITS)
def test_exit_with(what, servers):
    body = """
        connection = connect()
        table = make_table(connection)
        writer = table.new_append().create_writer()
        for i in range(1000):
            writer.append([i, "x" * 100])
        writer.flush().result(30)
        records = table.new_scan().create_log_scanner().result()
        records.subscribe_all(fluss.LATEST_OFFSET)
        batches = table.new_scan().create_record_batch_log_scanner().result()
        batches.subscribe_all()
    """
    run_program(textwrap.dedent(body) + EXITS[what], servers)


def test_exit_with_an_embedded_server_under_way(tmp_path):
    run_program(
        """
        connection = connect()
        writer = make_table(connection).new_append().create_writer()
        for i in range(5000):
            writer.append([i, "x"])
        """,
        f"embedded:{tmp_path / 'data'}",
    )


# --- forks ---

CHILDS = {
    "call": "admin.list_databases().result(30)",
    "write": "writer.append([1, 'x']); writer.flush().result(30)",
    "poll": "scanner.poll(1000).result(30)",
    "lookup of a table": "connection.get_table(table.get_table_path()).result(30)",
    "close": "connection.close().result(30)",
}


@pytest.mark.parametrize("what", [*CHILDS, "await"])
def test_forked_child_gets_a_clean_error(what, servers):
    call = CHILDS.get(what)
    if call is None:
        call = "asyncio.run(asyncio.wait_for(admin.list_databases(), 30))"
    out = run_program(
        f"""
        connection = connect()
        admin = connection.get_admin()
        table = make_table(connection)
        writer = table.new_append().create_writer()
        scanner = table.new_scan().create_log_scanner().result()
        scanner.subscribe_all()
        writer.append([0, "before"])
        child = os.fork()
        if child == 0:
            try:
                {call}
            except fluss.FlussError as error:
                assert "fork" in str(error), error
                sys.exit(7)
            sys.exit(8)
        print(wait_for_child(child))
        writer.append([1, "after"])
        writer.flush().result(30)
        assert len(scanner.poll(10_000).result(30)) > 0
        connection.close().result(30)
        """,
        servers,
    )
    assert out.split() == ["7"]


@pytest.mark.parametrize("read", ["poll(60_000)", "poll_changelog(60_000)"])
def test_forked_child_does_not_wait_for_a_call_of_its_parent(read, servers):
    out = run_program(
        f"""
        connection = connect()
        scanner = make_table(connection).new_scan().create_log_scanner().result()
        scanner.subscribe_all()
        waiting = scanner.{read}
        child = os.fork()
        if child == 0:
            assert "parent process" in repr(waiting), waiting
            try:
                waiting.result()
            except fluss.FlussError as error:
                assert "parent process" in str(error), error
                sys.exit(7)
            sys.exit(8)
        print(wait_for_child(child))
        assert not waiting.done()
        waiting.cancel()
        connection.close().result(30)
        """,
        servers,
    )
    assert out.split() == ["7"]


def test_forked_child_may_connect_anew(servers):
    out = run_program(
        """
        connection = connect()
        child = os.fork()
        if child == 0:
            anew = connect()
            table = make_table(anew)
            table.new_append().create_writer().append([1, "x"])
            anew.close().result(30)
            rows = connect().get_table(table.get_table_path()).result(30).new_scan().to_arrow()
            sys.exit(rows.num_rows)
        print(wait_for_child(child))
        connection.close().result(30)
        """,
        servers,
    )
    assert out.split() == ["1"]


@pytest.mark.parametrize("kind", ["embedded", "Server"])
def test_child_of_a_process_with_a_server_exits(kind, tmp_path):
    """Without help, RocksDB's static objects would wait for the parent's threads."""
    start = "server = fluss.Server(); sys.argv[1] = server.bootstrap_servers"
    out = run_program(
        f"""
        {start if kind == "Server" else ""}
        connection = connect()
        admin = connection.get_admin()
        admin.list_databases().result(30)
        child = os.fork()
        if child == 0:
            print("from the child's buffer")
            try:
                fluss.Server()
            except fluss.FlussError as error:
                assert "forked" in str(error), error
                sys.exit(3)
            sys.exit(4)
        print(wait_for_child(child))
        assert "fluss" in admin.list_databases().result(30)
        connection.close().result(30)
        """,
        f"embedded:{tmp_path / 'data'}",
    )
    assert out.splitlines() == ["from the child's buffer", "3"]


def test_multiprocessing_by_fork(servers):
    out = run_program(
        """
        import multiprocessing

        def work(number):
            connection = connect()
            found = connection.get_admin().database_exists("fluss").result(30)
            connection.close().result(30)
            return number if found else -1

        connection = connect()
        connection.get_admin().list_databases().result(30)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(sum(pool.map(work, range(6))))
        connection.close().result(30)
        """,
        servers,
    )
    assert int(out) == 15


# --- subinterpreters ---

SUBINTERPRETER = f"""
import sys
sys.path[:] = {sys.path!r}
try:
    from fluss import _core
except ImportError as error:
    assert "subinterpreter" in str(error), error
else:
    assert _core.version()
"""


def test_subinterpreter_refuses_or_works(servers):
    """Python 3.12 and later refuse in interpreters with a lock of their own; others work."""
    run_program(
        f"""
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        connection = connect()
        code = {SUBINTERPRETER!r}
        for _ in range(3):
            one = interpreters.create()
            failed = interpreters.run_string(one, code)
            assert failed is None, failed
            interpreters.destroy(one)
        assert connection.get_admin().list_databases().result(30)
        connection.close().result(30)
        """,
        servers,
    )
