"""An opaque statistic from a session: who may ask, what is charged when, what is read, what is shown."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import dither
from dither.accounting import MetricLoss, RandomLoss
from dither.answer.sampled import SampledAnswer
from dither.errors import (
    BudgetExceeded,
    EngineError,
    InvalidParameter,
    LedgerConflict,
    LedgerCorrupt,
    LedgerError,
    PolicyRefused,
)
from dither.ledger.apart import ApartLedger
from dither.ledger.apart_places import beside, found_beside
from dither.mechanisms import Population
from dither.session.session import Session
from dither.session.statement import Statement, make_statement
from dither.session.statement_facts import gather
from dither.session.statement_show import to_json, to_markdown
from support.worlds import new_ledger

CATALOG = """\
[dataset]
name = "hospital"
ledger = "h.ledger"
[source]
url = "."
[unit]
name = "patient"
[budget]
epsilon = 2
{sections}[tables.visits]
privacy_unit = "patient"
{rows}
[tables.visits.columns]
cost = {{ type = "double", bounds = [0, 1000] }}
day = {{ type = "timestamp" }}
sex = {{ type = "text", values = ["F", "M"] }}
[tables.survey]
public = true
"""
PATIENTS = 400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    generator = np.random.default_rng(3)
    pd.DataFrame(
        {
            "patient": [*range(PATIENTS), *range(PATIENTS), None],
            "cost": [*generator.lognormal(3, 1, 2 * PATIENTS), 7.0],
            "day": pd.to_datetime(["2026-01-01"] * (2 * PATIENTS) + [None]),
            "sex": ["F", "M", "X", None] * (PATIENTS // 2) + ["F"],
        }
    ).to_parquet(tmp_path / "visits.parquet")
    survey = {"COST": generator.lognormal(3, 1, 60), "sex": ["F", "M"] * 30, "town": ["a"] * 60}
    pd.DataFrame(survey).to_parquet(tmp_path / "survey.parquet")
    return tmp_path


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[..., Session]]:
    sessions: list[Session] = []

    def opener(sections: str = "", rows: str = "", **more: Any) -> Session:
        (folder / "dither.toml").write_text(CATALOG.format(sections=sections, rows=rows), encoding="utf-8")
        sessions.append(dither.open(folder / "dither.toml", **more))
        return sessions[-1]

    yield opener
    for session in sessions:
        session.close()


def median(rows: Any) -> Any:
    return np.median(rows["cost"])


def ask(session: Session, f: Any = median, **changes: Any) -> SampledAnswer:
    given = {"population": "survey", "bounds": (0, 1000), "gamma": "0.05", "epsilon": 1, "rows": 300, **changes}
    return session.sampled_statistic(f, **given)


def ledgers(folder: Path) -> list[ApartLedger[Any]]:
    return [ApartLedger.look(place) for place in found_beside(str(folder / "h.ledger"))]


def totals(folder: Path) -> list[Any]:
    found = ledgers(folder)
    try:
        return [ledger.total() for ledger in found]
    finally:
        for ledger in found:
            ledger.close()


SURVEY = RandomLoss(Fraction(1), Fraction(0), Fraction(1, 20), "the rows of the public table survey")


# What is answered and shown ---------------------------------------------------------------------------------------


def test_an_answer_is_near_the_truth_and_charged_on_a_ledger_of_its_own(opened, folder) -> None:
    session = opened()
    answer = ask(session)
    assert 10 < answer.scalar() < 40 and 0 < answer.half_widths[0] < 60
    assert answer.charged == SURVEY
    assert totals(folder) == [SURVEY]
    assert session.budget().spent.epsilon == 0 and not session.ledger.entries()
    (ledger,) = ledgers(folder)
    (entry,) = ledger.log()
    assert entry.state == "answered" and ledger.verify(answer.entry_hash).holds and ledger.dataset == "hospital"
    assert "'median', a number, of 300 rows of visits" in entry.what
    ledger.close()


def test_every_print_says_that_it_is_not_differential_privacy(opened) -> None:
    answer, explained = ask(opened()), explain(opened())
    for shown in (
        repr(answer), answer._repr_html_(), answer.about(), repr(explained), explained._repr_html_(), explained.about(),
    ):  # fmt: skip
        assert "random DP" in shown and "not differential privacy" in shown
    chinese = answer.about("zh")
    assert "不是差分隐私" in chinese and "随机差分隐私" in chinese
    assert "公开表 survey 的行" in chinese and "random DP over" not in chinese
    assert "±" in repr(answer) and "gamma 0.05" in repr(answer) and "a ledger of its own" in repr(answer)
    with pytest.raises(InvalidParameter):
        answer.about("fr")


def test_about_says_what_is_not_protected(opened) -> None:
    told = ask(opened()).about()
    for part in (
        "would not produce has no protection", "300 were used", "how long the program took", "fewer rows",
        "one of each patient", "noise around 500", "cannot be converted",
    ):  # fmt: skip
        assert part in told


def test_a_vector_has_an_interval_for_each_number(opened) -> None:
    answer = ask(opened(), lambda rows: [rows["cost"].mean(), 5.0], bounds=[(0, 1000), (0, 10)], norm=2, delta="1e-6")
    assert answer.values is not None and len(answer.values) == len(answer.intervals) == 2
    assert answer.intervals[1][0] < answer.values[1] < answer.intervals[1][1]
    assert answer.charged is not None and answer.charged.delta == Fraction(1, 10**6)
    assert "<lambda>[1]" in repr(answer) and "delta 0.000001" in repr(answer)
    assert "&lt;lambda&gt;[1]" in answer._repr_html_() and "<lambda>" not in answer._repr_html_()
    with pytest.raises(InvalidParameter):
        answer.scalar()


def test_an_answer_is_the_same_after_the_ledger_kept_it(opened) -> None:
    answer = ask(opened(), name="费用\u202e")
    assert SampledAnswer.from_text(answer.to_text(), answer.entry_hash) == answer
    for text in ("", "{}", "[]", json.dumps({"facts": {}, "values": [1]})):
        with pytest.raises(LedgerCorrupt):
            SampledAnswer.from_text(text)


# What is read -----------------------------------------------------------------------------------------------------


def test_the_program_sees_one_row_of_each_unit_as_questions_read_it(opened, folder) -> None:
    seen: list[Any] = []

    def looks(rows: Any) -> Any:
        seen.append({name: column.copy() for name, column in rows.items()})
        return rows["cost"].mean()

    ask(opened(), looks, rows=PATIENTS)
    private = seen[-1]
    # The common columns alone, by the catalog's names; X is not listed and the row without a unit is not there.
    assert list(private) == ["cost", "sex"] and len(private["cost"]) == PATIENTS
    assert set(private["sex"]) <= {"F", "M", None} and private["cost"].max() <= 1000
    assert all(len(rows["cost"]) == PATIENTS for rows in seen) and len(seen) == 2 * 19 + 1
    stored = pd.read_parquet(folder / "visits.parquet").dropna(subset="patient")
    assert set(private["cost"]) <= set(np.minimum(stored["cost"], 1000))
    assert np.all(np.diff(private["cost"]) >= 0)


def test_a_synthetic_source_may_have_any_of_the_columns(opened) -> None:
    days = np.array(["2026-01-01", "2026-02-01"], dtype="datetime64[D]")
    source = Population("days", lambda count: {"day": days[np.arange(count) % 2]})
    answer = ask(opened(), lambda rows: (rows["day"] < np.datetime64("2026-01-15")).mean(), population=source)
    assert answer.charged is not None and answer.charged.population == "days"


TYPES = {
    "i": ("integer", "BIGINT", "7"),
    "h": ("integer", "UTINYINT", "7"),
    "f": ("double", "FLOAT", "1.5"),
    "m": ("decimal", "DECIMAL(12, 2)", "2.25"),
    "b": ("boolean", "BOOLEAN", "true"),
    "d": ("date", "DATE", "'2026-01-02'"),
    "s": ("timestamp", "TIMESTAMP", "'2026-01-02 03:04:05'"),
    "t": ("text", "VARCHAR", "'a'"),
    "e": ("text", "mood", "'good'"),
}


@pytest.mark.parametrize("filled", ["all", "none", "half"])
def test_columns_are_of_one_kind_whatever_is_in_them(tmp_path, filled) -> None:
    """Were a column of NULLs of another kind, its being so would show: the columns would not be the population's."""
    with duckdb.connect(str(tmp_path / "x.duckdb")) as made:
        made.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
        made.execute(f"CREATE TABLE t (u INTEGER, {', '.join(f'{n} {sql}' for n, (_, sql, _) in TYPES.items())})")
        for unit in range(40):
            there = filled == "all" or (filled == "half" and unit % 2)
            row = ", ".join(value if there else "NULL" for _, _, value in TYPES.values())
            made.execute(f"INSERT INTO t VALUES ({unit}, {row})")
    columns = "".join(f'{name} = {{ type = "{kind}" }}\n' for name, (kind, _, _) in TYPES.items())
    (tmp_path / "dither.toml").write_text(
        '[dataset]\nname = "x"\nledger = "x.ledger"\n[source]\nurl = "x.duckdb"\n[unit]\nname = "one"\n[budget]\n'
        f'epsilon = 1\n[tables.t]\nprivacy_unit = "u"\n[tables.t.columns]\n{columns}',
        encoding="utf-8",
    )
    kinds = {"number": [1.0], "time": np.array(["2026-01-01"], dtype="datetime64[us]"), "text": ["a"]}
    of_type = {"date": "time", "timestamp": "time", "text": "text"}
    one = {name: kinds[of_type.get(kind, "number")] for name, (kind, _, _) in TYPES.items()}
    source = Population.of_table("one row", one)
    seen: list[Any] = []

    def looks(rows: Any) -> float:
        seen.append(rows)
        return 0.0

    with dither.open(tmp_path / "dither.toml") as session:
        answer = session.sampled_statistic(looks, population=source, bounds=(0, 1), gamma="0.5", epsilon=1, rows=40)
    assert answer.values is not None and len(seen) == 3 and len(seen[-1]["i"]) == 40
    there = {"all": 40, "none": 0, "half": 20}[filled]
    assert np.count_nonzero(~np.isnan(seen[-1]["m"])) == np.count_nonzero(~np.isnat(seen[-1]["d"])) == there
    assert sum(value is not None for value in seen[-1]["e"]) == there


# What is refused, and costs nothing -------------------------------------------------------------------------------


def test_an_analysts_session_is_refused(opened, folder) -> None:
    session = opened("[analysts.ada]\nepsilon = 1\n", analyst="ada")
    for attempt in (ask, explain):
        with pytest.raises(PolicyRefused) as refusal:
            attempt(session)
        assert refusal.value.code == "R-100"
    assert totals(folder) == []


def explain(session: Session, f: Any = median, **changes: Any) -> SampledAnswer:
    given = {"population": "survey", "bounds": (0, 1000), "gamma": "0.05", "epsilon": 1, "rows": 300, **changes}
    return session.explain_sampled_statistic(f, **given)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"population": "visits"}, "the protected table visits"),
        ({"population": "nowhere"}, "a public table"),
        ({"population": lambda count: {}}, "a Population"),
        ({"population": Population("p", lambda count: {"town": np.zeros(count)})}, "columns of visits"),
        ({"population": Population("p", lambda count: {"Cost": np.zeros(count)})}, "spelled as in the catalog"),
        ({"population": Population("p", lambda count: {"cost": ["a"] * count}), "f": lambda rows: 1.0}, "columns"),
        ({"table": "survey"}, "a protected table"),
        ({"table": "nowhere"}, "a protected table"),
        ({"rows": None}, "which is public"),
        ({"rows": 0}, "rows"),
        ({"gamma": 0}, "gamma"),
        ({"epsilon": 0}, "epsilon"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"samples": 5}, "samples"),
        ({"f": lambda rows: rows["salary"]}, "KeyError"),
        ({"allowance": RandomLoss(Fraction(1), Fraction(0), Fraction(1), "another")}, "allowance"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_charged(opened, folder, changes, says) -> None:
    with pytest.raises(InvalidParameter, match=says):
        ask(opened(), **{"f": median, **changes})
    assert totals(folder) == []


def test_a_closed_ledger_is_refused(opened, folder) -> None:
    session = opened()
    other = new_ledger(session.catalog)
    other.merge(session.ledger, reason="one ledger for both", another_promise=True)
    with pytest.raises(LedgerConflict) as refusal:
        ask(session)
    assert refusal.value.code == "L-260" and totals(folder) == []


def test_the_number_of_rows_may_stand_in_the_catalog(opened) -> None:
    assert ask(opened(rows="rows = 350"), rows=None).facts.rows == 350


def test_an_explanation_charges_nothing_and_reads_no_protected_row(opened, folder, monkeypatch) -> None:
    session = opened()

    def untouchable(*_: Any) -> Any:
        raise AssertionError("a protected row was about to be read")

    monkeypatch.setattr(session.engine, "one_row_each", untouchable)
    monkeypatch.setattr(session.engine, "measure", untouchable)
    explained = explain(session)
    assert explained.values is None and explained.charged is None and explained.half_widths[0] > 0
    assert "a number ± " in repr(explained) and "Would cost epsilon 1, gamma 0.05" in repr(explained)
    assert "Nothing was read or charged" in explained.about()
    assert totals(folder) == []


def test_the_allowance_is_recorded_and_kept(opened, folder) -> None:
    session = opened()
    allowance = RandomLoss(Fraction(3, 2), Fraction(0), Fraction(1, 10), SURVEY.population)
    ask(session, allowance=allowance)
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.5, gamma 0\.05 is left"):
        ask(session)
    ask(session, epsilon="0.5")
    assert totals(folder) == [allowance]


# Charge first -----------------------------------------------------------------------------------------------------


def test_the_charge_is_durable_before_the_first_row_is_read(opened, folder, monkeypatch) -> None:
    session = opened()
    inner = session.engine.one_row_each

    def looking(*arguments: Any) -> Any:
        assert totals(folder) == [SURVEY]
        return inner(*arguments)

    monkeypatch.setattr(session.engine, "one_row_each", looking)
    ask(session)


def test_an_engine_that_fails_keeps_the_charge_and_tells_nothing(opened, folder, monkeypatch) -> None:
    session = opened()
    os.remove(folder / "visits.parquet")
    with pytest.raises(EngineError) as failure:
        ask(session)
    assert "visits.parquet" not in str(failure.value)
    assert totals(folder) == [SURVEY]


def test_a_process_killed_while_the_program_runs_leaves_its_charge(opened, folder) -> None:
    session = opened()
    session.close()
    # The 39th run of 39 is the one on protected rows.
    code = (
        "import os, signal, sys, dither\n"
        "runs = []\n"
        "def f(rows):\n"
        "    runs.append(1)\n"
        "    if len(runs) == 39: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return rows['cost'].mean()\n"
        "db = dither.open(sys.argv[1])\n"
        "db.sampled_statistic(f, population='survey', bounds=(0, 1000), gamma='0.05', epsilon=1, rows=300, request='k')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder / "dither.toml")], check=False, timeout=60)
    assert done.returncode == -9
    assert totals(folder) == [SURVEY]
    with pytest.raises(LedgerConflict, match="charged before"):
        ask(opened(), lambda rows: rows["cost"].mean(), name="f", request="k")
    assert totals(folder) == [SURVEY]


@pytest.mark.parametrize("f", ["raises", "exits", "nan", "shape"])
def test_an_error_on_protected_rows_looks_like_an_answer(opened, folder, f) -> None:
    runs: list[int] = []

    def program(rows: Any) -> Any:
        runs.append(1)
        if len(runs) < 39:
            return rows["cost"].mean()
        match f:
            case "raises":
                raise ValueError(f"the largest cost is {rows['cost'].max()}")
            case "exits":
                sys.exit(str(rows["cost"].max()))
            case "nan":
                return np.nan
            case _:
                return rows["cost"]

    answer = ask(opened(), program, bounds=(0, 800), otherwise=700)
    assert len(runs) == 39 and abs(answer.scalar() - 700) < 20 * answer.half_widths[0]
    assert "Error" not in repr(answer) and "failed" not in repr(answer)
    (ledger,) = ledgers(folder)
    assert ledger.log()[0].state == "answered"
    ledger.close()


def test_fewer_people_than_said_look_like_an_answer(opened) -> None:
    answer = ask(opened(), rows=PATIENTS + 1, otherwise=900)
    assert abs(answer.scalar() - 900) < 20 * answer.half_widths[0]


# Keys -------------------------------------------------------------------------------------------------------------


def test_a_request_key_shows_the_same_answer_for_nothing(opened, folder) -> None:
    first = ask(opened(), request="monday")
    again = ask(opened(), request="monday")
    assert again == first and totals(folder) == [SURVEY]
    with pytest.raises(InvalidParameter) as refusal:
        ask(opened(), request="monday", bounds=(0, 900))
    assert refusal.value.code == "I-180"


def test_without_a_key_it_is_measured_and_charged_anew(opened, folder) -> None:
    session = opened()
    assert ask(session).values != ask(session).values
    assert totals(folder) == [SURVEY * 2]


# Other places -----------------------------------------------------------------------------------------------------


def test_a_session_in_memory_keeps_its_ledger_of_the_notion_in_memory(folder) -> None:
    frame = pd.DataFrame({"cost": np.linspace(0, 100, 500)})
    source = Population.of_table("costs", {"cost": np.linspace(0, 100, 50)})
    with dither.open(frame, privacy_unit="row", budget=1, bounds={"cost": (0, 100)}) as session:
        for _ in range(2):
            session.sampled_statistic(median, population=source, bounds=(0, 100), gamma="0.05", epsilon="0.5", rows=500)
        (ledger,) = session.apart_ledgers.values()
        assert ledger.total().epsilon == 1 and session.budget().spent.epsilon == 0
        with pytest.raises(BudgetExceeded):
            session.sampled_statistic(
                median, population=source, bounds=(0, 100), gamma="0.05", epsilon="0.5", rows=500,
                allowance=RandomLoss.of(population="costs", epsilon="1.4", gamma=1),
            )  # fmt: skip
    with pytest.raises(LedgerError):
        ledger.total()


def stated(session: Session, language: str = "en") -> Statement:
    facts = gather(session.catalog, session.ledger, where=session.ledger_location)
    return make_statement(facts, today=dt.date(2026, 11, 30), version="1", language=language)


def test_the_statement_tells_of_it_in_both_languages(opened) -> None:
    session = opened()
    ask(session)
    told = {language: to_markdown(stated(session, language)) for language in ("en", "zh")}
    assert "This is not differential privacy" in told["en"] and "Neither the figures above nor the odds" in told["en"]
    assert "它不是差分隐私" in told["zh"] and "上述数字与把握对其不成立" in told["zh"]
    assert "random DP over the rows of the public table survey" in told["en"]
    # What the ledger keeps in English words stayed English.
    assert "总体 公开表 survey 的行 上的随机差分隐私" in told["zh"] and "random DP over" not in told["zh"]
    assert "统计量 " in told["zh"] and "; norm " not in told["zh"]
    assert all("epsilon 1, gamma 0.05" in text for text in told.values())
    figures = json.loads(to_json(stated(session)))["figures"]
    assert figures["apart"][0]["total"] == "epsilon 1, gamma 0.05" and figures["spent"]["epsilon"] == "0"


def test_a_statement_without_such_a_ledger_says_nothing_of_it(opened) -> None:
    assert "not differential privacy" not in to_markdown(stated(opened()))


def test_the_statement_tells_of_a_ledger_of_metric_privacy_too(opened, folder) -> None:
    session = opened()
    zero = MetricLoss(Fraction(0), "metres in the plane")
    ledger = ApartLedger.open(beside(session.ledger_location, zero), zero)
    ledger.reserve(MetricLoss(Fraction(1, 100), "metres in the plane"), what="places of visits")
    ledger.close()
    told = to_markdown(stated(session))
    assert "metric privacy in metres in the plane" in told and "places of visits" in told and "epsilon 0.01" in told
    assert "does not hide that a patient is in the data" in told


def test_a_ledger_that_cannot_be_read_is_not_left_out_of_a_statement(opened, folder) -> None:
    session = opened()
    ask(session)
    (place,) = found_beside(session.ledger_location)
    Path(place).write_bytes(b"x" * 5000)
    with pytest.raises(LedgerError):
        stated(session)
