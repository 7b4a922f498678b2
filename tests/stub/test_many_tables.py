# SPDX-License-Identifier: Apache-2.0
"""Many tables on one connection: each one's trouble stays its own.

Goal and method: eight tables of both kinds are written, read and looked up at once, while some of
them are dropped, leaderless, refused or slow.
"""

import time

import fluss
from stub import Hold, bucket_error

from client import LIMIT_S, ids, outcome

LOG = {"id": "INTEGER", "note": "STRING"}


def of_table(table):
    return lambda exchange: exchange.message.get("table_id") == table.id


def test_trouble_of_one_table_stays_its_own(cluster, connect):
    tables = [cluster.create_table(f"t{i}", LOG) for i in range(6)]
    client = connect(cluster, request_timeout=30000)
    writers = [client.writer(f"t{i}") for i in range(6)]
    assert {outcome(writer.append({"id": 0, "note": ""})) for writer in writers} == {None}
    hold = Hold()
    cluster.on("PRODUCE_LOG", bucket_error(48), when=of_table(tables[0]))
    cluster.on("PRODUCE_LOG", hold, when=of_table(tables[1]))
    cluster.on("PRODUCE_LOG", bucket_error(12), times=3, when=of_table(tables[2]))
    with cluster.lock:
        del cluster.cluster.tables["fluss", "t3"]
        tables[4].of(0).leader = None
    handles = [[w.append({"id": i, "note": ""}) for i in range(1, 20)] for w in writers]
    started = time.monotonic()  # far less than the answer that is held takes
    assert {outcome(handle) for handle in handles[5]} == {None}
    assert {outcome(handle) for handle in handles[0]} == {48}
    assert {outcome(handle) for handle in handles[2]} == {None}
    assert time.monotonic() - started < LIMIT_S / 2
    hold.release(cluster)
    cluster.off()
    with cluster.lock:
        tables[4].of(0).leader = 1
    assert {outcome(handle) for handle in handles[1]} == {None}
    assert {outcome(handle) for handle in handles[4]} == {None}
    assert {outcome(handle) for handle in handles[3]} == {fluss.ErrorCode.TABLE_NOT_EXIST}
    for i in (1, 2, 4, 5):
        assert ids(tables[i]) == list(range(20))
    assert ids(tables[0]) == [0]


def test_a_table_with_a_dead_bucket_is_opened_soon(cluster, connect):
    """To choose a bucket hash rows are sampled; a bucket that does not answer is left out."""
    table = cluster.create_table("pk", LOG, primary_key=["id"], buckets=3)
    client = connect(cluster, request_timeout=30000)
    with cluster.lock:
        table.of(1).leader = None
    started = time.monotonic()
    opened = client.open("pk")
    assert time.monotonic() - started < LIMIT_S / 2
    assert opened.get_table_info().table_id == table.id


def test_keys_and_rows_of_many_tables_at_once(cluster, connect):
    for i in range(4):
        cluster.create_table(f"k{i}", LOG, primary_key=["id"], buckets=3)
    client = connect(cluster)
    writers = [client.writer(f"k{i}") for i in range(4)]
    handles = [w.upsert({"id": n, "note": str(n)}) for n in range(50) for w in writers]
    assert {outcome(handle) for handle in handles} == {None}
    lookups = [client.open(f"k{i}").new_lookup().create_lookuper() for i in range(4)]
    found = [[lk.lookup({"id": n}) for n in range(60)] for lk in lookups]
    for answers in found:
        rows = [answer.result(LIMIT_S) for answer in answers]
        assert rows[:50] == [{"id": n, "note": str(n)} for n in range(50)]
        assert rows[50:] == [None] * 10
