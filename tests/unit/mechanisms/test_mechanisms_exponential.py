"""The exponential mechanism over integer scores: its event, its ends, and its bounded range by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import ExponentialEvent
from dither.errors import InvalidParameter
from dither.mechanisms import exponential
from dither.mechanisms.release import LARGEST
from dither.noise import insecure_seeded
from dither.secret import Secret


def losses(scores, moved, unit):
    """Privacy loss of each index, exactly as the mechanism's law gives it."""
    one, other = ([math.exp(unit * s) for s in scores] for scores in (scores, moved))
    return [math.log(a / sum(one)) - math.log(b / sum(other)) for a, b in zip(one, other, strict=True)]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_losses_stay_in_a_range_of_epsilon_for_all_moves_of_the_scores(epsilon):
    scores = (3, 0, 1, 1)
    for moves, unit in [((-1, 0, 1), epsilon / 2), ((0, 1), epsilon)]:
        spans = []
        for move in itertools.product(moves, repeat=4):
            found = losses(scores, [s + m for s, m in zip(scores, move, strict=True)], unit)
            spans.append(max(found) - min(found))
        assert max(spans) == pytest.approx(epsilon)


def test_the_price_is_an_eighth_of_the_square_in_rho():
    choice = exponential(Secret(np.array([1, 2])), sensitivity=2, epsilon="1/2", entropy=insecure_seeded(1))
    assert choice.event == ExponentialEvent(Fraction(1, 2))
    assert choice.price.rho == Fraction(1, 32) and choice.price.epsilon == Fraction(1, 2)


def test_scores_at_the_ends_of_the_range_do_not_overflow():
    scores = np.array([-(2**63), LARGEST, 2**63 - 1])
    found = {exponential(scores, sensitivity=1, epsilon=1, entropy=insecure_seeded(n)).index for n in range(20)}
    assert found == {1, 2}


def test_an_index_without_weight_is_never_chosen():
    scores, weights = np.array([1000, 0, 0]), np.array([0, 1, 0])
    assert exponential(scores, sensitivity=1, epsilon=9, weights=weights, entropy=insecure_seeded(1)).index == 1


@pytest.mark.parametrize("arguments", [{"scores": []}, {"sensitivity": 0}, {"epsilon": 0}, {"scores": [0.5]}])
def test_a_choice_without_a_meaning_is_refused(arguments):
    keywords = {"scores": [1, 2], "sensitivity": 1, "epsilon": 1, **arguments}
    with pytest.raises(InvalidParameter):
        exponential(keywords.pop("scores"), **keywords)
