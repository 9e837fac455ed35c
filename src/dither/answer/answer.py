"""An answer: the noisy table a question asked for, what it cost, and how sure one can be of it.

Flow: `session.ask` makes it. Intervals are computed when somebody looks at them; nothing in here is private.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dither.accounting import Price
from dither.answer.finishing import Finished, finish_with_intervals
from dither.answer.noisy import NoisyTable
from dither.answer.receipt import Receipt
from dither.answer.spread import Spread, spread
from dither.exact import Number
from dither.plan.dependence import Why
from dither.plan.nodes import Plan
from dither.sql.embedded import Columns

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from dither.answer.compare import Comparison
    from dither.answer.drawing import Charts
    from dither.answer.present import Presented

__all__ = ["Answer", "Interval"]

Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Answer:
    """Columns as the SQL named them. `charged` is what this question cost the data set."""

    plan: Plan
    finished: Finished
    tables: tuple[NoisyTable, ...]
    charged: Price
    receipt: Receipt
    notes: tuple[str, ...] = ()
    invented: bool = False
    """True for a rehearsal on invented rows: nothing here is about anybody."""
    unit_name: str = "person"
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.plan.columns

    def __len__(self) -> int:
        return len(self.finished.columns[0]) if self.finished.columns else 0

    def rows(self, first: int | None = None) -> list[tuple[Any, ...]]:
        """The table, or its first rows, as plain Python values: decimals as `decimal.Decimal`, NULL as None."""
        columns = zip(self.finished.columns, self.finished.types, strict=True)
        return list(zip(*(_plain(column[:first], sql) for column, sql in columns), strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows())

    def scalar(self) -> Any:
        """The value of an answer with one row and one column."""
        (row,) = self.rows()
        (value,) = row
        return value

    @cached_property
    def intervals(self) -> dict[int, tuple[Any, Any]]:
        """Position of a numeric column -> arrays of the low and high ends of 95 % intervals, row by row.
        Aggregates have those of their exact law; columns computed from several, percentiles of replicates or the
        values between the ends of what they are computed from. Numbers without noise have none."""
        return self._direct | self._derived.ends

    @cached_property
    def without_interval(self) -> dict[int, Why]:
        """Position of a noisy numeric column -> why there is no interval, at least in some of its rows."""
        found = dict(self._derived.why)
        for position, (low, _) in self._direct.items():
            if bool((np.isnan(low) & ~np.ma.getmaskarray(np.ma.asarray(self.finished.columns[position]))).any()):
                # All other aggregates have ends wherever they have a value.
                found[position] = Why.CHOSEN
        return found

    @property
    def of_shown(self) -> tuple[int, ...]:
        """Columns that add up groups which the catalog does not list, as far as these are shown."""
        return tuple(self._derived.of_shown)

    @cached_property
    def _derived(self) -> Spread:
        wanted = [
            i
            for i, role in enumerate(self.plan.roles)
            if role != "key" and i not in self._direct and _is_numeric(self.finished.types[i])
        ]
        return spread(self.plan, self.tables, wanted, self.finished) if wanted else Spread()

    @cached_property
    def _direct(self) -> dict[int, tuple[Any, Any]]:
        ends: Columns = finish_with_intervals(self.plan, self.tables)
        found = {}
        for position, role in enumerate(self.plan.roles):
            if role == "aggregate" and f"low_{position}" in ends:
                low, high = (
                    np.ma.filled(np.ma.asarray(ends[f"{e}_{position}"]).astype(float), np.nan) for e in ("low", "high")
                )
                found[position] = (low, high)
        return found

    def lacks_interval(self, position: int) -> bool:
        """Is this a column of noisy numbers whose intervals are unknown in every row that is shown?"""
        ends = self.intervals.get(position)
        if ends is None:
            return position in self.without_interval
        shown = np.ones(len(self), dtype=bool)
        shown[[row for column, row in self.hidden if column == position]] = False
        return bool(shown.any()) and bool(np.isnan(np.stack(ends)[:, shown]).all())

    def unknown(self, language: str = "en") -> tuple[str, ...]:
        """A sentence for each reason why noisy numbers of this answer have no interval."""
        from dither.answer.why import sentences

        return sentences(self, language)

    def columns_with_intervals(self) -> Iterator[tuple[str, list[Any]]]:
        """Each column, and behind each numeric one its `_low` and `_high`."""
        for position, name in enumerate(self.columns):
            yield name, _plain(self.finished.columns[position], self.finished.types[position])
            if position in self.intervals:
                for end, values in zip(("low", "high"), self.intervals[position], strict=True):
                    yield f"{name}_{end}", [None if np.isnan(v) else float(v) for v in values]

    def df(self, *, intervals: bool = False) -> pandas.DataFrame:
        """As a pandas DataFrame (extra `pandas`)."""
        from dither.answer import frames

        return frames.to_pandas(self._data(intervals))

    def pl(self, *, intervals: bool = False) -> polars.DataFrame:
        """As a Polars DataFrame (extra `polars`)."""
        from dither.answer import frames

        return frames.to_polars(self._data(intervals))

    def arrow(self, *, intervals: bool = False) -> pyarrow.Table:
        """As an Arrow table (extra `arrow`)."""
        from dither.answer import frames

        return frames.to_arrow(self._data(intervals))

    def _data(self, intervals: bool) -> Sequence[tuple[str, list[Any]]]:
        if intervals:
            return list(self.columns_with_intervals())
        return [
            (name, _plain(column, sql))
            for name, column, sql in zip(self.columns, self.finished.columns, self.finished.types, strict=True)
        ]

    def together(self, language: str = "en") -> str:
        """What ± means where all of them hold together; '' where each holds by itself, at 95 %."""
        del language
        return ""

    def presented(self, language: str = "en") -> tuple[str, ...]:
        """A sentence for each option of a presentation."""
        del language
        return ()

    @property
    def headers(self) -> tuple[str, ...]:
        """What stands above each column on a screen."""
        return self.columns

    @property
    def hidden(self) -> Mapping[tuple[int, int], str]:
        """(column, row) -> what is shown in place of a number that a presentation suppresses."""
        return {}

    def present(
        self,
        *,
        round_to: Number | None = None,
        suppress_below: Number | None = None,
        nonnegative: bool = False,
        reliability: bool = False,
        other: str | None = None,
    ) -> Presented:
        """A view of it for a page; free, and `.raw` keeps the released numbers. round_to: counts and sums to its
        multiples.  suppress_below: rows whose noisy count is smaller are shown without numbers, or added up into one
        row named `other`.  nonnegative: counts and sums that cannot be below 0 are not.  reliability: a letter A to F
        for each ± as a part of its number."""
        from dither.answer.present import present

        return present(
            self,
            round_to=round_to,
            suppress_below=suppress_below,
            nonnegative=nonnegative,
            reliability=reliability,
            other=other,
        )

    def compare(self, row: int, other: int, column: str | int | None = None) -> Comparison:
        """A count or sum of one row less that of another, with its own ±, which knows what noise they share.
        row, other: numbered from 0, as shown.  column: may be left out where there is one."""
        from dither.answer.compare import compare

        return compare(self, row, other, column)

    def simultaneous(self, confidence: Number = 0.95) -> Presented:
        """A view whose intervals of counts, sums and means hold all together with this confidence, picked rows too."""
        from dither.answer.present import simultaneous

        return simultaneous(self, confidence)

    def plot(self) -> Charts:
        """A picture, chosen by what it is: bars for groups, a line over numbers or days, a histogram with the running
        count for bins, boxes for quantiles; with 95 % bands. Shows itself in a notebook; `.save("a.svg")` writes it."""
        from dither.answer.plot import plot

        return plot(self)

    def publish(self, folder: str | Path) -> tuple[Path, ...]:
        """Write it into a folder as a page, data files, its receipt and how to read them; `dither verify` checks them.
        Writes over nothing. Gives the files."""
        from dither.answer.publish import publish

        return publish(self, folder)

    def about(self, language: str = "en") -> str:
        """In plain words: what was asked, how the noise was made, what the numbers can and cannot tell."""
        from dither.answer.about import about

        return about(self, language)

    def _repr_html_(self) -> str:
        from dither.answer.show import to_html

        return to_html(self)

    def __repr__(self) -> str:
        from dither.answer.show import to_text

        return to_text(self)


def _is_numeric(sql_type: str) -> bool:
    return not sql_type.endswith("]") and sql_type.startswith(
        ("DOUBLE", "FLOAT", "DECIMAL", "BIGINT", "HUGEINT", "INTEGER", "SMALLINT", "TINYINT", "NUMBER")
    )


def _decimal(value: float | Decimal, scale: int) -> Decimal | None:
    """The decimal that a double stands for. Where doubles do not tell them apart, the finish gave decimals."""
    if isinstance(value, Decimal):
        return value
    return None if math.isnan(value) else Decimal(round(value * 10.0**scale)).scaleb(-scale)


def _plain(column: Any, sql_type: str) -> list[Any]:
    """Python values: dates as dates, decimals as decimals, NULLs as None, NumPy scalars as Python's."""
    values = column.tolist()
    if sql_type.endswith("[]"):
        inner = sql_type.removesuffix("[]")
        return [None if v is None else _plain(np.ma.asarray(v), inner) for v in values]
    if sql_type == "DATE":
        return [None if v is None else v.date() if hasattr(v, "date") else v for v in values]
    if not sql_type.startswith(("HUGEINT", "DECIMAL(")) and column.dtype.kind == "f":
        return [None if v is None or v != v else v for v in values]
    if sql_type == "HUGEINT":
        return [None if v is None else int(v) for v in values]
    if sql_type.startswith("DECIMAL("):
        return [None if v is None else _decimal(v, int(sql_type.rpartition(",")[2].strip(" )"))) for v in values]
    return values  # type: ignore[no-any-return]
