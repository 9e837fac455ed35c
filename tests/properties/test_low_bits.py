"""Every float that leaves us is a function of the integers that were released: its last bits tell nothing of the data.

Two ways to see it: with the same released integers, answers over unlike data are the same to the last bit, in every
form they can take; and what a mechanism gives as a float lies on a public grid, whatever the data. That a forbidden
grid would be seen is shown in tests/statistics/test_audit_floats.py.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import dither
from dither import mechanisms
from dither.answer import files
from dither.answer.answer import Answer
from dither.mechanisms import (
    Population,
    RunningStream,
    choose_max_rows,
    laplace,
    laplace_sum,
    private_quantile,
    row_levels,
    running_totals,
    sampled_statistic,
)
from dither.mechanisms.running.normal_sums import grid_step
from dither.mechanisms.value_bounds import LEVELS, ChosenBounds, choose_bounds, level
from dither.noise import insecure_seeded
from dither.session.session import Session

QUESTIONS = (
    "SELECT g, SUM(x) AS s, AVG(x) AS m, COUNT(*) AS n FROM data GROUP BY g",
    "SELECT g, VAR_POP(x), VAR_SAMP(x), STDDEV_POP(x), STDDEV_SAMP(x) FROM data GROUP BY g",
    "SELECT g, COVAR_POP(x, y), COVAR_SAMP(x, y), CORR(x, y) FROM data GROUP BY g",
    "SELECT g, MEDIAN(x), QUANTILE_CONT(y, 0.9) FROM data GROUP BY g",
    "SELECT g, SUM(x) / COUNT(*), SQRT(ABS(SUM(y))), SUM(x * y), AVG(x) - AVG(y) FROM data GROUP BY g",
    "SELECT g, SUM(COUNT(*)) OVER (ORDER BY g) AS running FROM data GROUP BY g",
    "SELECT g, SUM(CAST(x AS DECIMAL(9, 3))) AS s, COUNT(*) AS n FROM data GROUP BY g",
    "SELECT g, AVG(CAST(x AS DECIMAL(9, 3))), MAX(CAST(y AS DECIMAL(9, 3))), SUM(CAST(y AS DECIMAL(9, 3))) * 1.5 "
    "FROM data GROUP BY g",
)


def opened(values: np.ndarray[Any, Any]) -> Session:
    frame = pd.DataFrame({"g": np.arange(len(values)) % 6, "x": values, "y": -values / 3})
    return dither.open(
        frame,
        privacy_unit="row",
        budget=10**6,
        bounds={"g": (0, 5), "x": (-10, 10), "y": (-10, 10)},
        entropy=insecure_seeded(3),
    )


@pytest.fixture(scope="module")
def sessions() -> Iterator[list[Session]]:
    unlike = (
        np.full(60, 0.1),
        np.full(60, 1 / 3),
        np.random.default_rng(1).normal(0, 30, 600),
        np.concatenate([np.full(99, 5e-324), [1e300, math.nan, -math.inf]]),
    )
    made = [opened(values) for values in unlike]
    yield made
    for session in made:
        session.close()


def forms(answer: Answer) -> dict[str, object]:
    """The answer in every form it leaves us in; floats as their bits."""
    # The receipt beside the rows has ids that are drawn at random.
    written = json.loads(files.to_json(answer, intervals=True), parse_float=str)
    return {
        "rows": bits(answer.rows()),
        "iterated": bits(list(answer)),
        "intervals": bits([(low.tolist(), high.tolist()) for low, high in answer.intervals.values()]),
        "columns_with_intervals": bits(list(answer.columns_with_intervals())),
        "printed": repr(answer) + str(answer),
        "html": answer._repr_html_(),
        "csv": files.to_csv(answer, intervals=True),
        "json": bits([written["columns"], written["rows"]]),
        "arrow": bits([answer.arrow(intervals=True).to_pydict()]),
        "df": bits(answer.df(intervals=True).to_numpy().tolist()),
        "pl": bits(answer.pl(intervals=True).rows()),
        "about": answer.about(),
    }


def bits(value: object) -> str:
    """As text in which two floats are alike when their bits are."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value.hex()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {bits(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(bits, value))}]"
    return repr(value)


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_the_same_to_the_last_bit_when_the_integers_released_are(
    question: str, sessions: list[Session]
) -> None:
    def fixed(*given: Any) -> Any:
        """Stands where noise is added: the same integers, whatever was counted."""
        sizes = [len(each) for each in given if isinstance(each, np.ndarray)] or [given[4]]
        return (np.arange(sizes[0], dtype=np.int64) * 7 + 11) ** 3

    def chosen(vector: Any, tau: int, found: Any, group: Any, size: int, *rest: Any) -> Any:
        """Stands where quantiles are chosen."""
        return (np.arange(size * max(1, len(vector.vector.quantiles)), dtype=np.int64) * 7 + 11) ** 3

    with mock.patch.multiple("dither.answer.release", _over_list=fixed, _noisy=fixed, choose=chosen):
        answers = [session.ask(question, epsilon=1) for session in sessions]
    seen = [forms(answer) for answer in answers]
    views: list[list[Any]] = []
    pictures: list[list[str]] = []
    for answer in answers:
        shown = []
        if "COUNT(*) AS n" in question:
            shown = [answer.present(round_to=Fraction(1, 4), nonnegative=True), answer.present(reliability=True)]
            shown.append(answer.simultaneous(0.9))
            # Pictures and comparisons are of the answer as it is, not of its views.
            set_apart = answer.compare(0, 1, "n")
            pictures.append([answer.plot().svg, set_apart.difference.hex(), set_apart.half_width.hex()])
        views.append([forms(view) for view in shown])
    for other, views_of_other in zip(seen[1:], views[1:], strict=True):
        assert other == seen[0]
        assert views_of_other == views[0]
    assert all(picture == pictures[0] for picture in pictures)


def test_sums_of_floats_are_whole_numbers_of_public_steps(sessions: list[Session]) -> None:
    for number, session in enumerate(sessions):
        answer = session.ask(f"SELECT g, SUM(x) AS s FROM data WHERE x > {-100 - number} GROUP BY g", epsilon=1)
        step = answer.tables[0].vectors[0].step
        assert (
            step == sessions[0].ask("SELECT g, SUM(x) AS s FROM data GROUP BY g", epsilon=1).tables[0].vectors[0].step
        )
        for column in (answer.df()["s"], answer.pl()["s"], answer.arrow()["s"].to_pylist()):
            assert all((Fraction(float(value)) / step).denominator == 1 for value in column)
        written = json.loads(files.to_json(answer, intervals=False))
        assert "s" in json.dumps(written)


def test_sums_of_decimals_are_whole_numbers_of_their_last_digit(sessions: list[Session]) -> None:
    for number, session in enumerate(sessions):
        for digits in (3, 9):
            sql = f"SELECT g, SUM(CAST(x AS DECIMAL(20, {digits}))) AS s FROM data WHERE x > {-100 - number} GROUP BY g"
            answer = session.ask(sql, epsilon=1)
            step = answer.tables[0].vectors[0].step
            assert (step == Fraction(1, 10**digits)) == (digits == 3) and (step * 10**digits) % 2 == 1
            for column in (answer.pl()["s"], answer.arrow()["s"].to_pylist(), [row[1] for row in answer]):
                assert all((Fraction(value) / step).denominator == 1 for value in column)
            for value, exact in zip(answer.df()["s"], answer.arrow()["s"].to_pylist(), strict=True):
                assert value == float(exact)


def test_the_forms_of_an_answer_are_all_looked_at() -> None:
    """Whoever adds a way out of an answer adds it to `forms`."""
    out = {name for name in dir(Answer) if not name.startswith("_") and callable(getattr(Answer, name, None))}
    looked_at = {"rows", "columns_with_intervals", "df", "pl", "arrow", "about", "present", "simultaneous"}
    looked_at |= {"compare", "plot"}
    # scalar is a row's only value; publish writes csv, json and the page; the others are sentences, or yes and no.
    assert out == looked_at | {"scalar", "publish", "together", "presented", "unknown", "lacks_interval"}
    assert set(files.__all__) == {"to_arrow_stream", "to_csv", "to_json"}


# Mechanisms ----------------------------------------------------------------------------------------------------------

DATA = ([0.0] * 8, [0.1, 0.2, 0.3], [1.0, 2.0**-40, 1 / 3, -1e300])


@pytest.mark.parametrize("values", DATA)
def test_a_sum_and_its_interval_lie_on_the_public_grid(values: list[float]) -> None:
    grids = set()
    for seed in range(50):
        found = laplace_sum(np.array(values), bounds=(-1.0, 1.0), epsilon=1.0, entropy=insecure_seeded(seed))
        grids.add(found.grid)
        for value in (found.value, found.low, found.high):
            assert (Fraction(value) / found.grid.step).denominator == 1
    assert grids == {laplace_sum(np.array([0.5]), bounds=(-1.0, 1.0), epsilon=1.0).grid}


@pytest.mark.parametrize("count", [0, 1, 123_457])
def test_running_totals_lie_on_a_grid_that_the_terms_decide(count: int) -> None:
    for seed in range(5):
        entropy = insecure_seeded(seed)
        pure = RunningStream.open(16, neighbours="add_remove", epsilon=1, max_rows_per_unit=2, entropy=entropy)
        days = [pure.append(count) for _ in range(16)]
        assert all(float(number).is_integer() for day in days for number in (day.total, day.step))
        smooth = RunningStream.open(16, neighbours="add_remove", rho=1, max_rows_per_unit=2, entropy=entropy)
        totals = [smooth.append(count).total for _ in range(16)]
        assert all(float(total * 2**16).is_integer() for total in totals)
        release = running_totals([count] * 16, neighbours="add_remove", rho=1, max_rows_per_unit=2, entropy=entropy)
        step = grid_step(math.sqrt(float(release.plan.variances.min())))
        assert all(float(total / step).is_integer() for total in release.totals)


def test_bounds_are_chosen_from_a_public_list() -> None:
    public = {level(number) for number in range(LEVELS + 1)}
    rng = np.random.default_rng(2)
    for seed in range(50):
        counts = rng.integers(0, 1000, 2 * LEVELS + 1)
        found = choose_bounds(counts, epsilon=1, epsilon_query=1, entropy=insecure_seeded(seed))
        assert isinstance(found, ChosenBounds) and {-found.lo, found.hi} <= public


def test_the_share_of_rows_kept_is_a_function_of_released_counts() -> None:
    levels = row_levels(100)

    def same(counts: Any, **rest: Any) -> Any:
        return laplace(np.full(len(counts), 40), **{**rest, "entropy": insecure_seeded(5)})

    found = []
    for heavy in (100, 3000):
        counts = np.zeros(len(levels) + 1, dtype=np.int64)
        counts[:4] = heavy, 50, heavy * 2, 7
        with mock.patch.multiple("dither.mechanisms.max_rows", laplace=same, first_at_or_below=lambda *_, **__: 6):
            chosen = choose_max_rows(counts, levels, epsilon=1, epsilon_query=1)
        found.append(bits([chosen.share_kept, chosen.share_kept_at_least]))
    assert found[0] == found[1] and "0x" in found[0]


@pytest.mark.parametrize("values", DATA)
def test_a_quantile_lies_on_the_grid_of_its_bounds(values: list[float]) -> None:
    for seed in range(50):
        found = private_quantile(
            np.array(values), quantile=0.5, bounds=(-1, 1), epsilon=1, cells=64, entropy=insecure_seeded(seed)
        )
        # The middle of a cell of width 1/32.
        assert found.width == 1 / 32 and float((found.value + 1) * 64).is_integer()


def test_an_opaque_statistic_lies_on_the_grid_of_its_bounds() -> None:
    public = Population.of_table("normal", {"x": np.random.default_rng(1).normal(0, 1 / 3, 500)}, seed=2)
    for seed in range(20):
        found = sampled_statistic(
            lambda rows: float(np.mean(rows["x"])),
            {"x": np.random.default_rng(seed).normal(0, 1, 30)},
            population=public,
            bounds=(-1, 1),
            rows=30,
            gamma="0.1",
            epsilon=1,
            entropy=insecure_seeded(seed),
        )
        (step,) = found.noise.statistic.steps
        assert all((Fraction(number) / step).denominator == 1 for number in found.values)
        # Half a step more, for what was rounded to the grid.
        assert all((Fraction(number) / step * 2).denominator == 1 for number in found.half_widths)


def test_the_floats_of_mechanisms_are_all_looked_at() -> None:
    """Whoever adds a field with a float to what a mechanism gives adds a test of its last bits."""
    fields = {
        (name, field.name)
        for name in mechanisms.__all__
        if dataclasses.is_dataclass(found := getattr(mechanisms, name))
        for field in dataclasses.fields(found)
        if "float" in str(field.type) or "Floats" in str(field.type)
    }
    assert fields == {
        *(("SumEstimate", name) for name in ("value", "low", "high", "confidence")),
        *(("TunedCap", name) for name in ("share_kept", "share_kept_at_least")),
        *(("QuantileRelease", name) for name in ("value", "width")),
        *(("SampledRelease", name) for name in ("values", "half_widths")),
        ("RunningRelease", "totals"),
    } | {("RunningPlan", name) for name in KNOWN_OF_PLANS}


KNOWN_OF_PLANS = {field.name for field in dataclasses.fields(mechanisms.RunningPlan) if "loat" in str(field.type)}
"""Of a plan, made before anything is counted."""
