# SPDX-License-Identifier: Apache-2.0
"""Administration: databases, tables, partitions, offsets, the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from . import _core
from ._arguments import flag, mapping, natural, number, numbers, optional, pairs, plain, several
from ._typing import Any
from .errors import FlussError
from .futures import FlussFuture
from .schema import Schema, TableDescriptor, TableInfo
from .values import (
    EARLIEST_OFFSET,
    LATEST_OFFSET,
    DatabaseDescriptor,
    DatabaseInfo,
    LakeSnapshot,
    OffsetSpec,
    PartitionInfo,
    ServerNode,
    TableBucket,
    TablePath,
    _Answer,
    make_bucket,
    require,
)

_IF_EXISTS, _IF_NOT_EXISTS, _CASCADE, _READABLE = 1, 2, 4, 8
_NUMBERS = frozenset(
    [
        "table_id",
        "partition_id",
        "bucket",
        "snapshot_id",
        "offset",
        "row_count",
        "created_ms",
        "table_count",
        "id",
        "port",
        "replicas",
        "in_sync_replicas",
        "leaders",
        "active_leaders",
        "code",
        "filter",
        "expires_ms",
        "status",
        "bucket_status",
        "old_leader",
        "new_leader",
    ]
)
_ALTERATIONS = ("add_column", "drop_column", "rename_column", "modify_column", "set", "reset")


def _flag(value: object, name: str, bit: int) -> int:
    return bit if flag(value, name) else 0


def _path(table_path: TablePath) -> tuple[str, str]:
    require(table_path, TablePath, "table_path")
    return (table_path.database_name, table_path.table_name)


def _column(name: str) -> Callable[[list[dict]], list]:
    return lambda rows: [row[name] for row in rows]


def _rows(rows: list[dict]) -> list[dict[str, Any]]:
    """Rows of an answer, with numbers where the columns hold numbers."""
    for row in rows:
        for name, text in row.items():
            if text is not None and name in _NUMBERS and text.lstrip("-").isdigit():
                row[name] = int(text)
    return rows


def _offsets(rows: list[dict]) -> dict[int, int]:
    return {int(row["bucket"]): int(row["offset"]) for row in rows}


def _number(text: str | None) -> int:
    return int(text) if text else 0


def _database(name: str) -> Callable[[list[dict]], DatabaseInfo]:
    def convert(rows: list[dict]) -> DatabaseInfo:
        first = rows[0]
        properties = {r["property"]: r["value"] for r in rows if r["property"] is not None}
        return DatabaseInfo._make(
            _name=first["name"] or name,
            _descriptor=DatabaseDescriptor(first["comment"], properties),
            _created=_number(first["created_ms"]),
            _modified=_number(first["modified_ms"]),
        )

    return convert


def _partitions(rows: list[dict]) -> list[PartitionInfo]:
    found: dict[int, PartitionInfo] = {}
    for row in rows:
        number = int(row["partition_id"])
        if number not in found:
            found[number] = PartitionInfo._make(_id=number, _name=row["name"], _spec={})
        if row["key"] is not None:
            found[number]._spec[row["key"]] = row["value"]
    return list(found.values())


def _snapshot(rows: list[dict]) -> LakeSnapshot:
    snapshot = LakeSnapshot(int(rows[0]["snapshot_id"]) if rows else -1)
    for row in rows:
        if row["bucket"] is not None:
            partition = row["partition_id"]
            bucket = make_bucket(
                int(row["table_id"]),
                -1 if partition is None else int(partition),
                int(row["bucket"]),
            )
            snapshot._offsets[bucket] = int(row["offset"])
    return snapshot


def _nodes(rows: list[dict]) -> list[ServerNode]:
    roles = {"coordinator": "CoordinatorServer", "tablet": "TabletServer"}
    return [
        ServerNode._make(
            _id=int(row["id"]),
            _host=row["host"],
            _port=int(row["port"]),
            _type=roles.get(row["role"], "Unknown"),
        )
        for row in rows
    ]


def _spec(spec: Mapping[str, str], name: str = "partition_spec") -> list[tuple[str, str]]:
    found = mapping(spec, name)
    for key, value in found:
        require(key, str, f"{name} key")
        require(value, str, f"{name} value")
    return found


def _wanted_offset(spec: object, timestamp: int | None, kind: str | None) -> int:
    """One of the forms of "which offset", in that of the C library."""
    name = "offset_type"
    if issubclass(type(spec), str) and kind is None:
        spec, kind, name = None, spec, "offset_spec"
    if (spec is None) == (kind is None):
        raise FlussError("give either an offset_spec or an offset_type")
    if kind is not None:
        require(kind, str, name)
        kind = plain(kind).lower()
    else:
        require(spec, OffsetSpec, "offset_spec")
        kind, timestamp = spec._kind, spec._timestamp  # type: ignore[attr-defined]
    if kind == "earliest":
        return EARLIEST_OFFSET
    if kind == "latest":
        return LATEST_OFFSET
    if kind != "timestamp":
        raise FlussError(f"Invalid {name}: {kind!r}; expected 'earliest', 'latest' or 'timestamp'")
    if timestamp is None:
        raise FlussError("offset_type 'timestamp' needs a timestamp")
    return natural(timestamp, "timestamp")


def _bucket_ids(bucket_ids: Sequence[int]) -> list[int]:
    found = numbers(bucket_ids, "bucket_ids")
    for bucket in found:
        if bucket < 0:
            raise FlussError(f"Invalid bucket id: {bucket}; bucket_ids must not be negative")
    if not found:
        raise FlussError("bucket_ids must not be empty")
    return found


class FlussAdmin(_Answer):
    """Administration of a cluster. Every call starts at once and answers with a future."""

    @property
    def _handle(self) -> Any:
        return self._connection._handle

    def __await__(self):
        """Older programs await the administration; it is there already."""
        return self
        yield  # makes this a generator

    # --- databases ---

    def create_database(
        self,
        database_name: str,
        database_descriptor: DatabaseDescriptor | bool | None = None,
        ignore_if_exists: bool | DatabaseDescriptor | None = False,
    ) -> FlussFuture:
        """Make a database. The last two arguments may change places, as in older versions."""
        require(database_name, str, "database_name")
        if database_descriptor is True or database_descriptor is False:
            given = ignore_if_exists or None  # False is the default of a flag
            database_descriptor, ignore_if_exists = given, database_descriptor
        descriptor = optional(database_descriptor, DatabaseDescriptor, "database_descriptor")
        comment = descriptor.comment if descriptor else None
        properties = list(descriptor.get_custom_properties().items()) if descriptor else []
        flags = _flag(ignore_if_exists, "ignore_if_exists", _IF_NOT_EXISTS)
        return _core.create_database(self._handle, database_name, comment, properties, flags)

    def alter_database(
        self,
        database_name: str,
        changes: Mapping[str, str | None] | None = None,
        comment: str | None = None,
        ignore_if_not_exists: bool = False,
    ) -> FlussFuture:
        """Change properties (None resets one) and the comment of a database."""
        require(database_name, str, "database_name")
        wanted: list = pairs({} if changes is None else changes, "changes")
        if comment is not None:
            require(comment, str, "comment")
            wanted.append((None, comment))
        flags = _flag(ignore_if_not_exists, "ignore_if_not_exists", _IF_EXISTS)
        return _core.alter_database(self._handle, database_name, wanted, flags)

    def drop_database(
        self, database_name: str, ignore_if_not_exists: bool = False, cascade: bool = True
    ) -> FlussFuture:
        """Drop a database, with its tables unless `cascade` is false."""
        require(database_name, str, "database_name")
        flags = _flag(ignore_if_not_exists, "ignore_if_not_exists", _IF_EXISTS) | _flag(
            cascade, "cascade", _CASCADE
        )
        return _core.drop_database(self._handle, database_name, flags)

    def list_databases(self) -> FlussFuture:
        """Names of all databases."""
        return _core.list_databases(self._handle, _column("name"))

    def list_database_summaries(self) -> FlussFuture:
        """Name, time of creation and number of tables of each database, as dicts."""
        return _core.list_databases(self._handle, _rows)

    def database_exists(self, database_name: str) -> FlussFuture:
        require(database_name, str, "database_name")
        return _core.database_exists(self._handle, database_name, bool)

    def get_database_info(self, database_name: str) -> FlussFuture:
        """A future of `DatabaseInfo`."""
        require(database_name, str, "database_name")
        return _core.describe_database(self._handle, database_name, _database(database_name))

    # --- tables ---

    def create_table(
        self,
        table_path: TablePath,
        table_descriptor: TableDescriptor,
        ignore_if_exists: bool | None = None,
    ) -> FlussFuture:
        require(table_descriptor, TableDescriptor, "table_descriptor")
        flags = _flag(ignore_if_exists, "ignore_if_exists", _IF_NOT_EXISTS)
        return _core.create_table(self._handle, _path(table_path), table_descriptor._handle, flags)

    def alter_table(
        self,
        table_path: TablePath,
        changes: Sequence[Mapping[str, Any]],
        ignore_if_not_exists: bool = False,
    ) -> FlussFuture:
        """Change a table: all changes or none.

        Args:
            changes: dicts with a key `change`: "add_column" (name, type, comment, after),
                "drop_column" (name), "rename_column" (name, new_name), "modify_column" (as add),
                "set" (name, value), "reset" (name).
        """
        made = []
        for change in several(changes, "changes", "dicts"):
            fields = dict(pairs(change, "changes element"))
            what = fields.get("change")
            if what not in _ALTERATIONS:
                raise FlussError(f"Unknown change {what!r}: one of {', '.join(_ALTERATIONS)}")
            names = ("name", "new_name", "type", "comment", "after", "value")
            made.append((_ALTERATIONS.index(what), *[fields.get(name) for name in names]))
        flags = _flag(ignore_if_not_exists, "ignore_if_not_exists", _IF_EXISTS)
        return _core.alter_table(self._handle, _path(table_path), tuple(made), flags)

    def drop_table(self, table_path: TablePath, ignore_if_not_exists: bool = False) -> FlussFuture:
        flags = _flag(ignore_if_not_exists, "ignore_if_not_exists", _IF_EXISTS)
        return _core.drop_table(self._handle, _path(table_path), flags)

    def get_table_info(self, table_path: TablePath) -> FlussFuture:
        """A future of `TableInfo`."""
        return _core.open_table(
            self._handle,
            _path(table_path),
            lambda table: TableInfo._of(_core.describe_table(table)),
        )

    get_table = get_table_info

    def get_table_schema(self, table_path: TablePath, schema_id: int | None = None) -> FlussFuture:
        """A future of (`Schema`, schema id); the latest, or an older one."""
        wanted = -1 if schema_id is None else natural(schema_id, "schema_id", 32)

        def convert(found: tuple) -> tuple[Schema, int]:
            return Schema._of_parts(_core.describe_schema(found[0])), found[1]

        return _core.get_schema(self._handle, _path(table_path), wanted, convert)

    def list_tables(self, database_name: str) -> FlussFuture:
        require(database_name, str, "database_name")
        return _core.list_tables(self._handle, database_name, _column("name"))

    def table_exists(self, table_path: TablePath) -> FlussFuture:
        return _core.table_exists(self._handle, _path(table_path), bool)

    def get_table_stats(self, table_path: TablePath) -> FlussFuture:
        """Rows of each bucket, as dicts."""
        return _core.table_stats(self._handle, _path(table_path), _rows)

    # --- partitions ---

    def create_partition(
        self,
        table_path: TablePath,
        partition_spec: Mapping[str, str],
        ignore_if_exists: bool = False,
    ) -> FlussFuture:
        flags = _flag(ignore_if_exists, "ignore_if_exists", _IF_NOT_EXISTS)
        return _core.create_partition(self._handle, _path(table_path), _spec(partition_spec), flags)

    def drop_partition(
        self,
        table_path: TablePath,
        partition_spec: Mapping[str, str],
        ignore_if_not_exists: bool = False,
    ) -> FlussFuture:
        flags = _flag(ignore_if_not_exists, "ignore_if_not_exists", _IF_EXISTS)
        return _core.drop_partition(self._handle, _path(table_path), _spec(partition_spec), flags)

    def list_partition_infos(
        self, table_path: TablePath, partition_spec: Mapping[str, str] | None = None
    ) -> FlussFuture:
        """Partitions, as `PartitionInfo`; those that match a spec when one is given."""
        spec = None if partition_spec is None else _spec(partition_spec)
        return _core.list_partitions(self._handle, _path(table_path), spec, _partitions)

    # --- offsets and snapshots ---

    def list_offsets(
        self,
        table_path: TablePath,
        bucket_ids: Sequence[int],
        offset_spec: OffsetSpec | str | None = None,
        timestamp: int | None = None,
        *,
        offset_type: str | None = None,
    ) -> FlussFuture:
        """Log offsets of buckets: {bucket id: offset}."""
        wanted = _wanted_offset(offset_spec, timestamp, offset_type)
        buckets = _bucket_ids(bucket_ids)
        return _core.list_offsets(self._handle, _path(table_path), None, buckets, wanted, _offsets)

    def list_partition_offsets(
        self,
        table_path: TablePath,
        partition_name: str,
        bucket_ids: Sequence[int],
        offset_spec: OffsetSpec | str | None = None,
        timestamp: int | None = None,
        *,
        offset_type: str | None = None,
    ) -> FlussFuture:
        """Log offsets of buckets of a partition; several partition values are joined by "$"."""
        require(partition_name, str, "partition_name")
        wanted = _wanted_offset(offset_spec, timestamp, offset_type)
        buckets = _bucket_ids(bucket_ids)
        return _core.list_offsets(
            self._handle, _path(table_path), partition_name, buckets, wanted, _offsets
        )

    def get_latest_lake_snapshot(self, table_path: TablePath) -> FlussFuture:
        """A future of `LakeSnapshot`."""
        return _core.lake_snapshot(self._handle, _path(table_path), -1, 0, _snapshot)

    def get_lake_snapshot(self, table_path: TablePath, snapshot_id: int) -> FlussFuture:
        wanted = natural(snapshot_id, "snapshot_id")
        return _core.lake_snapshot(self._handle, _path(table_path), wanted, 0, _snapshot)

    def get_readable_lake_snapshot(self, table_path: TablePath) -> FlussFuture:
        return _core.lake_snapshot(self._handle, _path(table_path), -1, _READABLE, _snapshot)

    def get_latest_kv_snapshots(
        self, table_path: TablePath, partition_name: str | None = None
    ) -> FlussFuture:
        """The newest KV snapshot of each bucket, as dicts."""
        optional(partition_name, str, "partition_name")
        return _core.kv_snapshots(self._handle, _path(table_path), partition_name, -1, 0, _rows)

    def get_kv_snapshot_files(
        self,
        table_path: TablePath,
        bucket_id: int,
        snapshot_id: int,
        partition_name: str | None = None,
    ) -> FlussFuture:
        """The files of one KV snapshot, as dicts."""
        optional(partition_name, str, "partition_name")
        bucket, wanted = natural(bucket_id, "bucket_id", 32), natural(snapshot_id, "snapshot_id")
        return _core.kv_snapshots(
            self._handle, _path(table_path), partition_name, wanted, bucket, _rows
        )

    def list_kv_snapshots(self, table_id: int, partition_id: int | None = None) -> FlussFuture:
        """The KV snapshots that are kept, as dicts."""
        partition = _partition(partition_id)
        return _core.list_kv_snapshots(self._handle, number(table_id, "table_id"), partition, _rows)

    def acquire_kv_snapshot_lease(
        self, lease_id: str, snapshots: Mapping[TableBucket, int], duration_ms: int
    ) -> FlussFuture:
        """Keep KV snapshots from being removed; a future of those that are gone already."""
        require(lease_id, str, "lease_id")
        duration = number(duration_ms, "duration_ms")
        positions = _positions(snapshots, "snapshots")
        return _core.lease_snapshots(self._handle, lease_id, duration, positions, _rows)

    def release_kv_snapshot_lease(
        self, lease_id: str, buckets: Sequence[TableBucket] | None = None
    ) -> FlussFuture:
        """Give up a lease, of some buckets or whole."""
        require(lease_id, str, "lease_id")
        positions = None
        if buckets is not None:
            positions = [
                _position(bucket, 0, "buckets element")
                for bucket in several(buckets, "buckets", "TableBucket")
            ]
        return _core.release_snapshots(self._handle, lease_id, positions)

    def list_remote_log_manifests(
        self, table_id: int, partition_id: int | None = None
    ) -> FlussFuture:
        partition = _partition(partition_id)
        return _core.remote_log_manifests(
            self._handle, number(table_id, "table_id"), partition, _rows
        )

    def get_file_system_security_token(self) -> FlussFuture:
        """What opens the cluster's remote files, a dict: scheme, token, expires_ms, properties."""
        return _core.file_system_token(self._handle, _token)

    # --- cluster ---

    def get_server_nodes(self) -> FlussFuture:
        """All servers, as `ServerNode`."""
        return _core.server_nodes(self._handle, _nodes)

    def get_cluster_health(self) -> FlussFuture:
        """Status and counts of replicas, a dict."""
        return _core.cluster_health(self._handle, lambda rows: _rows(rows)[0])

    def describe_cluster_configs(self) -> FlussFuture:
        """Settings of the cluster, as dicts."""
        return _core.cluster_configs(self._handle, _rows)

    def alter_cluster_configs(self, changes: Mapping[str, str | None]) -> FlussFuture:
        """Change settings of the cluster; None resets one."""
        return _core.alter_cluster_configs(self._handle, pairs(changes, "changes"))

    def create_acls(self, acls: Sequence[Mapping[str, str]]) -> FlussFuture:
        """Grant rights; dicts with resource_type ("TABLE"), resource ("db.t"), principal_type
        ("User", the default), principal, host ("*", the default), operation ("READ"), permission
        ("ALLOW", the default). A future of the same dicts, each with its `code`, 0 when made."""
        return _core.create_acls(self._handle, _acls(acls, "acls"), _rows)

    def list_acls(self, filter: Mapping[str, str] | None = None) -> FlussFuture:
        """The rights that fit a filter, a dict with some of those keys; all without one."""
        filters = [] if filter is None or not mapping(filter, "filter") else [filter]
        return _core.list_acls(self._handle, _acls(filters, "filter"), _rows)

    def drop_acls(self, filters: Sequence[Mapping[str, str]]) -> FlussFuture:
        """Take away the rights that fit one of the filters; a future of them."""
        return _core.drop_acls(self._handle, _acls(filters, "filters"), _rows)

    def add_server_tag(self, server_ids: Sequence[int], tag: int) -> FlussFuture:
        """Mark servers: 0 permanently, 1 temporarily offline."""
        return _core.add_server_tag(self._handle, *_tagged(server_ids, tag))

    def remove_server_tag(self, server_ids: Sequence[int], tag: int) -> FlussFuture:
        return _core.remove_server_tag(self._handle, *_tagged(server_ids, tag))

    def rebalance(self, goals: Sequence[int]) -> FlussFuture:
        """Spread buckets anew; a future of the rebalance's id."""
        wanted = numbers(goals, "goals")
        return _core.rebalance(self._handle, wanted, lambda rows: rows[0]["id"])

    def list_rebalance_progress(self, rebalance_id: str | None = None) -> FlussFuture:
        optional(rebalance_id, str, "rebalance_id")
        return _core.rebalance_progress(self._handle, rebalance_id, _rows)

    def cancel_rebalance(self, rebalance_id: str | None = None) -> FlussFuture:
        optional(rebalance_id, str, "rebalance_id")
        return _core.cancel_rebalance(self._handle, rebalance_id, None)

    def register_producer_offsets(
        self, producer_id: str, offsets: Mapping[TableBucket, int]
    ) -> FlussFuture:
        """Store offsets under a producer's name."""
        require(producer_id, str, "producer_id")
        positions = _positions(offsets, "offsets")
        return _core.set_producer_offsets(self._handle, producer_id, positions)

    def get_producer_offsets(self, producer_id: str) -> FlussFuture:
        require(producer_id, str, "producer_id")
        return _core.get_producer_offsets(self._handle, producer_id, _rows)

    def delete_producer_offsets(self, producer_id: str) -> FlussFuture:
        require(producer_id, str, "producer_id")
        return _core.delete_producer_offsets(self._handle, producer_id, None)

    def __repr__(self) -> str:
        return "FlussAdmin()"


def _token(found: Any) -> dict[str, Any]:
    rows = _rows(found)
    token = {name: rows[0][name] for name in ("scheme", "token", "expires_ms")}
    token["properties"] = {row["key"]: row["value"] for row in rows if row["key"] is not None}
    return token


def _partition(partition_id: int | None) -> int:
    return -1 if partition_id is None else natural(partition_id, "partition_id")


def _tagged(server_ids: Sequence[int], tag: int) -> tuple[list[int], int]:
    return numbers(server_ids, "server_ids"), number(tag, "tag", 32)


def _positions(offsets: Mapping[TableBucket, int], name: str) -> list[tuple[int, int, int, int]]:
    return [
        _position(bucket, number(offset, f"{name} value"), f"{name} key")
        for bucket, offset in mapping(offsets, name)
    ]


def _position(bucket: TableBucket, offset: int, name: str) -> tuple[int, int, int, int]:
    require(bucket, TableBucket, name)
    partition = -1 if bucket.partition_id is None else bucket.partition_id
    return (bucket.table_id, partition, bucket.bucket_id, offset)


def _acls(acls: Sequence[Mapping[str, str]], name: str) -> tuple:
    fields = (
        "resource_type",
        "resource",
        "principal_type",
        "principal",
        "host",
        "operation",
        "permission",
    )
    found = [dict(pairs(acl, f"{name} element")) for acl in several(acls, name, "dicts")]
    return tuple(tuple(acl.get(field) for field in fields) for acl in found)
