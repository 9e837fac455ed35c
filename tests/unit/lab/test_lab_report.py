"""What is shown: literal verdicts, no promises, one language at a time, a page that loads nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dither import lab
from dither.cli import main
from dither.errors import InvalidParameter
from dither.lab.attacks import ATTACKS
from dither.lab.page import page
from dither.lab.report import cells, summary, to_json, unexpected
from dither.lab.result import Result
from dither.lab.texts import ABOUT, COLUMNS, READING


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [lab.run(key, epsilons=["1"], scale="0.05")[0] for key in ("A1", "A14", "A12", "planted")]


def test_every_attack_has_its_words_in_both_languages() -> None:
    assert set(ABOUT) == set(ATTACKS)
    for about in ABOUT.values():
        assert re.search(r"[\u4e00-\u9fff]", about.name.zh + about.story.zh)
        assert about.story.en.isascii()


def test_nothing_is_called_safe_or_nought_per_cent(results: list[Result]) -> None:
    for language in ("en", "zh"):
        text = page(results, seed=1, language=language)
        assert not re.search(r"\bsafe|安全|(?<![\d.])0 ?%", text.replace("max-width: 100%", ""))


def test_the_page_loads_nothing_and_has_its_figures(results: list[Result]) -> None:
    text = page(results, seed=1)
    HTMLParser().feed(text)
    assert not re.search(r"https?://|<script|<link|<img|@import|url\(", text)
    assert text.count("<svg") == 2 and text.count("<svg") == text.count("</svg>")
    assert "Q5 = 3" in text and "Q4 = 2" in text
    assert text.count("<tr>") == sum(len(r.lines) + 1 for r in results)


def test_verdicts_are_literal_and_a_planted_fault_is_not_unexpected(results: list[Result]) -> None:
    verdicts = {line.verdict for result in results for line in result.lines}
    assert verdicts <= {"below bound", "ABOVE BOUND", "inconclusive", ""}
    assert unexpected(results) == []
    (planted,) = (r for r in results if r.key == "planted")
    blind = Result(
        "planted", tuple(line.__class__(**{**vars(line), "verdict": "inconclusive"}) for line in planted.lines)
    )
    assert len(unexpected([blind])) == len(planted.lines)
    assert "ABOVE" in summary(results)


def test_only_dither_above_its_bound_is_unexpected_and_time_is_not_promised(results: list[Result]) -> None:
    line = next(line for line in results[0].lines if line.engine == "Dither")
    above = replace(line, verdict="ABOVE BOUND")
    assert len(unexpected([Result("A1", (above,))])) == 1
    assert (
        unexpected([Result("A15", (replace(above, measure="time"), replace(above, engine="noise, no ledger")))]) == []
    )


def test_json_has_every_figure_with_its_seed(results: list[Result]) -> None:
    stored = json.loads(to_json(results))
    line = stored[0]["lines"][0]
    assert {"value", "low", "high", "hits", "trials", "bound", "spent", "verdict", "seed"} <= set(line)


def test_every_column_has_a_text(results: list[Result]) -> None:
    assert set(cells(results[0].lines[0])) == set(COLUMNS)
    assert "bound" in READING.en


QUICK = ("A1", "A3", "A9", "A10", "A12", "A14")


@pytest.mark.parametrize(
    "key", [*QUICK, *(pytest.param(key, marks=pytest.mark.long) for key in ATTACKS if key not in QUICK)]
)
def test_every_figure_follows_from_the_printed_seed(key: str) -> None:
    first, again, other = (lab.run(key, epsilons=["1"], seed=seed, scale="0.02")[0] for seed in (3, 3, 4))

    def figures(result: Result) -> list[object]:
        lines = [replace(line, seconds=0.0) for line in result.lines if line.measure != "time"]
        return [lines, result.figure]

    assert figures(first) == figures(again)
    assert [line.seed for line in first.lines] != [line.seed for line in other.lines]


def test_names_are_keys_or_words() -> None:
    assert lab.chosen("a2") == ["A2"]
    assert lab.chosen("differencing") == ["A1", "A2"]
    assert lab.chosen("singling-out") == ["A12"]
    assert lab.chosen(None) == list(ATTACKS)
    with pytest.raises(InvalidParameter, match="one of A1"):
        lab.chosen("A99")
    with pytest.raises(InvalidParameter, match="epsilon"):
        lab.run("A1", epsilons=["-1"])
    with pytest.raises(InvalidParameter, match="at most 1,000"):
        # It was an OverflowError, in the middle of an attack.
        lab.run("A1", epsilons=["1e400"])


def test_the_command_prints_a_table_and_writes_the_page(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    target = tmp_path / "out.html"
    command = ["lab", "A14", "--epsilon", "1", "--scale", "0.1", "--report", str(target), "--lang", "zh"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "分组是否存在" in shown and "ABOVE BOUND" in shown and "injected noise" in shown
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["attack", "A14", "--epsilon", "1", "--scale", "0.05", "--report", str(tmp_path / "out.json")]) == 0


def test_a_wrong_name_or_report_is_refused_before_anything_runs(capsys) -> None:  # type: ignore[no-untyped-def]
    assert main(["lab", "A99"]) == 2
    assert main(["lab", "A14", "--report", "/no/such/folder/x.html"]) == 2
    assert main(["lab", "A14", "--report", "x.pdf"]) == 2
    assert main(["lab", "A14", "--epsilon", "much"]) == 2
    assert "Traceback" not in capsys.readouterr().err
