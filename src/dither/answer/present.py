"""A view of an answer made fit for a page: rounded, small counts suppressed, negatives cut, reliability by letters.

Flow: `Answer.present` and `Answer.simultaneous` give a `Presented`, which is an `Answer` in every other respect: it
shows itself, goes into data frames and files, and carries the same receipt. `raw` is the answer as it was released.
Everything here is post-processing of released numbers: it costs nothing and can reveal nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dither.answer.answer import Answer
from dither.answer.behind import Behind, columns_behind
from dither.answer.combined import half_width_of_sum
from dither.answer.finishing import Finished, finish_with_intervals
from dither.answer.numbers import in_doubles
from dither.answer.presentation import Level, Presentation, letter_of
from dither.answer.simultaneous import hold_together
from dither.errors import InvalidParameter
from dither.exact import Number, decimal_text, exact, positive
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan.dependence import Why

__all__ = ["Presented", "present", "shown_step", "simultaneous"]

ADDITIVE = ("count", "sum")
MEASURED = ("count", "sum", "sum_from_mean")

Column = list[Any]
Ends = dict[int, tuple[list[float], list[float]]]


@dataclass(frozen=True, eq=False, repr=False)
class Presented(Answer):
    """See the module. `finished`, `plan.columns` and `intervals` are those shown."""

    raw: Answer = field(kw_only=True)
    """The answer as it was released."""
    presentation: Presentation = field(kw_only=True)
    shown_intervals: Mapping[int, tuple[Any, Any]] = field(kw_only=True)
    signs: Mapping[tuple[int, int], str] = field(kw_only=True, default_factory=dict)
    """(column, row) -> what is shown in place of a suppressed number."""
    letters: frozenset[int] = field(kw_only=True, default=frozenset())
    """Columns that hold the reliability of the column before them."""
    reasons: Mapping[int, Why] = field(kw_only=True, default_factory=dict)
    """Why noisy columns have no interval."""
    shown_only: tuple[int, ...] = field(kw_only=True, default=())

    @cached_property
    def intervals(self) -> dict[int, tuple[Any, Any]]:
        return dict(self.shown_intervals)

    @cached_property
    def without_interval(self) -> dict[int, Why]:
        return dict(self.reasons)

    @property
    def of_shown(self) -> tuple[int, ...]:
        return self.shown_only

    def together(self, language: str = "en") -> str:
        return self.presentation.together(language)

    def presented(self, language: str = "en") -> tuple[str, ...]:
        return self.presentation.sentences(language)

    @property
    def headers(self) -> tuple[str, ...]:
        return tuple("" if p in self.letters else name for p, name in enumerate(self.columns))

    @property
    def hidden(self) -> Mapping[tuple[int, int], str]:
        return self.signs


_LARGEST_STEP = 10**30


def shown_step(value: Number, name: str) -> Fraction:
    """A step to round to, or a least count. Raises InvalidParameter outside 1e-30 to 1e30: numbers are shown as floats,
    and an answer that is paid for must not be lost for one of 400 digits."""
    step = positive(value, name)
    if not Fraction(1, _LARGEST_STEP) <= step <= _LARGEST_STEP:
        raise InvalidParameter(name, expected="between 1e-30 and 1e30", found=value)
    return step


def present(
    answer: Answer,
    *,
    round_to: Number | None = None,
    suppress_below: Number | None = None,
    nonnegative: bool = False,
    reliability: bool = False,
    other: str | None = None,
) -> Presented:
    """See `Answer.present`. Raises InvalidParameter where an option has nothing to work on."""
    if isinstance(answer, Presented) and answer.presentation.names():
        raise InvalidParameter(
            "present",
            expected="called on the answer itself",
            found="one that was presented before",
            hint="Give all options at once, to answer.raw.",
        )
    options = Presentation(
        None if round_to is None else shown_step(round_to, "round_to"),
        None if suppress_below is None else shown_step(suppress_below, "suppress_below"),
        bool(nonnegative),
        bool(reliability),
        other,
        answer.presentation.level if isinstance(answer, Presented) else None,
    )
    if not options.names():
        raise InvalidParameter(
            "present",
            expected="one option at least: round_to, suppress_below, nonnegative, reliability",
            found="none",
        )
    return _Page(answer, options).made()


def simultaneous(answer: Answer, confidence: Number) -> Presented:
    """See `Answer.simultaneous`."""
    if isinstance(answer, Presented):
        raise InvalidParameter(
            "simultaneous",
            expected="called before present",
            found="an answer that was presented",
            hint="answer.simultaneous(0.95).present(...)",
        )
    level = exact(confidence, "confidence")
    together = hold_together(answer.plan, answer.tables, level)
    ends = finish_with_intervals(answer.plan, answer.tables, together)
    found = {}
    for position, role in enumerate(answer.plan.roles):
        if role == "aggregate" and f"low_{position}" in ends:
            low, high = (
                np.ma.filled(np.ma.asarray(ends[f"{e}_{position}"]).astype(float), np.nan) for e in ("low", "high")
            )
            found[position] = (low, high)
    said = Level(level, together.numbers, independent=together.independent)
    reasons = dict.fromkeys(answer.intervals, Why.ALONE)
    for position, (low, _) in found.items():
        if not np.isnan(low).any():
            del reasons[position]
    shown_only = answer.of_shown
    return _view(answer, answer, Presentation(level=said), intervals=found, reasons=reasons, shown_only=shown_only)


class _Page:
    """One presentation being made. Columns are lists of plain values; a step takes the page further."""

    def __init__(self, answer: Answer, options: Presentation) -> None:
        self.answer = answer
        self.options = options
        self.behind = columns_behind(answer.plan)
        self.columns: list[Column] = [list(column) for column in zip(*answer.rows(), strict=True)] or [
            [] for _ in answer.columns
        ]
        # What is changed for a page is no longer the released decimal; `.raw` keeps that.
        for p, role in enumerate(answer.plan.roles):
            if role != "key":
                self.columns[p] = [in_doubles(value) for value in self.columns[p]]
        self.ends: Ends = {p: (low.tolist(), high.tolist()) for p, (low, high) in answer.intervals.items()}
        self.noisy = [p for p, role in enumerate(answer.plan.roles) if role != "key"]
        self.signs: dict[tuple[int, int], str] = {}

    def made(self) -> Presented:
        options = self.options
        if options.other is not None and options.suppress_below is None:
            raise InvalidParameter("other", expected="beside suppress_below", found="no suppress_below")
        if options.suppress_below is not None:
            self._suppress(options.suppress_below, options.other)
        letters = self._letters() if options.reliability else {}
        if options.nonnegative:
            self._change("nonnegative", self._cannot_be_negative, lambda value, side: max(value, type(value)(0)))
        if options.round_to is not None:
            self._change("round_to", self._is_measured, _rounding(options.round_to))
        return self._view(letters)

    # The options, in the order they are applied --------------------------------------------------------------------

    def _suppress(self, limit: Fraction, other: str | None) -> None:
        counts = [p for p in self.noisy if p in self.behind and self.behind[p].recipe.kind == "count"]
        if not counts:
            raise InvalidParameter(
                "suppress_below",
                expected="for an answer with a count as a column of its own",
                found="none",
                hint="Add COUNT(*) to the question.",
            )
        size = len(self.columns[0])
        small = [row for row in range(size) if any(_below(self.columns[p][row], limit) for p in counts)]
        if other is not None:
            self._combine(small, other)
            # The row of all others may itself be small.
            last = len(self.columns[0]) - 1
            small = [last] if small and any(_below(self.columns[p][last], limit) for p in counts) else []
        for row in small:
            for p in self.noisy:
                self.columns[p][row] = None
                self.signs[p, row] = f"< {decimal_text(limit)}" if p in counts else "x"
                if p in self.ends:
                    self.ends[p][0][row] = self.ends[p][1][row] = math.nan

    def _combine(self, small: Sequence[int], other: str) -> None:
        """The small rows become one, at the end, with the sums of their numbers."""
        keys = [p for p, role in enumerate(self.answer.plan.roles) if role == "key"]
        texts = len(keys) == 1 and all(isinstance(v, str | None) for v in self.columns[keys[0]])
        if not texts or any(p not in self.behind or not self._adds_up(self.behind[p]) for p in self.noisy):
            raise InvalidParameter(
                "other",
                expected="for an answer with one text column of groups, and counts and sums beside it",
                found=", ".join(self.answer.columns),
                hint="Means, running totals and computed columns cannot be added up.",
            )
        if other in self.columns[keys[0]]:
            raise InvalidParameter("other", expected="a name that no group has", found=other)
        if not small:
            return
        dropped = set(small)
        for p, column in enumerate(self.columns):
            kept = [value for row, value in enumerate(column) if row not in dropped]
            total = math.nan if p in keys else sum(column[row] for row in small)
            self.columns[p] = [*kept, other if p in keys else total]
            if p in self.ends:
                half = self._half_of_sum(p, small)
                low, high = ([e for row, e in enumerate(end) if row not in dropped] for end in self.ends[p])
                self.ends[p] = [*low, total - half], [*high, total + half]

    def _half_of_sum(self, position: int, rows: Sequence[int]) -> float:
        low, high = self.ends[position]
        if self.options.level is not None:
            # All hold together, so their sum is within the sum of their half-widths.
            return sum((high[row] - low[row]) / 2 for row in rows)
        law, step = self._law(self.behind[position])
        assert isinstance(law, DiscreteLaplace | DiscreteGaussian)
        return half_width_of_sum(law, len(rows), Fraction(95, 100)) * step

    def _letters(self) -> dict[int, Column]:
        found: dict[int, Column] = {}
        for p, (low, high) in self.ends.items():
            values = self.columns[p]
            # Known in the answer: here a row may have been suppressed already.
            if p not in self.noisy or not any(np.isfinite(self.answer.intervals[p][0])):
                continue
            found[p] = [
                letter_of(max(h - v, v - lo), v) if _is_number(v) and math.isfinite(lo) and math.isfinite(h) else None
                for v, lo, h in zip(values, low, high, strict=True)
            ]
        if not found:
            raise InvalidParameter("reliability", expected="for an answer with a known ±", found="none")
        return found

    def _change(self, name: str, fits: Callable[[int], bool], change: Callable[[Any, int], Any]) -> None:
        """Apply `change` to the numbers (side 0) and to the ends of their intervals (side -1 and 1)."""
        positions = [p for p in self.noisy if fits(p)]
        if not positions:
            raise InvalidParameter(
                name,
                expected="for an answer with a count or a sum as a column of its own"
                + (" that cannot be below 0" if name == "nonnegative" else ""),
                found="none",
            )
        for p in positions:
            self.columns[p] = [change(value, 0) if _is_number(value) else value for value in self.columns[p]]
            if p in self.ends:
                self.ends[p] = tuple(  # type: ignore[assignment]
                    [change(end, side) if math.isfinite(end) else end for end in ends]
                    for side, ends in zip((-1, 1), self.ends[p], strict=True)
                )

    # What a column is ----------------------------------------------------------------------------------------------

    def _is_measured(self, position: int) -> bool:
        return position in self.behind and self.behind[position].recipe.kind in MEASURED

    def _cannot_be_negative(self, position: int) -> bool:
        if not self._is_measured(position):
            return False
        recipe = self.behind[position].recipe
        if recipe.kind == "count":
            return True
        vector = self._table(self.behind[position]).vectors[recipe.vectors[-1]]
        return bool(vector.lo + vector.center >= 0)

    def _adds_up(self, behind: Behind) -> bool:
        if behind.recipe.kind not in ADDITIVE or behind.is_total:
            return False
        return isinstance(self._law(behind)[0], DiscreteLaplace | DiscreteGaussian)

    def _law(self, behind: Behind) -> tuple[object, float]:
        table, position = self._table(behind), behind.recipe.vectors[0]
        return table.laws[position], float(table.vectors[position].step)

    def _table(self, behind: Behind) -> Any:
        return next(table for table in self.answer.tables if table.name == behind.table)

    # The page ------------------------------------------------------------------------------------------------------

    def _view(self, letters: Mapping[int, Column]) -> Presented:
        """With each column of letters behind its numbers."""
        plan, types = self.answer.plan, self.answer.finished.types
        names: list[str] = []
        roles: list[str] = []
        columns: list[Any] = []
        sql_types: list[str] = []
        place: dict[int, int] = {}
        signs: dict[tuple[int, int], str] = {}
        lettered = []
        for p, values in enumerate(self.columns):
            place[p] = len(names)
            names.append(plan.columns[p])
            roles.append(plan.roles[p])
            touched = p in self.behind or self.signs or self.options.other is not None
            own_type = _type_of(values, types[p]) if touched else types[p]
            columns.append(_array(values) if touched else self.answer.finished.columns[p])
            sql_types.append(own_type)
            signs |= {(place[p], row): sign for (column, row), sign in self.signs.items() if column == p}
            if p in letters:
                lettered.append(len(names))
                signs |= {(len(names), row): "" for row, letter in enumerate(letters[p]) if letter is None}
                names.append(f"{plan.columns[p]}_reliability")
                roles.append("derived")
                columns.append(_objects(letters[p]))
                sql_types.append("VARCHAR")
        return _view(
            self.answer,
            self.answer.raw if isinstance(self.answer, Presented) else self.answer,
            self.options,
            intervals={place[p]: (np.asarray(low, float), np.asarray(high, float))
                       for p, (low, high) in self.ends.items()},
            finished=Finished(columns, sql_types),
            plan=replace(plan, columns=tuple(names), roles=tuple(roles)),
            signs=signs,
            letters=frozenset(lettered),
            reasons={place[p]: why for p, why in self.answer.without_interval.items()},
            shown_only=tuple(place[p] for p in self.answer.of_shown),
        )  # fmt: skip


def _view(answer: Answer, raw: Answer, options: Presentation, *, intervals: Mapping[int, Any], **new: Any) -> Presented:
    own = {each.name: getattr(answer, each.name) for each in fields(Answer) if each.name != "_cache"} | new
    own["notes"] = (*raw.notes, *options.sentences())
    return Presented(**own, raw=raw, presentation=options, shown_intervals=intervals)


def _rounding(step: Fraction) -> Callable[[Any, int], Any]:
    """Numbers to the nearest multiple, halves away from zero; ends of intervals outward."""

    def change(value: Any, side: int) -> Any:
        whole = Fraction(value) / step
        if side:
            return float((math.floor(whole) if side < 0 else math.ceil(whole)) * step)
        nearest = math.floor(abs(whole) + Fraction(1, 2)) * step * (1 if whole >= 0 else -1)
        return int(nearest) if isinstance(value, int) and nearest.denominator == 1 else float(nearest)

    return change


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _below(value: object, limit: Fraction) -> bool:
    return isinstance(value, int | float) and value < limit


def _type_of(values: Column, before: str) -> str:
    """A column of whole numbers that were rounded to parts is one of doubles."""
    return "DOUBLE" if before != "DOUBLE" and any(isinstance(v, float) for v in values) else before


def _array(values: Column) -> Any:
    """As a finish gives it: doubles with NaN, whole numbers masked, anything else as objects with None."""
    numbers = [value for value in values if value is not None]
    if numbers and all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < 2**62 for v in numbers):
        missing = [value is None for value in values]
        filled = np.asarray([0 if value is None else value for value in values], dtype=np.int64)
        return np.ma.MaskedArray(filled, missing)
    if numbers and all(_is_number(v) for v in numbers) and any(isinstance(v, float) for v in numbers):
        return np.asarray([math.nan if value is None else float(value) for value in values])
    return _objects(values)


def _objects(values: Column) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
