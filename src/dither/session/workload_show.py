"""A planned workload as a table: for a terminal, for a notebook, as JSON.

Flow: `BudgetPlan.__repr__`, `_repr_html_` and `dither budget plan` call these. Every amount is shown exactly, so that
the printed prices add up to the printed total; texts of questions are escaped for where they go.
"""

from __future__ import annotations

import io
import math
import shutil
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dither.answer.numbers import plain
from dither.answer.show import STYLE
from dither.exact import decimal_text
from dither.session.workload import BudgetPlan, PlannedColumn, PlannedQuestion

__all__ = ["plan_table", "to_dict", "to_html", "to_text"]

_LONGEST = 72
_HEADS = ("", "question", "ask with", "noise", "±", "wanted", "price", "total")
_RIGHT = frozenset({"", "ask with", "±", "wanted", "price", "total"})
UNKNOWN = "with the answer"


def to_text(plan: BudgetPlan) -> str:
    width = max(shutil.get_terminal_size((110, 24)).columns, 80)
    target = io.StringIO()
    Console(file=target, width=width, color_system=None, force_terminal=False).print(plan_table(plan))
    return "\n".join(line.rstrip() for line in target.getvalue().splitlines())


def plan_table(plan: BudgetPlan) -> RenderableType:
    """For a Rich console: a line per question, and under it one per noisy column."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for head in _HEADS:
        table.add_column(Text(head), justify="right" if head in _RIGHT else "left", overflow="fold")
    for row in _rows(plan):
        table.add_row(*(Text(cell, style="bold" if row[0] else "") for cell in row))
    styles = {"good": "green", "bad": "bold red", "": "dim"}
    return Group(table, *(Text(line, style=styles[kind]) for kind, line in _lines(plan)))


def to_html(plan: BudgetPlan) -> str:
    """In the style of an answer: no script, no link."""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in _HEADS)
    body = []
    for row in _rows(plan):
        cells = []
        for head, cell in zip(_HEADS, row, strict=True):
            kind = ' class="dither-number"' if head in _RIGHT else ""
            shown = escape(cell)
            if head == "±" and cell:
                shown = f'<span class="dither-interval">{shown}</span>'
            cells.append(f"<td{kind}>{f'<b>{shown}</b>' if row[0] and cell else shown}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<div>{f'<b>{escape(line)}</b>' if kind else escape(line)}</div>" for kind, line in _lines(plan))
    return (
        f'<div class="dither-answer"><style>{STYLE}</style><table><thead><tr>{heads}</tr></thead>'
        f'<tbody>{"".join(body)}</tbody></table><div class="dither-notes">{notes}</div></div>'
    )


def to_dict(plan: BudgetPlan) -> dict[str, Any]:
    """For JSON: amounts are exact texts, ± are numbers or null."""
    return {
        "meter": plan.meter,
        "budget": decimal_text(plan.budget),
        "total": decimal_text(plan.total),
        "left": decimal_text(plan.left),
        "delta": decimal_text(plan.delta, 36),
        "fits": plan.fits,
        "fits_what_remains": plan.fits_what_remains,
        "enough": decimal_text(plan.enough),
        "scaled": None if plan.scaled is None else decimal_text(plan.scaled),
        "questions": [_question(plan, each) for each in plan.questions],
        "notes": list(plan.notes),
    }


def _question(plan: BudgetPlan, question: PlannedQuestion) -> dict[str, Any]:
    price = question.price
    return {
        "number": question.number,
        "question": question.text,
        "offer": decimal_text(question.offer),
        "price": {
            "epsilon": None if price.epsilon is None else decimal_text(price.epsilon),
            "rho": decimal_text(price.rho),
            "delta": decimal_text(price.delta, 36),
        },
        "total": decimal_text(question.total),
        "weight": None if question.weight is None else str(question.weight),
        "found_in": list(question.found_in),
        "columns": [
            {
                "name": column.name,
                "noise": column.mechanism or None,
                "half_width": column.half_width,
                "wanted": None if column.wanted is None else float(column.wanted),
            }
            for column in question.columns
        ],
        "measured": [
            {
                "what": vector.what,
                "noise": f"{vector.mechanism} {vector.scale:.6g}",
                "half_width": vector.half_width if math.isfinite(vector.half_width) else None,
                "found": vector.known,
            }
            for vector in question.vectors
        ],
    }


def _rows(plan: BudgetPlan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for question in plan.questions:
        text = " ".join(question.text.split())
        shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        price = decimal_text(question.charged(plan.meter))
        rows.append(
            (
                str(question.number),
                plain(shown).value,
                decimal_text(question.offer),
                question.groups,
                "",
                "",
                price if price != "0" else "free",
                decimal_text(question.total),
            )
        )
        rows += [_column(column) for column in question.columns]
        if any(column.half_width is None for column in question.columns):
            rows += [_vector(question, position) for position in range(len(question.vectors))]
        if question.found_in:
            rows.append(("", f"  {_found(question.found_in)}", "", "", "", "", "", ""))
    return rows


def _column(column: PlannedColumn) -> tuple[str, ...]:
    half = UNKNOWN if column.half_width is None else _short(column.half_width)
    wanted = "" if column.wanted is None else _short(float(column.wanted))
    return "", f"  {plain(column.name).value}", "", column.mechanism, half, wanted, "", ""


def _vector(question: PlannedQuestion, position: int) -> tuple[str, ...]:
    """What is measured, for questions whose columns have no ± of their own yet."""
    vector = question.vectors[position]
    half = _short(vector.half_width) if math.isfinite(vector.half_width) else ""
    noise = f"{vector.mechanism} {_short(vector.scale)}"
    return "", f"    from {plain(vector.what).value}", "", noise, half, "", "", ""


def _found(numbers: Sequence[int]) -> str:
    others = [str(number) for number in numbers if number]
    places = [f"question {', '.join(others)}"] if others else []
    places += ["answers kept in the ledger"] if 0 in numbers else []
    return f"uses again what was measured by {' and '.join(places)}"


def _lines(plan: BudgetPlan) -> list[tuple[str, str]]:
    """What stands under the table, each with good, bad or ''."""
    meter, total, budget = plan.meter, decimal_text(plan.total), decimal_text(plan.budget)
    lines = []
    if plan.scaled is None:
        # Less than a thousandth is left by rounding down, not by a decision.
        rest = f"; {decimal_text(plan.left)} is left" if plan.left * 1000 > plan.budget else ""
        lines.append(("good", f"In all {meter} {total} of {budget}{rest}."))
    else:
        lines += [
            ("bad", f"The wishes do not fit {meter} {budget}: {meter} {decimal_text(plan.enough)} would be enough."),
            ("", f"The plan above gives each wish {_percent(plan.scaled)} of what it needs, {meter} {total} in all."),
            ("", f"What can give: {', '.join(_short_of(plan)) or 'a smaller number of questions'}."),
        ]
        starved = [str(each.number) for each in plan.questions if each.weight is not None]
        if starved:
            lines.append(("", f"Questions without a stated accuracy get the least there is: {', '.join(starved)}."))
    if plan.delta:
        shown = f"Choosing private groups uses delta {float(plan.delta):.3g}"
        if plan.delta_limit is not None and plan.delta > plan.delta_limit:
            more = f"{shown} together, more than the {float(plan.delta_limit):.3g} stated: list groups in the catalog."
            lines.append(("bad", more))
        else:
            lines.append(("", f"{shown}."))
    if not plan.fits_what_remains:
        lines.append(("bad", f"It does not fit what is left: {_remains(plan)}."))
    unknown = [each for each in plan.questions if any(column.half_width is None for column in each.columns)]
    if unknown:
        lines.append(("", f"± {UNKNOWN}: it depends on the noisy numbers it is computed from."))
    lines.append(("", "± covers the true value (rows kept, values in bounds) in 95 % of cases."))
    return [*lines, *(("", note) for note in plan.notes)]


def _short_of(plan: BudgetPlan) -> list[str]:
    """`question 2: n ± 80 instead of 50`, for what falls short."""
    found = []
    for question in sorted(plan.questions, key=lambda each: each.number):
        for column in question.columns:
            if column.falls_short and column.half_width is not None and column.wanted is not None:
                ends = f"± {_short(column.half_width)} instead of {_short(float(column.wanted))}"
                found.append(f"question {question.number} ({plain(column.name).value}) {ends}")
    return found


def _remains(plan: BudgetPlan) -> str:
    left = plan.remaining
    assert left is not None
    parts = [] if left.epsilon is None else [f"epsilon {decimal_text(left.epsilon, 9)}"]
    parts += [f"rho {decimal_text(left.rho, 9)}"] if left.rho else []
    return f"{' or '.join(parts) or 'nothing'}, delta {float(left.delta):.3g}"


def _percent(share: Fraction) -> str:
    """Rounded down: never shown as more than is given."""
    return f"{decimal_text(share * 100, 1)} %"


def _short(value: float) -> str:
    """Three significant digits, rounded up: an expectation, never shown as better than it is."""
    if not math.isfinite(value):
        return "?"
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    scaled = math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits
    return plain(int(scaled) if scaled == int(scaled) else scaled).value
