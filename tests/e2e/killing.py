# SPDX-License-Identifier: Apache-2.0
"""Idempotent writers that keep requests in flight to a server until it is killed, then go on with
their sequences on the next one."""

IN_FLIGHT_MAX = 5


class Writer:
    """A writer of one bucket. Its subclasses make the requests: `made` holds what they need to
    make one again, by sequence."""

    api = None  # its name

    def __init__(self, writer_id):
        self.writer_id = writer_id
        self.made = []
        self.acked = 0  # sequences below are acknowledged
        self.next = 0
        self.in_flight = []  # (request id, sequence)

    def draw(self):
        """What a new request is made of."""
        raise NotImplementedError

    def request(self, sequence):
        raise NotImplementedError

    def reconnected(self):
        self.in_flight = []
        self.next = self.acked

    def send(self, connection):
        if self.next == len(self.made):
            self.made.append(self.draw())
        self.in_flight.append((connection.send(self.api, self.request(self.next)), self.next))
        self.next += 1

    def wait(self, connection):
        """For the oldest answer; gives the bucket's part of it and its sequence."""
        request_id, sequence = self.in_flight.pop(0)
        _, answer = connection.answer(request_id)
        (found,) = answer["buckets_resp"]
        assert "error_code" not in found, found
        self.acked = max(self.acked, sequence + 1)
        return found, sequence


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
