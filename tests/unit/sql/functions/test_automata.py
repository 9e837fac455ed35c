"""Regular expressions are accepted when no text can lead the engine through many states."""

from __future__ import annotations

import re
import time

import duckdb
import pytest

from dither.sql.functions.automata import read_pattern

ACCEPTED = (
    "", "^$", "abc", "a.c", "[0-9]{3}-[0-9]{4}", r"^[A-Z][0-9]{2}(\.[0-9]+)?$", "(foo|bar).*(baz|qux)",
    r"[a-z0-9.]+@[a-z0-9.]+\.[a-z]{2,4}", "([a-z]+ ){5}", "(red|green|blue)( (light|dark))?", "[]a]", "[^]a]", "x|y|",
    "(((a)))(b)(?:c)", "(a*)*(b*)*", "a{0,3}", "^a.{20}c", r"\d+\s\w", "é+", "a+?b*?", r"\$5\.00", "(a|)+", r"\bN",
)  # fmt: skip
NOT_OF_THE_KIND = (
    "(a", "a)", "[a", "a**", "a{2}{3}", "a{0}", "a{1,}", "a{21}", "a{5,2}", "((a{2}){3})", "(?i)a", "(?=a)b", "(?<x>a)",
    r"(a)\1", r"\p{L}", "[[:alpha:]]", "a]", "}", "*", "+a", "|*", r"\x41", "a\\",
)  # fmt: skip
MANY_STATES = ("(a|b)*a(a|b){20}c", ".*a.{20}c", "a.{20}c", ".{20}a.*", "[ab]*a[ab]{19}", "a.............c")


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_usual_patterns_are_accepted_with_their_groups(pattern: str) -> None:
    found = read_pattern(pattern, fold_case=False)
    assert found is not None
    assert found.groups == re.compile(pattern).groups


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_duckdb_takes_every_accepted_pattern(pattern: str) -> None:
    assert duckdb.execute("SELECT regexp_matches('', ?)", [pattern]).fetchall()


@pytest.mark.parametrize("pattern", [*NOT_OF_THE_KIND, *MANY_STATES])
def test_other_patterns_are_refused(pattern: str) -> None:
    assert read_pattern(pattern, fold_case=False) is None


def test_counts_do_not_multiply_through_groups() -> None:
    assert read_pattern("(a{2})b", fold_case=False) is not None
    assert read_pattern("(a{2}){2}", fold_case=False) is None
    assert read_pattern("((a{2}|b)c){2}", fold_case=False) is None


def test_case_is_folded_where_the_options_say_so() -> None:
    """`[ab]` and `[AB]` are one kind of character then: fewer are told apart, never more."""
    pattern = "a[AB]{6}c"
    assert read_pattern(pattern, fold_case=True) is not None


def test_a_refusal_is_quick_however_large_the_automaton_is() -> None:
    start = time.process_time()
    for pattern in MANY_STATES:
        read_pattern(pattern, fold_case=True)
    assert time.process_time() - start < 2
