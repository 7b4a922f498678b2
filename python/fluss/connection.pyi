# SPDX-License-Identifier: Apache-2.0
"""Types of fluss.connection: connections."""

from types import TracebackType
from typing import Any

from .admin import FlussAdmin
from .config import Config
from .futures import FlussFuture
from .table import FlussTable
from .values import TablePath

class FlussConnection:
    @staticmethod
    def create(config: Config | None = None, **settings: Any) -> FlussFuture[FlussConnection]: ...
    @staticmethod
    def connect(config: Config | None = None, **settings: Any) -> FlussFuture[FlussConnection]: ...
    def get_admin(self) -> FlussAdmin: ...
    def get_table(self, table_path: TablePath) -> FlussFuture[FlussTable]: ...
    def close(self) -> FlussFuture[None]: ...
    def metrics(self) -> list[dict[str, Any]]: ...
    def __enter__(self) -> FlussConnection: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> bool: ...
    async def __aenter__(self) -> FlussConnection: ...
    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> bool: ...
