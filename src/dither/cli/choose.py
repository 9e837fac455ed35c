"""`dither choose`: an interview that ends in a budget: whom it protects, how far a guess may move, how accurate answers
must be. Writes [budget] into the catalog, with its reasons, and leaves the rest of the file as it is.

Every question can be answered by an option, so that a script needs no terminal.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, CatalogPath

if TYPE_CHECKING:
    from dither.accounting.choosing import Accuracy, Choice, Guess
    from dither.catalog.outline import Outline

__all__ = ["choose"]


class About(StrEnum):
    rows = "rows"
    presence = "presence"


def choose(
    unit: Annotated[str | None, typer.Option("--unit", metavar="WORD", help="Whom it protects: patient, say.")] = None,
    guess: Annotated[
        str, typer.Option("--guess", metavar="SHARE", help="What somebody's guess about one of them is before.")
    ] = "1 %",
    at_most: Annotated[
        str | None, typer.Option("--at-most", metavar="SHARE", help="What it may become by all answers, as 2.7 %.")
    ] = None,
    about: Annotated[
        About, typer.Option("--about", help="A guess about what their rows say, or about being in the data at all.")
    ] = About.rows,
    questions: Annotated[
        int | None, typer.Option("--questions", min=1, metavar="N", help="How many counts will be asked for.")
    ] = None,
    within: Annotated[
        str | None, typer.Option("--within", metavar="NUMBER", help="The ± (95 %) that each of them may have.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, metavar="N", help="Rows of one unit that count, at most.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="An epsilon decided already.")
    ] = None,
    private_groups: Annotated[
        bool | None,
        typer.Option("--private-groups/--listed-groups", help="May groups appear that the catalog does not list?"),
    ] = None,
    people: Annotated[
        int | None, typer.Option("--people", min=1, metavar="N", help="About how many units there are, as is known.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", metavar="NUMBER", help="A delta decided already.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Choose a budget by what it means, and write it into the catalog with its reasons.

    Asks for what the options leave open. A budget on record in a ledger is raised by `dither budget grant` instead."""
    from dither.accounting import choosing
    from dither.catalog.outline import outline
    from dither.cli.screen import out

    found = outline(catalog)
    _refuse_with_ledger(found)
    interview = _Interview(found)
    unit = interview.unit(unit)
    if epsilon is None and at_most is None and within is None and questions is None:
        guess, at_most = interview.odds(guess, about)
    wished_guess = _guess(guess, at_most, about, found)
    accuracy = _accuracy(questions, within, rows, found)
    people = interview.people(private_groups, people, delta)
    chosen = choosing.choose(
        epsilon=epsilon, delta=delta, guess=wished_guess, accuracy=accuracy, people=people, unit=unit
    )
    odds = choosing.odds_sentences(chosen.epsilon, chosen.delta, unit=unit, replace=found.replace)
    text = _written(found, unit, chosen, [*odds, *chosen.reasons])
    console = out()
    for sentence in odds:
        console.print(sentence, style="bold", markup=False)
    _show_difference(found, text)
    if text == found.text:
        console.print("The catalog says so already.")
        return
    if not yes:
        _confirm(found)
    _write(found, text)


class _Interview:
    """Asks on a terminal for what no option answers; without one, says which option is missing."""

    def __init__(self, found: Outline) -> None:
        self.found = found

    def unit(self, given: str | None) -> str:
        if given is not None:
            return given.strip()
        if self.found.unit is not None:
            return self.found.unit
        return self._ask("Whom do the answers protect, in one word?", "--unit", "person")

    def odds(self, guess: str, about: About) -> tuple[str, str]:
        """What a guess may become; the default is the most that epsilon 1 allows."""
        from dither.accounting import choosing
        from dither.accounting.odds import guess_after, percent_text

        before = choosing.read_share(guess, "--guess")
        steps = _steps(about, self.found)
        self._need_terminal("--at-most, --epsilon, or --questions with --within")
        typer.echo("The smaller epsilon, the less any answers tell about one of them, and the less exact they are:")
        for epsilon in ("0.1", "0.5", "1", "2", "4"):
            after = percent_text(guess_after(before, Fraction(epsilon) * steps)[1], 2)
            typer.echo(f"  epsilon {epsilon:>3}: a guess of {guess} can become at most {after}")
        suggestion = percent_text(guess_after(before, Fraction(steps))[1], 2)
        return guess, self._ask(f"What may a guess of {guess} become at most?", "--at-most", suggestion)

    def people(self, private_groups: bool | None, people: int | None, delta: str | None) -> int | None:
        """How many units delta is to be small against; None where no delta is wanted, or it is stated."""
        if delta is not None or private_groups is False:
            return None
        if private_groups is None and people is None:
            self._need_terminal("--listed-groups, --people N, or --delta")
            if not typer.confirm("May groups appear that the catalog does not list (such as every town)?"):
                return None
        if people is not None:
            return people
        return int(self._ask("About how many of them are there, as is publicly known?", "--people", None, _whole))

    def _ask(self, question: str, option: str, default: str | None, read: Callable[[str], object] | None = None) -> str:
        self._need_terminal(option)
        return str(typer.prompt(question, default=default, value_proc=read))

    def _need_terminal(self, option: str) -> None:
        from dither.errors import InvalidParameter

        if not sys.stdin.isatty():
            raise InvalidParameter(
                option, expected="given where there is no terminal to ask on", found="nothing", hint="See --help."
            )


def _whole(written: str) -> int:
    """As `int`, which reads the digits of every script, of ASCII's alone; what cannot be read is asked for again."""
    if re.fullmatch(r"[0-9]{1,18}", written.strip()) is None:
        raise typer.BadParameter("a whole number in the digits 0 to 9, please")
    return int(written)


def _steps(about: About, found: Outline) -> int:
    return 1 if about is About.presence or found.replace else 2


def _guess(before: str, after: str | None, about: About, found: Outline) -> Guess | None:
    from dither.accounting.choosing import Guess, read_share

    if after is None:
        return None
    return Guess(read_share(before, "--guess"), read_share(after, "--at-most"), _steps(about, found))


def _accuracy(questions: int | None, within: str | None, rows: int | None, found: Outline) -> Accuracy | None:
    from dither.accounting.choosing import Accuracy
    from dither.errors import InvalidParameter
    from dither.exact import positive

    if within is None and questions is None:
        return None
    if within is None or questions is None:
        missing = "--within" if within is None else "--questions"
        raise InvalidParameter(missing, expected="given too: how many counts, and how exact each", found="nothing")
    return Accuracy(questions, positive(within, "--within"), rows or found.max_rows or 1)


def _written(found: Outline, unit: str, chosen: Choice, reasons: Sequence[str]) -> str:
    """The catalog's text with unit and budget set."""
    from dither.catalog.edit import toml_number, with_keys
    from dither.catalog.outline import check_changed, unit_literal

    today = dt.datetime.now(dt.UTC).date().isoformat()
    entries = {
        "epsilon": toml_number(chosen.epsilon),
        "delta": toml_number(chosen.delta) if chosen.delta else None,
        "rho": None,
    }
    why = [*reasons, f"Chosen with `dither choose` on {today}."]
    text = found.text
    if unit != found.unit:
        text = with_keys(text, "unit", {"name": unit_literal(unit)}, (), found.shown)
    text = with_keys(text, "budget", entries, why, found.shown)
    check_changed(text, found)
    return text


def _refuse_with_ledger(found: Outline) -> None:
    from dither.cli.context import location_has_ledger
    from dither.errors import LedgerConflict

    if location_has_ledger(found.ledger, found.dataset):
        raise LedgerConflict(
            "A ledger has begun, and its budget counts, whatever the catalog says.",
            code="L-230",
            hint="Raise it by `dither budget grant --epsilon NUMBER --reason TEXT`; it cannot be lowered.",
        )


def _show_difference(found: Outline, text: str) -> None:
    from dither.cli.screen import out

    console = out()
    for line in difflib.unified_diff(found.text.splitlines(), text.splitlines(), lineterm="", n=1):
        if line.startswith(("---", "+++", "@@")):
            continue
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
        console.print(line, style=style, markup=False, soft_wrap=True)


def _confirm(found: Outline) -> None:
    from dither.errors import InvalidParameter

    if not sys.stdin.isatty():
        raise InvalidParameter("--yes", expected="given where there is no terminal to ask on", found="nothing")
    typer.confirm(f"Write this into {found.shown}?", abort=True)


def _write(found: Outline, text: str) -> None:
    from dither.catalog.edit import write_text
    from dither.cli.screen import say

    write_text(found.path, found.raw, found.mark + text)
    say(f"Wrote {found.shown}.", "bold")
    say("Run `dither check` next.", "dim")
