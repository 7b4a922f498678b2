# SPDX-License-Identifier: Apache-2.0
"""Schemas, descriptors of tables to be made, and information about tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import _arrow, _core
from ._arguments import number, optional, plain, require_plain, settings, texts
from ._types import spell
from ._typing import Any
from .errors import FlussError
from .values import TablePath, _Answer, require


def names_of(names: Sequence[str] | None, argument: str) -> list[str] | None:
    """A list of str; a lone str is no sequence of names."""
    return None if names is None else texts(names, argument)


class Schema:
    """Columns of a table, its primary key, and the column that the server numbers.

    Args:
        schema: a pyarrow.Schema, or anything with `__arrow_c_schema__`; a field's metadata
            `comment` becomes the column's comment.
        primary_keys: names, in key order; these columns become NOT NULL.
        auto_increment_column: an INT or BIGINT column of a table with a primary key.
    """

    __slots__ = ("_columns", "_keys", "_auto", "_handle")

    def __init__(
        self,
        schema: Any,
        primary_keys: Sequence[str] | None = None,
        auto_increment_column: str | None = None,
    ) -> None:
        if not hasattr(schema, "__arrow_c_schema__"):
            raise FlussError(f"schema must be a pyarrow.Schema, not {type(schema).__name__}")
        keys = names_of(primary_keys, "primary_keys")
        optional(auto_increment_column, str, "auto_increment_column")
        _arrow.require_plain_names(schema, "schema")
        try:
            plain = _core.schema_from_arrow(schema.__arrow_c_schema__())
            columns = _core.describe_schema(plain)[0]
            comments = _comments(schema, len(columns))
            made = tuple((name, type_, comments[i]) for i, (name, type_, _) in enumerate(columns))
            self._handle = _core.new_schema(made, keys or None, auto_increment_column)
        except FlussError as error:
            text = f"Failed to build schema: {error.message}"
            raise FlussError(text) from None
        self._columns, self._keys, self._auto = _core.describe_schema(self._handle)

    @staticmethod
    def from_text(
        text: str,
        primary_keys: Sequence[str] | None = None,
        auto_increment_column: str | None = None,
    ) -> Schema:
        """A schema in words: columns as in SQL, and `PRIMARY KEY (...)` where there is one.

        Example:
            >>> Schema.from_text("id INT NOT NULL, name STRING COMMENT 'who', PRIMARY KEY (id)")
            Schema: columns=[("id", "int NOT NULL"), ("name", "string")], primary_keys=['id']
        """
        from ._type_texts import parse_columns

        require(text, str, "text")
        keys = names_of(primary_keys, "primary_keys")
        optional(auto_increment_column, str, "auto_increment_column")
        try:
            columns, key = parse_columns(text)
            if key and keys:
                raise FlussError("the primary key is given in the text and as primary_keys")
            handle = _core.new_schema(tuple(columns), key or keys or None, auto_increment_column)
        except FlussError as error:
            text = f"Failed to build schema: {error.message}"
            raise FlussError(text) from None
        made = Schema._of_parts(_core.describe_schema(handle))
        made._handle = handle
        return made

    @classmethod
    def _of_parts(cls, parts: tuple) -> Schema:
        made = object.__new__(cls)
        made._columns, made._keys, made._auto = parts
        made._handle = None
        return made

    def _open(self) -> Any:
        if self._handle is None:
            columns = tuple(tuple(column) for column in self._columns)
            self._handle = _core.new_schema(columns, self._keys or None, self._auto)
        return self._handle

    def _trees(self) -> dict[str, tuple]:
        """The type of each column, as a tree."""
        from ._type_texts import parse

        return {name: parse(type_) for name, type_, _ in self._columns}

    def get_column_names(self) -> list[str]:
        return [name for name, _, _ in self._columns]

    def get_column_types(self) -> list[str]:
        """Types in lower case, "int NOT NULL"."""
        return [spell(tree) for tree in self._trees().values()]

    def get_columns(self) -> list[tuple[str, str]]:
        return list(zip(self.get_column_names(), self.get_column_types()))

    def get_column_comments(self) -> list[str | None]:
        return [comment for _, _, comment in self._columns]

    def get_primary_keys(self) -> list[str]:
        return list(self._keys)

    def get_auto_increment_columns(self) -> list[str]:
        return [self._auto] if self._auto else []

    def to_arrow(self) -> Any:
        """The columns as a pyarrow.Schema."""
        return _arrow.to_schema(_core.schema_to_arrow(self._open()))

    def __arrow_c_schema__(self) -> Any:
        return _core.schema_to_arrow(self._open())

    def _parts(self) -> tuple:
        return ([tuple(column) for column in self._columns], list(self._keys), self._auto)

    def __str__(self) -> str:
        columns = ", ".join(f'("{name}", "{type_}")' for name, type_ in self.get_columns())
        key = f", primary_keys={self._keys}" if self._keys else ""
        return f"Schema: columns=[{columns}]{key}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((tuple(map(tuple, self._columns)), tuple(self._keys), self._auto))

    def __reduce__(self):
        return Schema._of_parts, (self._parts(),)


def _comments(schema: Any, count: int) -> list[str | None]:
    """Comments from the metadata of a pyarrow schema's fields."""
    found: list[str | None] = [None] * count
    for i in range(count):
        metadata = schema.field(i).metadata if hasattr(schema, "field") else None
        comment = (metadata or {}).get(b"comment")
        if comment is not None:
            found[i] = require_plain(
                comment.decode(), f"comment of column {schema.field(i).name!r}"
            )
    return found


_FORMATS = {"log_format": ("arrow", "indexed", "compacted"), "kv_format": ("indexed", "compacted")}


def _format(argument: str, value: str | None) -> str | None:
    if value is None:
        return None
    require(value, str, argument)
    name = plain(value)
    if name.lower() not in _FORMATS[argument]:
        known = ", ".join(_FORMATS[argument])
        raise FlussError(f"Unknown {argument} {name!r}: expected one of {known}")
    return name.upper()


class TableDescriptor:
    """What a table to be made is, besides its schema. Arguments but `schema` are keywords.

    Args:
        partition_keys, bucket_keys: column names.
        bucket_count: how many buckets; the server's default when absent.
        log_format: "arrow" (default), "indexed" or "compacted"; kv_format: "compacted" (default)
            or "indexed".
        properties: settings of the table, `table.*`; custom_properties: the user's own.
    """

    __slots__ = ("_schema", "_arguments", "_handle")

    def __init__(
        self,
        schema: Schema,
        *,
        partition_keys: Sequence[str] | None = None,
        bucket_count: int | None = None,
        bucket_keys: Sequence[str] | None = None,
        comment: str | None = None,
        log_format: str | None = None,
        kv_format: str | None = None,
        properties: Mapping[str, Any] | None = None,
        custom_properties: Mapping[str, Any] | None = None,
    ) -> None:
        require(schema, Schema, "schema")
        if bucket_count is not None:
            bucket_count = number(bucket_count, "bucket_count", 32)
            if bucket_count < 1:
                raise FlussError(f"bucket_count must be at least 1, not {bucket_count}")
        if comment is not None:
            require(comment, str, "comment")
        self._schema = schema
        self._arguments = (
            names_of(partition_keys, "partition_keys"),
            names_of(bucket_keys, "bucket_keys"),
            bucket_count or 0,
            comment,
            _format("log_format", log_format),
            _format("kv_format", kv_format),
            settings({} if properties is None else properties, "properties"),
            settings({} if custom_properties is None else custom_properties, "custom_properties"),
        )
        try:
            self._handle = _core.new_descriptor(schema._open(), *self._arguments)
        except FlussError as error:
            raise FlussError(f"Failed to build TableDescriptor: {error.message}") from None

    @classmethod
    def _of(cls, schema: Schema, arguments: tuple) -> TableDescriptor:
        made = object.__new__(cls)
        made._schema, made._arguments = schema, arguments
        made._handle = _core.new_descriptor(schema._open(), *arguments)
        return made

    def get_schema(self) -> Schema:
        return self._schema

    def __repr__(self) -> str:
        return f"TableDescriptor({self._schema!r}, bucket_count={self._arguments[2] or None})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableDescriptor):
            return False
        return (self._schema, self._arguments) == (other._schema, other._arguments)

    def __hash__(self) -> int:
        return hash((self._schema, repr(self._arguments)))

    def __reduce__(self):
        return TableDescriptor._of, (self._schema, self._arguments)


class TableInfo(_Answer):
    """What was known of a table when it was asked for."""

    __slots__ = ("_info", "_schema")

    @classmethod
    def _of(cls, info: dict) -> TableInfo:
        return cls._make(_info=info, _schema=Schema._of_parts(info["schema"]))

    @property
    def table_id(self) -> int:
        return self._info["table_id"]

    @property
    def schema_id(self) -> int:
        return self._info["schema_id"]

    @property
    def created_time(self) -> int:
        """Milliseconds since 1970."""
        return self._info["created_ms"]

    @property
    def modified_time(self) -> int:
        return self._info["modified_ms"]

    @property
    def table_path(self) -> TablePath:
        return TablePath(self._info["database"], self._info["table"])

    @property
    def num_buckets(self) -> int:
        return self._info["buckets"]

    @property
    def comment(self) -> str | None:
        return self._info["comment"]

    def get_primary_keys(self) -> list[str]:
        return list(self._info["primary_keys"])

    def get_bucket_keys(self) -> list[str]:
        return list(self._info["bucket_keys"])

    def get_partition_keys(self) -> list[str]:
        return list(self._info["partition_keys"])

    def has_primary_key(self) -> bool:
        return bool(self._info["primary_keys"])

    def is_partitioned(self) -> bool:
        return bool(self._info["partition_keys"])

    def get_properties(self) -> dict[str, str]:
        return dict(self._info["properties"])

    def get_custom_properties(self) -> dict[str, str]:
        return dict(self._info["custom"])

    def get_schema(self) -> Schema:
        return self._schema

    def get_column_names(self) -> list[str]:
        return self._schema.get_column_names()

    def get_column_count(self) -> int:
        return len(self._schema.get_column_names())

    def __repr__(self) -> str:
        path = self.table_path.table_path_str()
        return f"TableInfo(path={path}, table_id={self.table_id}, num_buckets={self.num_buckets})"
