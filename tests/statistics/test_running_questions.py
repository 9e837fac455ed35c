"""The noise of running totals, through the whole path: intervals cover, and totals err as little as they say.

A data set without rows: every true total is 0, and what comes out is noise alone. 400 lines of 60 positions an ask.
False alarms: by a binomial at 10^-6 for each comparison, seeds fixed. Catches: intervals of independent noise in place
of the design's own (they are 2 to 3 times off), steps and totals mixed up, positions in another order.
"""

from __future__ import annotations

import numpy as np
import pytest

from dither.noise import insecure_seeded
from support.worlds import World, catalog_text

LINES, DAYS = 400, 60


def empty_world() -> World:
    columns = f"g = {{ type = 'integer', bounds = [1, {LINES}] }}, k = {{ type = 'integer', bounds = [1, {DAYS}] }}"
    sections = f'[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 3\ncolumns = {{ {columns} }}'
    return World(
        catalog_text(sections.replace("'", '"'), delta="1e-6"),
        {"t": "uid BIGINT, g INTEGER NOT NULL, k INTEGER NOT NULL"},
        entropy=insecure_seeded(7),
    )


QUESTION = (
    "SELECT g, k, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY g ORDER BY k DESC) AS total FROM t "
    "WHERE g IS NOT NULL AND k IS NOT NULL GROUP BY g, k ORDER BY g, k DESC"
)


@pytest.mark.parametrize("offer", [{"epsilon": 1}, {"rho": "0.1"}], ids=["epsilon", "rho"])
def test_intervals_of_steps_and_totals_cover_the_truth(offer: dict[str, object]) -> None:
    world = empty_world()
    answer = world.session.ask(QUESTION, **offer)  # type: ignore[arg-type]
    frame = {name: np.array(values) for name, values in answer.columns_with_intervals()}
    # The engine lists a group for NULL where a column may hold it; WHERE took those away.
    assert len(frame["n"]) == LINES * DAYS
    law = next(vector.law for vector in world.priced_at(QUESTION, **offer).measures[0].vectors)
    for name, gains in (("n", law.plan.step_variances), ("total", law.plan.variances)):
        values = frame[name].astype(float).reshape(LINES, DAYS)
        low, high = (frame[f"{name}_{end}"].astype(float).reshape(LINES, DAYS) for end in ("low", "high"))
        covered = ((low <= 0) & (high >= 0)).mean(axis=0)
        # One position: 400 independent lines; 95 % less 5 standard deviations.
        assert covered.min() >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / LINES)
        # Whole numbers take the coverage above 95 %, never far: Laplace sums of few nodes have wide steps.
        assert covered.mean() <= 0.985
        # Mean squares are chi-square of 400; rounding to whole totals adds at most 1/12, twice for a step.
        relative = (values**2).mean(axis=0) / (gains + 1 / 6)
        assert relative.min() >= 0.6 and relative.max() <= 1.6
    totals = np.cumsum(frame["n"].reshape(LINES, DAYS), axis=1)
    assert np.array_equal(totals, frame["total"].reshape(LINES, DAYS))
    world.close()


@pytest.mark.parametrize("offer", [{"epsilon": 1}, {"rho": "0.1"}], ids=["epsilon", "rho"])
def test_totals_err_less_than_the_sum_of_independent_noise(offer: dict[str, object]) -> None:
    world = empty_world()
    last = world.priced_at(QUESTION, **offer).measures[0].vectors[0].law.plan.variances[-1]
    alone = world.priced_at("SELECT k, COUNT(*) FROM t GROUP BY k", **offer).measures[0].vectors[0].law.variance()
    assert last < 0.75 * DAYS * alone
    world.close()
