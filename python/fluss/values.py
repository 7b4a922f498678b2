# SPDX-License-Identifier: Apache-2.0
"""Plain values: names of tables and buckets, offsets, and what the administration answers with."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from ._arguments import number, optional, pairs, require

EARLIEST_OFFSET = -2
LATEST_OFFSET = -1


class ChangeType(enum.IntEnum):
    """What happened to a row."""

    AppendOnly = 0
    Insert = 1
    UpdateBefore = 2
    UpdateAfter = 3
    Delete = 4

    def short_string(self) -> str:
        """ "+A", "+I", "-U", "+U" or "-D"."""
        return ("+A", "+I", "-U", "+U", "-D")[self]

    def __str__(self) -> str:
        return self.short_string()

    def __repr__(self) -> str:
        return f"ChangeType.{self.name}"


class TablePath:
    """Database and name of a table."""

    __slots__ = ("_database", "_table")

    def __init__(self, database_name: str, table_name: str) -> None:
        require(database_name, str, "database_name")
        require(table_name, str, "table_name")
        self._database = database_name
        self._table = table_name

    @property
    def database_name(self) -> str:
        return self._database

    @property
    def table_name(self) -> str:
        return self._table

    def table_path_str(self) -> str:
        return f"{self._database}.{self._table}"

    __str__ = table_path_str

    def __repr__(self) -> str:
        return f"TablePath({self._database!r}, {self._table!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TablePath):
            return False
        return (self._database, self._table) == (other._database, other._table)

    def __hash__(self) -> int:
        return hash((self._database, self._table))

    def __reduce__(self):
        return TablePath, (self._database, self._table)


class TableBucket:
    """One bucket of a table, or of one partition of it."""

    __slots__ = ("_table", "_partition", "_bucket")

    def __init__(self, table_id: int, bucket: int) -> None:
        self._table = number(table_id, "table_id")
        self._partition = None
        self._bucket = number(bucket, "bucket", 32)

    @staticmethod
    def with_partition(table_id: int, partition_id: int, bucket: int) -> TableBucket:
        """A bucket of a partition."""
        made = TableBucket(table_id, bucket)
        made._partition = number(partition_id, "partition_id")
        return made

    @property
    def table_id(self) -> int:
        return self._table

    @property
    def bucket_id(self) -> int:
        return self._bucket

    @property
    def partition_id(self) -> int | None:
        return self._partition

    def _key(self) -> tuple:
        return (self._table, self._partition, self._bucket)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableBucket) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        partition = "" if self._partition is None else f"partition_id={self._partition}, "
        return f"TableBucket(table_id={self._table}, {partition}bucket={self._bucket})"

    def __reduce__(self):
        if self._partition is None:
            return TableBucket, (self._table, self._bucket)
        return TableBucket.with_partition, (self._table, self._partition, self._bucket)


def make_bucket(table_id: int, partition_id: int, bucket: int) -> TableBucket:
    """A bucket in the form of the C library: partition -1 is none."""
    if partition_id < 0:
        return TableBucket(table_id, bucket)
    return TableBucket.with_partition(table_id, partition_id, bucket)


class OffsetType:
    """Kinds of offsets, for `list_offsets(offset_type=...)`."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"


class _Answer:
    """Base of values that only the package makes."""

    __slots__ = ()

    def __init__(self, *_args: object, **_keywords: object) -> None:
        raise TypeError(f"cannot create '{type(self).__name__}' instances")

    @classmethod
    def _make(cls, **fields: object):
        made = object.__new__(cls)
        for name, value in fields.items():
            setattr(made, name, value)
        return made


class OffsetSpec(_Answer):
    """Which offset `list_offsets` asks for."""

    __slots__ = ("_kind", "_timestamp")

    @staticmethod
    def earliest() -> OffsetSpec:
        return OffsetSpec._make(_kind="earliest", _timestamp=None)

    @staticmethod
    def latest() -> OffsetSpec:
        return OffsetSpec._make(_kind="latest", _timestamp=None)

    @staticmethod
    def timestamp(ts: int) -> OffsetSpec:
        """The first offset from that time on, milliseconds since 1970."""
        return OffsetSpec._make(_kind="timestamp", _timestamp=number(ts, "ts"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetSpec) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self._kind, self._timestamp))

    def __repr__(self) -> str:
        return f"OffsetSpec.{self._kind}({'' if self._timestamp is None else self._timestamp})"

    def __reduce__(self):
        arguments = () if self._timestamp is None else (self._timestamp,)
        return getattr(OffsetSpec, self._kind), arguments


class PartitionInfo(_Answer):
    """One partition of a table."""

    __slots__ = ("_id", "_name", "_spec")

    @property
    def partition_id(self) -> int:
        return self._id

    @property
    def partition_name(self) -> str:
        return self._name

    @property
    def partition_spec(self) -> dict[str, str]:
        """The value of each partition key."""
        return dict(self._spec)

    def __repr__(self) -> str:
        return f"PartitionInfo(partition_id={self._id}, partition_name={self._name!r})"


class ServerNode(_Answer):
    """One server of the cluster."""

    __slots__ = ("_id", "_host", "_port", "_type")

    @property
    def id(self) -> int:
        return self._id

    @property
    def host(self) -> str:
        return self._host

    @property
    def port(self) -> int:
        return self._port

    @property
    def server_type(self) -> str:
        """ "CoordinatorServer", "TabletServer" or "Unknown"."""
        return self._type

    @property
    def uid(self) -> str:
        prefix = {"CoordinatorServer": "cs", "TabletServer": "ts"}.get(self._type, "unknown")
        return f"{prefix}-{self._id}"

    def __repr__(self) -> str:
        return (
            f"ServerNode(id={self._id}, host={self._host!r}, port={self._port}, "
            f"server_type={self._type!r})"
        )


class DatabaseDescriptor:
    """Comment and properties of a database to be made."""

    __slots__ = ("_comment", "_properties")

    def __init__(
        self, comment: str | None = None, custom_properties: Mapping[str, str] | None = None
    ) -> None:
        self._comment = optional(comment, str, "comment")
        properties = {} if custom_properties is None else custom_properties
        self._properties = dict(pairs(properties, "custom_properties"))

    @property
    def comment(self) -> str | None:
        return self._comment

    def get_custom_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def __repr__(self) -> str:
        return (
            f"DatabaseDescriptor(comment={self._comment!r}, custom_properties={self._properties!r})"
        )


class DatabaseInfo(_Answer):
    """What is known of a database."""

    __slots__ = ("_name", "_descriptor", "_created", "_modified")

    @property
    def database_name(self) -> str:
        return self._name

    @property
    def created_time(self) -> int:
        """Milliseconds since 1970."""
        return self._created

    @property
    def modified_time(self) -> int:
        return self._modified

    def get_database_descriptor(self) -> DatabaseDescriptor:
        return self._descriptor

    def __repr__(self) -> str:
        return f"DatabaseInfo(database_name={self._name!r}, created_time={self._created})"


class LakeSnapshot:
    """A snapshot of a table in lake storage, with the log offsets it reaches."""

    __slots__ = ("_id", "_offsets")

    def __init__(self, snapshot_id: int) -> None:
        self._id = number(snapshot_id, "snapshot_id")
        self._offsets: dict[TableBucket, int] = {}

    @property
    def snapshot_id(self) -> int:
        return self._id

    @property
    def table_buckets_offset(self) -> dict[TableBucket, int]:
        return dict(self._offsets)

    def get_bucket_offset(self, bucket: TableBucket) -> int | None:
        require(bucket, TableBucket, "bucket")
        return self._offsets.get(bucket)

    def get_table_buckets(self) -> list[TableBucket]:
        return list(self._offsets)

    def __str__(self) -> str:
        return f"LakeSnapshot(snapshot_id={self._id}, buckets_count={len(self._offsets)})"

    __repr__ = __str__
