#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches nanoarrow's source package from the package index (hash checked) and unpacks nanoarrow and
# the FlatBuffers run time that it carries into subprojects/nanoarrow, with our build file laid over
# it. Does nothing when that is done already.
#
#   tools/unpack_nanoarrow.sh [PYTHON]   PYTHON: an interpreter with pip; default .venv's
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${1:-$top/.venv/bin/python}
target=$top/subprojects/nanoarrow
overlay=$top/subprojects/overlays/nanoarrow/meson.build
requirement=$top/tools/requirements-nanoarrow.txt

# pip asks a source package's build backend for the package's name and version, and that backend
# would compile the whole Python module to tell. This one in its place just tells.
stand_in_backend() {
    local name version
    name=$(sed 's/==.*//' "$requirement")
    version=$(sed 's/.*==\([^ ]*\).*/\1/' "$requirement")
    cat <<PY
import os

def prepare_metadata_for_build_wheel(directory, config_settings=None):
    folder = "$name-$version.dist-info"
    os.mkdir(os.path.join(directory, folder))
    with open(os.path.join(directory, folder, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: $name\\nVersion: $version\\n")
    return folder
PY
}

if ! cmp -s "$requirement" "$target/.unpacked"; then
    sdist=$top/.cache/nanoarrow
    if ! compgen -G "$sdist/nanoarrow-*.tar.gz" >/dev/null; then
        backend=$(mktemp -d)
        trap 'rm -rf "$backend"' EXIT
        stand_in_backend >"$backend/mesonpy.py"
        mkdir -p "$sdist"
        PYTHONPATH=$backend "$python" -m pip --disable-pip-version-check -q download --no-deps \
            --no-build-isolation --no-binary nanoarrow --require-hashes -r "$requirement" -d "$sdist"
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
