"""Offers in a question's text: read by tokens, positions kept, nothing that looks like one dropped."""

from __future__ import annotations

import pytest

from dither.errors import QueryRefused
from dither.sql.offers import offers_in


def stated(text: str) -> list[tuple[str, str]]:
    return [(part.name, part.value) for part in offers_in(text)[1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", []),
        ("SELECT 1 -- why not", []),
        ("SELECT 1 /* epsilon=0.5 */", [("epsilon", "0.5")]),
        ("-- RHO 0.01\nSELECT 1", [("rho", "0.01")]),
        ('/* within n=50, "a b"=2; at_most=0.5 */ SELECT 1', [("within", 'n=50, "a b"=2'), ("at_most", "0.5")]),
        ("SELECT /* epsilon=0.5, delta=1e-9 */ 1", [("epsilon", "0.5"), ("delta", "1e-9")]),
        ("SELECT 1 -- the delta between two days", []),
        ("SELECT 1 -- weight=2", []),
        ("SELECT '-- epsilon=0.5', \"/* epsilon=1 */\", $$ -- rho=1 $$", []),
        ("SELECT 'it''s', 1 -- epsilon=0.5", [("epsilon", "0.5")]),
    ],
)
def test_comments_are_read_and_texts_are_not(text: str, expected: list[tuple[str, str]]) -> None:
    assert stated(text) == expected
    assert offers_in(text)[0] == text


def test_the_clause_is_blanked_out_and_every_position_stays() -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY\n  OPTIONS(epsilon = 0.5, delta=1e-9) 'é', x FROM t"
    blanked, parts = offers_in(text)
    assert [(part.name, part.value) for part in parts] == [("epsilon", "0.5"), ("delta", "1e-9")]
    assert len(blanked) == len(text) and blanked.split() == ["SELECT", "'é',", "x", "FROM", "t"]
    assert blanked.index("x FROM") == text.index("x FROM") and blanked.count("\n") == 1
    assert [text[s : s + n] for s, n in (part.span for part in parts)] == ["epsilon = 0.5", "delta=1e-9"]


@pytest.mark.parametrize("text", ["SELECT WITH DIFFERENTIAL_PRIVACY x FROM t", "select with differential_privacy x"])
def test_the_clause_needs_no_options(text: str) -> None:
    blanked, parts = offers_in(text)
    assert not parts and "ifferential" not in blanked.lower() and " x" in blanked


@pytest.mark.parametrize(
    ("text", "code", "under"),
    [
        ("SELECT 1 /* epsilon: 0.5 */", "P-110", "/* epsilon: 0.5 */"),
        ("SELECT 'é' -- within", "P-110", "-- within"),
        ("SELECT 1 /* epsilon=0.5, within=2 */", "P-110", "/* epsilon=0.5, within=2 */"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(kappa=1) 1", "P-113", "kappa=1"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_groups_contributed=3) 1", "P-113",
         "max_groups_contributed=3"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=f(a, b)) 1", "P-113",
         "privacy_unit_column=f(a"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=a) 1", "P-112", "epsilon=a"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=-1) 1", "P-112", "epsilon=-1"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1,) 1", "P-112", ")"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1 1", "P-112", "("),
        ("SELECT 1 UNION ALL SELECT WITH DIFFERENTIAL_PRIVACY 1", "P-111", "WITH DIFFERENTIAL_PRIVACY"),
        ("WITH a AS (SELECT WITH DIFFERENTIAL_PRIVACY 1) SELECT 1", "P-111", "WITH DIFFERENTIAL_PRIVACY"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_where_it_stands(text: str, code: str, under: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        offers_in(text)
    assert refused.value.code == code and refused.value.hint
    assert refused.value.span is not None
    start, length = refused.value.span
    assert text[start : start + length] == under


@pytest.mark.parametrize("text", ["SELECT '-- open", "SELECT /* open", "", "\x00--", "-- \ud800", "--" * 40_000])
def test_what_the_parser_refuses_is_left_to_it(text: str) -> None:
    try:
        offers_in(text)
    except QueryRefused:
        pytest.fail("refused before the parser could say why")
