"""The noise in running totals against the variances and widths stated for it, at fixed seeds.

Each test states its size, its false-alarm rate (over the choice of the seed) and a fault it catches."""

import numpy as np
import pytest
from scipy import stats

from dither.mechanisms.running import RunningStream, plan_running_totals
from dither.noise import insecure_seeded

FALSE_ALARM = 1e-9


def errors(plan, runs, seed):
    """(runs, n) float64: totals minus truth."""
    counts, entropy = np.arange(plan.n) % 11, insecure_seeded(seed)
    truth = np.cumsum(counts)
    return np.array([plan.release(counts, entropy=entropy).totals - truth for _ in range(runs)])


def chi_square(values, variance):
    """Two-sided chance of such a sum of squares, for normal values of this variance."""
    statistic = float((values**2).sum() / variance)
    return 2 * min(stats.chi2.cdf(statistic, len(values)), stats.chi2.sf(statistic, len(values)))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_totals_from_the_square_root_have_the_variances_stated(neighbours):
    # 2,000 runs of n=700; six looks; false alarm 6e-9; catches a variance wrong by 25 %.
    plan = plan_running_totals(700, rho="1/2", neighbours=neighbours, max_rows_per_unit=3)
    found = errors(plan, 2000, 1)
    for position in (0, 350, 699):
        assert chi_square(found[:, position], plan.variances[position]) > FALSE_ALARM
        assert chi_square(found[:, position], plan.variances[position] * 1.25) < FALSE_ALARM
    for first, last in ((100, 101), (0, 400), (300, 699)):
        part = found[:, last] - (found[:, first - 1] if first else 0)
        assert chi_square(part, plan.variance_between(first, last)) > FALSE_ALARM


def test_all_totals_together_have_the_mean_variance_stated():
    # 300 runs of n=2^13, past the pieces of equal weights. Mean squares of runs differ by about 40 %: their mean is
    # within 6 standard errors (false alarm about 2e-9 + skewness), 14 %; catches half the noise.
    plan = plan_running_totals(1 << 13, rho="1/2", neighbours="add_remove")
    means = (errors(plan, 300, 2) ** 2).mean(axis=1)
    assert abs(means.mean() - plan.variances.mean()) < 6 * means.std() / np.sqrt(300) < 0.2 * plan.variances.mean()


def test_totals_from_the_tree_have_the_variances_and_widths_stated():
    # 5,000 runs of n=200; mean square of a Laplace sum: relative error .02 sqrt(5) per 5,000, six of them 19 %;
    # coverage false alarm 1e-9; catches one node forgotten, and a width of nine tenths.
    plan = plan_running_totals(200, epsilon="1/2", neighbours="add_remove")
    found = errors(plan, 5000, 3)
    widths, counts = plan.half_widths("0.95"), plan.design.gains
    for position in (0, int(np.argmax(counts)), 199):
        assert (found[:, position] ** 2).mean() == pytest.approx(plan.variances[position], rel=0.19)
        covered = int((np.abs(found[:, position]) <= widths[position]).sum())
        assert stats.binomtest(covered, 5000, 0.95, alternative="less").pvalue > FALSE_ALARM
        short = int((np.abs(found[:, position]) <= 0.85 * widths[position]).sum())
        assert stats.binomtest(short, 5000, 0.95, alternative="less").pvalue < FALSE_ALARM


def test_intervals_of_the_square_root_cover_as_often_as_they_say():
    # 4,000 runs of n=60; false alarm 1e-9; catches widths of nine tenths.
    plan = plan_running_totals(60, rho="1/8", neighbours="add_remove")
    found = errors(plan, 4000, 4)
    for position in (0, 30, 59):
        covered = int((np.abs(found[:, position]) <= plan.half_widths()[position]).sum())
        assert stats.binomtest(covered, 4000, 0.95).pvalue > FALSE_ALARM
        short = int((np.abs(found[:, position]) <= 0.85 * plan.half_widths()[position]).sum())
        assert stats.binomtest(short, 4000, 0.95).pvalue < FALSE_ALARM


def test_streamed_totals_have_the_variances_stated_across_epochs():
    # 1,500 streams of 12 + 24 days; mean square within 6 * sqrt(5 / 1500) = 35 %; catches an epoch's base forgotten,
    # which is nine tenths of the variance on day 12.
    entropy, squares, stated = insecure_seeded(5), np.zeros(36), np.zeros(36)
    for _ in range(1500):
        stream = RunningStream.open(12, epsilon=1, neighbours="add_remove", entropy=entropy)
        for day in range(36):
            if stream.days_left == 0:
                stream.extend()
            total = stream.append(2)
            squares[day] += (total.total - 2 * (day + 1)) ** 2 / 1500
            stated[day] = total.variance
    for day in (0, 11, 12, 35):
        assert squares[day] == pytest.approx(stated[day], rel=0.35)
    assert stated[11] > 0.9 * stated[12]


@pytest.mark.parametrize("memory", [3, 4096])
def test_streamed_totals_for_rho_have_the_law_stated_across_epochs(memory):
    # 1,500 streams of 14 + 28 days; false alarm 1e-9 a comparison; catches a variance wrong by 30 %, a level without
    # its noise, and noise that two blocks share.
    entropy, runs = insecure_seeded(6), 1500
    found, stated, covered = np.zeros((runs, 42)), np.zeros(42), np.zeros(42)
    for run in range(runs):
        stream = RunningStream.open(14, rho="1/2", neighbours="add_remove", memory=memory, entropy=entropy)
        for day in range(42):
            if stream.days_left == 0:
                stream.extend()
            released = stream.append(2)
            found[run, day], stated[day] = released.total - 2 * (day + 1), released.variance
            covered[day] += abs(found[run, day]) <= released.half_width()
    for day in (0, 8, 13, 14, 26, 41):
        assert chi_square(found[:, day], stated[day]) > FALSE_ALARM
        assert chi_square(found[:, day], stated[day] * 1.3) < FALSE_ALARM
        assert stats.binomtest(int(covered[day]), runs, 0.95).pvalue > FALSE_ALARM
