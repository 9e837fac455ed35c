"""The protocol: verdicts, thresholds, and that an adversary sees what an analyst sees and no more."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.lab import bounds
from dither.lab.attacks.averaging import Averaging
from dither.lab.attacks.channels import learned
from dither.lab.attacks.differencing import PrefixDifference, SingleCount
from dither.lab.attacks.tracker import TrackedBit
from dither.lab.engines import (
    Dither,
    Exact,
    Noisy,
    OverlapControl,
    Rounding,
    Spend,
    Suppression,
    dither,
    noise_source,
    system_noise,
)
from dither.lab.games import judge, play, score_threshold, tuned_threshold
from dither.lab.worlds.table import Table

ONE = Fraction(1)


@pytest.fixture
def table() -> Table:
    rows = np.arange(1, 41)
    return Table({"row_number": rows, "x": rows % 2}, {"row_number": (1, 40), "x": (0, 1)})


def test_the_three_verdicts_and_their_words() -> None:
    assert judge(400, 1000, 0.5) == "below bound"
    assert judge(600, 1000, 0.5) == "ABOVE BOUND"
    assert judge(505, 1000, 0.5) == "inconclusive"
    assert judge(1000, 1000, None) == ""


def test_two_standard_errors_above_are_no_alarm_yet() -> None:
    # One line in forty is that far above by luck, and a run has scores of lines.
    assert judge(533, 1000, 0.5) == "inconclusive"
    assert judge(553, 1000, 0.5) == "ABOVE BOUND"


@pytest.mark.parametrize("seed", range(20))
def test_the_tuned_threshold_is_the_best_there_is(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores, truth = generator.integers(0, 6, 30).astype(float), generator.integers(0, 2, 30) == 1
    best = max(np.sum((scores > t) == truth) for t in np.arange(-1.5, 8))
    assert np.sum((scores > tuned_threshold(scores, truth)) == truth) == best


def test_tuning_looks_at_the_first_half_only() -> None:
    # In the second half the score tells the opposite: a threshold that had seen it would not be wrong every time.
    scores = np.array([0.0, 1.0] * 100)
    truth = np.array([False, True] * 50 + [True, False] * 50)
    assert score_threshold(scores, truth) == (0, 100)


def test_channels_are_learned_on_one_half_and_counted_on_the_other() -> None:
    truth = np.array([True, False] * 10)
    assert learned([("error" if bit else "fine") for bit in truth], truth) == (10, 10)
    assert learned(["same"] * 20, truth) == (5, 10)


def test_an_adversary_is_never_handed_the_truth() -> None:
    seen: list[Any] = []

    class Curious(SingleCount):
        def guess(self, engine, known, trials, epsilon):  # type: ignore[no-untyped-def]
            seen.append(known)
            return np.zeros(trials, dtype=bool)

    play(Curious(), Exact, ONE, seed=1, blocks=2, trials=10)
    assert seen == [{}, {}]


def test_an_adversary_is_handed_a_desk_that_takes_questions_and_nothing_else() -> None:
    seen: list[Any] = []

    class Nosy(SingleCount):
        def guess(self, engine, known, trials, epsilon):  # type: ignore[no-untyped-def]
            seen.append((engine, engine.ask("SELECT COUNT(*) FROM data", epsilon / 2), engine.ask("SELECT 1", epsilon)))
            return np.zeros(trials, dtype=bool)

    play(Nosy(), dither(), ONE, seed=1, blocks=1, trials=10)
    ((desk, answer, refusal),) = seen
    assert [name for name in dir(desk) if not name.startswith("_")] == ["ask"]
    # What an analyst sees: values, price, allowance, refusal, latency.
    assert answer.rows and answer.price == "epsilon 0.5" and "left epsilon 0.5" in answer.remaining
    assert refusal.refusal and refusal.rows == () and min(answer.seconds, refusal.seconds) > 0


@pytest.mark.parametrize("attack", [SingleCount(), PrefixDifference(), TrackedBit()])
def test_trials_are_disjoint_public_groups_a_thousand_to_a_question(attack: Any) -> None:
    scene = attack.scene(np.random.default_rng(1), 1000)
    # A row is a person, and stands in one trial; which trials there are is declared, not read from the data.
    assert scene.table.unit == "row" and scene.table.columns["trial"].shape == (len(scene.table),)
    assert scene.table.bounds["trial"] == (0, 999)
    alone = scene.table.only(np.arange(len(scene.table)) == 0)
    with dither()(alone, ONE, 1) as engine:
        reply = engine.ask("SELECT trial, COUNT(*) FROM data GROUP BY trial", ONE)
        assert {row[0] for row in reply.rows} - {None} == set(range(1000))
        assert engine.spend().epsilon == 1


def test_a_ledger_that_books_beyond_its_budget_is_held_to_the_budget() -> None:
    class Endless(Noisy):
        def spend(self) -> Spend:
            return Spend(Fraction(8))

    line = play(Averaging(8, ONE), Endless, ONE, seed=1, blocks=1)
    assert line.bound == pytest.approx(bounds.accuracy(1))
    assert (line.spent, line.verdict) == ("epsilon 8", "ABOVE BOUND")
    assert Spend(rho=Fraction(3)).at_most(ONE).rho == Fraction(1, 2)


def test_rows_that_change_leave_the_ledger_and_what_it_released(tmp_path: Path, table: Table) -> None:
    ask = "SELECT SUM(x) FROM data"
    fewer = table.only(np.arange(40) < 20)
    with Dither(table, ONE, 1, ledger=tmp_path / "a.ledger") as engine:
        before = engine.ask(ask, Fraction(1, 2))
        engine.change(fewer)
        again, new = engine.ask(ask, Fraction(1, 2)), engine.ask("SELECT COUNT(*) FROM data", Fraction(1, 2))
        assert (again.rows, again.remaining) == (before.rows, before.remaining)
        # The rows did change: 40 would be ten scales of the noise away.
        assert abs(new.scalar() - 20) < 15
        assert engine.spend().epsilon == 1
    with Exact(table, ONE, 1) as exact:
        exact.change(fewer)
        assert exact.ask(ask).scalar() == 10
    with pytest.raises(NotImplementedError), Dither(table, ONE, 1) as memory:
        memory.change(fewer)


def test_the_bound_follows_what_the_ledger_booked_not_what_was_offered() -> None:
    class Thrifty(SingleCount):
        def guess(self, engine, known, trials, epsilon):  # type: ignore[no-untyped-def]
            return super().guess(engine, known, trials, epsilon / 4)

    line = play(Thrifty(), dither(), ONE, seed=1, blocks=1, trials=50)
    assert line.bound == pytest.approx(0.5622, abs=1e-4)
    assert line.spent == "epsilon 0.25"


def test_exact_rounding_and_suppressing_engines(table: Table) -> None:
    count = "SELECT COUNT(*) FROM data WHERE row_number <= {}"
    with Exact(table, ONE, 1) as exact, Rounding(table, ONE, 1) as rounding, Suppression(table, ONE, 1) as suppressing:
        assert exact.ask(count.format(13)).scalar() == 13
        assert rounding.ask(count.format(13)).scalar() == 15
        shown = [suppressing.ask(count.format(n)).scalar() for n in (9, 10, 30, 31)]
        assert shown == [None, 10, 30, None]
        failed = exact.ask("SELECT CAST('seven' AS INTEGER) FROM data")
        assert "seven" in failed.refusal and not failed.answered


def test_overlap_control_refuses_one_row_apart_and_allows_two(table: Table) -> None:
    ask = "SELECT SUM(x) FROM data WHERE row_number <= {}"
    with OverlapControl(table, ONE, 1) as engine:
        assert engine.ask(ask.format(4)).answered
        assert not engine.ask(ask.format(5)).answered
        assert engine.ask(ask.format(6)).answered
        assert (engine.questions, engine.refusals) == (3, 1)


def test_noise_without_a_ledger_is_fresh_each_time_and_promises_one_price(table: Table) -> None:
    with Noisy(table, ONE, 1) as engine:
        answers = {engine.ask("SELECT COUNT(*) FROM data", ONE).scalar() for _ in range(40)}
        assert len(answers) > 3
        assert engine.spend() == Spend(ONE)


def test_dither_shows_price_allowance_and_refusals(table: Table) -> None:
    with Dither(table, ONE, 1) as engine:
        reply = engine.ask("SELECT COUNT(*) FROM data", Fraction(1, 2))
        assert reply.price == "epsilon 0.5"
        assert "left epsilon 0.5" in reply.remaining
        assert reply.seconds > 0
        refused = engine.ask("SELECT COUNT(*) FROM data WHERE x = 1", ONE)
        assert "M-100" in refused.refusal
        assert "S-100" in engine.ask("SELECT * FROM data", Fraction(1, 4)).refusal
        assert engine.spend().epsilon == Fraction(1, 2)


def test_real_noise_leaves_the_seed_alone_and_ends_with_its_body() -> None:
    assert noise_source(1) is not None
    with system_noise(True):
        assert noise_source(1) is None
    assert noise_source(1) is not None


def test_the_same_seed_gives_the_same_line_and_another_seed_another() -> None:
    lines = [play(SingleCount(), dither(), ONE, seed=seed, blocks=2, trials=200) for seed in (3, 3, 4)]
    assert lines[0].hits == lines[1].hits
    assert lines[0].hits != lines[2].hits
