# SPDX-License-Identifier: Apache-2.0
"""Whatever pyfluss 1.0.0 offers, this package offers, signature by signature.

Goal: a program written for pyfluss runs unchanged. Method: the type stub in pyfluss' own source
package, fetched from the package index, is compared with what the package is at run time; and its
examples are type-checked against our stubs.
"""

import ast
import importlib.metadata
import inspect
import os
import subprocess
import sys
from pathlib import Path

import fluss
import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools"))
from peers import Missing, pyfluss_sources  # noqa: E402

# What only the type checker knows, or what Python itself gives each class.
NOT_COMPARED = {"__new__", "__str__", "__repr__", "__hash__", "__eq__"}


@pytest.fixture(scope="module")
def sources():
    """pyfluss' source package."""
    try:
        return pyfluss_sources()
    except Missing as why:
        pytest.skip(f"nothing to compare with: {why}")


def official_classes():
    """(name, ast) of each class of the official stub; none when it cannot be had."""
    try:
        stub = pyfluss_sources() / "fluss" / "__init__.pyi"
    except Missing:
        return []
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return [(node.name, node) for node in tree.body if isinstance(node, ast.ClassDef)]


CLASSES = official_classes()


def functions_of(node):
    """The functions of a class: of overloads the first, of properties the getter."""
    found = {}
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault(item.name, item)
    return found


def decorators(function):
    return {ast.unparse(one) for one in function.decorator_list}


def official_parameters(function):
    """[(name, kind, default or None)] without self."""
    arguments = function.args
    plain = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    found = [
        (one.arg, i < len(arguments.posonlyargs), None if d is None else ast.literal_eval(d), d)
        for i, (one, d) in enumerate(zip(plain, defaults))
    ]
    only = [
        (one.arg, "keyword", None if d is None else ast.literal_eval(d), d)
        for one, d in zip(arguments.kwonlyargs, arguments.kw_defaults)
    ]
    first = 1 if plain and plain[0].arg in ("self", "cls") else 0
    return found[first:], only


def complaints_of(where, function, ours):
    """How our callable differs from the official signature."""
    try:
        signature = inspect.signature(ours)
    except (TypeError, ValueError) as error:
        return [f"{where}: has no signature: {error}"]
    mine = [p for p in signature.parameters.values() if p.name != "self"]
    plain, only = official_parameters(function)
    found = []
    for i, (name, positional_only, default, has_default) in enumerate(plain):
        if i >= len(mine):
            found.append(f"{where}: lacks the parameter {name}")
            continue
        if not positional_only and mine[i].name != name:
            found.append(f"{where}: parameter {i} is {mine[i].name}, there it is {name}")
        if mine[i].kind is inspect.Parameter.KEYWORD_ONLY:
            found.append(f"{where}: {name} cannot be given by position")
        if has_default is not None and mine[i].default != default:
            found.append(f"{where}: {name} is by default {mine[i].default!r}, there {default!r}")
    for name, _, default, _ in only:
        parameter = signature.parameters.get(name)
        if parameter is None or parameter.default != default:
            found.append(f"{where}: {name}={default!r} differs: {parameter}")
    for parameter in mine[len(plain) :]:
        known = {name for name, *_ in only}
        is_optional = parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        )
        if parameter.name not in known and not is_optional:
            found.append(f"{where}: {parameter.name} must be given, there it does not exist")
    return found


def test_the_official_stub_is_compared(sources):
    names = {name for name, _ in CLASSES}
    assert len(names) > 30, sources
    assert {"FlussConnection", "LogScanner", "UpsertWriter", "Predicate"} <= names


@pytest.mark.parametrize(("name", "node"), CLASSES, ids=[name for name, _ in CLASSES])
def test_class_has_what_the_official_one_has(name, node):
    ours = getattr(fluss, name)
    found = []
    for member, function in functions_of(node).items():
        where = f"{name}.{member}"
        if member == "__new__":
            found += complaints_of(name, function, ours)
        if member in NOT_COMPARED:
            continue
        mine = inspect.getattr_static(ours, member, None)
        if mine is None:
            found.append(f"{where}: is not there")
        elif "property" in decorators(function):
            if not inspect.isdatadescriptor(mine):
                found.append(f"{where}: is no property")
        elif not member.startswith("__") or member in ("__enter__", "__exit__", "__aexit__"):
            found += complaints_of(where, function, getattr(ours, member))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("name", "node"), CLASSES, ids=[name for name, _ in CLASSES])
def test_constants_have_the_official_values(name, node):
    ours = getattr(fluss, name)
    declared = [i for i in node.body if isinstance(i, (ast.AnnAssign, ast.Assign))]
    for item in declared:
        target = (item.targets[0] if isinstance(item, ast.Assign) else item.target).id
        if issubclass(ours, Exception):
            continue  # attributes of instances
        assert hasattr(ours, target), f"{name}.{target} is not there"
        if item.value is not None:
            assert getattr(ours, target) == ast.literal_eval(item.value)


def test_module_has_the_official_functions_and_constants(sources):
    tree = ast.parse((sources / "fluss" / "__init__.pyi").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert complaints_of(node.name, node, getattr(fluss, node.name)) == []
        elif isinstance(node, ast.AnnAssign):
            assert hasattr(fluss, node.target.id), node.target.id
    assert fluss.EARLIEST_OFFSET == -2


@pytest.mark.parametrize(("name", "node"), CLASSES, ids=[name for name, _ in CLASSES])
def test_only_the_official_constructors_can_be_called(name, node):
    """What has no __new__ in the stub is made by the package alone."""
    if "__new__" in functions_of(node) or name in ("ErrorCode", "ChangeType", "ColumnRef"):
        return
    with pytest.raises(TypeError):
        getattr(fluss, name)()


SETTINGS = """
[mypy]
[mypy-pyarrow.*]
ignore_missing_imports = True
[mypy-pandas.*,mypy-polars.*]
ignore_missing_imports = True
follow_imports = skip
"""


TYPES = """
from typing import assert_type
import fluss

async def read(scanner: fluss.LogScanner, lookuper: fluss.Lookuper) -> None:
    for record in scanner:
        assert_type(record, fluss.ScanRecord | fluss.RecordBatch)
    async for record in scanner:
        assert_type(record, fluss.ScanRecord | fluss.RecordBatch)
    lookuper.lookup_many([(1,), {"id": 2}])
    lookuper.lookup_many(await scanner.to_arrow())
    lookuper.lookup_many(5)  # type: ignore[arg-type]
    lookuper.lookup(5)  # type: ignore[arg-type]
"""


def test_examples_of_pyfluss_type_check(sources, tmp_path):
    """A program that passes a type checker with pyfluss passes with this package, where reads have
    the types that they say."""
    package = tmp_path / "stubs" / "fluss"
    package.mkdir(parents=True)
    for stub in (TOP / "python" / "fluss").glob("*.pyi"):
        (package / stub.name).write_text(stub.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(SETTINGS, encoding="utf-8")
    examples = sorted((sources / "bindings" / "python" / "example").glob("*.py"))
    assert len(examples) >= 6
    examples.append(tmp_path / "types_of_reads.py")
    examples[-1].write_text(TYPES, encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--warn-unused-ignores",
            "--config-file",
            "mypy.ini",
            *map(str, examples),
        ],
        env=dict(os.environ, MYPYPATH=str(package.parent)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_version_is_that_of_the_distribution():
    try:
        assert importlib.metadata.version("libfluss") == fluss.__version__
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the build tree is no installed distribution")
