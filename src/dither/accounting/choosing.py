"""Which epsilon and delta, from what people can say: how far a guess may move, how accurate answers must be.

Flow: `dither choose` asks for these wishes and writes what comes out, with its reasons. Odds bound epsilon from above
(rounded down), accuracy from below (rounded up): where the two cross, something must give, and `choose` says what.
Relies on: `odds`, exact laws of noise. Knows no catalog and no data; the number of people is what the owner knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.odds import guess_after, percent_text
from dither.errors import BudgetError, InvalidParameter
from dither.exact import Number, decimal_text, exact, positive, round_down, round_up
from dither.noise import DiscreteLaplace
from dither.noise.bounds import exp_bounds, log_bounds

__all__ = [
    "Accuracy",
    "Choice",
    "Guess",
    "choose",
    "delta_for",
    "epsilon_for_accuracy",
    "epsilon_for_guess",
    "half_width_at",
    "odds_sentences",
    "read_share",
]

CONFIDENCE = 0.95
LARGEST_DELTA = Fraction(1, 10**6)
_GRID = Fraction(1, 10**6)
_LARGEST_EPSILON = Fraction(1000)


@dataclass(frozen=True)
class Guess:
    """All answers together may move a guess of `before` about one unit to `after` at most. `steps`: 1 where it is
    about the unit being in the data, or under `replace`; 2 where it is about what their rows say (from these rows to
    none is one step, from none to others a second)."""

    before: Fraction
    after: Fraction
    steps: int


@dataclass(frozen=True)
class Accuracy:
    """So many counts, each with 95 % of its answers within `within` of the truth. `max_rows`: rows one unit counts."""

    questions: int
    within: Fraction
    max_rows: int = 1


@dataclass(frozen=True)
class Choice:
    epsilon: Fraction
    delta: Fraction
    reasons: tuple[str, ...]
    """Sentences for the owner, without the odds: those follow from epsilon alone."""


def choose(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    guess: Guess | None = None,
    accuracy: Accuracy | None = None,
    people: int | None = None,
    unit: str = "person",
) -> Choice:
    """The budget that these wishes lead to. epsilon: as stated, or else the least that `accuracy` needs, or else the
    most that `guess` allows. delta: as stated, or else by `people` where private groups are wanted, or else 0.
    Raises BudgetError where accuracy needs more than the guess, or the stated epsilon, allows."""
    reasons = []
    if epsilon is None and guess is None and accuracy is None:
        raise InvalidParameter(
            "choice", expected="an epsilon, a bound on a guess, or an accuracy", found="none", hint="State one of them."
        )
    stated = None if epsilon is None else _decimal(positive(epsilon, "epsilon"), "epsilon")
    allowed = None if guess is None else epsilon_for_guess(guess)
    needed = None if accuracy is None else epsilon_for_accuracy(accuracy)
    if guess is not None and allowed is not None:
        about = "being in the data" if guess.steps == 1 else "what their rows say"
        reasons.append(
            f"A guess of {percent_text(guess.before, 4)} about one {unit} ({about}) may become at most "
            f"{_down(guess.after)}: epsilon up to {decimal_text(allowed)}."
        )
    if accuracy is not None and needed is not None:
        reasons.append(
            f"{accuracy.questions:,} counts with ± {decimal_text(accuracy.within, 6)}, at most "
            f"{accuracy.max_rows:,} rows of one {unit} in each, need epsilon {decimal_text(needed)} together."
        )
    ceilings = [each for each in (stated, allowed) if each is not None]
    if stated is not None and allowed is not None and stated > allowed:
        raise _conflict(f"epsilon {decimal_text(stated)} was stated", allowed, None)
    if needed is not None and ceilings and needed > min(ceilings):
        assert accuracy is not None
        raise _conflict(f"the accuracy needs epsilon {decimal_text(needed)}", min(ceilings), accuracy)
    chosen = stated or needed or allowed
    assert chosen is not None
    if stated is not None:
        reasons.append(f"Epsilon {decimal_text(stated)} was stated by the owner.")
    failure = _delta(delta, people)
    if delta is not None and failure:
        reasons.append(f"Delta {_tiny(failure)} was stated by the owner.")
    elif failure:
        reasons.append(
            f"Delta {_tiny(failure)}, for groups that are not listed: at most 1/n² for about {people:,} of them."
        )
    else:
        reasons.append("Delta 0: the promise has no exceptions; groups are listed in the catalog.")
    return Choice(chosen, failure, tuple(reasons))


def odds_sentences(
    epsilon: Fraction, delta: Fraction, *, unit: str, replace: bool, prior: Number = "0.01"
) -> list[str]:
    """What the epsilon means for guesses about one unit; rounded so that it stays true."""
    p = exact(prior, "prior")
    start = f"A guess of {percent_text(p, 4)} about one {unit}"
    present = percent_text(guess_after(p, epsilon)[1], 2)
    if replace:
        sentences = [f"{start} can become at most {present} by all answers together."]
    else:
        told = percent_text(guess_after(p, 2 * epsilon)[1], 2)
        sentences = [
            f"{start} being in the data can become at most {present} by all answers together; one about what their "
            f"rows say, at most {told}."
        ]
    if delta:
        # Two steps fail with delta, and with e^epsilon delta (group privacy).
        failure = delta if replace else delta * (1 + exp_bounds(epsilon, 64)[1])
        sentences.append(f"This may fail with a chance of at most {_tiny(failure)} in all.")
    return sentences


def epsilon_for_guess(guess: Guess) -> Fraction:
    """The largest epsilon, rounded down to three digits, under which the guess stays at or below `after`."""
    if not 0 < guess.before < 1 or not guess.before < guess.after < 1:
        raise InvalidParameter(
            "guess", expected="from a share above 0 to a larger one below 1", found=(guess.before, guess.after)
        )
    ratio = guess.after * (1 - guess.before) / (guess.before * (1 - guess.after))
    return _digits(log_bounds(ratio, 128)[0] / guess.steps, up=False)


def epsilon_for_accuracy(accuracy: Accuracy) -> Fraction:
    """The least epsilon of all the counts together, rounded up to three digits, by Laplace noise and plain addition."""
    if accuracy.questions < 1 or accuracy.max_rows < 1 or accuracy.within <= 0:
        raise InvalidParameter(
            "accuracy",
            expected="at least one question and one row, and a ± above 0",
            found=(accuracy.questions, accuracy.max_rows, accuracy.within),
        )
    low, high = 0, 1
    while half_width_at(high * _GRID, accuracy.max_rows) > accuracy.within:
        low, high = high, 2 * high
        if high * _GRID > _LARGEST_EPSILON:
            raise InvalidParameter("±", expected="one that some epsilon up to 1000 reaches", found=accuracy.within)
    while high - low > 1:
        middle = (low + high) // 2
        reached = half_width_at(middle * _GRID, accuracy.max_rows) <= accuracy.within
        low, high = (low, middle) if reached else (middle, high)
    return _digits(high * _GRID * accuracy.questions, up=True)


def half_width_at(epsilon: Fraction, max_rows: int) -> int:
    """± of one count at 95 %, in rows."""
    return DiscreteLaplace(max_rows / epsilon).half_width(CONFIDENCE)


def delta_for(people: int) -> Fraction:
    """The largest power of ten at or below 1/n², and at most 1e-6."""
    if people < 1:
        raise InvalidParameter("people", expected="at least 1", found=people)
    digits = len(str(people * people - 1)) if people > 1 else 0
    return min(Fraction(1, 10**digits), LARGEST_DELTA)


def read_share(written: str, name: str) -> Fraction:
    """`2.7 %` or `0.027`. Raises InvalidParameter outside (0, 1)."""
    text = written.strip()
    percent = text.endswith("%")
    share = exact(text.removesuffix("%").strip(), name) / (100 if percent else 1)
    if not 0 < share < 1:
        raise InvalidParameter(name, expected="a share such as 2.7 % or 0.027", found=written)
    return share


def _conflict(what: str, most: Fraction, accuracy: Accuracy | None) -> BudgetError:
    hint = "State a smaller epsilon, or allow the guess to become larger."
    if accuracy is not None:
        each = max(most / accuracy.questions, _GRID)
        reached = half_width_at(each, accuracy.max_rows)
        one = Accuracy(1, accuracy.within, accuracy.max_rows)
        count = int(most / epsilon_for_accuracy(one))
        hint = (
            f"With epsilon {decimal_text(most)}: ± {reached:,} for each of {accuracy.questions:,} counts, or "
            f"{count:,} counts with ± {decimal_text(accuracy.within, 6)}. Or allow the guess to become larger."
        )
    return BudgetError(f"Both cannot be had: {what}; at most {decimal_text(most)} is allowed.", code="M-104", hint=hint)


def _delta(delta: Number | None, people: int | None) -> Fraction:
    if delta is None:
        return Fraction(0) if people is None else delta_for(people)
    found = exact(delta, "delta")
    if not 0 <= found < 1:
        raise InvalidParameter("delta", expected="0 or above, and below 1", found=delta)
    return _decimal(found, "delta")


def _decimal(value: Fraction, name: str) -> Fraction:
    """A catalog has decimals only."""
    if exact(decimal_text(value, 40)) != value:
        raise InvalidParameter(name, expected="a decimal number, as a catalog writes it", found=str(value))
    return value


def _digits(value: Fraction, *, up: bool) -> Fraction:
    """To three digits after the point, or to three significant ones below 0.1."""
    size = Fraction(1, 1000)
    while value < 100 * size and size > Fraction(1, 10**15):
        size /= 10
    return round_up(value, size) if up else round_down(value, size)


def _down(share: Fraction) -> str:
    """A share as stated, in per cent."""
    return f"{decimal_text(share * 100, 6)} %"


def _tiny(value: Fraction) -> str:
    if value.numerator == 1 and set(str(value.denominator)) <= {"0", "1"} and str(value.denominator)[0] == "1":
        return f"1e-{len(str(value.denominator)) - 1}"
    scale = Fraction(10) ** (math.floor(math.log10(value)) - 1)
    return f"{float(round_up(value, scale)):.2g}"
