# SPDX-License-Identifier: Apache-2.0
"""Every public API, asked rightly and wrongly at the level of frames.

Goal and method: api_script.py and api_edges.py on a fresh server; one test an API, of the codes and
of what good answers show. The same on an official cluster: tests/interop/api.py.
"""

import re

import pytest
from api_edges import ALL
from api_script import run
from wire import TOP, Server

APIS = list(dict.fromkeys(step.api for step in ALL))


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What our server answers to each step."""
    with Server(tmp_path_factory.mktemp("api") / "data") as server, server.connect() as connection:
        yield run(lambda step, request: connection.answer(connection.send(step.api, request)), ALL)


def test_the_script_has_every_public_api():
    text = (TOP / "src" / "protocol" / "api_keys.def").read_text()
    public = re.findall(r"FL_API\(\d+,\s*(\w+),\s*\w+,\s*\d+,\s*\d+,\s*1,", text)
    assert sorted(APIS) == sorted(public)


@pytest.mark.parametrize("api", APIS)
def test_answers(answers, api):
    """The label, the code and what is shown, of every step with this API."""
    found = [(step.label, code, shown) for step, code, shown in answers if step.api == api]
    expected = [(step.label, step.code, step.expected) for step in ALL if step.api == api]
    assert found == expected
