"""`dither audit`: known right and wrong mechanisms, somebody's own, or the whole pipeline put to the test; a proof."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.errors import DitherError, InvalidParameter

__all__ = ["audit"]


class What(StrEnum):
    mechanisms = "mechanisms"
    pipeline = "pipeline"
    proof = "proof"


REFUTED = 1
"""The exit status when the claim of --target is refuted."""


def audit(
    what: Annotated[
        What,
        typer.Argument(
            help="Mechanisms by themselves, all between a question and its answer, or the proof of Laplace."
        ),
    ] = What.mechanisms,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="MODULE:NAME", help="Your own mechanism: f(data), f(data, n) or f(data, n, rng)."
        ),
    ] = None,
    inputs: Annotated[
        tuple[str, str], typer.Option("--inputs", metavar="JSON JSON", help="Two neighbouring inputs for --target.")
    ] = ("0", "1"),
    claimed: Annotated[float, typer.Option("--claimed", help="The epsilon that --target claims.")] = 1.0,
    delta: Annotated[float, typer.Option("--delta", help="The delta that --target claims.")] = 0.0,
    calls: Annotated[
        int,
        typer.Option("--calls", min=0, help="Calls for each sampled audit; 0: the catalogue exactly, without samples."),
    ] = 0,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Of the catalogue's noise and of choices.")] = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Also write an HTML page.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Of the pipeline: some eight minutes instead of one.")] = False,
    catalog: Annotated[
        Path | None,
        typer.Option(
            "--catalog",
            "-c",
            metavar="FILE",
            help="Of the pipeline: your catalog and its test questions, on invented rows.",
        ),
    ] = None,
) -> None:
    """Audit mechanisms: exactly where their law is known, and by searching for events that refute the claim.
    Or audit the pipeline: questions in SQL on invented databases that differ in one unit.

    "Not refuted" never means private. Ends with status 1 when --target is refuted, with 70 when the pipeline is."""
    _fitting(what, target=target, full=full, catalog=catalog, report=report)
    if what is What.pipeline:
        _pipeline(full, seed, catalog, report)
        return
    if what is What.proof:
        _proof(report)
        return
    if target is not None:
        _own(target, inputs, claimed, delta, calls or 1_000_000, seed, report)
        return
    from dither.audit import catalogue
    from dither.audit import report as reports
    from dither.audit.page import page
    from dither.cli.screen import out

    results = reports.run(catalogue.ROWS, budget_calls=calls, seed=seed)
    out().print(reports.table(results))
    if report is not None:
        _write(report, page(results))


def _fitting(what: What, *, target: str | None, full: bool, catalog: Path | None, report: Path | None) -> None:
    """Refuses an option that what is audited has no use for, and a report that could not be written."""
    if target is not None and what is not What.mechanisms:
        raise InvalidParameter("--target", expected="with mechanisms only", found=what.value)
    for name, given in (("--full", full), ("--catalog", catalog)):
        if given and what is not What.pipeline:
            hint = f"Write: dither audit pipeline {name}"
            raise InvalidParameter(name, expected="with pipeline only", found=what.value, hint=hint)
    from dither.cli.written import check_outputs

    check_outputs({"--report": report}, kept=[] if catalog is None else [catalog])


def _proof(report: Path | None) -> None:
    from dither.audit.page import page
    from dither.audit.symbolic import proofs
    from dither.cli.screen import out
    from dither.errors import GuaranteeError

    found = proofs()
    for each in found:
        out().print(str(each), markup=False)
        out().print()
    if report is not None:
        _write(report, page([], title="Proofs", proofs=found))
    if not all(each.holds for each in found):
        raise GuaranteeError("A step of a proof fails.")


def _pipeline(full: bool, seed: int | None, file: Path | None, report: Path | None) -> None:
    from dither.audit import page, pipeline
    from dither.cli.context import read_catalog
    from dither.cli.screen import out
    from dither.errors import GuaranteeError

    catalog = None if file is None else read_catalog(file)
    with _watched() as progress:
        found = pipeline.run(effort="full" if full else "quick", seed=seed, catalog=catalog, progress=progress)
    out().print(found.table())
    if report is not None:
        _write(report, page([], title="Audit of the pipeline", pipeline=found))
    if found.violated:
        raise GuaranteeError(f"The audit refutes the pipeline: {', '.join(found.violated)}.")


def _write(report: Path, text: str) -> None:
    from dither.cli.screen import say
    from dither.cli.written import write

    write("--report", report, text)
    say(f"Wrote {report}.")


@contextmanager
def _watched() -> Iterator[Callable[[str], None]]:
    """A spinner on stderr that says what is tried now, where somebody is watching."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("", total=None)
        yield lambda doing: shown.update(task, description=doing[:100])


def _own(
    target: str,
    inputs: tuple[str, str],
    claimed: float,
    delta: float,
    calls: int,
    seed: int | None,
    report: Path | None,
) -> None:
    from dither import audit as auditor
    from dither.cli.screen import out

    mechanism = _imported(target)
    with _watched() as progress, _theirs(target):
        found = auditor.test(
            mechanism,
            _parsed(inputs),
            claimed=claimed,
            delta=delta,
            budget_calls=calls,
            seed=seed,
            progress=lambda stage, done, allowed: progress(f"{target}: {stage}, {done:,} of {allowed:,} calls"),
        )
    out().print(str(found), markup=False)
    if report is not None:
        about = f"{inputs[0]} against {inputs[1]}"
        listed = [auditor.Result.of(found, name=target, about=about)]
        _write(report, auditor.page(listed, title=f"Audit of {target}"))
    if found.verdict == "violated":
        raise typer.Exit(REFUTED)


@contextmanager
def _theirs(target: str) -> Iterator[None]:
    """What the owner's own program raises is told to them as it is; an unknown error of ours would hide it."""
    try:
        yield
    except DitherError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidParameter(
            "--target", expected="a mechanism that answers for these inputs", found=target, hint=_said(error)
        ) from error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _imported(target: str) -> Any:
    module, _, name = target.partition(":")
    # As `python -m` does: a mechanism is most often a file in the folder one is in.
    sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        raise InvalidParameter(
            "--target", expected="module:callable that can be imported", found=target, hint=_said(error)
        ) from error
    finally:
        sys.path.remove("")
    return found


def _parsed(inputs: tuple[str, str]) -> tuple[Any, Any]:
    try:
        return json.loads(inputs[0]), json.loads(inputs[1])
    except json.JSONDecodeError:
        raise InvalidParameter(
            "--inputs", expected="two JSON values, as in 0 1 or '[1,2]' '[1]'", found=inputs
        ) from None
