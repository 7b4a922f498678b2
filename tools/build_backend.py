# SPDX-License-Identifier: Apache-2.0
"""The build backend of `pip install .`: meson-python, once the nanoarrow sources are there.

They are not in the repository; tools/unpack_nanoarrow.sh fetches them by pip, hash checked."""

import os
import subprocess
import sys
from pathlib import Path

import mesonpy
from mesonpy import (  # noqa: F401 - these are the backend's, as they are
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build a wheel."""
    script = Path(__file__).resolve().parent / "unpack_nanoarrow.sh"
    # pip says by these variables where this backend is; the pip inside has another one to ask.
    ours = ("_PYPROJECT_HOOKS_", "PEP517_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    subprocess.run([str(script), sys.executable], check=True, env=environment)
    return mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)
