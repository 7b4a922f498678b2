# SPDX-License-Identifier: Apache-2.0
"""Kill -9 in the middle of writing, again and again.

Goal: what was acknowledged is there, once; offsets have no hole; a writer that repeats what it does
not know the fate of makes no duplicate. Method: one data directory, a server that is killed after a
random number of acknowledgements while more batches are in flight, a new server, and the idempotent
writer that goes on with its sequences. FLUSS_TEST_SEED makes another run.
"""

import os
import random
import struct

from killing import Writer, write_until
from wire import Server, batch, create_table, produce, read_log

KILLS = int(os.environ.get("FLUSS_KILLS", "50"))
BUCKETS = 3


class LogWriter(Writer):
    """Batches of one bucket; `made` holds (bytes, records) of each."""

    api = "PRODUCE_LOG"

    def __init__(self, table_id, bucket, writer_id, chance):
        super().__init__(writer_id)
        self.table_id, self.bucket = table_id, bucket
        self.chance = chance

    def draw(self):
        size = self.chance.choice((8, 60, 700, 4000))
        payload = struct.pack("<qi", self.writer_id, self.next) + self.chance.randbytes(size)
        records = self.chance.randint(1, 20)
        return batch(payload, records, self.writer_id, self.next), records

    def request(self, sequence):
        return produce(self.table_id, self.made[sequence][0], self.bucket)


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
    seed = int(os.environ.get("FLUSS_TEST_SEED", "20261130"))
    print(f"FLUSS_TEST_SEED={seed}")
    chance = random.Random(seed)
    server = Server(tmp_path / "data", "-o", "log.segment.file-size=256kb").start()
    with server.connect() as connection:
        table_id = create_table(connection, "killed", BUCKETS)
        writers = [
            LogWriter(table_id, bucket, connection.ask("INIT_WRITER")["writer_id"], chance)
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
