# SPDX-License-Identifier: Apache-2.0
"""Where the official server answers a step of api_script.py otherwise than ours, and why.

The official server is release 0.9.1; ours follows 1.0. (API, label): (its code and what it shows,
why); the label "*" stands for all steps of an API. tests/interop/api.py compares both servers with
this table; docs/api-coverage.md shows it.
"""

ABSENT = "no such API"
NEW = "new in 1.0"
DYNAMIC = "1.0 can change this setting at run time, and has a code for those that it can't"
STACK_TRACE = "1.0 has a code for it; 0.9.1 answers -1 with a stack trace"

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
}
