"""Splits cost what was worked out for them, never more than the budget, and meet wishes first."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dither.session.split_budget import Asked, split_budget


def cost_of(asked: Sequence[Asked], shares: Sequence[int]) -> int:
    return sum(each.vectors * share for each, share in zip(asked, shares, strict=True))


QUESTIONS = st.lists(
    st.builds(
        lambda vectors, least, extra, weight, wished: Asked(
            vectors, least, least + extra if wished else None, None if wished else Fraction(weight)
        ),
        st.integers(1, 5),
        st.integers(1, 20),
        st.integers(0, 5000),
        st.integers(1, 9),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@given(QUESTIONS, st.integers(1, 40_000))
def test_a_split_is_within_the_budget_and_wishes_come_first(asked: list[Asked], budget: int) -> None:
    split = split_budget(asked, budget, lambda shares: cost_of(asked, shares))
    least = cost_of(asked, [each.least for each in asked])
    if split is None:
        assert least > budget
        return
    assert cost_of(asked, split.shares) <= budget
    assert all(share >= each.least for each, share in zip(asked, split.shares, strict=True))
    wished = [(each, share) for each, share in zip(asked, split.shares, strict=True) if each.wished is not None]
    needed = cost_of(asked, [each.wished if each.wished is not None else each.least for each in asked])
    assert split.enough == needed
    if needed <= budget:
        assert split.scaled is None and all(share == each.wished for each, share in wished)
    else:
        assert split.scaled is not None and 0 <= split.scaled < 1
        assert all(share >= int(split.scaled * (each.wished or 0)) for each, share in wished)


def test_what_is_left_is_shared_by_weight_to_the_last_step() -> None:
    asked = [Asked(1, 1, 100, None), Asked(2, 1, None, Fraction(2)), Asked(1, 1, None, Fraction(1))]
    split = split_budget(asked, 700, lambda shares: cost_of(asked, shares))
    assert split is not None
    assert split.shares == [100, 200, 200]


def test_questions_that_share_are_given_what_sharing_saves() -> None:
    """Two questions over one vector cost the larger of their shares: both can have the whole budget."""
    asked = [Asked(1, 1, None, Fraction(1)), Asked(1, 1, None, Fraction(1))]
    split = split_budget(asked, 1000, max)
    assert split is not None and split.shares == [1000, 1000]
