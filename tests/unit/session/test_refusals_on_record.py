"""What a session refuses is on record, by text and code alone; the record tells nothing of anybody's rows."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import dither
from dither.errors import DitherError, EngineError, InvalidParameter
from dither.noise import insecure_seeded

REFUSED = [
    ("SELECT * FROM data", {"epsilon": 1}),
    ("SELECT COUNT( FROM data", {"epsilon": 1}),
    ("SELECT COUNT(*) FROM nothing", {"epsilon": 1}),
    ("SELECT SUM(u) FROM data GROUP BY missing", {"epsilon": 1}),
    ("SELECT COUNT(*) FROM data", {"epsilon": 4}),
    ("SELECT COUNT(*) FROM data", {"epsilon": "0.00001"}),
    ("SELECT COUNT(*) FROM data", {"within": 1, "at_most": "0.01"}),
    ("SELECT COUNT(*) FROM data WHERE g > (SELECT AVG(g) FROM data)", {"epsilon": 4}),
]


def opened(rows: int = 50, **more: object) -> dither.Session:
    frame = pd.DataFrame({"u": range(rows), "g": [i % 2 for i in range(rows)]})
    return dither.open(
        frame, privacy_unit="u", budget=3, max_rows_per_unit=1, bounds={"g": (0, 1)}, entropy=insecure_seeded(3), **more
    )  # type: ignore[arg-type]


def recorded(session: dither.Session) -> list[dict[str, object]]:
    return [json.loads(row.body)["facts"] for row in session.ledger.log() if row.kind == "refused"]


def test_every_refusal_is_on_record_with_its_text_and_code() -> None:
    db, codes = opened(), []
    for question, offer in REFUSED:
        with pytest.raises(DitherError) as refused:
            db.ask(question, **offer)
        codes.append(refused.value.code)
    assert [(facts["text"], facts["code"]) for facts in recorded(db)] == [
        (question, code) for (question, _), code in zip(REFUSED, codes, strict=True)
    ]
    assert db.budget().spent.epsilon == 0 and db.ledger.verify().holds


def test_records_of_two_data_sets_that_differ_in_people_are_the_same() -> None:
    said = []
    for rows in (0, 1, 500):
        db = opened(rows)
        for question, offer in REFUSED:
            with pytest.raises(DitherError):
                db.ask(question, **offer)
        said.append([(facts, row.kind) for facts, row in zip(recorded(db), db.ledger.log(), strict=False)])
    assert said[0] == said[1] == said[2] and len(said[0]) == len(REFUSED)


def test_answers_explanations_failures_and_slips_are_no_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    db = opened()
    db.ask("SELECT COUNT(*) FROM data", epsilon=1)
    with pytest.raises(DitherError):
        db.explain("SELECT * FROM data", epsilon=1)
    with pytest.raises(InvalidParameter):
        db.ask("SELECT COUNT(*) FROM data", epsilon=-1)

    def fails(measures: object) -> object:
        raise EngineError("The database failed.")

    monkeypatch.setattr(db.engine, "measure", fails)
    with pytest.raises(EngineError):
        db.ask("SELECT g, COUNT(*) FROM data GROUP BY g", epsilon=1)
    assert recorded(db) == []


def test_a_series_that_is_refused_is_on_record() -> None:
    db = opened()
    with pytest.raises(DitherError):
        db.series("SELECT g, COUNT(*) FROM data GROUP BY g", name="n", first="2026-01-01", days=3, epsilon=1)
    assert len(recorded(db)) == 1


def test_a_refusal_that_cannot_be_written_down_is_still_that_refusal(tmp_path: Path) -> None:
    db = opened(ledger=tmp_path / "x.ledger")
    db.ledger._journal.store.wait_s = 0.1

    def broken(analyst: str, text: str, code: str) -> bool:
        raise dither.LedgerError("The disk is full.")

    db.ledger.record_refusal = broken  # type: ignore[method-assign]
    with pytest.raises(dither.QueryRefused):
        db.ask("SELECT * FROM data", epsilon=1)
    db.close()
