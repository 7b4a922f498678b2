# SPDX-License-Identifier: Apache-2.0
"""Types of the package, from those of its modules. The methods are described in its sources and
in docs/guide-python.md."""

from .admin import FlussAdmin as FlussAdmin
from .config import Config as Config
from .connection import FlussConnection as FlussConnection
from .errors import ErrorCode as ErrorCode
from .errors import FlussError as FlussError
from .errors import PrecisionWarning as PrecisionWarning
from .filters import ColumnRef as ColumnRef
from .filters import Predicate as Predicate
from .filters import col as col
from .futures import FlussFuture as FlussFuture
from .lookup import Lookuper as Lookuper
from .lookup import PrefixLookuper as PrefixLookuper
from .records import RecordBatch as RecordBatch
from .records import ScanRecord as ScanRecord
from .records import ScanRecords as ScanRecords
from .scan import BatchScanner as BatchScanner
from .scan import TableScan as TableScan
from .scanner import LogScanner as LogScanner
from .schema import Schema as Schema
from .schema import TableDescriptor as TableDescriptor
from .schema import TableInfo as TableInfo
from .server import Server as Server
from .table import FlussTable as FlussTable
from .table import TableAppend as TableAppend
from .table import TableLookup as TableLookup
from .table import TablePrefixLookup as TablePrefixLookup
from .table import TableUpsert as TableUpsert
from .values import EARLIEST_OFFSET as EARLIEST_OFFSET
from .values import LATEST_OFFSET as LATEST_OFFSET
from .values import ChangeType as ChangeType
from .values import DatabaseDescriptor as DatabaseDescriptor
from .values import DatabaseInfo as DatabaseInfo
from .values import LakeSnapshot as LakeSnapshot
from .values import OffsetSpec as OffsetSpec
from .values import OffsetType as OffsetType
from .values import PartitionInfo as PartitionInfo
from .values import ServerNode as ServerNode
from .values import TableBucket as TableBucket
from .values import TablePath as TablePath
from .writer import AppendWriter as AppendWriter
from .writer import UpsertWriter as UpsertWriter
from .writer import WriteResultHandle as WriteResultHandle

__version__: str
