# SPDX-License-Identifier: Apache-2.0
"""Types of fluss._handles: what `with` and `async with` manage."""

from types import TracebackType
from typing import Any

from typing_extensions import Self

class Uncopied:
    def __reduce_ex__(self, protocol: Any) -> Any: ...

class Managed:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> bool: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> bool: ...
