# SPDX-License-Identifier: Apache-2.0
"""How calls end, for the tests of administration."""

import pytest

S_MAX = 60


def refused(future, code):
    """Whether a call fails with a code; the text of the error."""
    import fluss

    with pytest.raises(fluss.FlussError) as caught:
        future.result(S_MAX)
    assert caught.value.error_code == code, caught.value
    return str(caught.value)
