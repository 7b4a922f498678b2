# SPDX-License-Identifier: Apache-2.0
"""Kill -9 in the middle of writing, again and again.

Goal: what was acknowledged is there, once; offsets have no hole; a writer that repeats what it does
not know the fate of makes no duplicate. Method: one data directory, a server that is killed after a
random number of acknowledgements while more batches are in flight, a new server, and the idempotent
writer that goes on with its sequences. FLUSS_TEST_SEED repeats a run.
"""

import os
import random
import struct
import time

from wire import Server, batch, create_table, produce, read_log

KILLS = int(os.environ.get("FLUSS_KILLS", "50"))
BUCKETS = 3
IN_FLIGHT_MAX = 5


class Writer:
    """One idempotent writer of one bucket: batches by sequence, the acknowledged ones known."""

    def __init__(self, table_id, bucket, writer_id, chance):
        self.table_id, self.bucket, self.writer_id = table_id, bucket, writer_id
        self.chance = chance
        self.made = []  # (bytes, records) of each batch, by sequence
        self.acked = 0  # sequences below are acknowledged
        self.in_flight = []  # (request id, sequence)

    def reconnected(self):
        self.in_flight = []
        self.next = self.acked

    def send(self, connection):
        if self.next == len(self.made):
            size = self.chance.choice((8, 60, 700, 4000))
            payload = struct.pack("<qi", self.writer_id, self.next) + self.chance.randbytes(size)
            records = self.chance.randint(1, 20)
            self.made.append((batch(payload, records, self.writer_id, self.next), records))
        request = produce(self.table_id, self.made[self.next][0], self.bucket)
        self.in_flight.append((connection.send("PRODUCE_LOG", request), self.next))
        self.next += 1

    def wait(self, connection):
        request_id, sequence = self.in_flight.pop(0)
        _, answer = connection.answer(request_id)
        (found,) = answer["buckets_resp"]
        assert "error_code" not in found, found
        self.acked = max(self.acked, sequence + 1)


def write_until(server, writers, acks):
    """Keep requests in flight until so many were acknowledged, then kill."""
    with server.connect() as connection:
        for writer in writers:
            writer.reconnected()
        while acks > 0:
            for writer in writers:
                while len(writer.in_flight) < IN_FLIGHT_MAX:
                    writer.send(connection)
            for writer in writers:
                writer.wait(connection)
                acks -= 1
        server.kill()


def check(server, writers):
    with server.connect() as connection:
        for writer in writers:
            offset, sequence = 0, 0
            for found in read_log(connection, writer.table_id, writer.bucket):
                sent, records = writer.made[sequence]
                assert found["base_offset"] == offset, "a hole in the offsets"
                assert found["sequence"] == sequence, "a batch is missing, or there twice"
                assert found["bytes"][21:] == sent[21:], "not the bytes that were sent"
                offset += records
                sequence += 1
            assert sequence >= writer.acked, "an acknowledged batch is missing"


def test_every_acknowledged_batch_is_there_once(tmp_path):
    seed = int(os.environ.get("FLUSS_TEST_SEED", str(time.time_ns() % 10**9)))
    print(f"FLUSS_TEST_SEED={seed}")
    chance = random.Random(seed)
    server = Server(tmp_path / "data", "-o", "log.segment.file-size=256kb").start()
    with server.connect() as connection:
        table_id = create_table(connection, "killed", BUCKETS)
        writers = [
            Writer(table_id, bucket, connection.ask("INIT_WRITER")["writer_id"], chance)
            for bucket in range(BUCKETS)
        ]
    ids = {writer.writer_id for writer in writers}
    for _ in range(KILLS):
        write_until(server, writers, chance.randint(0, 30))
        server.start()
        check(server, writers)
        with server.connect() as connection:
            writer_id = connection.ask("INIT_WRITER")["writer_id"]
            assert writer_id not in ids, "a writer id was given twice"
            ids.add(writer_id)
    assert server.stop() == 0
