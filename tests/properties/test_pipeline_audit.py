"""The pipeline as it is passes its own audit; the audit's databases are what they say, and its report tells all.

`make audit` runs the same at full effort. That the checks can fail is shown in tests/faults.
"""

from __future__ import annotations

import math
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dither.audit import page
from dither.audit.pipeline import CHECKS, Line, PipelineAudit, Question, run
from dither.audit.pipeline.databases import Pair, pairs
from dither.audit.pipeline.noise import _ONE_MORE, CATALOG, CROWD
from dither.audit.pipeline.questions import QUESTIONS, own_catalog, public_rows
from dither.audit.pipeline.world import World
from dither.catalog.load import loads
from dither.catalog.model import Catalog
from dither.cli import main
from dither.errors import InvalidParameter
from dither.noise import insecure_seeded


@pytest.mark.parametrize("check", CHECKS)
def test_the_pipeline_passes_its_audit(check: str) -> None:
    # Statistical lines are of probability 1e-6 each, at a fixed seed.
    found = run(checks=[check], seed=1)
    assert found.verdict == "not_refuted", str(found)
    assert found.lines and found.error < 2e-5
    # A question of the audit's own that is refused would be audited by nobody.
    assert not [line for line in found.lines if line.untried]


def test_the_search_reaches_what_is_priced() -> None:
    """A search that finds only small movements could not see a price that is too low."""
    counts = [Question("SELECT COUNT(*) FROM t WHERE k > 5"), Question("SELECT SUM(k), AVG(x) FROM t")]
    for line in run(checks=["sensitivity"], questions=counts, seed=2).lines:
        assert line.found == "1 of the price", line


# The databases -------------------------------------------------------------------------------------------------------


def all_pairs(catalog: Catalog, seed: int = 3) -> list[Pair]:
    return list(pairs(catalog, seed=seed, rounds=8, public=public_rows(catalog)))


def test_neighbours_differ_in_one_unit_and_free_ones_in_none() -> None:
    for pair in all_pairs(own_catalog()):
        differing = set()
        for table in ("t", "o"):
            left, right = (sorted(map(repr, side[table])) for side in (pair.before, pair.after))
            for row in {*left, *right}:
                if left.count(row) != right.count(row):
                    differing.add(row[1:].split(",")[0])
        if pair.free:
            assert differing <= {"None", "77"}, pair.name
        else:
            assert len(differing) <= 1, pair.name
        assert pair.before["dim"] == pair.after["dim"]


def test_the_databases_hold_what_strains_the_pipeline() -> None:
    rows = [row for pair in all_pairs(own_catalog()) for side in (pair.before, pair.after) for row in side["t"]]
    values = [value for row in rows for value in row]
    doubles = [value for value in values if isinstance(value, float)]
    assert any(math.isnan(x) for x in doubles) and {math.inf, -math.inf} <= set(doubles)
    assert any(x == 0 and math.copysign(1, x) < 0 for x in doubles)
    assert {2**62, -(2**62), "", "not listed", "only mine", None} <= {v for v in values if not isinstance(v, float)}
    assert len(set(map(repr, rows))) < len(rows)
    assert {None, 77} <= {row[0] for pair in all_pairs(own_catalog()) for row in pair.before["o"]}
    heavy = [pair for pair in all_pairs(own_catalog()) if pair.name.startswith("a heavy unit at")]
    assert all(sum(row[0] == 1 for row in pair.before["t"]) > 3 for pair in heavy) and heavy


def test_replaced_units_are_there_before_and_after() -> None:
    for pair in all_pairs(own_catalog(replace=True)):
        if not pair.free and pair.name.startswith(("a ", "random")):
            before, after = ({row[0] for row in side["t"]} - {None} for side in (pair.before, pair.after))
            assert before == after, pair.name


def test_the_same_seed_makes_the_same_databases() -> None:
    assert repr(all_pairs(own_catalog(), seed=5)) == repr(all_pairs(own_catalog(), seed=5))
    assert repr(all_pairs(own_catalog(), seed=5)) != repr(all_pairs(own_catalog(), seed=6))


# A catalog of one's own ----------------------------------------------------------------------------------------------

PATHS = """
[dataset]
name = "clinic"
[source]
url = "not there.duckdb"
[unit]
name = "patient"
[budget]
epsilon = 1
delta = 1e-9
[analysts.research]
epsilon = 0.5
[tables.patients]
privacy_unit = "code"
max_rows_per_unit = 1
columns = { code = { type = "text" }, born = { type = "date", bounds = [1920-01-01, 2020-12-31] } }
[tables.stays]
privacy_unit = { column = "patient", references = "patients.code" }
max_rows_per_unit = 4
columns = { stay = { type = "integer" }, cost = { type = "decimal", scale = 2, bounds = [0, 900.50] } }
[tables.tests]
privacy_unit = { column = "stay", references = "stays.stay", unique = "asserted" }
columns = { level = { type = "double", bounds = [0, 5] }, done = { type = "timestamp" }, ok = { type = "boolean" } }
[tables.wards]
public = true
columns = { name = { type = "text" } }
[checks]
answered = ["SELECT SUM(cost) FROM stays", "SELECT ok, AVG(level) FROM tests GROUP BY ok",
            "SELECT COUNT(*) FROM patients JOIN stays ON patients.code = stays.patient"]
refused = ["SELECT * FROM patients"]
"""


def test_a_catalog_of_ones_own_is_audited_on_invented_rows() -> None:
    found = run(catalog=loads(PATHS), seed=1)
    assert found.verdict == "not_refuted", str(found)
    subjects = [line.subject for line in found.of("sensitivity")]
    assert subjects == list(loads(PATHS).fixtures.answered)
    # Each step of the path resolves, so every table has rows that move something.
    assert all(line.found == "1 of the price" for line in found.of("sensitivity")), str(found.lines)
    assert [line.subject for line in found.of("refusals")] == ["SELECT * FROM patients"]


def test_a_catalog_without_questions_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="at least one question"):
        run(catalog=loads(PATHS.partition("[checks]")[0]))


@pytest.mark.parametrize("wrong", [{"checks": ["noises"]}, {"effort": "some"}])
def test_unknown_names_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        run(**wrong)


def test_all_groups_of_a_database_of_the_noise_audit_are_alike() -> None:
    """Each is one draw: groups of different values, as there were, are not draws of one law."""
    catalog = loads(CATALOG)
    with World(catalog, entropy=insecure_seeded(1)) as world:
        for rows in (CROWD, _ONE_MORE):
            world.fill("n", rows)
            found = world.session.ask(
                "SELECT k, COUNT(*), SUM(v), SUM(v * v) FROM n WHERE k IS NOT NULL GROUP BY k", epsilon=10**6
            )
            assert len({row[1:] for row in found.rows()}) == 1
            world.ledger.open_release(f"after {rows[:30]}")


def test_watching_changes_nothing() -> None:
    catalog = own_catalog()
    with World(catalog) as world:
        world.load(all_pairs(catalog)[0].before)
        answer = world.session.ask("SELECT region, COUNT(*) FROM t GROUP BY region", epsilon=10**6)
        (measures,) = world.watched.asked
        ((counted,),) = world.read(measures)
        assert [count for _, count in answer.rows()] == list(counted.values())


def test_what_the_noise_leaves_of_the_groups_is_no_channel() -> None:
    """LIMIT and HAVING above the noise take other groups away each time, on one database as on two."""
    asked = [
        Question("SELECT region, COUNT(*) AS n FROM t GROUP BY region ORDER BY n DESC LIMIT 1"),
        Question("SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) > 1"),
        Question("SELECT COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS q WHERE n > 0"),
    ]
    found = run(checks=["channels"], questions=asked)
    assert not found.violated, str(found)


# The report ----------------------------------------------------------------------------------------------------------


def an_audit(*lines: Line) -> PipelineAudit:
    return PipelineAudit(lines, [("sensitivity", CHECKS["sensitivity"]), ("noise", CHECKS["noise"])], 1.5)


def test_the_report_names_every_violation() -> None:
    bad = Line("noise", "a <count>", "violated", "epsilon 1", "epsilon >= 2", "event x[0] >= 5", 1e-6)
    found = an_audit(Line("sensitivity", "SELECT 1", "not_refuted"), bad)
    assert (found.verdict, found.violated) == ("violated", ("noise",))
    out = StringIO()
    Console(file=out, width=200).print(found.table())
    for text in (out.getvalue(), str(found)):
        assert "a <count>: epsilon >= 2, claimed epsilon 1 (event x[0] >= 5)" in text
    assert "violated" in found.section() and "a &lt;count&gt;" in found.section()
    assert "1e-06" in found.summary()


def test_the_report_says_how_many_questions_were_refused() -> None:
    refused = Line.judged("sensitivity", "SELECT 1", right=True, found="refused")
    out = StringIO()
    Console(file=out, width=200).print(an_audit(refused, Line("sensitivity", "SELECT 2", "not_refuted")).table())
    assert "1, 1 refused" in out.getvalue()


def test_the_page_holds_the_pipeline_alone_or_beside_mechanisms() -> None:
    found = an_audit(Line("noise", "a count", "not_refuted"))
    text = page([], title="Of <us>", pipeline=found)
    assert text.count("<h1>") == 1 and "Of &lt;us&gt;" in text and "not refuted" in text
    assert "<script" not in text and "href" not in text


def test_the_command_writes_its_page_and_fails_when_refuted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog = tmp_path / "dither.toml"
    catalog.write_text(PATHS, encoding="utf-8")
    report = tmp_path / "audit.html"
    command = ["audit", "pipeline", "--seed", "1", "--catalog", str(catalog), "--report", str(report)]
    assert main(command) == 0
    assert "not refuted" in report.read_text(encoding="utf-8")
    monkeypatch.setattr("dither.engines.emit.choose_method", lambda measure, kept: "none")
    assert main(command) == 70
    said = capsys.readouterr()
    assert "violated" in said.out and "sensitivity" in said.err


def test_every_shape_of_question_is_there() -> None:
    asked = " ".join(question.sql for question in QUESTIONS)
    words = ("SUM(", "AVG(", "COUNT(DISTINCT", "JOIN", "EXISTS", "GROUP BY uid", "OVER (PARTITION", "MEDIAN",
             "GROUPING SETS", "GROUP BY note", "(SELECT AVG", "SUM(COUNT(*)) OVER", "UNION ALL")  # fmt: skip
    assert not [word for word in words if word not in asked]
    assert len(QUESTIONS) >= 12
