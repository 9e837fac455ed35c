"""`dither ask`: answer one question, charge its price, show the table with its error bars, keep the receipt."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, As, CatalogPath, Epsilon, QuantileIntervals, Question, Rho, Within

if TYPE_CHECKING:
    from dither.answer.answer import Answer

__all__ = ["ask"]


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"
    arrow = "arrow"


class Language(StrEnum):
    en = "en"
    zh = "zh"


def ask(
    question: Question,
    epsilon: Epsilon = None,
    rho: Rho = None,
    within: Within = None,
    at_most: Annotated[
        str | None, typer.Option("--at-most", metavar="NUMBER", help="What --within may cost; more is refused.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How to write the answer.")] = Format.table,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="In csv, json and arrow: _low and _high beside each noisy number.")
    ] = False,
    about: Annotated[bool, typer.Option("--about", help="Also say in plain words what the answer means.")] = False,
    lang: Annotated[Language, typer.Option("--lang", help="The language of --about.")] = Language.en,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the answer to this file.")] = None,
    receipt: Annotated[Path | None, typer.Option("--receipt", help="Write the receipt (JSON) to this file.")] = None,
    round_to: Annotated[
        str | None, typer.Option("--round-to", metavar="NUMBER", help="Show counts and sums as its multiples.")
    ] = None,
    suppress_below: Annotated[
        str | None,
        typer.Option("--suppress-below", metavar="NUMBER", help="Show no numbers where the noisy count is smaller."),
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", metavar="NAME", help="Add such rows up into one of this name instead.")
    ] = None,
    nonnegative: Annotated[bool, typer.Option("--nonnegative", help="Show 0 where noise led below it.")] = False,
    reliability: Annotated[bool, typer.Option("--reliability", help="A letter A to F for each ±.")] = False,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Let all ± hold together, at 95 %, not each by itself.")
    ] = False,
    publish: Annotated[
        Path | None, typer.Option("--publish", metavar="DIR", help="Also write a page, data and receipt there.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Also draw the answer: a new .svg or .html file.")
    ] = None,
    quantile_intervals: QuantileIntervals = False,
    request: Annotated[
        str | None, typer.Option("--request", metavar="KEY", help="The same key again is never charged again.")
    ] = None,
    as_name: As = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Answer one question for at most the offered price, which is charged before the data is read."""
    from dither.answer.drawing import check_place as check_picture
    from dither.answer.publish import FILES, check_place
    from dither.cli.context import asking, read_catalog, read_offer, read_question
    from dither.cli.screen import working
    from dither.cli.view import View
    from dither.cli.written import check_new, check_outputs, files_of, write
    from dither.errors import InvalidParameter

    declared = read_catalog(catalog)
    text = read_question(question)
    read_offer(text, declared, epsilon=epsilon, rho=rho, within=within, at_most=at_most)
    view = View(round_to, suppress_below, nonnegative, reliability, other, simultaneous)
    view.check()
    _check_format(format, output)
    if plot is not None:
        check_picture(plot)
    outputs = {"--output": output, "--receipt": receipt, "--plot": plot}
    check_outputs(outputs, kept=files_of(declared))
    if publish is not None:
        check_place(publish)
        # Its own files must not be where another option writes first, nor where a ledger will be begun.
        check_new({"--publish": [publish / name for name in FILES]}, outputs, kept=files_of(declared))
    with asking(declared, as_name) as session, working("Asking"):
        answer = session.ask(
            text,
            epsilon=epsilon,
            rho=rho,
            within=within,
            at_most=at_most,
            request=request,
            quantile_intervals=quantile_intervals,
        )
    # The receipt first: whatever happens to the table, what was paid for is on record.
    if receipt is not None:
        write("--receipt", receipt, answer.receipt.to_json() + "\n")
    try:
        shown = view.of(answer)
    except InvalidParameter:
        # It is paid for: it is shown as it is, and then what could not be done is said.
        _write(answer, format, output, intervals=intervals)
        raise
    _write(shown, format, output, intervals=intervals)
    if about:
        from dither.cli.screen import out

        out().print(f"\n{shown.about(lang.value)}", markup=False)
    if publish is not None:
        from dither.cli.screen import say

        say(f"Published in {publish}: {', '.join(path.name for path in shown.publish(publish))}.", "dim")
    if plot is not None:
        # Last: an answer without a picture has been written all the same.
        from dither.cli.screen import say

        say(f"Drew {shown.plot().save(plot)}.", "dim")


def _check_format(format: Format, output: Path | None) -> None:
    """Find out before anything is charged that the answer could not be written in this form."""
    from dither.errors import InvalidParameter

    if format is Format.arrow:
        if output is None and sys.stdout.isatty():
            raise InvalidParameter("--format", expected="with --output FILE, as arrow is not text", found="arrow")
        from importlib.util import find_spec

        if find_spec("pyarrow") is None:
            hint = "Install it: pip install 'dither[arrow]'."
            raise InvalidParameter("--format", expected="one whose library is installed", found="arrow", hint=hint)


def _write(answer: Answer, format: Format, output: Path | None, *, intervals: bool) -> None:
    if format is Format.table and output is None:
        from dither.answer.show import answer_table
        from dither.cli.screen import out

        out().print(answer_table(answer))
        return
    written = _bytes_of(answer, format, intervals)
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(written)
        sys.stdout.buffer.flush()
        return
    from dither.cli.screen import say
    from dither.cli.written import write

    write("--output", output, written)
    say(f"Wrote {output}: {len(answer):,} rows.", "dim")


def _bytes_of(answer: Answer, format: Format, intervals: bool) -> bytes:
    from dither.answer import files

    match format:
        case Format.table:
            return (repr(answer) + "\n").encode()
        case Format.csv:
            return files.to_csv(answer, intervals=intervals)
        case Format.json:
            return files.to_json(answer, intervals=intervals)
        case Format.arrow:
            return files.to_arrow_stream(answer, intervals=intervals)
