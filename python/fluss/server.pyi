# SPDX-License-Identifier: Apache-2.0
"""Types of fluss.server: an embedded server."""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any

class Server:
    def __init__(
        self,
        data_dir: str | os.PathLike | None = None,
        *,
        listen: str = "127.0.0.1:0",
        settings: Mapping[str, Any] | None = None,
    ) -> None: ...
    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def sasl_bootstrap_servers(self) -> str | None: ...
    @property
    def data_dir(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> Server: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> bool: ...
