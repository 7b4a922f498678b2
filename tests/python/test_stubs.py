# SPDX-License-Identifier: Apache-2.0
"""The type stubs of the package say what the package is: mypy's stubtest compares them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

STUBS = Path(__file__).resolve().parents[2] / "python" / "fluss"
SETTINGS = """
[mypy]
[mypy-pyarrow.*]
ignore_missing_imports = True
[mypy-pandas.*,mypy-polars.*]
ignore_missing_imports = True
follow_imports = skip
"""


def test_stub_and_package_agree(tmp_path):
    package = tmp_path / "stubs" / "fluss"
    package.mkdir(parents=True)
    for stub in STUBS.glob("*.pyi"):
        shutil.copy(stub, package)
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS, encoding="utf-8")
    done = subprocess.run(
        [
            *[sys.executable, "-m", "mypy.stubtest", "fluss", "--concise"],
            *["--ignore-missing-stub", "--mypy-config-file", str(settings)],
        ],
        env=dict(os.environ, MYPYPATH=str(package.parent)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
