#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches nanoarrow's source package from the package index (hash checked) and unpacks nanoarrow and the FlatBuffers run time that it
# carries into subprojects/nanoarrow, with our build file laid over it. Does nothing when that is done already.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$top/.venv/bin
target=$top/subprojects/nanoarrow
overlay=$top/subprojects/overlays/nanoarrow/meson.build
requirement=$top/tools/requirements-nanoarrow.txt

if ! cmp -s "$requirement" "$target/.unpacked"; then
    sdist=$top/.cache/nanoarrow
    if ! compgen -G "$sdist/nanoarrow-*.tar.gz" >/dev/null; then
        mkdir -p "$sdist"
        PATH=$bin:$PATH "$bin/python" -m pip --disable-pip-version-check -q download --no-deps --no-build-isolation \
            --no-binary nanoarrow --require-hashes -r "$requirement" -d "$sdist"
    fi
    rm -rf "$target"
    mkdir -p "$target/flatcc"
    tar -xzf "$sdist"/nanoarrow-*.tar.gz -C "$target" --strip-components=3 --wildcards \
        'nanoarrow-*/subprojects/arrow-nanoarrow/src'
    tar -xzf "$sdist"/nanoarrow-*.tar.gz -C "$target/flatcc" --strip-components=3 --wildcards \
        'nanoarrow-*/subprojects/flatcc-*/src/runtime' 'nanoarrow-*/subprojects/flatcc-*/include' \
        'nanoarrow-*/subprojects/flatcc-*/LICENSE'
    cp "$requirement" "$target/.unpacked"
fi
# Copied only when it differs, since a new time stamp makes meson configure again.
cmp -s "$overlay" "$target/meson.build" || cp "$overlay" "$target/meson.build"
