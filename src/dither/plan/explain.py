"""A priced plan in words and numbers: what is measured, how far one unit can move it, the noise, the price.

Flow: `Session.explain`; the command line and notebooks show it. Computed from the plan alone.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.accounting import Budget, Price, Remaining
from dither.catalog.model import Catalog
from dither.exact import decimal_text
from dither.noise import DiscreteLaplace
from dither.plan import nodes
from dither.plan.laws import ChoiceLaw, Law, MarginalLaw, RunningLaw
from dither.plan.offer import Offer
from dither.plan.price import PricedPlan, PricedVector
from dither.sql.expressions import Expr

if TYPE_CHECKING:
    from dither.plan.sketch import Sketches

__all__ = [
    "Explanation",
    "VectorPlan",
    "describe_expression",
    "describe_vector",
    "explain_choices",
    "explain_plan",
    "gaussian_notes",
    "offer_text",
    "price_text",
]


@dataclass(frozen=True)
class VectorPlan:
    what: str
    groups: str
    """How many, or `private`."""
    distance: float
    """The most one unit moves it, in the unit of the data."""
    mechanism: str
    scale: float
    """Laplace b or Gaussian sigma, in the unit of the data."""
    half_width: float
    """95 % of answers lie within this of the (truncated, clamped) truth."""
    known: bool
    """True where a released measurement serves, for nothing."""
    law: Law | None = None
    """Of the noise, in steps of `step`; None where a value is chosen by its rank."""
    step: float = 1.0


@dataclass(frozen=True)
class Explanation:
    question: str
    vectors: tuple[VectorPlan, ...]
    price: Price
    unit_name: str
    rows_kept: tuple[tuple[str, int], ...]
    """Per protected table: rows kept per unit."""
    notes: tuple[str, ...]
    remaining: Remaining | None
    questions_left: int | None
    """How many such questions the asker's own remaining allowance still holds."""
    solved: Offer | None = None
    """The least offer that keeps a wished ±, where one was wished."""
    columns: tuple[tuple[str, float | None], ...] = ()
    """Each noisy column of the answer and its ± at 95 %, None where it is known only with the answer."""

    @property
    def columns_sentence(self) -> str:
        """`Expected: n ± 12, mean ± 0.3.`; '' where nothing is expected."""
        known = [f"{name} ± {half:.3g}" for name, half in self.columns if half is not None]
        open = [name for name, half in self.columns if half is None]
        if not known:
            return ""
        rest = f"; that of {', '.join(open)} is known with the answer" if open else ""
        return f"Expected, at 95 %: {', '.join(known)}{rest}."

    @property
    def solved_sentence(self) -> str:
        """Which offer keeps the wish, and what it costs where the budget is on another meter; '' without a wish."""
        if self.solved is None:
            return ""
        on_rho = self.remaining is not None and self.remaining.epsilon is None and self.solved.epsilon is not None
        cost = f"; of a budget in rho it takes {decimal_text(self.price.rho)}" if on_rho else ""
        return f"The least offer that keeps the wish: {offer_text(self.solved)}{cost}."

    def __str__(self) -> str:
        lines = [f"One {self.unit_name} counts with at most {n} rows of {t}." for t, n in self.rows_kept]
        for vector in self.vectors:
            state = " (released before: free)" if vector.known else ""
            sure = "± depends on the data" if vector.half_width != vector.half_width else f"± {vector.half_width:.4g}"
            lines.append(
                f"{vector.what}, {vector.groups} group(s): moved by at most {vector.distance:g}; "
                f"{vector.mechanism} noise {vector.scale:.4g}; {sure}{state}"
            )
        if self.columns_sentence:
            lines.append(self.columns_sentence)
        if self.solved is not None:
            lines.append(self.solved_sentence)
        lines.append(f"Price: {price_text(self.price)}.")
        return "\n".join([*lines, *self.notes])

    def plot(self) -> Sketches:
        """Pictures of where the answers would fall, from the exact laws: text in a terminal, SVG in a notebook."""
        from dither.plan.sketch import sketches

        return sketches(self.vectors)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def gaussian_notes(cost: Price, budget: Budget) -> list[str]:
    """What Gaussian noise does to the data set's budget, where it is no budget of rho, which has but one meter.
    budget: the ledger's, which counts whatever the catalog says by now."""
    if not cost.gaussian or budget.notion == "zcdp":
        return []
    if budget.notion == "pure":
        return ["This budget is of epsilon alone and cannot pay for Gaussian noise: asked like this, it is refused."]
    return ["Gaussian noise closes the epsilon meter of this budget: later questions are priced in rho alone."]


def explain_plan(
    parts: Sequence[tuple[PricedPlan, Set[tuple[int, int]]]],
    cost: Price,
    catalog: Catalog,
    budget: Budget,
    remaining: Remaining | None,
) -> Explanation:
    """parts: the question's phases and last itself, each with the (measure, vector) positions that cost nothing.
    budget: the data set's, as the ledger has it."""
    vectors: list[VectorPlan] = []
    scans: dict[str, int] = {}
    for priced, known in parts:
        for m, measure in enumerate(priced.measures):
            domain = measure.measure.domain
            groups = "private" if domain is None else f"{domain.size:,}"
            for p, vector in enumerate(measure.vectors):
                vectors.append(_vector_plan(vector, measure.measure, groups, (m, p) in known))
            scans |= {s.table: s.tau for s in nodes.scans_of(measure.measure.input) if s.truncated}
    totals = dict.fromkeys(_totals_note(v) for priced, _ in parts for m in priced.measures for v in m.vectors)
    together = dict.fromkeys(note for priced, known in parts for note in _cube_notes(priced, known))
    plan = parts[-1][0].plan
    kept = tuple((catalog.tables[table].name, tau) for table, tau in sorted(scans.items()))
    notes = [*plan.notes, *(note for note in totals if note), *together]
    notes += gaussian_notes(cost, budget)
    return Explanation(
        plan.text, tuple(vectors), cost, catalog.unit_name, kept, tuple(notes), remaining, _left(cost, remaining)
    )


def explain_choices(
    plan: nodes.Plan, sentences: Sequence[str], cost: Price, catalog: Catalog, remaining: Remaining | None
) -> Explanation:
    """A question that rests on what must be chosen first: what that is, and the price of everything."""
    notes = (*sentences, *plan.notes)
    return Explanation(plan.text, (), cost, catalog.unit_name, (), notes, remaining, _left(cost, remaining))


def offer_text(offer: Offer) -> str:
    """As it can be typed back, exactly."""
    return f"{'epsilon' if offer.epsilon is not None else 'rho'} {decimal_text(offer.total)}"


def price_text(price: Price) -> str:
    parts = [f"epsilon {float(price.epsilon):g}" if price.epsilon is not None else f"rho {float(price.rho):g}"]
    if price.delta:
        parts.append(f"delta {float(price.delta):g}")
    return ", ".join(parts)


def describe_vector(vector: nodes.Vector, measure: nodes.Measure | None = None) -> str:
    """`COUNT(*)`, `SUM(age) WHERE ...`, as an auditor would name it."""
    condition = f" where {describe_expression(vector.filter)}" if vector.filter is not None else ""
    by = f" by {', '.join(key.name for key in measure.keys)}" if measure is not None and measure.keys else ""
    if vector.kind == "histogram":
        return f"{_quantiles(vector)}{condition}{by}"
    inside = "*" if vector.expr is None else describe_expression(vector.expr)
    if vector.kind == "units":
        inside = "unit"
    word = {
        "rows": "COUNT",
        "sum": "SUM",
        "units": "COUNT DISTINCT",
        "distinct": "COUNT DISTINCT",
    }[vector.kind]
    shifted = f" around {float(vector.center * vector.step):g}" if vector.center else ""
    return f"{word}({inside}){shifted}{condition}{by}"


def _quantiles(vector: nodes.Vector) -> str:
    """`MEDIAN(age)`, `QUANTILES(age, 0.1, 0.2, ..., 0.9)`, `lower end of MEDIAN(age)`."""
    assert vector.expr is not None
    inside = describe_expression(vector.expr)
    shares = [f"{float(quantile):.4g}" for quantile in vector.quantiles]
    if len(shares) > 4:
        shares = [*shares[:2], "...", shares[-1]]
    name = {Fraction(0): "MIN", Fraction(1, 2): "MEDIAN", Fraction(1): "MAX"}.get(vector.quantiles[0])
    if len(vector.quantiles) > 1 or name is None:
        name, inside = "QUANTILES" if len(shares) > 1 else "QUANTILE", ", ".join([inside, *shares])
    ends = "s" if len(shares) > 1 else ""
    return {-1: f"lower end{ends} of ", 0: "", 1: f"upper end{ends} of "}[vector.end] + f"{name}({inside})"


def describe_expression(expr: Expr) -> str:
    """The expression with columns by their names and without the guards that enforce their domains."""
    match expr.op:
        case "read" | "unit":
            return str(expr.payload[0].name)  # type: ignore[index,union-attr]
        case "column":
            return str(expr.payload)
        case "literal":
            return "NULL" if expr.payload is None else str(expr.payload)
        case "to_double" | "to_bigint" | "to_hugeint" | "to_decimal" | "finite" | "within":
            return describe_expression(expr.args[0])
        case op:
            symbols = {
                "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "equal": "=", "not_equal": "<>",
                "less": "<", "less_or_equal": "<=", "greater": ">", "greater_or_equal": ">=", "and": "AND", "or": "OR",
            }  # fmt: skip
            args = [describe_expression(arg) for arg in expr.args]
            if op in symbols and len(args) == 2:
                return f"({args[0]} {symbols[op]} {args[1]})"
            return f"{op}({', '.join(args)})"


def _vector_plan(vector: PricedVector, measure: nodes.Measure, groups: str, known: bool) -> VectorPlan:
    step = float(vector.vector.step)
    law = vector.law
    if isinstance(law, ChoiceLaw):
        # About how many ranks off the last choice of a list is: what it rests on is off as well.
        ranks = 2 * float(measure.tau * law.levels / law.epsilon)
        return VectorPlan(
            describe_vector(vector.vector, measure),
            groups,
            float(measure.tau),
            "exponential mechanism, ranks",
            ranks,
            float("nan"),
            known,
        )
    if isinstance(law, RunningLaw):
        kind = "Laplace" if isinstance(law.plan.law, DiscreteLaplace) else "Gaussian"
        return VectorPlan(
            describe_vector(vector.vector, measure),
            groups,
            float(vector.distance * vector.vector.step),
            f"{law.plan.design.name} with {kind}",
            law.plan.noise_scale * step,
            law.half_width(0.95) * step,
            known,
            law,
            step,
        )
    if isinstance(law, MarginalLaw):
        return VectorPlan(
            describe_vector(vector.vector, measure),
            groups,
            float(vector.distance * vector.vector.step),
            "residuals with Gaussian",
            law.variance() ** 0.5 * step,
            law.half_width(0.95) * step,
            known,
            law,
            step,
        )
    mechanism = "Laplace" if isinstance(law, DiscreteLaplace) else "Gaussian"
    scale = float(law.scale) if isinstance(law, DiscreteLaplace) else float(law.sigma2) ** 0.5
    return VectorPlan(
        describe_vector(vector.vector, measure),
        groups,
        float(vector.distance * vector.vector.step),
        mechanism,
        scale * step,
        law.half_width(0.95) * step,
        known,
        law,
        step,
    )


def _totals_note(vector: PricedVector) -> str:
    """Why running totals are made as they are, and how sure they are."""
    if not isinstance(vector.law, RunningLaw):
        return ""
    widest = vector.law.total_half_widths(0.95).max(initial=0.0) * float(vector.vector.step)
    return f"Running totals of {describe_vector(vector.vector)}: each within ± {widest:.4g}. {vector.law.plan.reason}"


def _cube_notes(priced: PricedPlan, known: Set[tuple[int, int]]) -> list[str]:
    """What is measured together, or why groupings of the same rows are measured one by one."""
    notes = []
    for cube in priced.plan.cubes if priced.offer.rho is None else ():
        notes.append(
            f"{_groupings(cube, priced)} are measured one by one, each with its own share: noise shared out among them "
            "is Gaussian, and a price in epsilon buys none. For rho=... they are measured together."
        )
    for each in priced.cubes:
        if not set(each.places) <= known:
            notes.append(
                f"{_groupings(each.cube, priced)} are measured together, as residuals: each is at least as accurate as "
                "with its own share, and finer ones add up to coarser ones exactly."
            )
    if priced.offer.rho is not None:
        notes += [f"Groupings of the same rows are measured one by one: {reason}." for reason in priced.plan.apart]
    return notes


def _groupings(cube: nodes.Cube, priced: PricedPlan) -> str:
    m, p = cube.groupings[0].place
    what = describe_vector(priced.measures[m].measure.vectors[p])
    return f"{len(cube.groupings)} groupings of {what}"


def _left(cost: Price, remaining: Remaining | None) -> int | None:
    """How many more questions of this price the allowance holds, by the meter that holds more."""
    if remaining is None:
        return None
    counts = []
    if remaining.epsilon is not None and cost.epsilon:
        counts.append(int(remaining.epsilon / cost.epsilon))
    if remaining.rho and cost.rho:
        counts.append(int(remaining.rho / cost.rho))
    return max(counts, default=None)
