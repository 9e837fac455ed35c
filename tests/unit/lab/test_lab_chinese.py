"""With `--lang zh` nothing of what the lab shows stays English, but names, SQL and the verdicts' own words."""

from __future__ import annotations

import re
from html import unescape

import pytest

from dither import lab
from dither.lab.attacks import ATTACKS
from dither.lab.chinese import PATTERNS, PHRASES, said
from dither.lab.page import page
from dither.lab.report import cells, say_noise, summary, table, to_json
from dither.lab.result import Result

QUICK = ("A1", "A2", "A12", "A14", "A15")
KEPT = re.compile(
    r"\((?:below bound|ABOVE BOUND|inconclusive|ABOVE|injected noise)\)|--real-noise|Dither|Netflix|RAND HIE|"
    r"MovieLens|GroupLens|Adult|UCI|CC BY|"
    r"Ross|Monica|Joey|Phoebe|Chandler|"
    r"(?:COUNT\(\*\)|SUM\(visits\)) row_number|MAX\(income\)|`income`|epsilon|delta|rho|"
    r"S-100|\d+e-\d+|\bA\d+\b|\bQ[45]\b"
)
"""What is the same in both languages."""


def english_left(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]{2,}", KEPT.sub(" ", text))


def shown_in_chinese(results: list[Result]) -> dict[str, list[str]]:
    left = {}
    for result in results:
        for line in result.lines:
            for text in cells(line, "zh").values():
                left[text] = english_left(text)
    left[summary(results, "zh")] = english_left(summary(results, "zh"))
    body = re.sub(r"<style>.*?</style>", " ", page(results, seed=1, language="zh"), flags=re.DOTALL)
    for text in re.findall(r'>([^<>]+)<|aria-label="([^"]*)"', body):
        left["".join(text)] = english_left(unescape("".join(text)))
    return {text: words for text, words in left.items() if words}


@pytest.fixture(scope="module")
def quick() -> list[Result]:
    return [lab.run(key, epsilons=["1"], scale="0.02")[0] for key in QUICK]


def test_nothing_of_the_quick_attacks_stays_english(quick: list[Result]) -> None:
    assert shown_in_chinese(quick) == {}


@pytest.mark.long
def test_nothing_of_any_attack_stays_english() -> None:
    results = lab.run(None, scale="0.05")
    assert shown_in_chinese(results) == {}
    # What the error of ABOVE BOUND is made for.
    assert sum(line.bound is not None for result in results for line in result.lines) < 100


@pytest.mark.parametrize(
    "text",
    [
        "budget 0.1, 1 tried: it pays for the first", "budget 1, 20 tried: it pays for ten", "small counts exact",
        "questions: 1,000; the true price is epsilon 100", "suppression, k = 10", "area under curve",
        "each below 10 and so withheld when asked for", "averages of 1,000 features of about 100 people",
        "226 names given, 141 of them right; three in five people are on the list", "by formula 0.988",
        "coarsened rows", "pseudonymised rows",
        "5,638 people in year 1 by site, sex, age, family_size, income", "ZIP, birth month, sex", "patients named",
        "joined by birth date", "8 ratings, 2 wrong, dates to 14 days", "8 ratings, 2 wrong, no dates",
        "1 wrongly named, 12 not named; 280 score highest", "MovieLens rows", "a changed row", "no clamp",
        "7 wrongly named, 83 not named; 274 score highest; 943 viewers, 1,682 films; GroupLens, for research: check "
        "its terms before passing it on",
        "Adult, real, 7 columns", "alone with them", "Adult, a tenth", "alone among all, estimated",
        "32,561 people; UCI, CC BY 4.0; by age, sex", "by age, sex, race, education",
        "by age, sex, race, education, marital-status, occupation, native-country",
        "mean of 50 of 50 samples, each off by 0.027 or so; true 0.368; alone in the sample 0.712",
        "a value of 100 where 10 is the bound",
        "viewers found", "metric privacy",
        "liked or not, and the year: 6 wrongly named, 220 not named; 163 score highest",
        "dates moved by 30 days, stars by 1, or so: 0 wrongly named, 51 not named; 291 score highest",
        "birth dates moved by 30 days", "places moved by 0.04, half day", "found by 4 points",
        "on average; everybody gets the nearest name of their ZIP and sex", "on average; the map is 1 wide",
        "half the noise",
        "8 spellings, each on a new ledger", "both sums carry the same noise", "the list of groups carries no noise",
        "one budget for all 400 sums", "rounding moves a sum by 2 at most, and the program is told",
        "found: COUNT(*) row_number <= 5; COUNT(*) row_number <= 4; each at the full price",
        "one solution in 30 of 100 blocks; 2 in the middle block",
        "one solution in 30 of 100 blocks; at least 100 in the middle block",
        "race of a listed person", "people, whole rows", "suppression, k = 3", "empty groups look like small ones",
        "half the budget for each table; one of four races, a row exchanged counts twice epsilon",
        "alone with 4 points", "8 x 8 squares, half day", "points known",
        "rows: Refused [S-100]: This asks for rows of people; Dither answers with aggregates. "
        "Instead, the game of A2: a count by antenna and hour",
        "people by antenna and half day, 18,000 counts", "exact counts", "exact averages", "success",
        "Dither, all totals", "a difference of two totals is a row", "Q5 - Q4, five rows", "the price's bound",
        "one draw at the whole price: at the bound, so its interval holds it",
    ],
)  # fmt: skip
def test_what_the_slow_attacks_say_has_its_chinese(text: str) -> None:
    assert english_left(said(text, "zh")) == []
    assert said(text, "en") == text


def test_numbers_pass_from_one_language_to_the_other() -> None:
    assert said("one solution in 30 of 100 blocks; 2 in the middle block", "zh").startswith("100 个街区中 30 个")
    for seed in (3, 77):
        assert str(seed) in say_noise(seed, False, "zh") and str(seed) in say_noise(seed, True, "zh")
    for english, chinese in PATTERNS:
        assert english.count("{}") == len(re.findall(r"\{\d?\}", chinese))


def test_chinese_is_chinese_and_promises_nothing() -> None:
    for english, chinese in [*PHRASES.items(), *PATTERNS]:
        assert re.search(r"[\u4e00-\u9fff]", chinese) or not re.search(r"[A-Za-z]{4,}", KEPT.sub("", english)), english
        assert "安全" not in chinese and not re.search(r"(?<![\d.])0 ?%", chinese)


def test_figures_for_machines_stay_as_they_are(quick: list[Result]) -> None:
    assert not re.search(r"[\u4e00-\u9fff]", to_json(quick))


def test_the_table_reads_chinese_and_an_attack_left_out_says_so(capsys) -> None:  # type: ignore[no-untyped-def]
    from rich.console import Console

    missing = Result("A6", (), left_out="Install it with: pip install 'dither[lab]'")
    Console(width=200).print(table(missing, "zh"))
    assert "跳过" in capsys.readouterr().out
    assert "跳过" in page([missing], seed=1, language="zh")
    Console(width=200).print(table(missing, "en"))
    assert "left out" in capsys.readouterr().out
    assert set(QUICK) < set(ATTACKS)
