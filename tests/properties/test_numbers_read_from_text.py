"""A number in a text is written in the digits 0 to 9: others are refused with a code wherever numbers are read.

Python reads the digits of every script (`int("٣")` is 3) and folds more letters than ASCII's where case is ignored:
an offer, a wish or an option would be taken for one that DuckDB, a log or a second reader reads otherwise.
"""

from __future__ import annotations

import pytest
import typer

import dither
from dither.catalog.load import loads
from dither.cli import main
from dither.cli.choose import _whole
from dither.errors import CatalogError, DitherError, InvalidParameter, QueryRefused
from dither.exact import exact
from dither.session.wishes import read_wishes, wish_of
from dither.sql.offers import offers_in
from support.worlds import World, catalog_text

ARABIC, FULLWIDTH, DEVANAGARI = "٠.٥", "０.５", "०.५"
FOREIGN = [ARABIC, FULLWIDTH, DEVANAGARI, "1٢", "1e-٢", "１/２"]
SECTION = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\ncolumns = { name = { type = "text" } }'


@pytest.fixture(scope="module")
def world() -> World:
    made = World(catalog_text(SECTION), {"t": "uid BIGINT, name VARCHAR"})
    made.load("t", [(1, "a٣"), (2, "aaa")])
    return made


@pytest.mark.parametrize("written", FOREIGN)
def test_an_amount_is_refused(written: str) -> None:
    with pytest.raises(InvalidParameter):
        exact(written)
    with pytest.raises(InvalidParameter):
        wish_of(written)
    with pytest.raises(InvalidParameter):
        wish_of(f"n={written}")


@pytest.mark.parametrize("written", FOREIGN)
@pytest.mark.parametrize(
    "offer",
    [
        "SELECT COUNT(*) FROM t /* epsilon={} */",
        "SELECT COUNT(*) FROM t -- rho {}",
        "-- within {}\nSELECT COUNT(*) FROM t",
        "-- within n={}\nSELECT COUNT(*) AS n FROM t",
        "SELECT COUNT(*) FROM t /* within=5; at_most={} */",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon={}) COUNT(*) FROM t",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta={}) COUNT(*) FROM t",
    ],
)
def test_an_offer_in_the_text_is_refused_and_nothing_is_charged(world: World, offer: str, written: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        world.session.ask(offer.format(written))
    assert refusal.value.code in ("P-110", "P-112")
    assert world.ledger.entries() == ()


@pytest.mark.parametrize("word", ["epſilon=1", "wıthın 50", "WİTHİN 50", "at_moſt=1"])
def test_what_only_looks_like_the_word_of_an_offer_is_refused(word: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        offers_in(f"SELECT 1 /* {word} */")
    assert refusal.value.code == "P-110"


def test_a_letter_that_folds_to_an_ascii_one_inside_an_offer_is_refused(world: World) -> None:
    with pytest.raises(QueryRefused) as refusal:
        world.session.ask("SELECT COUNT(*) FROM t /* epsilon=1, wıthın=5 */")
    assert refusal.value.code == "P-110"
    with pytest.raises(QueryRefused):
        world.session.ask("SELECT COUNT(*) FROM t /* within=50; at_moſt=1 */")


@pytest.mark.parametrize("place", ["٣", "１", "²"])
def test_the_place_of_a_wish_is_refused(place: str) -> None:
    with pytest.raises(InvalidParameter):
        read_wishes(f"{place}: within 50")


@pytest.mark.parametrize("line", ["epsilon = ٣", "epsilon = ０.５", 'epsilon = "٣"'])
def test_a_catalog_is_refused(line: str) -> None:
    text = catalog_text(SECTION)
    with pytest.raises(CatalogError):
        loads("\n".join(line if each.startswith("epsilon") else each for each in text.splitlines()))


@pytest.mark.parametrize("more", [{"budget": "٣"}, {"budget": 1, "delta": "1e-٩"}])
def test_arguments_are_refused(more: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        dither.open({"u": [1]}, privacy_unit="u", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        ["tune", "t", "--groups", "٣"],
        ["tune", "t", "--groups=１０"],
        ["tune", "t", "--epsilon", "٠.٣"],
        ["ask", "SELECT 1", "-e", "٠.٣"],
        ["ask", "SELECT 1", "-e٠.٣"],
        ["lab", "run", "--seed", "²"],
        ["lab", "run", "--scale", "٠.٥"],
        ["choose", "--questions", "１０", "--within", "200"],
        ["series", "extend", "s", "--days", "３"],
        ["audit", "--calls", "１００"],
    ],
)
def test_an_option_of_a_command_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "0 to 9" in said and "Traceback" not in said


def test_words_that_are_no_numbers_may_be_in_any_script(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "SELECT COUNT(*) AS \"٣\" FROM t WHERE name = '٣'", "--catalog", "٣.toml"])
    assert "C-102" in capsys.readouterr().err


@pytest.mark.parametrize("pattern", ["a{٣}", "a{１,２}", "a{1,٢}"])
def test_a_pattern_means_here_what_it_means_to_duckdb(world: World, pattern: str) -> None:
    # RE2 repeats by ASCII digits alone: others in braces are text.
    question = f"SELECT COUNT(*) FROM t WHERE REGEXP_MATCHES(name, '{pattern}')"
    with pytest.raises(DitherError) as refusal:
        world.session.explain(question, epsilon=1)
    assert refusal.value.code and refusal.value.code.startswith("F-")


@pytest.mark.parametrize("text", ["٢٠٢٤-01-01", "２０２４-01-01", "2024-01-0１ 10:00"])
def test_a_date_in_a_text_is_refused(world: World, text: str) -> None:
    with pytest.raises(QueryRefused):
        world.session.explain(f"SELECT COUNT(*) FROM t WHERE DATE '{text}' > DATE '2020-01-01'", epsilon=1)


@pytest.mark.parametrize("written", ["٣", "１０", "²", "3.5", "-3", ""])
def test_a_whole_number_typed_into_an_interview_is_asked_for_again(written: str) -> None:
    with pytest.raises(typer.BadParameter):
        _whole(written)
    assert _whole(" 6000 ") == 6000
