"""`dither lab`, also `dither attack`: attacks on data one can hold, beside what the ledger's spend guarantees.

Three words after it are commands of their own, `seed`, `new-class` and `grade`; any other is the name of an attack.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dither.cli import lab_class
from dither.cli import seed as seed_page
from dither.cli.lab_class import Words

if TYPE_CHECKING:
    from dither.lab.result import Result

__all__ = ["app", "lab"]

DEFAULT_EPSILONS = "0.1,1,10"
MOST_SCALE = 20.0


class _Group(TyperGroup):
    """Runs attacks unless the first word is another command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])


app = typer.Typer(
    cls=_Group, rich_markup_mode=None, help="Attack invented people, and see what the ledger's spend allows."
)


@app.command(
    "run",
    epilog="The tutorial: dither lab seed. For a class: dither lab new-class, dither lab grade.",
)
def lab(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One attack, such as A1 or averaging; all if not given.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="LIST", help="What each attack may spend, as in 0.1,1,10.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Also write a page: .html or .json.")
    ] = None,
    lang: Annotated[Words, typer.Option("--lang", help="Language of headings and stories.")] = Words.en,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Worlds and noise follow from it.")] = 1,
    scale: Annotated[float, typer.Option("--scale", min=0.02, max=MOST_SCALE, help="Of the number of trials.")] = 1.0,
    real_noise: Annotated[
        bool, typer.Option("--real-noise", help="Noise from the operating system instead of the seed.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE", help="Real people too: adult.data for A9, MovieLens ratings for A10."),
    ] = None,
) -> None:
    """Attack invented people: without a defence, with the usual ones, and with Dither.

    All attacks take two to three minutes. Ends with status 70 if Dither was above its bound."""
    from dither.cli.screen import out, say, working
    from dither.lab import chosen, each
    from dither.lab.chinese import said
    from dither.lab.report import say_noise, summary, table, unexpected
    from dither.lab.texts import READING, TITLE

    keys = chosen(name)
    found = each(name, epsilons=_epsilons(epsilon), seed=seed, scale=str(scale), real_noise=real_noise, data=data)
    _check_report(report, data)
    console, started, results = out(), time.monotonic(), []
    console.print(TITLE.say(lang), style="bold reverse", markup=False)
    console.print(READING.say(lang), markup=False)
    console.print(say_noise(seed, real_noise, lang), style="dim", markup=False)
    for number, key in enumerate(keys, 1):
        with working(f"{key} ({number}/{len(keys)})"):
            results.append(next(found))
        console.print(table(results[-1], lang))
    console.print(f"\n{summary(results, lang)}", style="bold", markup=False)
    say(f"{time.monotonic() - started:.0f} s", style="dim")
    if report is not None:
        _write(report, results, seed, real_noise, lang)
        say(said(f"Wrote {report}.", lang))
    wrong = unexpected(results)
    if wrong:
        from dither.errors import GuaranteeError

        raise GuaranteeError("Not as it should be: " + "; ".join(wrong) + ".")


def _epsilons(text: str | None) -> list[str]:
    return [part.strip() for part in (text or DEFAULT_EPSILONS).split(",") if part.strip()]


def _check_report(path: Path | None, data: Path | None) -> None:
    from dither.cli.written import check_outputs
    from dither.errors import InvalidParameter

    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm", ".json"):
        raise InvalidParameter("--report", expected="a file name ending in .html or .json", found=str(path))
    check_outputs({"--report": path}, kept=[] if data is None else [data])


def _write(path: Path, results: list[Result], seed: int, real_noise: bool, lang: Words) -> None:
    from dither.cli.written import write
    from dither.lab.page import page
    from dither.lab.report import to_json

    is_page = path.suffix.lower() != ".json"
    text = page(results, seed=seed, real_noise=real_noise, language=lang) if is_page else to_json(results) + "\n"
    write("--report", path, text)


app.command("seed")(seed_page.show_seed)
app.command("new-class")(lab_class.new_class)
app.command("grade")(lab_class.grade)
