"""`dither audit`: the catalogue of right and wrong mechanisms, or somebody's own mechanism, put to the test."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.audit.verdicts import Finding

__all__ = ["audit"]


def audit(
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
) -> None:
    """Audit mechanisms: exactly where their law is known, and by searching for events that refute the claim.

    "Not refuted" never means private. Ends with status 70 when a verdict of the catalogue is not the expected one."""
    if target is not None:
        _own(target, inputs, claimed, delta, calls or 1_000_000, seed)
        return
    from dither.audit import catalogue
    from dither.audit import report as reports
    from dither.audit.page import page
    from dither.cli.screen import out

    results = reports.run(catalogue.ROWS, budget_calls=calls, seed=seed)
    out().print(reports.table(results))
    if report is not None:
        report.write_text(page(results), encoding="utf-8")


def _own(target: str, inputs: tuple[str, str], claimed: float, delta: float, calls: int, seed: int | None) -> None:
    from dither import audit as auditor
    from dither.cli.screen import say

    found: Finding = auditor.test(
        _imported(target), _parsed(inputs), claimed=claimed, delta=delta, budget_calls=calls, seed=seed
    )
    say(f"{found.verdict}: epsilon is at least {found.epsilon_lower:.4g} with 95 % confidence; {claimed:g} is claimed.")
    say(f"Event: {found.event}. {found.calls:,} calls, {found.seconds:.1f} s.")


def _imported(target: str) -> Any:
    module, _, name = target.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        raise InvalidParameter("--target", expected="module:callable that can be imported", found=target) from None


def _parsed(inputs: tuple[str, str]) -> tuple[Any, Any]:
    try:
        return json.loads(inputs[0]), json.loads(inputs[1])
    except json.JSONDecodeError:
        raise InvalidParameter(
            "--inputs", expected="two JSON values, as in 0 1 or '[1,2]' '[1]'", found=inputs
        ) from None
