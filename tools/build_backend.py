# SPDX-License-Identifier: Apache-2.0
"""The build backend of `pip install .`: meson-python, once the nanoarrow sources are there.

They are not in the repository; tools/unpack_nanoarrow.sh fetches them by pip, hash checked."""

import os
import subprocess
import sys
from pathlib import Path

import mesonpy
from mesonpy import (  # noqa: F401 - these are the backend's, as they are
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build a wheel."""
    _prepare()
    return mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Build a wheel that imports from this folder, and builds what has changed when it does."""
    if not Path(mesonpy.__file__).is_relative_to(sys.prefix):
        # Each import builds, with tools that pip's own environment would have taken along.
        sys.exit(
            "libfluss: an editable install needs its build tools to stay. Do this instead:\n"
            '    pip install "meson-python>=0.18" "meson>=1.3" ninja\n'
            "    pip install --no-build-isolation -e ."
        )
    _prepare()
    return mesonpy.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    """Build a source archive: what is committed, without nanoarrow."""
    _prepare()
    return mesonpy.build_sdist(sdist_directory, config_settings)


def _prepare():
    # meson and ninja of an environment that was not activated.
    os.environ["PATH"] += os.pathsep + os.path.dirname(sys.executable)
    script = Path(__file__).resolve().parent / "unpack_nanoarrow.sh"
    # pip says by these variables where this backend is; the pip inside has another one to ask.
    ours = ("_PYPROJECT_HOOKS_", "PEP517_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    subprocess.run([str(script), sys.executable], check=True, env=environment)
