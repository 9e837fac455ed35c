"""The searching adversary: what it may ask, how it learns, and that it is judged on wards it never saw."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dither.lab.attacks.questions import ROWS, TARGET, Plan, Question, Space
from dither.lab.attacks.search import Searcher, Wards
from dither.lab.engines import Exact, dither
from dither.lab.games import play
from dither.lab.planted import PLANTED

ONE = Fraction(1)


def searched(maker, *, wards: Wards | None = None, space: Space | None = None, seed: int = 1):  # type: ignore[no-untyped-def]
    return Searcher(maker, ONE, wards=wards or Wards(), space=space or Space(), seed=seed).search()


def test_every_question_selects_the_rows_it_says() -> None:
    scene = Wards().scene(np.random.default_rng(1), 50)
    with Exact(scene.table, ONE, 1) as engine:
        for question in Space(parts=("<=", ">", "<>", "=", "%")).questions():
            assert question.rows().any()
            wards = scene.table.columns["trial"][question.rows()[scene.table.columns["row_number"] - 1]]
            assert engine.ask(question.sql()).column(50).tolist() == np.bincount(wards, minlength=50).tolist()


def test_no_question_of_the_ordinary_space_is_about_one_row_in_the_middle() -> None:
    for question in Space().questions():
        rows = np.flatnonzero(question.rows()) + 1
        assert len(rows) > 1 or rows[0] in (1, ROWS)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_against_exact_sums_it_comes_upon_the_difference_of_two_prefixes(seed: int) -> None:
    found = searched(Exact, wards=Wards(knows_others=False), space=Space(parts=("<=",)), seed=seed)
    assert {question.at for question in found.plan.questions} == {TARGET, TARGET - 1}
    line = play(found, Exact, ONE, seed=seed, blocks=1)
    assert (line.value, line.trials) == (1.0, 1000)


def test_with_more_kinds_of_questions_it_still_finds_sets_that_differ_in_the_target() -> None:
    found = searched(Exact, wards=Wards(knows_others=False))
    # Rows 1 and 8 are always there: as good as known.
    constant = np.eye(ROWS)[[0, -1]]
    masks = np.vstack([[question.rows() for question in found.plan.questions], constant]).astype(float)
    target = np.arange(1, ROWS + 1) == TARGET
    # Some combination of its questions is the target's row alone.
    weights, *_ = np.linalg.lstsq(masks.T, target.astype(float), rcond=None)
    assert np.allclose(masks.T @ weights, target)


def test_against_dither_it_reaches_the_bound_and_not_more() -> None:
    # n = 5,000: standard error 0.006; a search that learns nothing stays at one half.
    line = play(searched(dither()), dither(), ONE, seed=1, blocks=5)
    assert line.verdict in ("below bound", "inconclusive")
    assert line.value > 0.70


@pytest.mark.parametrize("name", sorted(set(PLANTED) - {"ledger forgets"}))
def test_it_finds_a_planted_fault(name: str) -> None:
    space = {
        "wrong sensitivity": Space(whats=("COUNT(*)", "SUM(visits)")),
        "no clamp": Space(whats=("COUNT(*)", "SUM(visits)")),
        "bare keys": Space(parts=("<=", "=")),
    }.get(name)
    wards = Wards(holds=100) if name == "no clamp" else None
    line = play(searched(PLANTED[name], wards=wards, space=space), PLANTED[name], ONE, seed=1, blocks=2)
    assert line.verdict == "ABOVE BOUND"


def test_own_wards_are_never_those_that_are_attacked() -> None:
    searcher = Searcher(Exact, ONE, wards=Wards(), space=Space(), seed=7)
    own, _ = searcher._own(100)
    attacked = Wards().scene(np.random.default_rng([7, 0]), 100)
    assert not np.array_equal(own.truth, attacked.truth)
    assert "trial" not in str(Plan((Question("COUNT(*)", "<=", 5),)))
