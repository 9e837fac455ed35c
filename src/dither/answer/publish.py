"""An answer as a folder for other people: a page, data files, the receipt, and how to read them; and its check.

Flow: `Answer.publish`, `dither ask --publish`; `dither verify` reads such a folder with `check_folder`. The receipt
holds the SHA-256 of every other file: so it can be seen that a table is the one that was published with it. That the
receipt is the ledger's own is for the ledger to say (`Ledger.verify`).
Writes over nothing: all files are new, or none is left.
"""

from __future__ import annotations

import hashlib
import json
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from dither.answer import files
from dither.answer.receipt import Receipt
from dither.answer.show import caption, to_html
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["FILES", "NAMES", "RECEIPT", "Checked", "check_folder", "check_place", "publish"]

RECEIPT = "receipt.json"
NAMES = ("index.html", "data.csv", "data.json", "README.md")
FILES = (*NAMES, RECEIPT)
_LARGEST = 1 << 30


def publish(answer: Answer, folder: str | Path) -> tuple[Path, ...]:
    """See `Answer.publish`. Raises InvalidParameter [I-121] where something is in the way or cannot be written."""
    place = Path(folder)
    contents = {
        "index.html": _page(answer).encode(),
        "data.csv": files.to_csv(answer, intervals=True),
        "data.json": files.to_json(answer, intervals=True),
        "README.md": _readme(answer).encode(),
    }
    digests = tuple((name, hashlib.sha256(content).hexdigest()) for name, content in contents.items())
    contents[RECEIPT] = (replace(answer.receipt, published=digests).to_json() + "\n").encode()
    return _write_all(place, contents)


def _write_all(place: Path, contents: Mapping[str, bytes]) -> tuple[Path, ...]:
    written: list[Path] = []
    made = False
    try:
        check_place(place)
        if not place.exists():
            place.mkdir(parents=True)
            made = True
        for name, content in contents.items():
            with (place / name).open("xb") as file:
                written.append(place / name)
                file.write(content)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        if made:
            place.rmdir()
        raise _in_the_way(place, error.strerror or "not a usable path") from None
    return tuple(written)


def check_place(place: Path) -> None:
    """Raises InvalidParameter [I-121] where publishing would write over something, or nothing could be written: to be
    known before a charge. By trying, because modes do not tell: what is made for that is taken away again."""
    made: list[Path] = []
    try:
        if place.exists() and not place.is_dir():
            raise _in_the_way(place, "a file")
        taken = [name for name in FILES if (place / name).exists() or (place / name).is_symlink()]
        if taken:
            raise _in_the_way(place, f"{', '.join(taken)} in {place.name}")
        for folder in reversed([folder for folder in (place, *place.parents) if not folder.exists()]):
            folder.mkdir()
            made.append(folder)
        with tempfile.TemporaryFile(dir=place):
            pass
    except InvalidParameter:
        raise
    except (OSError, ValueError) as error:
        # ValueError: a path no system has, with a zero byte in it.
        raise _in_the_way(place, getattr(error, "strerror", None) or "not a usable path") from None
    finally:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def _in_the_way(place: Path, found: str) -> InvalidParameter:
    return InvalidParameter(
        "publish",
        expected="a folder without these files, or one that can be made",
        # The files first: a long path is cut.
        found=f"{found}: {place}",
        code="I-121",
        hint="Nothing is written over. Name another folder; asking again costs nothing, as the answer is kept.",
    )


@dataclass(frozen=True)
class Checked:
    """A published folder whose files are those its receipt names."""

    receipt: Receipt
    files: tuple[str, ...]


def check_folder(folder: str | Path) -> Checked:
    """Raises InvalidParameter [I-122] naming the first file that is missing, changed, or not named by the receipt."""
    place = Path(folder)
    for name in (RECEIPT, *NAMES):
        _check_file(place / name)
    receipt = Receipt.load(place / RECEIPT)
    named = dict(receipt.published)
    if set(named) != set(NAMES):
        raise _differs(RECEIPT, "a receipt that names the published files", "a receipt without them, or with others")
    for name in NAMES:
        try:
            digest = hashlib.sha256((place / name).read_bytes()).hexdigest()
        except OSError:
            raise _differs(name, "a file that can be read", "none") from None
        if digest != named[name]:
            raise _differs(name, "the file that was published", "one that was changed")
    _compare_question(place, receipt)
    return Checked(receipt, NAMES)


def _check_file(path: Path) -> None:
    """Before it is read: a folder of somebody else's may hold a pipe or a device, whose reading never ends."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        raise _differs(path.name, "a file that can be read", "none") from None
    if not stat.S_ISREG(facts.st_mode):
        raise _differs(path.name, "a file that can be read", "something else")
    if facts.st_size > _LARGEST:
        raise _differs(path.name, "the file that was published", "a much larger one")


def _compare_question(place: Path, receipt: Receipt) -> None:
    """The receipt repeated in the data must be this one: two folders' files cannot be mixed."""
    try:
        inside = json.loads((place / "data.json").read_text(encoding="utf-8"))["receipt"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise _differs("data.json", "data with their receipt", "none") from None
    if inside != json.loads(replace(receipt, published=()).to_json()):
        raise _differs("data.json", f"the receipt of {RECEIPT}", "another one")


def _differs(name: str, expected: str, found: str) -> InvalidParameter:
    return InvalidParameter(
        name,
        expected=expected,
        found=found,
        code="I-122",
        hint="This folder is not as it was published: ask its publisher for it again.",
    )


# The page and its words -------------------------------------------------------------------------------------------


def _page(answer: Answer) -> str:
    """Self-contained: no script, no link, nothing loaded."""
    receipt = answer.receipt
    before = sorted({line.measured_by for line in receipt.vectors if line.measured_by is not None})
    rows = [
        ("Data set", receipt.dataset),
        ("Release", receipt.release),
        ("Asked by", receipt.analyst),
        ("Price", _price(receipt)),
        ("Ledger entry", receipt.entry or "none of its own: everything was released before"),
        *([("Entry's hash", receipt.hash)] if receipt.hash else []),
        *([("Measured by", ", ".join(before))] if before else []),
    ]
    facts = "".join(f'<tr><th scope="row">{escape(a)}</th><td>{escape(b)}</td></tr>' for a, b in rows)
    vectors = "".join(
        f"<tr><td>{escape(line.what)}</td><td>{escape(line.mechanism)} {escape(_short(line.scale))}</td>"
        f"<td>{escape(_short(line.distance))}</td></tr>"
        for line in receipt.vectors
    )
    # The question and the options stand above already, and vectors have a table of their own.
    said = {f"Question: {' '.join(receipt.question.split())}", *answer.presented()}
    about = "".join(
        f"<p>{escape(text)}</p>"
        for text in answer.about().split("\n")
        if not text.startswith("  ") and text not in said
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(receipt.dataset)}: an answer with noise</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>{escape(receipt.dataset)}</h1><pre>{escape(receipt.question.strip())}</pre>"
        f'<div class="wide">{to_html(answer)}</div>'
        f"<h2>What the numbers mean</h2>{about}"
        "<h2>Noise</h2><div class=\"wide\"><table><thead><tr><th>measured</th><th>noise</th>"
        f"<th>one {escape(answer.unit_name)} moves it by at most</th></tr></thead>"
        f"<tbody>{vectors}</tbody></table></div>"
        f"<h2>Receipt</h2><div class=\"wide\"><table class=\"facts\"><tbody>{facts}</tbody></table></div>"
        "<p>The numbers in full, with the ends of their intervals, are in data.csv and data.json. "
        "<code>dither verify</code> on this folder checks that the files belong to receipt.json.</p>"
        "</main></body></html>\n"
    )  # fmt: skip


def _readme(answer: Answer) -> str:
    receipt = answer.receipt
    footer = "\n".join(f"- {_plain_markdown(line)}" for line in caption(answer))
    columns = "\n".join(f"- `{_code(name)}`: {meaning}" for name, meaning in _columns(answer))
    return f"""# An answer with noise: {_plain_markdown(receipt.dataset)}

The question:

{_indented(receipt.question)}

The numbers are not exact on purpose: noise of a known size was added, so that no answer tells much about any one
{_plain_markdown(answer.unit_name)}. `index.html` says what that means for these numbers.

{footer}

## Files

- `index.html`: the table for reading, and what its numbers mean. Loads nothing.
- `data.csv`: UTF-8, one header line; an empty field is NULL or suppressed.
- `data.json`: the same rows as lists, with the receipt.
- `receipt.json`: what was asked, the law of the noise, the price, the ledger's entry, the SHA-256 of the other files.

## Columns

{columns}

## Check it

    dither verify FOLDER

finds out whether a file was changed since it was published with this receipt. Whoever holds the data set's catalog adds
`--catalog dither.toml`, and then also learns whether the receipt's entry stands in the ledger, and is of this question.
The data themselves are not needed. Somebody who changes the numbers in a file and its SHA-256 in the receipt alike is
not found out; keep the SHA-256 of receipt.json elsewhere where that matters.
"""


def _columns(answer: Answer) -> list[tuple[str, str]]:
    """Every column of the data files, in order."""
    found = []
    ends = {"_low": "low end of the interval", "_high": "high end of the interval"}
    for position, (name, role) in enumerate(zip(answer.columns, answer.plan.roles, strict=True)):
        meaning = "group" if role == "key" else "noisy number" if position in answer.intervals else "computed"
        if name.endswith("_reliability") and not answer.headers[position]:
            meaning = "reliability, A to F, of the number before it"
        found.append((name, meaning))
        if position in answer.intervals:
            found += [(name + end, f"{text} of `{_code(name)}`") for end, text in ends.items()]
    return found


def _price(receipt: Receipt) -> str:
    parts = [f"epsilon {receipt.epsilon}" if receipt.epsilon is not None else f"rho {receipt.rho}"]
    return ", ".join([*parts, *([f"delta {receipt.delta}"] if receipt.delta != "0" else [])])


def _short(exact_text: str) -> str:
    from fractions import Fraction

    return f"{float(Fraction(exact_text)):.6g}"


def _plain_markdown(text: str) -> str:
    """On one line, and without anything Markdown or HTML would act on."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in " ".join(text.split()))


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines())


_STYLE = (
    ":root{color-scheme:light dark}body{font-family:system-ui,sans-serif;line-height:1.5;margin:0}"
    "main{max-width:52rem;margin:0 auto;padding:1.5rem 1rem 3rem}h1{font-size:1.5rem;margin:.2em 0}"
    "h2{font-size:1.1rem;margin:1.8em 0 .4em}pre{white-space:pre-wrap;padding:.7em .9em;border-radius:.4em;"
    "background:rgba(128,128,128,.12);font-size:.9em}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.92em}th,td{text-align:left;padding:.2em 1.1em .2em 0;vertical-align:top}"
    "thead th{border-bottom:1px solid rgba(128,128,128,.6)}.facts th{font-weight:600}"
    ".facts td{overflow-wrap:anywhere}p{margin:.5em 0}"
)
