"""The least offer with which a question keeps a wished ±: one search, for a question alone and for workloads.

Flow: `ask(within=)` and `explain(within=)` call `least_offer`; the planner calls `limits_of` and `least_share` with
steps of its budget. Works on plans and laws alone: reads no protected row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.catalog.model import Catalog, fold
from dither.errors import InvalidParameter
from dither.exact import QUANTUM, decimal_text
from dither.plan.offer import Offer
from dither.plan.price import PricedPlan
from dither.session.expected import ColumnExpectation, expected_columns
from dither.session.foreseen import offer_of, vectors_in
from dither.session.wishes import Wish

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["LARGEST_SHARE", "bought_by", "keeps", "least_offer", "least_share", "limits_of", "out_of_reach"]

LARGEST_SHARE = Fraction(10**6)
"""Of one vector, in epsilon or rho: a wish that needs more cannot be kept."""
DIGITS = 7
"""Offers that are solved for have this many decimals below the first; slightly less than the last would not do."""
_FINEST = QUANTUM
"""No finer than the ledger counts."""


def least_offer(session: Session, plan_at: Callable[[Offer], PricedPlan], wish: Wish, *, rho: bool) -> PricedPlan:
    """One question priced with the least offer that keeps `wish` in every column it speaks of. plan_at: its price at an
    offer.  rho: the meter to solve on.
    Raises InvalidParameter [M-120] where a ± is not known beforehand or no offer reaches it."""
    any_offer = plan_at(offer_of(Fraction(1), 1, rho=rho))
    limits = _limits_alone(session, any_offer, wish)
    vectors = vectors_in(any_offer)

    def at(share: Fraction) -> PricedPlan:
        return plan_at(offer_of(share, vectors, rho=rho))

    def does(share: Fraction) -> bool:
        return keeps(at(share), limits, session.catalog)

    terms = session.catalog.budget
    floor = (terms.minimum_rho if rho else terms.minimum_price) / vectors
    if floor and does(floor):
        return at(floor)
    top = _decade(does, floor)
    if top is None:
        raise out_of_reach("within", "rho" if rho else "epsilon", limits)
    step = max(top / 10**DIGITS, _FINEST)
    share = least_share(lambda steps: does(steps * step), least=max(1, int(floor / step)), most=int(top / step))
    if share is None:
        raise out_of_reach("within", "rho" if rho else "epsilon", limits)
    return at(share * step)


def least_share(keeps: Callable[[int], bool], *, least: int, most: int) -> int | None:
    """The least number of steps, from `least` on, that keeps what is wanted; None where none up to about `most` does.
    What is given back was tried, and one step less was tried and does not keep it (or is below `least`)."""
    low, high = least - 1, least
    while not keeps(high):
        if high > most:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def limits_of(wish: Wish, columns: Sequence[ColumnExpectation], name: str, *, instead: str) -> dict[int, Fraction]:
    """Position of a column -> the ± wanted for it. name: of the wish, in errors.  instead: what to do about a column
    whose ± is not known beforehand. Raises InvalidParameter where none can be promised."""
    known = {position for position, column in enumerate(columns) if column.half_width is not None}
    limits = {} if wish.within is None else dict.fromkeys(known, wish.within)
    names = [fold(column.name) for column in columns]
    for column, wanted in wish.columns.items():
        positions = [position for position, own in enumerate(names) if own == column]
        if len(positions) != 1 or positions[0] not in known:
            listed = ", ".join(columns[position].name for position in sorted(known)) or "none"
            raise InvalidParameter(
                name,
                expected=f"for a column whose ± is known beforehand ({listed})",
                found=column,
                hint="Counts and sums have such a ±, and means where the owner declares as public how many rows there "
                f"are; that of other columns depends on the answer. {instead}",
                code="M-120",
            )
        limits[positions[0]] = wanted
    if not limits:
        raise InvalidParameter(
            name,
            expected="for a question with a column whose ± is known beforehand",
            found="none",
            hint="Only counts and sums have one, and means where the owner declares as public how many rows there are. "
            f"{instead}",
            code="M-120",
        )
    return limits


def _limits_alone(session: Session, priced: PricedPlan, wish: Wish) -> dict[int, Fraction]:
    """The limits of one question asked on its own: a bare number speaks of every noisy column, so each must have a ±
    beforehand; over private groups none has."""
    columns = expected_columns(priced, session.catalog)
    if any(measure.measure.has_private_keys for measure in priced.measures):
        raise InvalidParameter(
            "within",
            expected="of a question whose groups are listed",
            found="groups that the catalog does not list",
            hint="Which of them appear is decided by their noisy counts, so no ± can be promised beforehand. State "
            "epsilon=... instead, or have the owner list the groups as `values`.",
            code="M-120",
        )
    unknown = [column.name for column in columns if column.half_width is None]
    listed = [column.name for column in columns if column.half_width is not None]
    if wish.within is not None and unknown and listed:
        raise InvalidParameter(
            "within",
            expected=f"for columns whose ± is known beforehand ({', '.join(listed)})",
            found=f"also {', '.join(unknown)}",
            hint=f'Name the columns, as in within={{"{listed[0]}": {decimal_text(wish.within)}}}, or '
            f"{listed[0]}={decimal_text(wish.within)} in the text or on the command line.",
            code="M-120",
        )
    return limits_of(wish, columns, "within", instead="State epsilon=... instead; explain shows the noise it buys.")


def bought_by(plan_at: Callable[[Offer], PricedPlan], offer: Offer, catalog: Catalog) -> str:
    """`n ± 120, total ± 900`: what an offer would buy, for the ways forward of a refusal."""
    found = [
        f"{column.name} ± {column.half_width:.4g}"
        for column in expected_columns(plan_at(offer), catalog)
        if column.half_width is not None
    ]
    return ", ".join(found)


def keeps(priced: PricedPlan, limits: Mapping[int, Fraction], catalog: Catalog) -> bool:
    """Is every expected ± within what is wanted of its column?"""
    columns = expected_columns(priced, catalog)
    halves = ((columns[position].half_width, wanted) for position, wanted in limits.items())
    return all(half is not None and Fraction(half) <= wanted for half, wanted in halves)


def _decade(keeps: Callable[[Fraction], bool], floor: Fraction) -> Fraction | None:
    """A power of ten that keeps the wish while a tenth of it does not, or is below `floor`."""
    top = Fraction(1, 1000)
    while not keeps(top):
        top *= 10
        if top > LARGEST_SHARE:
            return None
    while top / 10 >= max(floor, _FINEST) and keeps(top / 10):
        top /= 10
    return top


def out_of_reach(name: str, meter: str, limits: Mapping[int, Fraction]) -> InvalidParameter:
    return InvalidParameter(
        name,
        expected=f"a ± that some {meter} up to {decimal_text(LARGEST_SHARE)} reaches",
        found=" ".join(decimal_text(wanted, 18) for wanted in limits.values()),
        code="M-120",
    )
