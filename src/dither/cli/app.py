"""All commands under one name, and what becomes of every error: one message on stderr, one exit status, no traceback.

Flow: `dither.cli.main` calls `run`. Typer parses; commands raise DitherError; here they end.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from dither import __version__
from dither.cli import (
    ask,
    ask_many,
    audit,
    budget,
    check,
    choose,
    demo,
    explain,
    init,
    lab,
    perturb,
    release,
    series,
    statement,
    try_,
    tune,
    verify,
)
from dither.errors import DitherError, InvalidParameter

__all__ = ["BROKEN_GUARANTEE", "app", "run"]

BAD_INPUT = 2
BROKEN_GUARANTEE = 70
STOPPED = 130

UNEXPECTED = (
    "Dither met an error it does not know. Nothing more is shown, because it might tell of the data.\n"
    "  If a price was reserved it stays charged. Set DITHER_DEBUG=1 to see the details, which are for the owner only."
)

app = typer.Typer(
    name="dither",
    help="Answers SQL questions about people's records, with just enough noise to tell hardly anything of any one.",
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help takes half the time of Rich's, which matters for a command that is typed all day.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("init")(init.init)
app.command("choose")(choose.choose)
app.command("check")(check.check)
app.command("try")(try_.try_question)
app.command("explain")(explain.explain)
app.command("ask")(ask.ask)
app.command("ask-many")(ask_many.ask_many)
app.command("verify")(verify.verify)
app.command("tune")(tune.tune)
app.command("statement")(statement.statement)
app.command("perturb")(perturb.perturb)
app.command("audit")(audit.audit)
app.add_typer(lab.app, name="lab")
app.add_typer(lab.app, name="attack", hidden=True)
app.add_typer(budget.app, name="budget")
app.add_typer(release.app, name="release")
app.add_typer(series.app, name="series")

# The root of what Typer raises for a wrong command line; its module differs between versions of Typer.
_UsageError = typer.BadParameter.__mro__[2]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dither {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Only here to carry --version: the help text is the app's."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line. Never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _refuse_foreign_digits(given)
        status = app(args=given or ["--help"], prog_name="dither", standalone_mode=False)
        sys.stdout.flush()
        # Typer itself turns an interrupt into this status, and says nothing.
        return _stopped() if status == STOPPED else int(status or 0)
    except DitherError as error:
        from dither.cli.screen import show_error

        show_error(error)
        return error.exit_status
    except typer.Abort:
        # A question of ours was answered with no: those come before anything is spent.
        print("Stopped. Nothing was charged.", file=sys.stderr)
        return STOPPED
    except KeyboardInterrupt:
        return _stopped()
    except BrokenPipeError:
        # The reader went away (`dither ask ... | head`): nobody is left to tell. Python must not flush into it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _stopped() if _is_interrupt(error) else _unexpected(error)


def _is_interrupt(error: Exception) -> bool:
    """DuckDB makes this of a Ctrl-C that comes while it works."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"


def _refuse_foreign_digits(given: Sequence[str]) -> None:
    """Numbers of options are read by Typer, and by Python's `int`, which know the digits of every script. None of ours,
    and no SQL, path or name, is such a number alone."""
    for word in given:
        option = re.match(r"--[a-z-]+=|-[a-z]", word)
        value = word[option.end() :] if option else word
        if not value.isascii() and _is_number(value):
            raise InvalidParameter("A number", expected="written in the digits 0 to 9", found=value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return any(c.isdigit() and not c.isascii() for c in text) and all(
            c.isdigit() or c in "+-.,_%/eE " for c in text
        )
    return True


def _stopped() -> int:
    print("Stopped. A price that was already reserved stays charged.", file=sys.stderr)
    return STOPPED


def _unexpected(error: Exception) -> int:
    if isinstance(error, _UsageError):
        return _usage(error)
    if os.environ.get("DITHER_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    print(UNEXPECTED, file=sys.stderr)
    return BROKEN_GUARANTEE


def _usage(error: Exception) -> int:
    """What Typer says of a wrong command line, in our form."""
    says = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "dither")
    if type(error).__name__ == "NoArgsIsHelpError":
        print(says)
    else:
        print(f"Usage: {says}\n  Try `{path} --help`.", file=sys.stderr)
    return BAD_INPUT
