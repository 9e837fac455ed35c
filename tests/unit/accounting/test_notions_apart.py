"""Metric privacy and random DP: their own arithmetic, and no arithmetic with anything else."""

import itertools
import math
from fractions import Fraction

import pytest

from dither.accounting import MetricLoss, Price, RandomLoss, Spent, one_notion, sample_plan
from dither.differences import samples_needed
from dither.errors import InvalidParameter

METRES = MetricLoss(Fraction(1, 100), "metres in the plane")
YEARS = MetricLoss(Fraction(1, 100), "years of age")
RANDOM = RandomLoss(Fraction(1), Fraction(0), Fraction(1, 100), "synthetic census")
OTHER = RandomLoss(Fraction(1), Fraction(0), Fraction(1, 100), "public survey")
PRICE = Price(Fraction(1), Fraction(1, 2))


def test_a_level_within_a_radius_is_an_epsilon_per_metre():
    loss = MetricLoss.within(200, factor=4, metric="metres in the plane")
    assert float(loss.epsilon) == pytest.approx(math.log(4) / 200) and loss.epsilon * 200 <= Fraction(math.log(4)) + 1
    assert float(loss.factor(200)) == pytest.approx(4, rel=1e-12) and float(loss.factor(100)) == pytest.approx(2)


def test_metrics_add_and_scale_with_lipschitz_maps():
    assert (METRES + METRES).epsilon == (2 * METRES).epsilon == Fraction(1, 50)
    assert METRES.after(3, "feet") == MetricLoss(Fraction(3, 100), "feet")
    assert METRES.factor(0) == 1


def test_random_losses_add_all_three_figures():
    assert RANDOM + RANDOM == 2 * RANDOM == RandomLoss(Fraction(2), Fraction(0), Fraction(1, 50), "synthetic census")


@pytest.mark.parametrize(
    ("one", "other"),
    list(itertools.permutations([METRES, YEARS, RANDOM, OTHER, PRICE], 2)),
    ids=lambda loss: repr(loss)[:20],
)
def test_no_two_notions_can_be_added(one, other):
    with pytest.raises((InvalidParameter, TypeError, AttributeError)):
        one + other


def test_a_ledger_cannot_book_a_loss_that_is_no_price():
    for loss in (METRES, RANDOM):
        with pytest.raises(InvalidParameter):
            Spent().plus(loss)


def test_one_notion_per_ledger():
    assert one_notion([PRICE, PRICE]) == "differential privacy"
    assert one_notion([METRES]) == "metric privacy in metres in the plane"
    assert one_notion([RANDOM, RANDOM]) == "random DP over synthetic census"
    for mixed in ([PRICE, METRES], [METRES, YEARS], [RANDOM, OTHER], [RANDOM, PRICE], [], [1]):
        with pytest.raises(InvalidParameter):
            one_notion(mixed)


@pytest.mark.parametrize(("gamma", "samples"), [("0.1", 285), ("0.05", 1305), ("0.01", 41971)])
def test_the_sampler_needs_the_published_number_of_samples(gamma, samples):
    plan = sample_plan(gamma=gamma)
    assert plan.samples == samples and plan.rank <= samples
    assert samples_needed(gamma) < samples


@pytest.mark.parametrize(("samples", "gamma"), [(100, 0.160), (1000, 0.0565), (10_000, 0.0195)])
def test_a_number_of_samples_gives_the_published_gamma(samples, gamma):
    plan = sample_plan(samples=samples)
    assert float(plan.gamma) == pytest.approx(gamma, abs=5e-4) and plan.rank == samples


@pytest.mark.parametrize("make", [lambda: MetricLoss(0.5, "m"), lambda: MetricLoss(Fraction(1), ""),
                                  lambda: MetricLoss.within(0, factor=4, metric="m"), lambda: sample_plan(),
                                  lambda: MetricLoss.within(1, factor=1, metric="m"), lambda: sample_plan(gamma=1),
                                  lambda: RandomLoss(Fraction(1), Fraction(0), Fraction(-1), "p"),
                                  lambda: RandomLoss(Fraction(1), Fraction(0), Fraction(0), ""),
                                  lambda: METRES.factor(-1), lambda: METRES * -1, lambda: RANDOM * 0.5])  # fmt: skip
def test_what_means_nothing_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()
