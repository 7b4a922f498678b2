# SPDX-License-Identifier: Apache-2.0
"""Client of Apache Fluss, and a Fluss server in the same process.

    import fluss

    with fluss.Server() as server:
        config = fluss.Config({"bootstrap.servers": server.bootstrap_servers})
        connection = fluss.FlussConnection.create(config).result()

Calls that take time answer with a `FlussFuture`: await it, or ask for its `result()`. Programs for
pyfluss 1.0, and for the API before it, run unchanged.
"""

from __future__ import annotations

from . import _core
from .errors import ErrorCode, FlussError, PrecisionWarning
from .filters import ColumnRef, Predicate, col
from .futures import FlussFuture
from .futures import watch as _watch
from .records import RecordBatch, ScanRecord, ScanRecords
from .values import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    ChangeType,
    DatabaseDescriptor,
    DatabaseInfo,
    LakeSnapshot,
    OffsetSpec,
    OffsetType,
    PartitionInfo,
    ServerNode,
    TableBucket,
    TablePath,
)
from .values import make_bucket as _make_bucket

_core.setup(FlussError, _make_bucket, tuple(ChangeType), RecordBatch, _watch, PrecisionWarning)

from .admin import FlussAdmin  # noqa: E402 - these use the extension when they are imported
from .config import Config  # noqa: E402
from .connection import FlussConnection  # noqa: E402
from .lookup import Lookuper, PrefixLookuper  # noqa: E402
from .scan import BatchScanner, TableScan  # noqa: E402
from .scanner import LogScanner  # noqa: E402
from .schema import Schema, TableDescriptor, TableInfo  # noqa: E402
from .server import Server  # noqa: E402
from .table import (  # noqa: E402
    FlussTable,
    TableAppend,
    TableLookup,
    TablePrefixLookup,
    TableUpsert,
)
from .writer import AppendWriter, UpsertWriter, WriteResultHandle  # noqa: E402

__version__ = _core.version()

__all__ = [
    "AppendWriter",
    "BatchScanner",
    "ChangeType",
    "ColumnRef",
    "Config",
    "DatabaseDescriptor",
    "DatabaseInfo",
    "EARLIEST_OFFSET",
    "ErrorCode",
    "FlussAdmin",
    "FlussConnection",
    "FlussError",
    "FlussFuture",
    "FlussTable",
    "LATEST_OFFSET",
    "LakeSnapshot",
    "LogScanner",
    "Lookuper",
    "OffsetSpec",
    "OffsetType",
    "PartitionInfo",
    "PrecisionWarning",
    "Predicate",
    "PrefixLookuper",
    "RecordBatch",
    "ScanRecord",
    "ScanRecords",
    "Schema",
    "Server",
    "ServerNode",
    "TableAppend",
    "TableBucket",
    "TableDescriptor",
    "TableInfo",
    "TableLookup",
    "TablePath",
    "TablePrefixLookup",
    "TableScan",
    "TableUpsert",
    "UpsertWriter",
    "WriteResultHandle",
    "col",
    "__version__",
]

for _name in __all__:
    if isinstance(globals()[_name], type) and globals()[_name].__module__.startswith("fluss."):
        globals()[_name].__module__ = "fluss"
