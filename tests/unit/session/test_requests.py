"""A request key makes a question's charge happen once, whatever the client does."""

from __future__ import annotations

import pandas as pd
import pytest

import dither
from dither.errors import InvalidParameter, LedgerConflict, QueryRefused
from dither.noise import insecure_seeded

FRAME = pd.DataFrame({"u": range(50), "g": [i % 2 for i in range(50)]})


def opened(**more: object) -> dither.Session:
    return dither.open(
        FRAME, privacy_unit="u", budget=3, max_rows_per_unit=1, bounds={"g": (0, 1)}, entropy=insecure_seeded(3), **more
    )  # type: ignore[arg-type]


def test_the_same_request_again_gives_the_same_answer_for_nothing() -> None:
    db = opened()
    first = db.ask("SELECT COUNT(*) FROM data", epsilon=0.5, request="k1")
    again = db.ask("SELECT COUNT(*) FROM data", epsilon=0.5, request="k1")
    assert first.rows() == again.rows()
    assert again.charged.epsilon == 0
    assert float(db.budget().spent.epsilon) == 0.5


def test_a_key_used_for_another_question_is_refused_and_costs_nothing() -> None:
    db = opened()
    db.ask("SELECT COUNT(*) FROM data", epsilon=0.5, request="k1")
    with pytest.raises(InvalidParameter):
        db.ask("SELECT g, COUNT(*) FROM data GROUP BY g", epsilon=0.5, request="k1")
    assert float(db.budget().spent.epsilon) == 0.5
    assert db.ledger.verify().holds


def test_a_question_inside_a_question_that_is_not_admitted_gives_the_first_back() -> None:
    db = opened()
    with pytest.raises(dither.BudgetExceeded):
        db.ask("SELECT COUNT(*) FROM data WHERE g > (SELECT AVG(g) FROM data)", epsilon=4)
    assert float(db.budget().spent.epsilon) == 0


def test_a_refused_question_reads_and_charges_nothing() -> None:
    db = opened()
    for question in ("SELECT * FROM data", "SELECT COUNT(*) FROM nothing", "SELECT SUM(u) FROM data GROUP BY missing"):
        with pytest.raises(QueryRefused):
            db.ask(question, epsilon=0.5)
    assert float(db.budget().spent.epsilon) == 0
    assert len(db.ledger.entries()) == 0


def test_a_request_whose_answer_was_lost_stays_charged_and_says_so() -> None:
    db = opened()
    measure = db.engine.measure

    def dies(measures: object) -> object:
        raise KeyboardInterrupt

    db.engine.measure = dies  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        db.ask("SELECT COUNT(*) FROM data", epsilon=0.5, request="k1")
    db.engine.measure = measure  # type: ignore[method-assign]
    with pytest.raises(LedgerConflict, match="charged before"):
        db.ask("SELECT COUNT(*) FROM data", epsilon=0.5, request="k1")
    assert float(db.budget().spent.epsilon) == 0.5
