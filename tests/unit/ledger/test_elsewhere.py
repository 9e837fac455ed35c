"""Lists of releases made elsewhere: numbers stay exact, and what is not understood is refused with its place."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from dither.accounting.price import Price, rho_of_pure
from dither.errors import InvalidParameter
from dither.ledger.elsewhere import outside_release, read_releases

GOOD = {"name": "poster", "who": "Dr. Roe", "when": "2026-01-02", "reason": "paper", "epsilon": 0.1}


def line(**changes) -> str:
    return json.dumps({key: value for key, value in {**GOOD, **changes}.items() if value is not ...})


def test_json_lines_and_toml_say_the_same() -> None:
    lines = f"{line()}\n\n{line(name='atlas', epsilon=..., rho='1/3', delta=1e-12, analyst='Bob')}\n"
    toml = """
    [[release]]
    name = "poster"
    who = "Dr. Roe"
    when = 2026-01-02
    reason = "paper"
    epsilon = 0.1
    [[release]]
    name = "atlas"
    who = "Dr. Roe"
    when = "2026-01-02"
    reason = "paper"
    rho = "1/3"
    delta = 1e-12
    analyst = "Bob"
    """
    first, second = read_releases(lines)
    assert read_releases(toml, toml=True) == (first, second)
    assert first.price == Price(Fraction(1, 10), rho_of_pure(Fraction(1, 10)), Fraction(0))
    assert second.price == Price(None, Fraction(1, 3), Fraction(1, 10**12))
    assert second.analyst == "bob" and first.analyst is None


def test_a_number_keeps_more_digits_than_a_float_has() -> None:
    (release,) = read_releases(line().replace("0.1", "0.123456789012345678"))
    assert release.price.epsilon == Fraction(123456789012345678, 10**18)


@pytest.mark.parametrize("text", ["0.1", "1e-1", '"0.1"', '"1/10"'])
def test_a_tenth_is_a_tenth_however_it_is_written(text) -> None:
    (release,) = read_releases(line().replace("0.1", text))
    assert release.price.epsilon == Fraction(1, 10)


def test_what_is_too_fine_to_keep_is_rounded_up() -> None:
    told = {key: GOOD[key] for key in ("name", "who", "when", "reason")}
    release = outside_release(epsilon="1e-500", delta="1e-500", **told)
    assert release.price == Price(Fraction(1, 10**18), Fraction(1, 10**18), Fraction(1, 10**36))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "file"),
        ("[]", "line 1"),
        ("null", "line 1"),
        ("{", "line 1"),
        ("[" * 100_000, "line 1"),
        (line() + "\nnot json", "line 2"),
        (line()[:-1] + ', "epsilon": 0.01}', "line 1"),
        (line(extra=1), "line 1: key"),
        (line(name=...), "line 1: name"),
        (line(name=7), "line 1: name"),
        (line(when="soon"), "line 1: when"),
        (line(when=20260102), "line 1: when"),
        (line(epsilon=...), "line 1: price"),
        (line(rho=0.1), "line 1: price"),
        (line(epsilon=0), "line 1: price"),
        (line(epsilon=-0.1), "line 1: epsilon"),
        (line(epsilon="much"), "line 1: epsilon"),
        (line(epsilon=True), "line 1: epsilon"),
        (line(epsilon=[1]), "line 1: epsilon"),
        (line(epsilon=float("nan")), "line 1: epsilon"),
        (line(epsilon=float("inf")), "line 1: epsilon"),
        (line(epsilon="1e30"), "line 1: epsilon"),
        (line(delta=1), "line 1: delta"),
        (line(delta=-1e-9), "line 1: delta"),
        (line(delta="-1e-40"), "line 1: delta"),
        (line(delta="0." + "9" * 40), "line 1: delta"),
        (line(analyst="\ud800"), "line 1: analyst"),
        (line(when="2026-01-01T00:00:00." + "0" * 500), "line 1: when"),
        (line(delta=None), "line 1: delta"),
        (line(analyst=7), "line 1: analyst"),
        (line() + "\n" + line(who=""), "line 2: who"),
    ],
)
def test_what_is_not_understood_is_refused_at_its_place(text, place) -> None:
    with pytest.raises(InvalidParameter) as refused:
        read_releases(text)
    assert refused.value.name == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "file"),
        ("release = 3", "file"),
        ("release = [3]", "release 1"),
        ("[[release]]\nname = 'a'\n[[releases]]", "file"),
        ("[[release]]\nname = 'a", "file"),
        ("[[release]]\nname = 'a'", "release 1: who"),
    ],
)
def test_toml_that_is_not_understood_is_refused_at_its_place(text, place) -> None:
    with pytest.raises(InvalidParameter) as refused:
        read_releases(text, toml=True)
    assert refused.value.name == place


def test_the_examples_of_the_documents_are_read() -> None:
    docs = Path(__file__).resolve().parents[3] / "docs"
    for page in ("reference/releases-elsewhere.md", "how-to/count-what-was-spent-elsewhere.md"):
        text = (docs / page).read_text(encoding="utf-8")
        for language, example in re.findall(r"^```(json|toml)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
            assert read_releases(example, toml=language == "toml")[0].name == "census-2025"
