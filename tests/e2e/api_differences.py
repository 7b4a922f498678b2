# SPDX-License-Identifier: Apache-2.0
"""Where the official server answers a step of api_edges.ALL otherwise than ours, and why.

The official server is release 0.9.1; ours follows 1.0. (API, label): (its code and what it shows,
why); the label "*" stands for all steps of an API. tests/interop/api.py compares both servers with
this table; docs/api-coverage.md shows it.
"""

ABSENT = "no such API"
NEW = "new in 1.0"
DYNAMIC = "1.0 can change this setting at run time, and has a code for those that it can't"
STACK_TRACE = "1.0 has a code for it; 0.9.1 answers -1 with a stack trace"
CORRUPT = "damaged bytes are code 14; the official server answers -1 with a stack trace"
UNSTORED = "what is not stored is not acknowledged; the official server drops it and says success"
UNCHECKED = "the official server looks neither at length, magic nor checksum of a KV batch"
TARGETS = "target columns must be columns of the table, each once"
BELOW_ZERO = "a limit below 0 is a mistake; the official server takes it as it comes"

DIFFERENT = {
    ("ALTER_DATABASE", "*"): (ABSENT, NEW),
    ("SCAN_KV", "*"): (ABSENT, NEW),
    ("GET_CLUSTER_HEALTH", "*"): (ABSENT, NEW),
    ("LIST_REMOTE_LOG_MANIFESTS", "*"): (ABSENT, NEW),
    ("LIST_KV_SNAPSHOTS", "*"): (ABSENT, NEW),
    ("PUT_KV", "a damaged batch"): (
        (0, None),
        "a batch whose length is not that of its bytes is damaged; the official server takes it "
        "for an empty one",
    ),
    ("PUT_KV", "a log table"): (
        (-1, None),
        "a table without a primary key has its own code; the official server answers -1 with a "
        "stack trace",
    ),
    ("ACQUIRE_KV_SNAPSHOT_LEASE", "a snapshot that is not there"): (
        (0, []),
        "the answer names the snapshots that are gone; the official server does not look",
    ),
    ("ALTER_CLUSTER_CONFIGS", "not at run time"): ((-1, None), STACK_TRACE),
    ("ALTER_CLUSTER_CONFIGS", "no list"): ((-1, None), STACK_TRACE),
    ("ALTER_CLUSTER_CONFIGS", "not of its kind"): ((-1, None), STACK_TRACE),
    ("ALTER_CLUSTER_CONFIGS", "set"): ((-1, None), DYNAMIC),
    ("ALTER_CLUSTER_CONFIGS", "reset"): ((-1, None), DYNAMIC),
    ("DESCRIBE_CLUSTER_CONFIGS", "changed"): ((0, []), DYNAMIC),
    ("PRODUCE_LOG", "nothing"): ((0, None), UNSTORED),
    ("PRODUCE_LOG", "a cut header"): ((0, None), UNSTORED),
    ("PRODUCE_LOG", "a batch cut by one byte"): ((0, None), UNSTORED),
    ("PRODUCE_LOG", "a batch, then a cut header"): ((0, None), UNSTORED),
    ("PRODUCE_LOG", "a batch, then a cut one"): ((0, None), UNSTORED),
    ("PRODUCE_LOG", "an unknown magic"): ((-1, None), CORRUPT),
    ("PRODUCE_LOG", "offsets that go back"): (
        (-1, None),
        "no log goes back; the official server answers by what it finds at the older offset",
    ),
    ("PRODUCE_LOG", "to a primary-key table"): (
        (0, None),
        "the log of a primary-key table is its changelog, which only PUT_KV writes; the official "
        "server appends whatever it gets",
    ),
    ("FETCH_LOG", "fewer bytes than none"): ((-1, None), "a size below 0 counts as 0"),
    ("FETCH_LOG", "two batches and a half"): ((0, 300), "whole batches only, where one fits"),
    ("FETCH_LOG", "as a server that is none"): (
        (12, None),
        "there are no followers: whoever may read gets the same as a client",
    ),
    ("LIST_OFFSETS", "of an unknown kind"): ((0, None), "the kinds are 0 to 2"),
    ("PUT_KV", "nothing"): ((-1, None), CORRUPT),
    ("PUT_KV", "a cut header"): ((-1, None), CORRUPT),
    ("PUT_KV", "a batch cut by one byte"): ((-1, None), CORRUPT),
    ("PUT_KV", "two batches"): ((0, None), UNSTORED),
    ("PUT_KV", "a batch and more"): ((0, None), UNSTORED),
    ("PUT_KV", "an unknown magic"): ((0, None), UNCHECKED),
    ("PUT_KV", "a wrong checksum"): ((0, None), UNCHECKED),
    ("PUT_KV", "a key that is not that of its row"): (
        (0, None),
        "a row is stored under its own key; the official server believes the batch",
    ),
    ("PUT_KV", "a target column twice"): ((0, None), TARGETS),
    ("PUT_KV", "a target column that is not there"): ((0, None), TARGETS),
    ("PUT_KV", "a target column below 0"): ((-1, None), TARGETS),
    ("LOOKUP", "an insert of an empty key"): ((-1, None), CORRUPT),
    ("LOOKUP", "an insert of a key that is none"): (
        (0, None),
        "a key must be one of the table; the official server reads its first bytes",
    ),
    ("PREFIX_LOOKUP", "a log table without keys"): (
        (0, None),
        "a log table has no keys to look up",
    ),
    ("LIMIT_SCAN", "fewer rows than none"): ((0, None), BELOW_ZERO),
    ("LIMIT_SCAN", "a limit far below"): ((0, None), BELOW_ZERO),
    ("LIMIT_SCAN", "fewer rows of a log than none"): ((19, None), BELOW_ZERO),
}
