# SPDX-License-Identifier: Apache-2.0
"""FlussFuture and deferred values: what asyncio, threads and older programs may do with them.

Promises of the extension stand for calls here; calls of a server are tried beside them."""

import asyncio
import copy
import threading
import time

import fluss
import pandas as pd
import pandas.testing
import pyarrow as pa
import pytest
from fluss import _core, futures

TABLE = pa.table({"c": [1, 2, 3]})


def promise(kind=fluss.FlussFuture):
    return _core.promise(kind)


def complete_from_a_thread(future, value):
    """Complete as the extension does it: from another thread, once the loop is waiting."""
    threading.Thread(target=fluss.FlussFuture._set_result, args=(future, value)).start()


# --- the protocol ---


def test_is_a_future_for_asyncio():
    future = promise()
    assert asyncio.isfuture(future)
    assert not asyncio.iscoroutine(future)
    hash(future)


def test_await_twice_gives_the_same_object():
    async def main():
        future = promise()
        complete_from_a_thread(future, value := object())
        assert await future is value
        assert await future is value
        assert future.result() is value

    asyncio.run(main())


def test_await_of_a_completed_future_takes_no_turn_of_the_loop():
    async def main():
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        assert await futures.resolved(7) == 7
        assert not turns

    asyncio.run(main())


def test_result_may_be_a_tuple_or_an_exception_object():
    async def main():
        assert await futures.resolved((1, 2)) == (1, 2)
        error = ValueError("a value, not raised")
        assert await futures.resolved(error) is error

    asyncio.run(main())


def test_error_is_raised_by_every_await():
    async def main():
        future = futures.failed(fluss.FlussError("no", 7))
        for _ in range(2):
            with pytest.raises(fluss.FlussError, match="no"):
                await future
        assert future.exception().error_code == 7

    asyncio.run(main())


def test_gather_wait_shield_as_completed_and_ensure_future():
    async def main():
        several = [promise() for _ in range(4)]
        for i, future in enumerate(several):
            complete_from_a_thread(future, i)
        assert await asyncio.gather(*several) == [0, 1, 2, 3]
        done, pending = await asyncio.wait(several)
        assert len(done) == 4 and not pending
        assert await asyncio.shield(several[2]) == 2
        assert sorted([await one for one in asyncio.as_completed(several)]) == [0, 1, 2, 3]
        assert asyncio.ensure_future(several[0]) is several[0]
        failed = futures.failed(ValueError("x"))
        found = await asyncio.gather(failed, several[1], return_exceptions=True)
        assert isinstance(found[0], ValueError) and found[1] == 1

    asyncio.run(main())


def test_wait_for_times_out_at_once_and_cancels():
    async def main():
        future = promise()
        started = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(future, 0.05)
        assert time.monotonic() - started < 20
        assert future.cancelled()
        fluss.FlussFuture._set_result(future, 1)  # too late: nothing happens
        with pytest.raises(asyncio.CancelledError):
            future.result()

    asyncio.run(main())


def test_cancelled_task_cancels_its_future():
    async def main():
        future = promise()

        async def wait():
            await future

        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert future.cancelled()
        assert not future.cancel()

    asyncio.run(main())


def test_callbacks_run_in_their_context_and_can_be_removed():
    async def main():
        future = promise()
        heard = []
        future.add_done_callback(heard.append)
        assert future.remove_done_callback(heard.append) == 1
        future.add_done_callback(heard.append)
        complete_from_a_thread(future, 1)
        await future
        await asyncio.sleep(0)
        assert heard == [future]
        future.add_done_callback(heard.append)
        assert len(heard) == 1
        await asyncio.sleep(0)
        assert len(heard) == 2

    asyncio.run(main())


def test_two_loops_may_wait_for_one_future():
    future, found = promise(), []
    ready = threading.Barrier(3, timeout=30)

    def wait():
        async def main():
            asyncio.get_running_loop().call_soon(ready.wait)
            found.append(await future)

        asyncio.run(main())

    threads = [threading.Thread(target=wait) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    fluss.FlussFuture._set_result(future, 5)
    for thread in threads:
        thread.join(30)
    assert found == [5, 5]


def test_completion_after_the_loop_was_closed_is_dropped(recwarn):
    future = promise()

    async def main():
        task = asyncio.ensure_future(asyncio.wait([future]))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    fluss.FlussFuture._set_result(future, 1)
    assert future.result() == 1
    assert not recwarn.list


def test_result_without_a_loop_waits_and_times_out():
    future = promise()
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    complete_from_a_thread(future, 3)
    assert future.result(timeout=30) == 3
    assert future.done() and not future.cancelled()


def test_nobody_can_make_one():
    for kind in (fluss.FlussFuture, fluss.ScanRecord, fluss.WriteResultHandle):
        with pytest.raises(TypeError):
            kind()


# --- deferred values ---


def deferred_table():
    future = promise(futures.DeferredTable)
    complete_from_a_thread(future, TABLE)
    return future


def deferred_frame():
    future = promise(futures.DeferredFrame)
    complete_from_a_thread(future, TABLE.to_pandas())
    return future


def test_deferred_table_acts_as_a_table():
    table = deferred_table()
    assert isinstance(table, pa.Table)
    assert isinstance(table, fluss.FlussFuture)
    assert table.num_rows == 3 and len(table) == 3
    assert table["c"].to_pylist() == [1, 2, 3]
    assert table == TABLE and TABLE.equals(pa.table(table))
    assert table.to_pylist() == TABLE.to_pylist()
    assert str(table) == str(TABLE) and repr(table) == repr(TABLE)
    assert f"{table}" == f"{TABLE}"
    assert pa.RecordBatchReader.from_stream(table).read_all() == TABLE
    hash(table)


def test_deferred_frame_acts_as_a_frame():
    frame = deferred_frame()
    plain = TABLE.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    pandas.testing.assert_frame_equal(frame, plain)
    assert (frame + 1)["c"].tolist() == [2, 3, 4]
    assert (1 + frame)["c"].tolist() == [2, 3, 4]
    assert (frame > 1)["c"].tolist() == [False, True, True]
    assert len(pd.concat([frame, frame])) == 6
    assert len(frame.merge(plain, on="c")) == 3
    assert len(pd.DataFrame(frame)) == 3
    frame["d"] = 1
    assert list(frame.columns) == ["c", "d"]
    assert copy.copy(frame).equals(frame.result())
    assert [name for name in frame] == ["c", "d"]


def test_deferred_list_acts_as_a_list():
    future = promise(futures.DeferredList)
    complete_from_a_thread(future, [1, 2])
    assert isinstance(future, list)
    assert [*future] == [1, 2] and future[0] == 1 and future[-1:] == [2]
    assert 2 in future and bool(future) and future + [3] == [1, 2, 3]
    assert future == [1, 2]


def test_deferred_value_is_awaitable_in_every_way():
    async def main():
        assert await deferred_table() is TABLE
        assert await asyncio.wait_for(deferred_table(), 30) is TABLE
        assert (await asyncio.gather(deferred_table(), deferred_table()))[1] is TABLE
        assert await asyncio.shield(deferred_table()) is TABLE
        task = asyncio.ensure_future(deferred_table())
        assert await task is TABLE

    asyncio.run(main())


def test_wait_for_a_deferred_value_times_out():
    async def main():
        future = promise(futures.DeferredTable)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(future, 0.05)
        assert future.cancelled()

    asyncio.run(main())


def test_failed_deferred_value_raises_at_its_use():
    table = futures.failed(fluss.FlussError("broken"), futures.DeferredTable)
    with pytest.raises(fluss.FlussError, match="broken"):
        table.num_rows
    with pytest.raises(fluss.FlussError, match="broken"):
        str(table)


# --- calls ---


def test_calls_work_with_and_without_a_loop(connection):
    admin = connection.get_admin()
    assert isinstance(admin.list_databases().result(30), list)

    async def main():
        assert await connection.get_admin() is admin
        found = await asyncio.gather(*[admin.database_exists("no_such") for _ in range(200)])
        assert found == [False] * 200

    asyncio.run(main())


def test_two_loops_in_two_threads_share_a_connection(connection):
    admin, found = connection.get_admin(), []

    async def main():
        for _ in range(20):
            found.extend(await asyncio.gather(*[admin.database_exists("x") for _ in range(10)]))

    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [False] * 400


def test_call_starts_without_an_await(connection, database):
    admin = connection.get_admin()

    async def main():
        admin.create_database(database + "_eager")  # dropped
        deadline = time.monotonic() + 20
        while not await admin.database_exists(database + "_eager"):
            assert time.monotonic() < deadline
        await admin.drop_database(database + "_eager")

    asyncio.run(main())
