# SPDX-License-Identifier: Apache-2.0
"""A scripted server: a small Fluss cluster in this process whose every answer a test may bend.

`Stub` keeps tables, logs, keys and writers in memory and answers as a real cluster does, over any
number of servers. A test puts rules in front of that: `stub.on("PRODUCE_LOG", lose(), times=1)`
loses the answer to the next produce request, which takes effect all the same. What came in is kept
in `stub.requests`. One thread serves all sockets, so a scenario runs in one order only; test
threads and it share `stub.lock`. Nothing here is code of the library: frames and messages are those
of tests/e2e/wire.py.
"""

import collections
import contextlib
import heapq
import itertools
import selectors
import socket
import struct
import threading
import time

from model import HANDLERS, Cluster, Refused, StillWaiting
from wire import API, ERROR, FAILURE, SUCCESS, Port, decode, encode

LIMIT_S = 20  # of every wait in here; far more than any needs
BY_KEY = {key: name for name, (key, _, _) in API.items()}
READ_SIZE = 1 << 18


class Exchange:
    """One request, and the means to answer it in any way. Used with the stub's lock held."""

    def __init__(self, stub, connection, api, version, request_id, message):
        self.stub, self.connection, self.server = stub, connection, connection.server
        self.api, self.version, self.request_id = api, version, request_id
        self.message = message
        self.at_s = time.monotonic()
        self.action = Exchange.serve
        self._result = None

    def __repr__(self):
        return f"{self.api}#{self.request_id} at server {self.server.id}"

    def apply(self):
        """Let the request take effect, once; gives the answer's message. May raise Refused."""
        if self._result is None:
            self._result = HANDLERS[self.api](self.stub.cluster, self)
        return self._result

    def frame(self, kind, body):
        """A response frame with its length."""
        middle = b"" if kind == FAILURE else struct.pack(">i", self.request_id)
        return struct.pack(">iB", 1 + len(middle) + len(body), kind) + middle + body

    def success(self, message):
        return self.frame(SUCCESS, encode(API[self.api][2], message))

    def error(self, code, text=""):
        body = {"error_code": code, "error_message": text or f"scripted error {code}"}
        return self.frame(ERROR, encode("ErrorResponse", body))

    def response(self):
        """The frame that an honest server sends."""
        try:
            return self.success(self.apply())
        except Refused as refused:
            return self.error(refused.code, refused.text)

    def send(self, data):
        self.connection.send(data)

    def serve(self):
        """Answer honestly."""
        self.send(self.response())


# ---- what a rule may do; each gives a function of the exchange ----


def error(code, text=""):
    """Refuse the whole request; it has no effect."""
    return lambda exchange: exchange.send(exchange.error(code, text))


def bucket_error(code, bucket=None, text="", applied=False):
    """Answer an error for each bucket of the request, or for one; the others are served."""

    def act(exchange):
        cluster, field = exchange.stub.cluster, "buckets_req"
        tables = exchange.message.get("tables_req", [exchange.message])
        refused = {
            (t.get("table_id"), b.get("partition_id"), b["bucket_id"])
            for t in tables
            for b in t.get(field) or [{"bucket_id": i} for i in t.get("bucket_id", [])]
            if bucket is None or b["bucket_id"] == bucket
        }
        with cluster.refusing(refused, code, text or f"scripted error {code}", applied):
            exchange.serve()

    return act


def lose(applied=True):
    """Never answer."""

    def act(exchange):
        if applied:
            exchange.response()

    return act


def close(applied=False):
    """End the connection instead of answering."""

    def act(exchange):
        if applied:
            exchange.response()
        exchange.connection.close()

    return act


def reset(applied=False, after=0):
    """Send the answer's first bytes, then reset the connection."""

    def act(exchange):
        if applied or after:
            exchange.connection.send_now(exchange.response()[:after])
        exchange.connection.reset()

    return act


def delay(seconds, applied=True):
    """Answer later; the request takes effect now or then."""

    def act(exchange):
        answer = exchange.response() if applied else None
        exchange.stub.at(seconds, lambda: exchange.send(answer or exchange.response()))

    return act


def change(edit):
    """Serve, and send what `edit` makes of the answer's message (in place, or what it gives)."""

    def act(exchange):
        message = exchange.apply()
        exchange.send(exchange.success(edit(message) or message))

    return act


def forge(make):
    """Serve, and send the bytes that `make(exchange)` gives."""

    def act(exchange):
        exchange.response()
        exchange.send(make(exchange))

    return act


def cut_body(keep):
    """A whole frame whose message is cut short: the client cannot decode it."""

    def act(exchange):
        body = exchange.response()[9:]
        exchange.send(exchange.frame(SUCCESS, body[:keep] if keep < len(body) else body + b"\xff"))

    return act


def twice():
    """Answer twice."""
    return lambda exchange: exchange.send(exchange.response() * 2)


def honest():
    """Serve; for rules that only count or note."""
    return lambda exchange: exchange.serve()


class Hold:
    """Keeps requests back until a test lets them go, in any order."""

    def __init__(self, applied=True):
        self.applied = applied
        self.kept = []

    def __call__(self, exchange):
        self.kept.append((exchange, exchange.response() if self.applied else None))

    def release(self, stub, order=None):
        """Answer what is kept: all, in the order of `order` (indexes; default: as they came)."""
        with stub.lock:
            kept, self.kept = self.kept, []
            for i in range(len(kept)) if order is None else order:
                exchange, answer = kept[i]
                exchange.send(answer or exchange.response())
        stub.wake()


class Rule:
    def __init__(self, api, action, times, skip, when):
        self.api, self.action, self.when = api, action, when
        self.left, self.skip, self.hits = times, skip, 0

    def matches(self, exchange):
        if self.api not in (exchange.api, "*") or self.left == 0:
            return False
        if self.when is not None and not self.when(exchange):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        return True


# ---- sockets ----


class Connection:
    """One accepted socket."""

    def __init__(self, stub, server, sock):
        self.stub, self.server, self.socket = stub, server, sock
        self.received, self.unsent = bytearray(), bytearray()
        self.is_authenticated = False
        self.is_open = True
        self.resume_at_s = 0.0
        self.request_count = 0

    def fileno(self):
        return self.socket.fileno()

    def send(self, data):
        self.unsent += data
        self.flush()

    def send_now(self, data):
        """Send with nothing queued behind; for tests of cut frames."""
        with contextlib.suppress(OSError):
            self.socket.sendall(data)

    def flush(self):
        try:
            while self.unsent:
                sent = self.socket.send(self.unsent)
                del self.unsent[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
        self.stub.watch(self)

    def close(self):
        if self.is_open:
            self.is_open = False
            self.stub.forget(self)
            self.socket.close()

    def reset(self):
        """Close with RST."""
        if self.is_open:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close()


class Server:
    """One server of the cluster: a listening socket."""

    def __init__(self, stub, server_id):
        self.stub, self.id = stub, server_id
        self.listener = None
        self.port = 0
        self.kept = []  # ports: those it had are its own while it does not listen
        self.read_rate = None  # bytes a second; None: as fast as they come

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self, port=None):
        """Listen: at the port it had, or `port` (0: a new one)."""
        with self.stub.lock:
            if port is not None:
                self.kept.append(Port(port))
                self.port = self.kept[-1].number
            self.listener = socket.socket()
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.listener.bind(("127.0.0.1", self.port))
            self.listener.listen(64)
            self.listener.setblocking(False)
            self.stub.selector.register(self.listener, selectors.EVENT_READ, self)
        self.stub.wake()
        return self

    def stop(self):
        """Stop listening and drop every connection, as a killed process does."""
        with self.stub.lock:
            if self.listener is not None:
                self.stub.selector.unregister(self.listener)
                self.listener.close()
                self.listener = None
            for connection in self.connections():
                connection.reset()
        self.stub.wake()

    def connections(self):
        return [c for c in self.stub.connections if c.server is self]


class Stub:
    """The cluster, its sockets and its rules. A context manager."""

    def __init__(self, servers=1):
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.selector = selectors.DefaultSelector()
        self.connections = []
        self.requests = []  # every Exchange
        self.rules = []
        self.cluster = Cluster(self)
        self.failure = None
        self._timers, self._timer_ids = [], itertools.count()
        self._waiting = collections.deque()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_read.setblocking(False)
        self._is_over = False
        self.servers = [Server(self, i) for i in range(servers)]
        for server in self.servers:
            server.start(0)
        self._thread = threading.Thread(target=self._run, name="stub", daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, *exc_info):
        self._is_over = True
        self.wake()
        self._thread.join(LIMIT_S)
        for server in self.servers:
            server.stop()
            for port in server.kept:
                port.socket.close()
        for each in (self._wake_read, self._wake_write, self.selector):
            each.close()
        assert kind is not None or self.failure is None, self.failure

    # -- for tests --

    @property
    def address(self):
        """The first server's address, for bootstrap.servers."""
        return self.servers[0].address

    def create_table(self, name, columns, **more):
        """Make a table without a request; see Cluster.create_table."""
        with self.lock:
            return self.cluster.create_table(("fluss", name), columns, **more)

    def on(self, api, action, times=-1, skip=0, when=None):
        """Put a rule before the honest answer: for the next `times` requests (-1: all) of an API
        ("*": any) after the first `skip`, of those for which `when(exchange)` holds. Earlier rules
        come first; one that is used up is passed over. Gives the rule, which counts its `hits`."""
        rule = Rule(api, action, times, skip, when)
        with self.lock:
            self.rules.append(rule)
        return rule

    def off(self, rule=None):
        """Take a rule away, or all of them."""
        with self.lock:
            self.rules = [r for r in self.rules if rule is not None and r is not rule]

    def asked(self, api):
        """The requests of an API so far."""
        with self.lock:
            return [exchange for exchange in self.requests if exchange.api == api]

    def wait_until(self, condition, what, limit_s=LIMIT_S):
        """Wait for a condition, which is looked at whenever something happened here."""
        until = time.monotonic() + limit_s
        with self.lock:
            while not condition():
                left = until - time.monotonic()
                assert left > 0, f"not within {limit_s} s: {what}"
                self.changed.wait(min(left, 0.2))

    def wait_for(self, api, count=1, limit_s=LIMIT_S):
        """Wait until `count` requests of an API have come; gives them."""
        self.wait_until(lambda: len(self.asked(api)) >= count, f"{count} {api}", limit_s)
        return self.asked(api)

    # -- for the thread and the exchanges; lock held --

    def wake(self):
        with contextlib.suppress(OSError):
            self._wake_write.send(b"!")

    def at(self, seconds, run):
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._timer_ids), run))

    def run(self, exchange):
        """Do what is to be done with a request; one that waits for data is looked at again."""
        try:
            exchange.action(exchange)
        except StillWaiting as waiting:
            self._waiting.append((exchange, waiting.until_s))
            self.at(max(0.0, waiting.until_s - time.monotonic()), lambda: None)

    def watch(self, connection):
        if connection.is_open:
            wanted = selectors.EVENT_WRITE if connection.unsent else 0
            if connection.resume_at_s <= time.monotonic():
                wanted |= selectors.EVENT_READ
            key = self.selector.get_map().get(connection.fileno())
            if key is None:
                if wanted:
                    self.selector.register(connection.socket, wanted, connection)
            elif not wanted:
                self.selector.unregister(connection.socket)
            elif key.events != wanted:
                self.selector.modify(connection.socket, wanted, connection)

    def forget(self, connection):
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(connection.socket)
        self.connections = [c for c in self.connections if c is not connection]

    def _serve_waiting(self):
        for _ in range(len(self._waiting)):
            exchange, until_s = self._waiting.popleft()
            if exchange.connection.is_open:
                self.cluster.is_time_over = time.monotonic() >= until_s
                self.run(exchange)
        self.cluster.is_time_over = False

    def _act(self, exchange):
        self.requests.append(exchange)
        for rule in self.rules:
            if rule.matches(exchange):
                rule.left -= rule.left > 0
                rule.hits += 1
                exchange.action = rule.action
                break
        self.run(exchange)

    def _read(self, connection):
        server = connection.server
        size = READ_SIZE if server.read_rate is None else max(1, server.read_rate // 20)
        try:
            data = connection.socket.recv(size)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            connection.close()
            return
        if server.read_rate is not None:
            connection.resume_at_s = time.monotonic() + len(data) / server.read_rate
            self.at(len(data) / server.read_rate, lambda: self.watch(connection))
            self.watch(connection)
        connection.received += data
        while connection.is_open and len(connection.received) >= 4:
            (size,) = struct.unpack_from(">i", connection.received)
            if len(connection.received) < 4 + size:
                break
            frame = bytes(connection.received[4 : 4 + size])
            del connection.received[: 4 + size]
            self._frame(connection, frame)

    def _frame(self, connection, frame):
        key, version, request_id = struct.unpack_from(">hhi", frame)
        connection.request_count += 1
        api = BY_KEY[key]
        message = decode(API[api][1], frame[8:])
        self._act(Exchange(self, connection, api, version, request_id, message))

    def _accept(self, server):
        with contextlib.suppress(OSError):
            sock, _ = server.listener.accept()
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, server, sock)
            self.connections.append(connection)
            self.watch(connection)

    def _turn(self, ready):
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
        for key, events in ready:
            if isinstance(key.data, Server):
                self._accept(key.data)
            elif key.data is None:
                with contextlib.suppress(BlockingIOError):
                    self._wake_read.recv(4096)
            elif key.data.is_open:
                if events & selectors.EVENT_WRITE:
                    key.data.flush()
                if events & selectors.EVENT_READ:
                    self._read(key.data)
        self._serve_waiting()
        self.changed.notify_all()

    def _run(self):
        self.selector.register(self._wake_read, selectors.EVENT_READ, None)
        while not self._is_over:
            left = self._timers[0][0] - time.monotonic() if self._timers else 1.0
            ready = self.selector.select(max(0.0, min(left, 1.0)))
            with self.lock:
                try:
                    self._turn(ready)
                except Exception as error:  # the test that uses the stub fails with it
                    self.failure = self.failure or error
