"""Run the catalogue, or your own mechanisms, and show what was claimed beside what was found.

Flow: the last step: rows in, a terminal table with a progress bar, and one HTML page (`page`).
Relies on: `catalogue` (rows), `exact` (curves), Rich.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from dither.audit.catalogue import Row, audit_row
from dither.audit.verdicts import Finding, Point

__all__ = ["Result", "run", "table"]


@dataclass(frozen=True)
class Result:
    """What both audits say of one row."""

    row: Row
    exact: tuple[float, float] | None
    """Enclosure of epsilon for the row's pair; None when there is no law to compute it from."""
    curve: tuple[Point, ...]
    """Trade-off points of the exact law; empty without one."""
    finding: Finding | None

    @classmethod
    def of(cls, finding: Finding, *, name: str, about: str = "") -> Result:
        """Of a mechanism of somebody's own, for `table` and `page`."""
        row = Row(0, name, about, _none, ((), ()), finding.claimed, None, finding.verdict, None, 0.0)
        return cls(row, None, (), finding)

    @property
    def refuted(self) -> bool:
        """Does either audit refute the claim?"""
        proven = self.exact is not None and self.exact[0] > self.row.claimed + 1e-9
        return proven or (self.finding is not None and self.finding.verdict == "violated")

    @property
    def as_expected(self) -> bool:
        return self.refuted == (self.row.expected == "violated")


def run(
    rows: Iterable[Row], *, budget_calls: int = 0, seed: int | None = None, console: Console | None = None
) -> list[Result]:
    """Audit every row: exactly where there is a law, and by sampling when budget_calls (a row) is above 0."""
    listed = list(rows)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    shown = console or Console(stderr=True)
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        task = progress.add_task("audit", total=len(listed))
        results = []
        for done, entry in enumerate(listed):

            def say(stage: str, calls: int, allowed: int, at: int = done, name: str = entry.name) -> None:
                progress.update(task, description=f"{name}: {stage}", completed=at + calls / allowed)

            progress.update(task, description=f"{entry.name}: exact", completed=done)
            pair = entry.law() if entry.law else None
            finding = audit_row(entry, budget_calls=budget_calls, seed=seed, progress=say) if budget_calls else None
            results.append(
                Result(entry, pair.epsilon() if pair else None, _thinned(pair.trade_off()) if pair else (), finding)
            )
        return results


def table(results: Sequence[Result]) -> Table:
    """One line a row: claimed, exact, sampled, verdict."""
    shown = Table(title="Audit", caption="a verdict in brackets differs from the one expected")
    for heading in (
        "",
        "mechanism",
        "claimed",
        "true",
        "exact for the pair",
        "sampled >=",
        "event",
        "calls",
        "s",
        "verdict",
    ):
        shown.add_column(heading, justify="left" if heading in ("mechanism", "event", "verdict") else "right")
    for each in results:
        finding = each.finding
        shown.add_row(
            str(each.row.number or ""),
            each.row.name,
            f"{each.row.claimed:.4g}",
            number(each.row.true_epsilon),
            exact_text(each.exact),
            f"{finding.epsilon_lower:.4f}" if finding else "-",
            str(finding.event) if finding else "-",
            f"{finding.calls:,}" if finding else "-",
            f"{finding.seconds:.1f}" if finding else "-",
            verdict_text(each),
        )
    return shown


def verdict_text(result: Result) -> str:
    said = "violated" if result.refuted else "not refuted"
    return said if result.as_expected else f"({said})"


def exact_text(bounds: tuple[float, float] | None) -> str:
    """One number when the enclosure is that narrow, else both ends."""
    if bounds is None:
        return "-"
    low, high = bounds
    return number(low) if low == high or high - low < 1e-4 else f"{number(low)} to {number(high)}"


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return "infinite" if math.isinf(value) else f"{value:.5g}"


def _none(*_: object) -> NDArray[np.float64]:
    """Stands where a row of the catalogue has its sampler."""
    return np.empty(0)


def _thinned(points: Sequence[Point]) -> tuple[Point, ...]:
    step = max(1, len(points) // 200)
    return (*points[:-1:step], points[-1])
