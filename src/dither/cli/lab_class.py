"""`dither lab new-class` and `dither lab grade`: a class attacks Dither, each student on a ledger to throw away."""

from __future__ import annotations

import secrets
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dither.lab.classroom import Graded

__all__ = ["Words", "grade", "new_class"]


class Words(StrEnum):
    en = "en"
    zh = "zh"


Lang = Annotated[Words, typer.Option("--lang", help="Language of what is written.")]


def new_class(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write the class.")],
    students: Annotated[int, typer.Option("--students", min=1, help="How many folders.")] = 20,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Each student's budget.")] = "2",
    lang: Lang = Words.en,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Who is ill follows from it; drawn and kept in the key if absent."),
    ] = None,
) -> None:
    """Write a class: for each student a small data set, a catalog, a ledger of their own, and the task to find out
    whether Chandler is ill."""
    from dither.cli.screen import say
    from dither.exact import positive
    from dither.lab.chinese import said
    from dither.lab.classroom import new_class as write

    # A seed that others could guess would give the answers away.
    chosen = secrets.randbits(63) if seed is None else seed
    write(out, students=students, epsilon=positive(epsilon, "--epsilon"), seed=chosen, language=lang)
    wrote = f"Wrote {out}: {students} students. Read {out / 'README.md'}; keep {out / 'key.json'}."
    say(said(wrote, lang), "bold")


def grade(
    folder: Annotated[Path, typer.Argument(help="A class written by new-class.")],
    lang: Lang = Words.en,
) -> None:
    """Show each student's guess beside what their ledger says was spent, and all of them beside the bound."""
    from dither.cli.screen import out, say
    from dither.cli.tables import grid
    from dither.lab.chinese import said
    from dither.lab.classroom import grade as graded_of
    from dither.lab.classroom import overall
    from dither.lab.optional import needs

    needs("scipy", "SciPy", "for intervals", extra="science")
    graded = graded_of(folder)
    heads = ("student", "guess", "right", "spent", "bound", "")
    out().print(grid(tuple(said(head, lang) for head in heads), [_row(one, lang) for one in graded], right=(3, 4)))
    line = overall(folder, graded)
    if line is None:
        say(said("No guess yet: each student writes yes or no into guess.txt.", lang))
        return
    known = [one.bound for one in graded if one.right is not None and one.bound is not None]
    mean = sum(known) / len(known) if known else 0.5
    result = (
        f"{line.hits} of {line.trials} right: {line.value:.3f}, 95 % interval {line.low:.3f}–{line.high:.3f}; "
        f"bound of the whole budget {line.bound:.3f}, of what was spent {mean:.3f}: {line.verdict}."
    )
    out().print(said(result, lang), style="bold", markup=False)


def _row(one: Graded, lang: str) -> tuple[str, ...]:
    from dither.exact import decimal_text
    from dither.lab.chinese import said

    right = "" if one.right is None else said("yes" if one.right else "no", lang)
    spent = "?" if one.spent is None else decimal_text(one.spent)
    bound = "?" if one.bound is None else f"{one.bound:.3f}"
    return one.name, said(one.guess or "none", lang), right, spent, bound, said(one.problem, lang)
