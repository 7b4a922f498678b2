# SPDX-License-Identifier: Apache-2.0
"""Offsets of readers, kept by name in a primary-key table beside the tables that are read.

    fluss_committed_offsets
        reader, table_id, partition_id, bucket   the key; partition -1 is none
        table_name, log_offset, committed_at     what is kept of it

The protocol has no committed offsets of readers, so that an ordinary table keeps them on every
server. All offsets of one commit are one batch of its only bucket: they are kept together or not at
all. A table that was dropped and made again has another id, and so no offsets yet.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from ._typing import Any
from .errors import ErrorCode, FlussError
from .schema import Schema, TableDescriptor
from .values import TableBucket, TablePath, make_bucket

TABLE_NAME = "fluss_committed_offsets"

_COLUMNS = (
    "reader STRING COMMENT 'the name that was committed', table_id BIGINT, "
    "partition_id BIGINT COMMENT '-1: none', bucket INT, table_name STRING, "
    "log_offset BIGINT COMMENT 'of the next row to read', committed_at TIMESTAMP_LTZ(3), "
    "PRIMARY KEY (reader, table_id, partition_id, bucket)"
)
_GONE = (ErrorCode.TABLE_NOT_EXIST, ErrorCode.UNKNOWN_TABLE_OR_BUCKET_EXCEPTION)


class OffsetStore:
    """The offsets of the readers of one table. Every call waits."""

    def __init__(self, read: Any) -> None:
        """
        Args:
            read: the FlussTable whose readers these are.
        """
        self._info = read.get_table_info()
        self._connection = read._connection
        self._path = TablePath(self._info.table_path.database_name, TABLE_NAME)
        self._table: Any = None

    def save(self, reader: str, offsets: Mapping[TableBucket, int]) -> None:
        """Keep offsets; the table that does so is made when it is not there."""
        if not offsets:
            return

        def write() -> None:
            upserts = self._open(create=True).new_upsert().create_writer()
            upserts.write_arrow_batch(self._rows(reader, offsets)).wait().result()

        self._try("commit", reader, write)

    def load(self, reader: str) -> dict[TableBucket, int]:
        """What was kept last, of every bucket."""

        def read() -> dict[TableBucket, int]:
            return {
                make_bucket(row["table_id"], row["partition_id"], row["bucket"]): row["log_offset"]
                for row in self._rows_of(reader)
                if row["table_id"] == self._info.table_id
            }

        return self._try("read", reader, read)

    def delete(self, reader: str) -> None:
        """Forget a name, also what it committed of dropped tables that were called the same."""

        def remove() -> None:
            name = self._info.table_path.table_name
            rows = [
                {key: row[key] for key in self._table.get_table_info().get_primary_keys()}
                for row in self._rows_of(reader)
                if row["table_id"] == self._info.table_id or row["table_name"] == name
            ]
            deletes = self._table.new_upsert().create_writer() if rows else None
            for handle in [deletes.delete(row) for row in rows]:
                handle.wait().result()

        self._try("delete", reader, remove)

    # --- the table ---

    def _open(self, create: bool) -> Any:
        """The table of offsets; None when there is none and none is to be made."""
        if self._table is not None:
            return self._table
        try:
            table = self._connection.get_table(self._path).result()
        except FlussError as error:
            if error.error_code != ErrorCode.TABLE_NOT_EXIST:
                raise
            if not create:
                return None
            descriptor = TableDescriptor(
                Schema.from_text(_COLUMNS),
                bucket_count=1,
                bucket_keys=["reader"],
                comment="offsets that readers of this database's tables have committed",
                properties={"table.log.ttl": "1d"},  # of changes; the offsets themselves stay
            )
            self._connection.get_admin().create_table(self._path, descriptor, True).result()
            table = self._connection.get_table(self._path).result()
        wanted = Schema.from_text(_COLUMNS).get_columns()
        found = table.get_table_info().get_schema()
        if found.get_columns() != wanted or not table.has_primary_key():
            raise FlussError(f"{self._path} is no table of committed offsets: {found}")
        self._table = table
        return table

    def _rows_of(self, reader: str) -> list[dict[str, Any]]:
        table = self._open(create=False)
        if table is None:
            return []
        lookup = table.new_lookup().lookup_by(["reader"]).create_lookuper()
        return lookup.lookup({"reader": reader}).result()

    def _rows(self, reader: str, offsets: Mapping[TableBucket, int]) -> Any:
        import pyarrow

        now = datetime.datetime.now(datetime.timezone.utc)
        name = self._info.table_path.table_name
        rows = [
            {
                "reader": reader,
                "table_id": bucket.table_id,
                "partition_id": -1 if bucket.partition_id is None else bucket.partition_id,
                "bucket": bucket.bucket_id,
                "table_name": name,
                "log_offset": offset,
                "committed_at": now.replace(microsecond=now.microsecond // 1000 * 1000),
            }
            for bucket, offset in offsets.items()
        ]
        return pyarrow.RecordBatch.from_pylist(rows, self._table.arrow_schema)

    def _try(self, what: str, reader: str, work: Any) -> Any:
        """Do it, once more when the table was dropped and made again meanwhile."""
        try:
            try:
                return work()
            except FlussError as error:
                if self._table is None or error.error_code not in _GONE:
                    raise
                self._table = None
                return work()
        except FlussError as error:
            self._table = None
            raise FlussError(self._told(what, reader, error), error.error_code) from error

    def _told(self, what: str, reader: str, error: FlussError) -> str:
        text = f"cannot {what} the offsets of {reader!r} in {self._path}: {error.message}"
        if error.error_code == ErrorCode.AUTHORIZATION_EXCEPTION:
            text += (
                f"; committing needs READ and WRITE on {self._path}, and CREATE on "
                f"database {self._path.database_name} as long as it is not there"
            )
        return text
