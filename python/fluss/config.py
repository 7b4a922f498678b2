# SPDX-License-Identifier: Apache-2.0
"""Settings of a connection."""

from __future__ import annotations

from collections.abc import Mapping

from . import _core
from ._arguments import integer, mapping, setting, shown
from ._typing import Any
from .errors import FlussError

PASSWORD = "security.sasl.password"

_RANGES = {
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u64": (0, 2**64 - 1),
}
# Property -> key and kind.
_PROPERTIES = {
    "bootstrap_servers": ("bootstrap.servers", "str"),
    "bootstrap_server": ("bootstrap.servers", "str"),
    "writer_request_max_size": ("writer.request-max-size", "i32"),
    "request_max_size": ("writer.request-max-size", "i32"),
    "writer_acks": ("writer.acks", "str"),
    "writer_retries": ("writer.retries", "i32"),
    "writer_batch_size": ("writer.batch-size", "i32"),
    "writer_dynamic_batch_size_enabled": ("writer.dynamic-batch-size.enabled", "bool"),
    "writer_dynamic_batch_size_min": ("writer.dynamic-batch-size-min", "i32"),
    "writer_batch_timeout_ms": ("writer.batch-timeout-ms", "i64"),
    "writer_bucket_no_key_assigner": ("writer.bucket.no-key-assigner", "str"),
    "writer_enable_idempotence": ("writer.enable-idempotence", "bool"),
    "writer_max_inflight_requests_per_bucket": (
        "writer.max-inflight-requests-per-bucket",
        "u64",
    ),
    "writer_buffer_memory_size": ("writer.buffer.memory-size", "u64"),
    "writer_buffer_wait_timeout_ms": ("writer.buffer.wait-timeout-ms", "u64"),
    "writer_kv_backpressure_max_throttle_ms": ("writer.kv-backpressure.max-throttle-ms", "u64"),
    "writer_partition_wait_timeout_ms": ("writer.partition-wait-timeout-ms", "u64"),
    "writer_dynamic_create_partition_enabled": (
        "writer.dynamic-create-partition.enabled",
        "bool",
    ),
    "scanner_remote_log_prefetch_num": ("scanner.remote-log.prefetch-num", "u64"),
    "scanner_remote_log_read_concurrency": ("scanner.remote-log.read-concurrency", "u64"),
    "remote_file_download_thread_num": ("remote-file.download-thread-num", "u64"),
    "scanner_log_max_poll_records": ("scanner.log.max-poll-records", "u64"),
    "scanner_log_fetch_max_bytes": ("scanner.log.fetch.max-bytes", "i32"),
    "scanner_log_fetch_max_bytes_for_bucket": ("scanner.log.fetch.max-bytes-for-bucket", "i32"),
    "scanner_log_fetch_min_bytes": ("scanner.log.fetch.min-bytes", "i32"),
    "scanner_log_fetch_wait_max_time_ms": ("scanner.log.fetch.wait-max-time-ms", "i32"),
    "scanner_log_check_crc": ("scanner.log.check-crc", "bool"),
    "connect_timeout_ms": ("connect-timeout", "u64"),
    "request_timeout_ms": ("request-timeout", "u64"),
    "lookup_queue_size": ("lookup.queue-size", "u64"),
    "lookup_max_batch_size": ("lookup.max-batch-size", "u64"),
    "lookup_batch_timeout_ms": ("lookup.batch-timeout-ms", "u64"),
    "lookup_max_inflight_requests": ("lookup.max-inflight-requests", "u64"),
    "lookup_max_retries": ("lookup.max-retries", "u64"),
    "client_id": ("client.id", "str"),
    "client_bucket_hash": ("client.bucket-hash", "str"),
    "security_protocol": ("security.protocol", "str"),
    "security_sasl_mechanism": ("security.sasl.mechanism", "str"),
    "security_sasl_username": ("security.sasl.username", "str"),
    "security_sasl_password": (PASSWORD, "str"),
}


def _form(key: str) -> str:
    """What all spellings of a key have in common; the C library compares keys the same way."""
    dotted = key.lower().replace("_", ".").replace("-", ".")
    return dotted.removeprefix("client.").removesuffix(".ms")


_KEYS = {_form(key): key for key in _core.config_keys()}
_OLDER = {"request.max.size": "writer.request-max-size", "bootstrap.server": "bootstrap.servers"}


def _hint(form: str) -> str:
    import difflib

    near = difflib.get_close_matches(form, _KEYS, 1)
    return f"; did you mean {_KEYS[near[0]]!r}?" if near else ""


def _canonical(key: str) -> str:
    """The official key for any accepted spelling."""
    if not isinstance(key, str):
        raise TypeError(f"keys of properties must be str, not {type(key).__name__}")
    form = _form(key)
    found = _KEYS.get(form) or _OLDER.get(form)
    if found is not None:
        return found
    raise FlussError(f"Unknown property: {key}{_hint(form)}")


def _text(key: str, value: object) -> str:
    return setting(value, f"value of {key!r}")


class Config:
    """Settings of a connection; what is not set has its default.

    Example:
        >>> Config({"bootstrap.servers": "127.0.0.1:9123"}).writer_acks
        'all'
    """

    __slots__ = ("_values", "_handle")

    def __init__(self, properties: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, str] = {}
        self._handle = None
        for key, value in mapping({} if properties is None else properties, "properties"):
            name = _canonical(key)
            self._values[name] = _text(key, value)
        self._open()

    def _open(self, **overrides: str) -> Any:
        """The settings as a handle of the C library; refuses values that it cannot read."""
        return _core.new_config([*self._values.items(), *overrides.items()])

    def _get(self, key: str) -> str:
        if key == PASSWORD:
            return self._values.get(key, "")
        if self._handle is None:
            self._handle = self._open()
        return _core.config_get(self._handle, key) or ""

    def _set(self, key: str, value: str, is_number: bool) -> None:
        before = dict(self._values)
        self._values[key] = value
        self._handle = None
        try:
            self._open()
        except FlussError:
            # A number out of range is refused when a connection is made, as ever; a word at once.
            if not is_number:
                self._values = before
                raise

    def _number(self, key: str) -> int:
        set_here = self._values.get(key, "")
        if set_here.lstrip("-").isdigit():
            return int(set_here)
        return int(self._get(key))

    def __repr__(self) -> str:
        shown = {key: "***" if key == PASSWORD else text for key, text in self._values.items()}
        return f"Config({shown!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        kept = {key: text for key, text in self._values.items() if key != PASSWORD}
        return Config, (kept,)


def _text_property(key: str) -> property:
    def get(self: Config) -> str:
        return self._get(key)

    def put(self: Config, value: str) -> None:
        if not issubclass(type(value), str):
            raise TypeError(f"{key} must be str, not {type(value).__name__}")
        self._set(key, _text(key, value), is_number=False)

    return property(get, put)


def _bool_property(key: str) -> property:
    def get(self: Config) -> bool:
        return self._get(key) == "true"

    def put(self: Config, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"{key} must be bool, not {type(value).__name__}")
        self._set(key, _text(key, value), is_number=False)

    return property(get, put)


def _int_property(key: str, kind: str) -> property:
    lowest, highest = _RANGES[kind]

    def get(self: Config) -> int:
        return self._number(key)

    def put(self: Config, value: int) -> None:
        given = integer(value, key)
        if not lowest <= given <= highest:
            raise OverflowError(f"{key}: {shown(given)} is not within {lowest} and {highest}")
        self._set(key, str(given), is_number=True)

    return property(get, put)


for _attribute, (_key, _kind) in _PROPERTIES.items():
    if _kind == "str":
        _made = _text_property(_key)
    elif _kind == "bool":
        _made = _bool_property(_key)
    else:
        _made = _int_property(_key, _kind)
    setattr(Config, _attribute, _made)
