# SPDX-License-Identifier: Apache-2.0
"""The library's log in Python's logging: lines arrive, nothing waits for them, and what goes wrong
in a handler harms nobody. Each case is a program of its own."""

from test_asyncio_process import run_program

LISTEN = """
import logging
lines, arrived = [], threading.Event()

class Keep(logging.Handler):
    def emit(self, record):
        lines.append((record.name, record.levelname, record.getMessage()))
        arrived.set()

logging.getLogger("fluss").addHandler(Keep())
logging.getLogger("fluss").setLevel(logging.INFO)

NOBODY = "127.0.0.1:1"

def make_a_line():
    "Connect to a port where nobody listens, which the library logs."
    made = fluss.FlussConnection.create(bootstrap_servers=NOBODY)
    assert arrived.wait(30)
    return made
"""


def run_listening(body, *arguments):
    return run_program(LISTEN + body, *arguments)


def test_lines_arrive_with_component_and_level():
    run_listening("""
made = make_a_line()
name, level, text = lines[0]
assert name == "fluss.rpc" and level == "INFO" and "can't connect" in text, lines
""")


def test_no_thread_without_a_handler(servers):
    run_program(
        """
        connection = connect()
        connection.get_admin().list_databases().result(30)
        assert threading.active_count() == 1
        connection.close().result(30)
        """,
        servers,
    )


def test_level_of_the_logger_holds():
    run_listening("""
logging.getLogger("fluss").setLevel(logging.ERROR)
fluss.FlussConnection.create(bootstrap_servers=NOBODY).exception(40)
assert not lines
""")


def test_handler_that_raises_is_reported_and_the_next_line_arrives():
    run_listening("""
failures = []
sys.unraisablehook = lambda failure: failures.append(failure.exc_type)

class Break(logging.Filter):
    def filter(self, record):
        if not failures:
            raise ZeroDivisionError
        return True

logging.getLogger("fluss.rpc").addFilter(Break())
made = make_a_line()
assert failures == [ZeroDivisionError], failures
assert lines
""")


def test_handler_that_blocks_holds_no_call_up(servers):
    """More lines than the route holds are lost, and said to be."""
    run_listening(
        """
stuck, go_on = threading.Event(), threading.Event()

class Wait(logging.Filter):
    def filter(self, record):
        stuck.set()
        go_on.wait(30)
        return True

logging.getLogger("fluss.rpc").addFilter(Wait())
connection = fluss.FlussConnection.create(bootstrap_servers=sys.argv[1]).result(30)
made = fluss.FlussConnection.create(bootstrap_servers=NOBODY)
assert stuck.wait(30)
for _ in range(100):
    connection.get_admin().list_databases().result(30)
go_on.set()
connection.close().result(30)
""",
        servers,
    )


def test_exit_while_lines_arrive_and_in_a_forked_child(servers):
    out = run_listening(
        """
made = make_a_line()
child = os.fork()
if child == 0:
    lines.clear()
    arrived.clear()
    again = make_a_line()
    assert {name for name, _, _ in lines} == {"fluss.rpc"}
    sys.exit(5)
print(wait_for_child(child))
""",
        servers,
    )
    assert out.split() == ["5"]


def test_lines_of_an_embedded_server_arrive(tmp_path):
    """What a dropped table left behind is removed when the server starts, which it logs."""
    run_listening(
        """
connection = connect()
path = make_table(connection).get_table_path()
table_id = connection.get_admin().get_table_info(path).result(30).table_id
connection.get_admin().drop_table(path).result(30)
connection.close().result(30)
folder = sys.argv[1].removeprefix("embedded:")
os.makedirs(f"{folder}/{path.database_name}/{path.table_name}-{table_id}")
connect().close().result(30)
until = time.monotonic() + 30
while "fluss.server" not in {name for name, _, _ in lines} and time.monotonic() < until:
    arrived.wait(1)
    arrived.clear()
assert any(text.startswith("removing ") for name, _, text in lines if name == "fluss.server"), lines
""",
        f"embedded:{tmp_path / 'data'}",
    )
