# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts where: enough to build and run a program, with one pkg-config line.

Goal: a program of twenty lines compiles and runs against the installed tree alone, linked with the
shared library and with the archive; nothing but fluss_* is global in either; each public function
has a man page; the tools that compare the ABI and the comments see what is broken.
Method: the build is installed below a folder; compilers see only that folder.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import capi
from peers import BUILD

ABI_TOOL = Path(capi.__file__).with_name("abi")

PROGRAM = r"""
#include <fluss/fluss.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    fluss_error_t err = {0};
    fluss_conn_t *conn = NULL;
    fluss_result_t *databases = NULL;
    fluss_config_t *config = fluss_config_new();
    fluss_code_t rc = fluss_config_set(config, "bootstrap.servers", argc > 1 ? argv[1] : "", &err);
    if (rc == 0 && (rc = fluss_await_conn(fluss_connect(config), 10000, &conn, &err)) == 0) {
        rc = fluss_await_result(fluss_list_databases(conn), 10000, &databases, &err);
    }
    for (size_t i = 0; i < fluss_result_rows(databases); i++) {
        printf("%s\n", fluss_result_str(databases, i, "name"));
    }
    fprintf(stderr, "%s", rc != 0 ? err.message : "");
    fluss_result_free(databases);
    fluss_conn_free(conn);
    fluss_config_free(config);
    return rc != 0;
}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that stands for the prefix."""
    if not (BUILD / "build.ninja").exists():
        pytest.skip("no meson build to install")
    stage = tmp_path_factory.mktemp("stage")
    command = ["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", stage]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = stage.rglob("fluss.pc")
    return Path(str(stage) + prefix_in(found))


def prefix_in(pc_file):
    return re.search(r"^prefix=(.*)$", pc_file.read_text(), re.M).group(1)


def pkg_config(installed, *arguments):
    """pkg-config that finds what was installed, as if it lay at its prefix."""
    (found,) = installed.rglob("fluss.pc")
    path = f"{found.parent}:{os.environ.get('PKG_CONFIG_PATH', '')}"
    command = ["pkg-config", f"--define-variable=prefix={installed}", *arguments]
    env = {**os.environ, "PKG_CONFIG_PATH": path}
    return subprocess.run(
        command, env=env, check=True, capture_output=True, text=True
    ).stdout.split()


@pytest.mark.parametrize("package", ["fluss", "fluss-static"])
def test_program_of_twenty_lines_builds_with_one_pkg_config_line(installed, tmp_path, package):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    flags = pkg_config(installed, "--cflags", "--libs", package)
    warnings = ["-Wall", "-Wextra", "-Werror", "-std=c11"]
    subprocess.run(["gcc", *warnings, source, *flags, "-o", program], check=True)
    needs_library = (
        "libfluss.so"
        in subprocess.run(
            ["readelf", "-d", program], capture_output=True, text=True, check=True
        ).stdout
    )
    assert needs_library == (package == "fluss")
    (library,) = installed.rglob("libfluss.so.1")
    done = subprocess.run(
        [program, f"embedded:{tmp_path}/data"],
        env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fluss\n", "")


def test_only_the_public_names_are_global(installed):
    for name, arguments in (("libfluss.so.1", ["-D"]), ("libfluss.a", ["-g"])):
        (library,) = installed.rglob(name)
        listing = subprocess.run(
            ["nm", *arguments, "--defined-only", library],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        names = [
            line.split()[2].partition("@")[0]
            for line in listing.splitlines()
            if len(line.split()) == 3 and line.split()[1] != "A"
        ]
        assert len(names) > 100
        assert [text for text in names if not text.startswith("fluss_")] == []


def test_every_function_has_a_man_page(installed):
    pages = {path.name for path in installed.rglob("man3/*.3")}
    functions = {f"{function.name}.3" for function in capi.read_api().functions}
    assert functions <= pages
    if shutil.which("groff"):
        for name in ("fluss.3", "fluss_admin.3", "fluss_scan.3", "fluss_types.3"):
            (page,) = installed.rglob(f"man3/{name}")
            command = ["groff", "-man", "-Tascii", "-ww", "-z", page]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.stderr.replace("\n", "") == "" or "cannot" in done.stderr


# --- the tools that guard the interface ---


def test_function_without_its_facts_is_named(tmp_path):
    (tmp_path / "fluss_codes.def").write_text("")
    (tmp_path / "bad.h").write_text(
        "/**\n * Do it.\n *\n * Thread: any.\n */\n"
        "FLUSS_API fluss_code_t fluss_bad(fluss_conn_t *conn, size_t n, fluss_row_t **out);\n"
        "FLUSS_API void fluss_bad_free(fluss_conn_t *conn);\n"
    )
    complaints = "\n".join(capi.lint(capi.read_api(tmp_path)))
    for expected in ("'n'", "'out'", "returns", "'Source:'", "fluss_bad_free has no comment"):
        assert expected in complaints


def test_interface_that_changes_is_told_from_one_that_grows():
    abi = runpy.run_path(str(ABI_TOOL))
    recorded = {"symbol f": "V1", "member o.size": "at 0, size 8", "struct o": "size 16"}
    broken, new = abi["compare"](
        recorded, {"symbol g": "V1", "member o.size": "at 0, size 8", "struct o": "size 24"}
    )
    assert broken == ["symbol f is gone"]
    assert new == ["struct o: was 'size 16', is 'size 24'", "symbol g is new"]
    broken, _ = abi["compare"]({"struct p": "size 16"}, {"struct p": "size 24"})
    assert broken == ["struct p: was 'size 16', is 'size 24'"]
