# SPDX-License-Identifier: Apache-2.0
"""Each kind of operation of the package, to be done any number of times (test_leaks.py).

A method of `World` is a kind; it does `count` operations. Some take so long that there are fewer of
them: `costing` says how many of the others one of these stands for."""

import asyncio
import contextlib

import fluss
import pyarrow as pa
from fluss import _core

CALL_S_MAX = 120
GROUP = 200  # calls under way at once, where a kind has several
QUEUED_MAX = 10_000
SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string())])


def costing(times):
    def mark(operation):
        operation.costs = times
        return operation

    return mark


def groups(count):
    """Sizes that add up to `count`."""
    while count > 0:
        yield min(count, GROUP)
        count -= GROUP


def wait(future):
    return future.result(CALL_S_MAX)


def ignore(future):
    pass


class World:
    """Tables, writers and scanners for the operations."""

    def __init__(self, address, database, folder):
        self.address, self.database, self.folder = address, database, folder
        self.connection = wait(fluss.FlussConnection.create(bootstrap_servers=address))
        self.admin = self.connection.get_admin()
        wait(self.admin.create_database(database))
        self.log = self._table("leak_log", None)
        self.keyed = self._table("leak_keyed", ["id"])
        self.parts = self._table("leak_parts", None, partition_keys=["text"])
        self.pairs = self._table("leak_pairs", ["id", "text"], bucket_keys=["id"])
        self.short = self._table("leak_short", None)
        self.path = self.log.get_table_path()
        self.short_path = self.short.get_table_path()
        wait(self.admin.create_partition(self.parts.get_table_path(), {"text": "one"}))
        self.row = pa.record_batch([pa.array([1]), pa.array(["x"])], schema=SCHEMA)
        self.rows = pa.Table.from_batches([self.row])
        self.frame = self.rows.to_pandas()
        self.appender = self.log.new_append().create_writer()
        self.upserter = self.keyed.new_upsert().create_writer()
        self.lookuper = self.keyed.new_lookup().create_lookuper()
        self.prefixes = self.pairs.new_lookup().lookup_by(["id"]).create_lookuper()
        self.appender.append([1, "x" * 100])
        self.upserter.upsert([1, "x"])
        with self.short.new_append().create_writer() as writer:
            writer.append([1, "x" * 100])
        with self.pairs.new_upsert().create_writer() as writer:
            writer.upsert([1, "x"])
        self._flush()
        self.records = self._scanner(self.log)
        self.batches = self._scanner(self.log, batches=True)
        self.batch = wait(self.batches.poll_record_batch(20_000))[0]
        self.bucket = fluss.TableBucket(self.short.get_table_info().table_id, 0)
        self.keyed_bucket = fluss.TableBucket(self.keyed.get_table_info().table_id, 0)

    def _close(self):
        wait(self.admin.drop_database(self.database, True, True))
        wait(self.connection.close())

    def _table(self, name, keys, **more):
        path = fluss.TablePath(self.database, name)
        schema = fluss.Schema(SCHEMA, primary_keys=keys)
        wait(self.admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=1, **more)))
        return wait(self.connection.get_table(path))

    def _scanner(self, table, batches=False):
        scan = table.new_scan()
        made = scan.create_record_batch_log_scanner() if batches else scan.create_log_scanner()
        scanner = wait(made)
        scanner.subscribe_all()
        return scanner

    def _flush(self):
        wait(self.appender.flush())
        wait(self.upserter.flush())

    def _write_all(self, count, write):
        for i in range(count):
            write(i)
            if i % QUEUED_MAX == QUEUED_MAX - 1:
                self._flush()
        self._flush()

    @staticmethod
    def _wait_all(count, call):
        """In groups, one request or more each."""
        for size in groups(count):
            for future in [call(i) for i in range(size)]:
                wait(future)

    # --- writing ---

    def append(self, count):
        self._write_all(count, lambda i: self.appender.append({"id": i, "text": "x"}))

    def append_and_wait(self, count):
        async def main():
            for size in groups(count):
                handles = [self.appender.append([i, "x"]) for i in range(size)]
                await asyncio.gather(*[handle.wait() for handle in handles])
                assert handles[0].bucket.bucket_id + handles[0].log_end_offset >= 0

        asyncio.run(main())

    def upsert(self, count):
        self._write_all(count, lambda i: self.upserter.upsert([i % 1000, "x"]))

    def delete(self, count):
        self._write_all(count, lambda i: self.upserter.delete([2 + i % 1000]))

    def arrow_import(self, count):
        self._write_all(count, lambda i: self.appender.write_arrow_batch(self.row))

    @costing(4)
    def write_arrow(self, count):
        self._write_all(count, lambda i: self.appender.write_arrow(self.rows))

    @costing(20)
    def write_pandas(self, count):
        self._write_all(count, lambda i: self.appender.write_pandas(self.frame))

    @costing(4)
    def upsert_arrow(self, count):
        self._write_all(count, lambda i: self.upserter.write_arrow_batch(self.row))

    @costing(10)
    def delete_arrow(self, count):
        self._write_all(count, lambda i: self.upserter.delete_arrow(self.row))

    @costing(10)
    def writers(self, count):
        for _ in range(count):
            self.log.new_append().create_writer()
            self.keyed.new_upsert().partial_update_by_name(["id"]).create_writer()
            with self.keyed.new_upsert().create_writer() as writer:
                writer.upsert([1, "x"])

    # --- lookups ---

    def lookup(self, count):
        self._wait_all(count, lambda i: self.lookuper.lookup([i % 3]))

    @costing(4)
    def lookup_many(self, count):
        self._wait_all(count, lambda i: self.lookuper.lookup_many([[1], [2]]))

    @costing(4)
    def lookup_arrow(self, count):
        self._wait_all(count, lambda i: self.lookuper.lookup_arrow([[1], [2]]))

    @costing(4)
    def lookup_by_prefix(self, count):
        self._wait_all(count, lambda i: self.prefixes.lookup([i % 3]))

    @costing(4)
    def lookupers(self, count):
        for _ in range(count):
            self.keyed.new_lookup().create_lookuper()
            self.pairs.new_lookup().lookup_by(["id"]).create_lookuper()

    # --- scanning ---

    def poll(self, count):
        for _ in range(count):
            wait(self.records.poll(0))

    @costing(20)
    def poll_records(self, count):
        scanner = self._scanner(self.short)
        for _ in range(count):
            scanner.seek(0, 0)
            found = wait(scanner.poll(20_000))
            for record in found:
                assert record.row["id"] == record.offset + 1
                assert record.bucket in found
                assert record.timestamp > 0
                assert record.change_type == fluss.ChangeType.AppendOnly
            assert found.to_list() == found[self.bucket] == found[:]
            assert dict(found.items()).keys() == set(found.buckets())

    @costing(20)
    def poll_batches(self, count):
        scanner = self._scanner(self.short, batches=True)
        for _ in range(count):
            scanner.seek(0, 0)
            [batch] = wait(scanner.poll_record_batch(20_000))
            assert batch.batch.num_rows == batch.last_offset - batch.base_offset + 1

    @costing(50)
    def poll_arrow(self, count):
        scanner = self._scanner(self.short, batches=True)
        for _ in range(count):
            scanner.seek(0, 0)
            assert scanner.poll_arrow(20_000).num_rows == 1

    @costing(50)
    def poll_changelog(self, count):
        scanner = self._scanner(self.short)
        for _ in range(count):
            scanner.seek(0, 0)
            assert scanner.poll_changelog(20_000).num_rows == 1

    def positions(self, count):
        for i in range(count):
            self.records.seek(0, i)
            assert self.records.position(0) == i
            assert len(self.records.subscribed_buckets()) == 1

    @costing(20)
    def scanners(self, count):
        for _ in range(count):
            with wait(self.log.new_scan().project([0]).create_log_scanner()) as scanner:
                scanner.subscribe(0, 0)
                scanner.unsubscribe(0)
            wait(self.parts.new_scan().create_record_batch_log_scanner()).subscribe_all()

    @costing(20)
    def filters(self, count):
        for i in range(count):
            condition = (fluss.col("id") == i) & fluss.col("text").is_in(["x", "y"])
            condition |= fluss.col("text").starts_with("z")
            wait(self.log.new_scan().filter(condition).create_record_batch_log_scanner())

    @costing(100)
    def whole_tables(self, count):
        for _ in range(count):
            assert self.short.to_arrow().num_rows == 1
            assert len(self.short.to_pandas()) == 1
            assert wait(self.short.to_polars()).height == 1
            assert pa.table(self.short.new_scan()).num_rows == 1

    @costing(100)
    def readers(self, count):
        for _ in range(count):
            reader = self._scanner(self.short, batches=True).to_arrow_batch_reader()
            assert reader.read_next_batch().num_rows == 1
            assert self.short.new_scan().changelog_to_arrow().num_rows == 1

    @costing(50)
    def bucket_scans(self, count):
        for _ in range(count):
            scan = self.short.new_scan().limit(5)
            found = wait(scan.create_bucket_batch_scanner(self.bucket).collect_all_batches())
            assert sum(batch.num_rows for batch in found) == 1
            scan = self.keyed.new_scan().limit(5).create_bucket_batch_scanner(self.keyed_bucket)
            assert wait(scan.next_batch()).num_rows > 0

    # --- administration, connections, servers ---

    def admin_call(self, count):
        async def main():
            for size in groups(count):
                await asyncio.gather(*[self.admin.database_exists("x") for _ in range(size)])

        asyncio.run(main())

    @costing(20)
    def admin_answers(self, count):
        for _ in range(count):
            info = wait(self.admin.get_table_info(self.path))
            assert info.table_path == self.path
            assert info.get_schema().get_column_names() == ["id", "text"]
            calls = [
                self.admin.list_databases(),
                self.admin.list_database_summaries(),
                self.admin.get_database_info(self.database),
                self.admin.list_tables(self.database),
                self.admin.get_table_schema(self.path),
                self.admin.get_table_stats(self.path),
                self.admin.list_partition_infos(self.parts.get_table_path()),
                self.admin.list_offsets(self.path, [0], fluss.OffsetSpec.latest()),
                self.admin.list_partition_offsets(
                    self.parts.get_table_path(), "one", [0], fluss.OffsetSpec.earliest()
                ),
                self.admin.get_server_nodes(),
                self.admin.get_cluster_health(),
                self.admin.describe_cluster_configs(),
                self.admin.get_producer_offsets("nobody"),
            ]
            for call in calls:
                wait(call)

    @costing(500)
    def tables(self, count):
        for i in range(count):
            path = fluss.TablePath(self.database, f"leak_made_{i}")
            described = fluss.TableDescriptor(fluss.Schema(SCHEMA), bucket_count=1)
            wait(self.admin.create_table(path, described))
            wait(self.connection.get_table(path))
            wait(self.admin.drop_table(path))

    @costing(10)
    def get_table(self, count):
        for _ in range(count):
            table = wait(self.connection.get_table(self.path))
            assert table.get_table_info().table_path == table.get_table_path()
            assert table.arrow_schema.names == ["id", "text"]

    def metrics(self, count):
        for _ in range(count):
            self.connection.metrics()

    @costing(200)
    def connections(self, count):
        for _ in range(count):
            made = wait(fluss.FlussConnection.create(bootstrap_servers=self.address))
            with made as connection:
                wait(connection.get_admin().list_databases())

    @costing(2000)
    def connections_that_fail(self, count):
        nobody = fluss.Config({"bootstrap.servers": "127.0.0.1:1", "connect-timeout": 20})
        for _ in range(count):
            assert fluss.FlussConnection.create(nobody).exception(CALL_S_MAX) is not None

    @costing(5000)
    def servers(self, count):
        for i in range(count):
            with fluss.Server(self.folder / f"server{i % 3}") as server:
                one = wait(fluss.FlussConnection.create(bootstrap_servers=server.bootstrap_servers))
                wait(one.close())

    # --- futures ---

    def future_await(self, count):
        async def main():
            for _ in range(count):
                future = _core.promise(fluss.FlussFuture)
                fluss.FlussFuture._set_result(future, 1)
                await future

        asyncio.run(main())

    def future_result(self, count):
        for _ in range(count):
            future = _core.promise(fluss.FlussFuture)
            fluss.FlussFuture._set_result(future, (1, 2))
            future.result()
            future.exception()

    def future_cancel(self, count):
        async def main():
            for _ in range(count):
                waiting = self.records.poll(60_000)
                waiting.add_done_callback(lambda ended: None)
                waiting.cancel()

        asyncio.run(main())

    @costing(2)
    def future_callbacks(self, count):
        async def main():
            for size in groups(count):
                waiting = [self.admin.database_exists("x") for _ in range(size)]
                for future in waiting:
                    future.add_done_callback(ignore)
                    future.remove_done_callback(ignore)  # or it is under way, if that was quick
                await asyncio.wait_for(asyncio.shield(waiting[0]), CALL_S_MAX)

        asyncio.run(main())

    @costing(50)
    def loops(self, count):
        """Loops that end while a call is under way."""

        async def leave_behind():
            polling = self.records.poll(60_000)
            polling.add_done_callback(lambda ended: None)
            await self.admin.database_exists("x")

        for _ in range(count):
            asyncio.run(leave_behind())

    # --- values ---

    def arrow_export(self, count):
        for _ in range(count):
            self.batch.__arrow_c_array__()

    def pyarrow_and_back(self, count):
        for _ in range(count):
            pa.record_batch(self.batch)

    @costing(4)
    def descriptions(self, count):
        for i in range(count):
            schema = fluss.Schema(SCHEMA, primary_keys=["id"])
            described = fluss.TableDescriptor(schema, bucket_count=2, properties={"a": str(i)})
            config = fluss.Config({"bootstrap.servers": "a:1"})
            values = [
                fluss.TablePath("a", str(i)),
                fluss.TableBucket(i, 1),
                fluss.OffsetSpec.timestamp(i),
                fluss.DatabaseDescriptor(comment=str(i)),
            ]
            assert [repr(one) for one in [schema, described, config, *values]]

    # --- errors ---

    def errors(self, count):
        for _ in range(count):
            with contextlib.suppress(fluss.FlussError):
                self.appender.append(["not a number", "x"])
            with contextlib.suppress(fluss.FlussError):
                self.upserter.delete([1, 2, 3])

    @costing(4)
    def arrow_errors(self, count):
        wrong = pa.record_batch([pa.array(["x"]), pa.array(["x"])], schema=None, names=SCHEMA.names)
        for _ in range(count):
            with contextlib.suppress(fluss.FlussError):
                self.appender.write_arrow_batch(wrong)
            with contextlib.suppress(fluss.FlussError):
                self.upserter.write_arrow_batch(self.row.select(["text"]))

    @costing(4)
    def argument_errors(self, count):
        for _ in range(count):
            for call in (
                self.appender.append,
                self.lookuper.lookup,
                fluss.Config,
                self.log.__class__,
            ):
                with contextlib.suppress(TypeError, ValueError, fluss.FlussError):
                    call(object())

    def remote_errors(self, count):
        missing = fluss.TablePath("no_such_database", "no_such_table")
        for size in groups(count):
            for future in [self.admin.get_table_info(missing) for _ in range(size)]:
                assert future.exception(CALL_S_MAX).error_code != 0


KINDS = [name for name in vars(World) if not name.startswith("_")]
