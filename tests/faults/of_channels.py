"""Faults of what is shown besides the numbers: private groups, errors, prices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dither.errors import EngineError, QueryRefused
from dither.plan.keys import Domain
from dither.secret import open_secret
from faults.planting import COUNT, asked, groups, plant


@plant("dither.plan.price.laplace_threshold", check="keys", audit=groups)
def bare_groups(original: Any) -> Any:
    """Counts carry noise, but every group that is there is shown."""
    return lambda *terms, **more: -(2**62)


@plant("dither.plan.price.laplace_threshold", check="keys", audit=groups)
def threshold_one_too_low(original: Any) -> Any:
    """Groups appear one count below the threshold."""
    return lambda *terms, **more: original(*terms, **more) - 1


@plant("dither.plan.price.laplace_threshold", check="keys", audit=groups)
def threshold_for_one_row(original: Any) -> Any:
    """The threshold is made for units with a single row, not for all they may keep."""
    return lambda scale, max_rows, delta, **more: original(scale, 1, delta, **more)


@plant("dither.plan.price.laplace_threshold", check="keys", audit=groups)
def least_units_forgotten(original: Any) -> Any:
    """`min_units_per_key` does not raise the threshold."""
    return lambda *terms, **more: original(*terms, **{**more, "min_units_per_key": 1})


@plant("dither.engines.emit._combine", check="keys", audit=groups)
def groups_of_rows_that_were_cut(original: Any) -> Any:
    """A group is a candidate although all its rows were cut."""
    return lambda *parts: original(*parts).replace(" HAVING sum(n) >= 1", "")


@plant("dither.answer.release._order_of", check="channels", audit=asked("channels", COUNT))
def groups_in_storage_order(original: Any) -> Any:
    """Private groups are shown in the order of storage."""
    return lambda columns: np.arange(len(next(iter(columns.values()))), dtype=np.int64)


@plant(
    "dither.sql.functions.logic.comparable",
    check="channels",
    audit=asked("channels", "SELECT COUNT(*) FROM t WHERE note = 1"),
)
def implicit_cast(original: Any) -> Any:
    """A text may be compared with a number: the database casts, and fails on one person's text."""

    def comparable(call: Any) -> Any:
        try:
            return original(call)
        except QueryRefused:
            return call.args

    return comparable


@plant("dither.engines.duckdb.DuckDBEngine.measure", check="channels", audit=asked("channels", COUNT))
def error_with_a_value(original: Any) -> Any:
    """What the database says of an error is passed on."""

    def measure(self: Any, measures: Any) -> Any:
        try:
            return original(self, measures)
        except EngineError as error:
            raise EngineError(f"The database could not answer: {error.__context__}") from None

    return measure


@plant("dither.session.session.Session.price_of", check="channels", audit=asked("channels", COUNT))
def price_by_the_data(original: Any) -> Any:
    """A question over an even number of rows costs half."""

    def price(self: Any, plan: Any, offer: Any, **more: Any) -> Any:
        (table, *_) = open_secret(self.engine.measure([plan.measures[0]]))
        even = int(table.vectors[0].sum()) % 2 == 0
        return original(self, plan, replace(offer, epsilon=offer.epsilon / 2) if even else offer, **more)

    return price


@plant(
    "dither.session.session.Session.plan",
    check="channels",
    audit=asked("channels", "SELECT region, COUNT(*) FROM t GROUP BY region"),
)
def empty_groups_left_out(original: Any) -> Any:
    """Of public groups, those without rows are not in the answer."""

    def plan(self: Any, question: str, *more: Any, **named: Any) -> Any:
        made = original(self, question, *more, **named)
        (measure,) = made.measures
        if measure.domain is None:
            return made
        (table,) = open_secret(self.engine.measure([measure]))
        (key,) = table.keys
        here = set(table.keys[key].tolist())
        chosen = [i for i, value in enumerate(measure.domain.columns[key].tolist()) if value in here]
        domain = Domain({key: measure.domain.columns[key][chosen]}, len(chosen), "those with rows")
        return replace(made, measures=(replace(measure, domain=domain),))

    return plan
