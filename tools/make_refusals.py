"""Write docs/reference/refusals.md: every code an error can carry, with what it says and the way forward.

Read off the source by its syntax trees: calls of the classes of `dither.errors` and of the `refuse` helpers, their
code, message and hints. What a message fills in at run time shows as `…`. Run it after adding or changing a refusal; a
test compares.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dither import errors

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "dither"
TARGET = ROOT / "docs" / "reference" / "refusals.md"
CODE = re.compile(r"[A-Z]-\d{3}")
GAP = "…"

CLASSES = {
    name: found
    for name, found in vars(errors).items()
    if inspect.isclass(found) and issubclass(found, errors.DitherError)
}
FAMILIES = {
    "P": ("Parsing", "The text is no question this parser reads."),
    "N": ("Names", "A table, column or alias is not there, or is there twice."),
    "S": ("Rows and people", "What the SQL does with rows could mix different people's."),
    "F": ("Functions and types", "A function is not listed, or its arguments do not fit."),
    "B": ("Bounds", "How far one row can move a sum is not known."),
    "K": ("Groups", "Which groups there are is not known without the data."),
    "A": ("Aggregates", "An aggregate cannot be protected, or stands where it cannot."),
    "M": ("Offers and budget", "No price was stated, or it does not fit."),
    "R": ("Who may ask", "The question is fine; this asker may not ask it now."),
    "C": ("Catalog", "For the owner: the catalog is wrong, or the database is not as it says."),
    "L": ("Ledger", "The ledger cannot be used. Exit status 4."),
    "E": ("Engine", "The database cannot be used. Texts are fixed; what the database said stays with the owner."),
    "I": ("Arguments", "An argument of a call or a command is out of range."),
    "G": ("Guarantee", "An invariant of Dither's own broke; nothing was released. Please report it. Exit status 70."),
}

# Families whose messages speak to programmers: one line per code says enough.
BRIEF = {
    "I-100": "`name` must be …; found …. The message names the argument, what was expected and what was found.",
    "G-100": "One of our own checks failed. The message says which.",
}

HEAD = """# Refusals and errors

<!-- Written by tools/make_refusals.py; do not edit. -->

Every error has a code that stays the same between versions. The letter is its family. A refusal of a question (P, N, S,
F, B, K, A) has read no protected row and cost nothing, and it depends on the question, the catalog and public tables
alone, so it tells nothing about anybody. `…` stands for what a message fills in: names, numbers of the question or the
catalog.

Exit status of the commands: 2 for a refusal or bad input, 3 for the budget, 4 for engine or ledger, 70 for a broken
guarantee.
"""


@dataclass(frozen=True, order=True)
class Entry:
    code: str
    message: str
    hint: str = ""
    owner_hint: str = ""


def entries() -> list[Entry]:
    found: set[Entry] = set()
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name != "errors.py":
            found |= set(_of_module(ast.parse(path.read_text(encoding="utf-8"))))
    brief = [Entry(code, message) for code, message in BRIEF.items()]
    return sorted([*(entry for entry in found if entry.code not in BRIEF), *brief])


def _of_module(tree: ast.Module) -> Iterator[Entry]:
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _of_call(node, constants)


def _of_call(call: ast.Call, constants: Mapping[str, ast.expr]) -> Iterator[Entry]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given: dict[str, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    match name:
        case "refuse" if len(call.args) >= 2:
            given |= {"code": call.args[0], "message": call.args[1]}
        case "Unfit" if call.args:
            expected = text(call.args[0], constants)
            code = text(given.get("code"), constants) or "C-120"
            yield Entry(code, f"expected {expected}; found {GAP}.", text(given.get("hint"), constants))
            return
        case "InvalidParameter" if call.args:
            message = f"{text(call.args[0], constants)} must be {text(given.get('expected'), constants)}; found {GAP}."
            code = text(given.get("code"), constants) or errors.InvalidParameter.default_code
            yield Entry(code, message, text(given.get("hint"), constants))
            return
        case _ if name in CLASSES and call.args:
            given["message"] = call.args[0]
        case _:
            return
    code = text(given.get("code"), constants) or (CLASSES[name].default_code if name in CLASSES else "")
    if CODE.fullmatch(code):
        hints = (text(given.get(part), constants) for part in ("hint", "owner_hint"))
        yield Entry(code, text(given["message"], constants), *hints)


def text(node: ast.expr | None, constants: Mapping[str, ast.expr]) -> str:
    """The constant text of an expression, with gaps where it is not constant; '' for none."""
    match node:
        case None | ast.Constant(value=None):
            return ""
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=parts):
            return "".join(p.value if isinstance(p, ast.Constant) else _filled(p, constants) for p in parts)
        case ast.Name(id=name) if name in constants:
            return text(constants[name], constants)
        case ast.IfExp(body=body, orelse=otherwise):
            both = [text(part, constants) for part in (body, otherwise)]
            return " / ".join(dict.fromkeys(part for part in both if part))
        case ast.BoolOp(op=ast.Or(), values=[*_, otherwise]):
            return text(otherwise, constants)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text(left, constants) + text(right, constants)
    return GAP


def _filled(part: ast.expr, constants: Mapping[str, ast.expr]) -> str:
    """A field of an f-string: a constant of the module as it is, anything else a gap."""
    value = part.value if isinstance(part, ast.FormattedValue) else part
    if isinstance(value, ast.Name) and isinstance(constants.get(value.id), ast.Constant):
        number = constants[value.id].value  # type: ignore[attr-defined]
        return f"{number:,}" if isinstance(number, int) else str(number)
    return GAP


def page() -> str:
    found = entries()
    parts = [HEAD]
    for letter, (title, meaning) in FAMILIES.items():
        own = [entry for entry in found if entry.code.startswith(letter)]
        if own:
            parts += [f"## {letter}: {title}\n", f"{meaning}\n", "| code | says | way forward |\n|---|---|---|"]
            parts += [f"| {e.code} | {_cell(e.message)} | {_cell(_ways(e))} |" for e in own]
            parts.append("")
    strange = sorted({entry.code for entry in found if entry.code[:1] not in FAMILIES})
    if strange:
        raise SystemExit(f"codes of no family: {', '.join(strange)}")
    return "\n".join(parts)


def _ways(entry: Entry) -> str:
    owner = f"Owner: {entry.owner_hint}" if entry.owner_hint else ""
    return " ".join(part for part in (entry.hint, owner) if part not in ("", GAP))


def _cell(message: str) -> str:
    return " ".join(message.split()).replace("|", r"\|").replace("<", "&lt;")


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{TARGET.name}: {len({e.code for e in entries()})} codes\n")
