"""A second opinion: dp-accounting, where it is right; and the two places where it is not."""

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld, rdp

from dither.accounting import (
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SecretSample,
    SelectionEvent,
    amplified_renyi,
    compose,
    epsilon_of_gaussian,
    mu_star,
    price,
    privacy_loss,
    renyi_curve,
    to_dp_accounting,
)
from dither.errors import InvalidParameter

REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE
FINE = LaplaceEvent(Fraction(10**8), 10**7)
WIDE = GaussianEvent(Fraction(10**14), 10**12)


def their_epsilon(event, count: int, *, continuous: bool = False, step: float = 1e-4) -> float:
    accountant = pld.PLDAccountant(value_discretization_interval=step)
    accountant.compose(to_dp_accounting(event, continuous=continuous), count)
    return float(accountant.get_epsilon(1e-6))


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_gaussian_epsilon_and_noise_agree(mu, delta):
    assert float(epsilon_of_gaussian(mu, delta)) == pytest.approx(
        dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-6
    )
    assert 1 / mu_star(1, delta) == pytest.approx(dp_accounting.get_sigma_gaussian(1, delta), rel=1e-6)


@pytest.mark.parametrize("event", [GaussianEvent(Fraction(50), 1), FINE])
def test_renyi_curves_and_their_conversion_agree(event):
    orders = np.array([1.5, 2, 3, 5, 8, 16, 32, 64])
    theirs = rdp.RdpAccountant(orders=list(orders))
    theirs.compose(to_dp_accounting(event, continuous=True), 10)
    ours = renyi_curve([event] * 10, orders)
    assert ours.divergences == pytest.approx(theirs._rdp, rel=1e-6)
    assert float(ours.epsilon("1e-6")) == pytest.approx(theirs.get_epsilon(1e-6), rel=1e-6)


def test_sampled_gaussian_curves_agree():
    theirs = rdp.RdpAccountant(orders=list(range(2, 65)))
    noise = to_dp_accounting(GaussianEvent(Fraction(4), 1), continuous=True)
    theirs.compose(dp_accounting.PoissonSampledDpEvent(0.01, noise), 100)
    ours = amplified_renyi([GaussianEvent(Fraction(4), 1)], SecretSample.poisson("0.01")) * 100
    assert ours.divergences == pytest.approx(theirs._rdp, rel=1e-6)
    assert float(ours.epsilon("1e-6")) == pytest.approx(theirs.get_epsilon(1e-6), rel=1e-6)


@pytest.mark.parametrize(
    ("event", "count", "continuous"),
    [
        (LaplaceEvent(Fraction(10), 1), 100, False),
        (LaplaceEvent(Fraction(10), 7), 10, False),
        (PureEvent(Fraction(1, 10)), 20, False),
        (FINE, 100, True),
        (WIDE, 100, True),
    ],
    ids=["unit", "seven", "pure", "laplace", "gaussian"],
)
def test_privacy_loss_distributions_agree(event, count, continuous, monkeypatch):
    theirs = their_epsilon(event, count, continuous=continuous)
    ours = float(privacy_loss([event] * count, delta="1e-6").epsilon())
    assert theirs * (1 - 1e-6) <= ours <= theirs * (1 + 5e-4)
    monkeypatch.setattr("dither.accounting.loss_grid._TIGHTNESS", 1e-7)
    fine = float(privacy_loss([event] * count, delta="1e-6").epsilon())
    assert fine == pytest.approx(theirs, rel=1e-6)


def test_on_losses_off_its_grid_dp_accounting_is_above_the_exact_value_and_we_are_not_far():
    # 5 x (scale 3, distance 2) and 5 x (scale 20, distance 3): 4.08291174180545 by enumerating all 248,832 outcomes.
    events = [LaplaceEvent(Fraction(3), 2)] * 5 + [LaplaceEvent(Fraction(20), 3)] * 5
    exact = 4.08291174180545
    ours = float(privacy_loss(events, delta="1e-6").epsilon())
    theirs = their_epsilon(ComposedEvent(tuple(events)), 1)
    assert exact * (1 - 1e-12) <= ours <= exact * (1 + 1e-6) and theirs > exact * (1 + 1e-5)


def test_fault_one_pld_accountant_ignores_the_count_of_a_randomised_response():
    # Right: 10 responses cost nearly 10 times one. If this test fails, the fault was mended and the note can go.
    response = dp_accounting.RandomizedResponseDpEvent(0.5, 2)
    counted, single = (pld.PLDAccountant(REPLACE) for _ in range(2))
    counted.compose(response, 10)
    for _ in range(10):
        single.compose(response)
    ours = float(compose([PureEvent(Fraction(math.log(3)))] * 10).epsilon("1e-6").epsilon)
    assert float(single.get_epsilon(1e-6)) == pytest.approx(ours, rel=1e-4)
    assert float(counted.get_epsilon(1e-6)) < ours / 9


def test_fault_two_rdp_accountant_ignores_the_neighbouring_relation_of_noise():
    # Under REPLACE a record moves a sum by twice its norm: our event says so in its distance, theirs does not.
    theirs = rdp.RdpAccountant(neighboring_relation=REPLACE)
    theirs.compose(dp_accounting.GaussianDpEvent(1.0))
    loss = pld.PLDAccountant(REPLACE)
    loss.compose(dp_accounting.GaussianDpEvent(1.0))
    ours = float(compose([GaussianEvent(Fraction(10**12), 4 * 10**12)]).epsilon("1e-6").epsilon)
    assert float(loss.get_epsilon(1e-6)) == pytest.approx(ours, rel=1e-4)
    assert float(theirs.get_epsilon(1e-6)) < ours / 2


def test_exported_events_cost_what_ours_cost():
    assert to_dp_accounting(GaussianEvent(Fraction(50), 1)).rho == float(price(GaussianEvent(Fraction(50), 1)).rho)
    for free in (LaplaceEvent(Fraction(1), 0), GaussianEvent(Fraction(1), 0), PureEvent(Fraction(0))):
        assert isinstance(to_dp_accounting(free), dp_accounting.NoOpDpEvent)
    # A choice becomes a pure event, which costs more in the long run.
    choices = [ExponentialEvent(Fraction(1, 10))] * 200
    assert their_epsilon(ExponentialEvent(Fraction(1, 10)), 200) > compose(choices).epsilon("1e-6").epsilon
    pure_selection = SelectionEvent(Fraction(1), Fraction(0))
    assert to_dp_accounting(pure_selection) == to_dp_accounting(PureEvent(Fraction(1)))
    with pytest.raises(InvalidParameter):
        to_dp_accounting(SelectionEvent(Fraction(0), Fraction(1, 10)))
