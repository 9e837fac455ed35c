"""A privacy statement says what catalog and ledger say, in two languages, and nothing of the rows."""

from __future__ import annotations

import datetime as dt
import json
import re
import string
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import dither
from dither.catalog.load import load
from dither.errors import InvalidParameter
from dither.ledger.ledger import Ledger
from dither.noise import insecure_seeded
from dither.session.statement import Statement, make_statement
from dither.session.statement_facts import gather
from dither.session.statement_show import to_html, to_json, to_markdown
from dither.session.statement_texts import LANGUAGES, TEXTS, say

CATALOG = """\
[dataset]
name = "hospital | <b>2026</b>"
ledger = "h.ledger"
[source]
url = "visits.parquet"
[unit]
name = "patient"
[budget]
epsilon = 2
delta = 1e-6
[analysts.research]
epsilon = 1
daily_epsilon = 0.5
[tables.visits]
privacy_unit = "patient_id"
max_rows_per_unit = 3
[tables.visits.columns]
sex = { type = "text", values = ["F", "M"], rows = [700, 500] }
town = { type = "text" }
cost = { type = "double", bounds = [0, 5000] }
age = { type = "integer" }
[tables.acts]
privacy_unit = { column = "visit_id", references = "visits.visit_id", unique = "asserted" }
source = "visits.parquet"
[tables.codes]
public = true
source = "visits.parquet"
rows = 1200
"""
TODAY = dt.date(2026, 11, 30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows(tmp_path, 40)
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    return tmp_path


def rows(folder: Path, count: int) -> None:
    ids = range(count)
    frame = pd.DataFrame({"patient_id": ids, "visit_id": ids, "sex": "F", "town": "Ulm", "cost": 1.5, "age": 30})
    frame.to_parquet(folder / "visits.parquet")


def ask(folder: Path, question: str = "SELECT sex, COUNT(*) FROM visits GROUP BY sex", epsilon: str = "0.25") -> None:
    with dither.open(folder / "dither.toml", analyst="research", entropy=insecure_seeded(1)) as db:
        db.ask(question, epsilon=epsilon)


def stated(folder: Path, language: str = "en") -> Statement:
    catalog, where = load(folder / "dither.toml"), folder / "h.ledger"
    if not where.exists():
        return make_statement(gather(catalog, None), today=TODAY, version="1", language=language)
    book = Ledger.open(
        str(where), dataset=catalog.name, promise_digest=None, budget=catalog.budget, analysts=catalog.analysts
    )
    try:
        return make_statement(gather(catalog, book, where=str(where)), today=TODAY, version="1", language=language)
    finally:
        book.close()


def section(statement: Statement, key: str) -> str:
    (found,) = [each for each in statement.sections if each.key == key]
    parts = [found.title]
    for block in found.blocks:
        parts += [block.text, *block.points]
        parts += [] if block.table is None else [" ".join(row) for row in block.table.rows]
    return "\n".join(parts)


def test_both_languages_say_the_same_with_the_same_figures() -> None:
    for key, texts in TEXTS.items():
        fields = [sorted(name for _, name, _, _ in string.Formatter().parse(text) if name) for text in texts]
        assert fields[0] == fields[1], key
        assert texts[0].count("|") == texts[1].count("|") and all(texts), key
        assert re.search("[\u4e00-\u9fff]", texts[1]), key


def test_every_sentence_has_its_place() -> None:
    folder = Path(dither.__file__).parent / "session"
    source = (folder / "statement.py").read_text(encoding="utf-8")
    for key in TEXTS:
        made_of_parts = key.startswith(("h_", "m_", "k_")) or key in ("add_remove", "replace")
        assert made_of_parts or f'"{key}"' in source, key
    with pytest.raises(InvalidParameter, match="en or zh"):
        say("title", "fr")


def test_the_order_is_that_of_the_guidelines(folder: Path) -> None:
    keys = [each.key for each in stated(folder).sections]
    assert keys == [
        "parameters", "unit", "holds", "public", "algorithms", "utility", "bias", "access", "trust", "side",
        "exposure", "check",
    ]  # fmt: skip
    assert [each.title[:2].strip(". ") for each in stated(folder).sections] == [str(n) for n in range(1, 13)]


def test_before_a_first_question_the_catalogs_budget_is_stated(folder: Path) -> None:
    said = stated(folder)
    parameters = section(said, "parameters")
    assert "epsilon 2 and delta 1e-06" in parameters and "No question" in parameters
    # 1 % times e^2 in odds, and times e^4; (1 + e^2) delta.
    assert "at 7 % at most" in parameters and "at 36 % at most" in parameters and "8.39e-06" in parameters
    assert not (folder / "h.ledger").exists()


def test_units_limits_and_assertions_are_those_of_the_catalog(folder: Path) -> None:
    said = stated(folder)
    unit = section(said, "unit")
    assert "visits the value of patient_id at most 3" in unit
    assert "acts that of the row of visits whose visit_id equals visit_id a limit chosen privately" in unit
    assert "there or not" in unit
    assert "visit_id of visits is unique, as the owner asserts" in section(said, "holds")
    assert "codes 1,200" in section(said, "public") and "visits.sex (F 700, M 500)" in section(said, "public")
    assert "never compares" in section(said, "public")
    assert "visits.sex (F 700, M 500)" in section(stated(folder, "zh"), "public")
    algorithms = section(said, "algorithms")
    for expected in ("cost double moved into 0 to 5000", "one of 2 listed", "noisy selection", "refused unless"):
        assert expected in algorithms


def test_spending_grants_and_releases_are_those_of_the_ledger(folder: Path) -> None:
    ask(folder)
    ask(folder, "SELECT town, COUNT(*), MEDIAN(cost) FROM visits GROUP BY town", "0.25")
    catalog = load(folder / "dither.toml")
    book = Ledger.open(
        str(folder / "h.ledger"), dataset=catalog.name, promise_digest=None, budget=None, analysts=catalog.analysts
    )
    book.grant(epsilon="0.5", reason="second wave")
    book.open_release("2026-Q4", "as planned")
    book.close()
    said = stated(folder)
    parameters = section(said, "parameters")
    assert "epsilon 2.5 and delta 2e-06" in parameters and "epsilon 2.5 0.5" in parameters
    assert "Questions charged: 2." in parameters and "first set: 1" in parameters
    assert "amounts of the grants made so far" in section(said, "holds")
    assert "research 1 0.5 0.5" in section(said, "access")
    exposure = section(said, "exposure")
    assert "budget or allowance raised epsilon 0.5 second wave" in exposure and "2026-Q4 as planned" in exposure
    algorithms = section(said, "algorithms")
    assert "quantiles: 1" in algorithms and "threshold (uses delta): 1" in algorithms
    figures = json.loads(to_json(said))["figures"]
    assert Fraction(figures["spent"]["epsilon"]) == Fraction(1, 2)
    assert figures["promised"]["epsilon"] == "2.5" and figures["grants"] == 1


def test_the_rows_do_not_show_nor_do_the_texts_of_questions(folder: Path) -> None:
    ask(folder, "SELECT COUNT(*) FROM visits WHERE town = 'Ulm'")
    one = to_json(stated(folder))
    rows(folder, 4000)
    assert to_json(stated(folder)) == one
    assert "Ulm" not in one and "SELECT" not in one


def test_a_catalog_that_promises_otherwise_is_said_first(folder: Path) -> None:
    ask(folder)
    assert len(stated(folder).opening) == 1
    changed = CATALOG.replace('privacy_unit = "patient_id"', 'privacy_unit = "visit_id"')
    (folder / "dither.toml").write_text(changed, encoding="utf-8")
    assert "promises something else" in stated(folder).opening[1]
    assert json.loads(to_json(stated(folder)))["figures"]["catalog_agrees"] is False


@pytest.mark.parametrize(
    ("old", "new", "says", "not_said"),
    [
        ("delta = 1e-6\n", "", "epsilon-differentially private", "fail with"),
        (
            "epsilon = 2\ndelta = 1e-6\n[analysts.research]\nepsilon = 1\ndaily_epsilon = 0.5\n",
            "rho = 0.1\n",
            "rho 0.1, outside",
            "other meter",
        ),
        ('ledger = "h.ledger"', 'ledger = "h.ledger"\nneighbours = "replace"', "36 %", "is in the data"),
    ],
)
def test_other_budgets_and_neighbours_are_said_as_they_are(
    folder: Path, old: str, new: str, says: str, not_said: str
) -> None:
    assert old in CATALOG
    text = CATALOG.replace(old, new)
    if says == "36 %":
        text = text.replace("epsilon = 2", "epsilon = 4")
    (folder / "dither.toml").write_text(text, encoding="utf-8")
    parameters = section(stated(folder), "parameters")
    assert says in parameters and not_said not in parameters


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_whole_and_the_catalogs_names_do_not_act(folder: Path, language: str) -> None:
    page = to_html(stated(folder, language))
    tags = Tags()
    tags.feed(page)
    assert tags.open == [] and not tags.seen & {"b", "script", "link", "img"}
    assert "&lt;b&gt;2026" in page and f'lang="{language}"' in page and "{" not in page.split("</style>")[1]
    written = to_markdown(stated(folder, language))
    assert "hospital \\| \\<b\\>2026" in written and "`dither budget verify`" in written
    for table in re.findall(r"(?:^\|.*\n)+", written, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
