# SPDX-License-Identifier: Apache-2.0
"""The life of a server in this process: copies of it, and several threads that end it."""

import copy
import pickle
import threading

import fluss
import pytest


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_server_is_not_copied(again, tmp_path):
    """A copy that is dropped would stop the server, and free it a second time."""
    with fluss.Server(tmp_path) as server:
        with pytest.raises(TypeError, match="a Server cannot be copied or pickled"):
            again(server)
        connection = fluss.FlussConnection.create(bootstrap_servers=server.bootstrap_servers)
        with connection.result(30) as connected:
            assert connected.get_admin().list_databases().result(30) == ["fluss"]


def test_many_threads_stop_and_look(tmp_path):
    """Each sees a server that runs, or is told that it is closed."""
    server = fluss.Server(tmp_path)
    address = server.bootstrap_servers
    start, wrong = threading.Barrier(8), []

    def look() -> None:
        start.wait()
        try:
            while True:
                if server.bootstrap_servers != address:
                    wrong.append(server.bootstrap_servers)
        except fluss.FlussError as error:
            if "the server is closed" not in str(error):
                wrong.append(error)

    def stop() -> None:
        start.wait()
        server.close()

    threads = [threading.Thread(target=work) for work in [look, look, look, look] + 4 * [stop]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == [] and not any(thread.is_alive() for thread in threads)
    assert repr(server) == "Server(closed)"
    fluss.Server(tmp_path).close()  # the folder is free again
