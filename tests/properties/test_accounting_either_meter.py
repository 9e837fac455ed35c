"""The promise of an (epsilon, delta) budget, worked out exactly on small adaptive games.

An adversary asks randomised responses about one bit, each chosen after all answers so far, until the budget admits no
more. Both laws of the whole transcript are enumerated, and their hockey-stick distance at the budget's epsilon is
compared with its delta. Some questions are priced on both meters, some on rho alone (as Gaussian ones are), and some
may, with their failure mass, give the bit away."""

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import Budget, Price, PureEvent, SelectionEvent, Spent, admits, price

MENU = [Fraction(x) for x in ("1/20", "1/5", "2/5", "3/5", "1", "3/2")]
DEPTH = 6


@dataclass(frozen=True)
class Question:
    epsilon: Fraction
    rho_only: bool
    leak: Fraction

    @property
    def price(self) -> Price:
        cost = price(PureEvent(self.epsilon)) + price(SelectionEvent(Fraction(0), self.leak))
        return Price(None, cost.rho, cost.delta) if self.rho_only else cost

    def law(self, bit: int) -> list[float]:
        """Probabilities of the answers 0, 1 (randomised response) and 2, 3 (the bit given away)."""
        keep, leak = 1 / (1 + math.exp(-float(self.epsilon))), float(self.leak)
        true = [(1 - leak) * keep, (1 - leak) * (1 - keep)]
        return [*(true if bit == 0 else true[::-1]), leak * (bit == 0), leak * (bit == 1)]


def ask(seed: int, transcript: tuple[int, ...], budget: Budget) -> Question:
    """The adversary: any function of the transcript; here a hash, so that hypothesis explores many."""
    digest = hashlib.blake2b(repr((seed, transcript)).encode()).digest()
    leak = budget.delta_selection / 3 if digest[1] % 3 == 0 else Fraction(0)
    return Question(MENU[digest[0] % len(MENU)], digest[2] % 2 == 0, leak)


def excess(budget: Budget, seed: int, admitted, transcript=(), spent=None, p=1.0, q=1.0) -> float:
    """Sum over transcripts of max(0, P - e^epsilon Q), where the adversary tries up to DEPTH questions."""
    spent = spent if spent is not None else Spent()
    if len(transcript) == DEPTH:
        return max(0.0, p - math.exp(float(budget.epsilon)) * q)
    question = ask(seed, transcript, budget)
    if not admitted(budget, spent, question.price):
        return excess(budget, seed, admitted, (*transcript, 9), spent, p, q)
    after = spent.plus(question.price)
    parts = zip(question.law(0), question.law(1), strict=True)
    return math.fsum(
        excess(budget, seed, admitted, (*transcript, answer), after, p * x, q * y)
        for answer, (x, y) in enumerate(parts)
        if x or y
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**9),
    epsilon=st.sampled_from(["1/4", "1/2", "1", "2"]),
    delta=st.sampled_from(["0.3", "0.05", "0.001"]),
)
def test_no_adaptive_game_exceeds_the_promise(seed, epsilon, delta):
    budget = Budget.create(epsilon=epsilon, delta=delta)
    assert excess(budget, seed, admits) <= float(budget.delta) * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), epsilon=st.sampled_from(["1/4", "1", "2"]))
def test_no_adaptive_game_moves_a_pure_budget_beyond_epsilon(seed, epsilon):
    assert excess(Budget.create(epsilon=epsilon), seed, admits) <= 1e-12


def test_the_game_would_notice_meters_that_are_kept_apart():
    # The mutant books a question on one meter only, as if each meter were a budget of its own.
    budget = Budget.create(epsilon="1/2", delta="0.001")

    def apart(budget: Budget, spent: Spent, cost: Price) -> bool:
        pure_only = Spent(spent.epsilon, Fraction(0), spent.delta)
        return admits(budget, pure_only if not cost.gaussian else spent, cost)

    assert max(excess(budget, seed, apart) for seed in range(40)) > float(budget.delta)


@settings(max_examples=60, deadline=None)
@given(
    costs=st.lists(st.sampled_from([Fraction(1, 100), Fraction(1, 7), Fraction(1, 3), Fraction(2)]), max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_admission_depends_on_the_sums_alone_not_on_the_order(costs, order):
    budget = Budget.create(epsilon=3, delta="1e-6")
    shuffled = list(costs)
    order.shuffle(shuffled)
    totals = []
    for sequence in (costs, shuffled):
        spent = Spent()
        for epsilon in sequence:
            spent = spent.plus(price(PureEvent(epsilon)))
        totals.append(spent)
    assert totals[0] == totals[1]
    assert admits(budget, totals[0], price(PureEvent(Fraction(1, 10)))) == admits(
        budget, totals[1], price(PureEvent(Fraction(1, 10)))
    )
