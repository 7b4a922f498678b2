# SPDX-License-Identifier: Apache-2.0
"""Names of annotations, which are read by people and checkers and hardly ever evaluated: the module
typing would take a good part of the time that importing the package takes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Any
else:
    Any = object

# Where reading starts, int | OffsetSpec: an offset, EARLIEST_OFFSET, LATEST_OFFSET, or a point that
# is resolved to one.
Start = Any
# bool | Callable[[int, int], object] | None. None: a bar when the read is long and a terminal is
# there; True: a bar; False: nothing; else a function that is called with the rows that were read
# and the rows there are.
Progressing = Any
