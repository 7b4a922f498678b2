# SPDX-License-Identifier: Apache-2.0
"""The public C API as its headers declare it: functions, structs, enumerators, macros, comments.

The headers are written in one plain style (clang-format, one declaration a statement), so a few
patterns read them; whatever a pattern does not know makes `read_api` fail rather than be missed.
Man pages, the recorded ABI, the calls with NULL and the check of comments are made from this.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
INCLUDE = TOP / "include" / "fluss"
# Arguments whose meaning their type and the rules at the top of fluss.h say in full.
SELF_EVIDENT = {"err"}
HANDLE = re.compile(r"^(const )?fluss_(\w+)_t \*$")


@dataclass
class Parameter:
    type: str
    name: str

    def text(self):
        if "(*)" in self.type:
            return self.type.replace("(*)", f"(*{self.name})")
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass
class Comment:
    summary: str = ""  # all paragraphs before the first @
    parameters: dict = field(default_factory=dict)
    returns: str = ""
    notes: dict = field(default_factory=dict)  # Thread, Cost, Source


@dataclass
class Function:
    name: str
    returns: str
    parameters: list
    comment: Comment
    section: str
    header: str
    inline: bool

    def prototype(self):
        arguments = ", ".join(p.text() for p in self.parameters) or "void"
        space = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{space}{self.name}({arguments})"

    def is_release(self):
        return self.name.endswith("_free")


@dataclass
class Struct:
    name: str
    members: list  # names, those of anonymous unions left out
    body: str
    header: str


@dataclass
class Api:
    functions: list
    structs: list
    enums: dict  # name, or "" for an anonymous one's members -> enumerators
    macros: list
    handles: list


def tidy_space(text):
    return re.sub(r"\s+", " ", text).strip()


def parse_comment(text):
    """A documentation comment, in the order: summary, @param, @return, Thread, Cost, Source."""
    text = re.sub(r"^/\*\*|\*/$", "", text.strip())
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in text.splitlines()]
    comment = Comment()
    kind, name, parts = "summary", "", []

    def finish():
        body = tidy_space(" ".join(parts))
        if kind == "summary":
            comment.summary = body
        elif kind == "param":
            comment.parameters.update((each, body) for each in name.split(", "))
        elif kind == "return":
            comment.returns = body
        else:
            found = re.split(r"(?:^|(?<=\.) )(Thread|Cost|Source): ", body)
            for label, value in zip(found[1::2], found[2::2]):
                comment.notes[label] = value.rstrip(".")

    for line in lines:
        start = re.match(r"\s*@(param|return)\s*(.*)", line)
        note = re.match(r"\s*(Thread|Cost|Source): ", line)
        if start or (note and kind != "note"):
            finish()
            parts = []
        if start and start.group(1) == "param":
            kind, (name, rest) = "param", re.match(r"(\w+(?:, \w+)*)\s*(.*)", start[2]).groups()
            parts = [rest]
        elif start:
            kind, parts = "return", [start.group(2)]
        else:
            kind = "note" if note else kind
            parts.append(line)
    finish()
    return comment


def split_arguments(text):
    depth, start, found = 0, 0, []
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append(text[start:position])
            start = position + 1
    found.append(text[start:])
    return [tidy_space(argument) for argument in found]


def parse_parameters(text):
    parameters = []
    for argument in split_arguments(text):
        pointer = re.match(r"(.*\(\*)(\w+)(\).*)$", argument)
        plain = re.match(r"(.*?[\s*])(\w+)$", argument)
        if argument == "void":
            continue
        if pointer:
            parameters.append(Parameter(pointer.group(1) + pointer.group(3), pointer.group(2)))
        elif plain:
            parameters.append(Parameter(plain.group(1).strip(), plain.group(2)))
        else:
            raise ValueError(f"unreadable parameter '{argument}'")
    return parameters


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


FUNCTION = re.compile(
    r"(?P<comment>/\*\*(?:(?!\*/).)*\*/\n)?"
    r"(?P<kind>FLUSS_API|static inline) (?P<returns>[^;{(]*?[\s*])(?P<name>fluss_\w+)"
    r"\((?P<parameters>(?:[^()]|\([^()]*\))*)\)\s*(?:;|\{)",
    re.DOTALL,
)


def read_functions(text, header):
    sections = [(m.start(), m.group(1)) for m in re.finditer(r"/\* ---- (.*?) ---- \*/", text)]
    for match in FUNCTION.finditer(text):
        section = [title for start, title in sections if start < match.start()]
        yield Function(
            match["name"],
            tidy_space(match["returns"]),
            parse_parameters(match["parameters"]),
            parse_comment(match["comment"] or ""),
            section[-1] if section else "",
            header,
            match["kind"] != "FLUSS_API",
        )


def read_structs(text, header):
    plain = strip_comments(text)
    for match in re.finditer(r"typedef struct (?:\w+ )?\{(.*?)\n\} (fluss_\w+);", plain, re.DOTALL):
        body = tidy_space(match.group(1))
        flat = body
        while re.search(r"\{[^{}]*\}", flat):
            flat = re.sub(r"(union|struct) \{[^{}]*\}", "int", flat)
        names = []
        for declaration in filter(None, (part.strip() for part in flat.split(";"))):
            for declarator in declaration.split(","):
                names.append(re.search(r"(\w+)(\[\w+\])?$", declarator.strip()).group(1))
        yield Struct(match.group(2), names, body, header)


def read_enums(text):
    plain = strip_comments(text)
    for match in re.finditer(r"(?:typedef )?enum \{([^}]*)\}\s*(\w*);", plain):
        if "#" in match.group(1):  # the codes come from their table
            continue
        names = re.findall(r"\b(FLUSS_\w+)\b\s*(?:=\s*[^,]*)?(?:,|$)", match.group(1).strip())
        yield match.group(2), names


def read_api(include=INCLUDE):
    """Everything that the headers declare; raises when something was not understood."""
    api = Api([], [], {}, [], [])
    for path in sorted(Path(include).glob("*.h")):
        text = path.read_text(encoding="utf-8")
        functions = list(read_functions(text, path.name))
        declared = len(re.findall(r"^FLUSS_API|^static inline", strip_comments(text), re.M))
        if len(functions) != declared:
            raise ValueError(f"{path.name}: {declared} functions, {len(functions)} understood")
        api.functions += functions
        api.structs += read_structs(text, path.name)
        for name, members in read_enums(text):
            api.enums.setdefault(name, []).extend(members)
        api.handles += re.findall(r"typedef struct \w+ (fluss_\w+_t);", strip_comments(text))
        api.macros += re.findall(r"^#\s*define (FLUSS_\w+)(?=\(| )[^\n]*\S", text, re.M)
    for line in (Path(include) / "fluss_codes.def").read_text(encoding="utf-8").splitlines():
        code = re.match(r"FLUSS_CODE\((-?\d+), (\w+),", line)
        if code:
            api.enums.setdefault("", []).append(f"FLUSS_E_{code.group(2)}")
    return api


def complaints_about(function):
    """What the comment of a function lacks."""
    comment = function.comment
    if not comment.summary:
        return ["has no comment of its own"]
    found = []
    if not re.search(r"[.:]", comment.summary):
        found.append("its first sentence has no end")
    for parameter in function.parameters:
        is_handle = HANDLE.match(parameter.type) and parameter is function.parameters[0]
        explained = parameter.name in comment.parameters
        counts = rf"\b{parameter.name}\b"  # "n pairs"
        if explained or parameter.name in SELF_EVIDENT:
            continue
        if any(re.search(counts, words) for words in comment.parameters.values()):
            continue
        if is_handle and not function.is_release() and not function.name.startswith("fluss_await"):
            continue
        found.append(f"does not say what '{parameter.name}' is")
    known = {parameter.name for parameter in function.parameters}
    found += [f"explains '{name}', which it has not" for name in set(comment.parameters) - known]
    if function.returns != "void" and not comment.returns:
        found.append("does not say what it returns")
    if function.returns == "fluss_future_t *" and "->" not in comment.returns:
        found.append("does not say what its future gives (-> kind)")
    if function.is_release() and "NULL does nothing" not in " ".join(comment.parameters.values()):
        found.append("does not say that NULL does nothing")
    for label in ("Thread", "Source"):
        if label not in comment.notes:
            found.append(f"has no '{label}:'")
    outputs = [p for p in function.parameters if re.search(r"\*\s*\*$|^struct Arrow", p.type)]
    for parameter in outputs:
        words = comment.parameters.get(parameter.name, "")
        if "const" in parameter.type or "(*)" in parameter.type or parameter.name == "tag":
            continue
        if not re.search(r"gives|moved|borrowed|caller's|as fluss_\w+", words):
            found.append(f"does not say who owns '{parameter.name}'")
    return found


def lint(api):
    return [
        f"include/fluss/{function.header}: {function.name} {complaint}"
        for function in api.functions
        for complaint in complaints_about(function)
    ]
