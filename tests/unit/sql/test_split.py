"""A file of questions is split where DuckDB would split it, and nowhere else."""

from __future__ import annotations

import pytest

from dither.errors import QueryRefused
from dither.sql.split import split


def texts(written: str) -> list[str]:
    return [piece.text for piece in split(written)[0]]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;SELECT 2;", ["SELECT 1", "SELECT 2"]),
        (";;SELECT 1;;", ["SELECT 1"]),
        ("SELECT ';' ; SELECT 'it''s;'", ["SELECT ';'", "SELECT 'it''s;'"]),
        ("SELECT E'\\';' ; SELECT 2", ["SELECT E'\\';'", "SELECT 2"]),
        ('SELECT 1 AS "a;""b" ; SELECT 2', ['SELECT 1 AS "a;""b"', "SELECT 2"]),
        ("SELECT $$;$$ ; SELECT $x$ ; $$ ; $x$", ["SELECT $$;$$", "SELECT $x$ ; $$ ; $x$"]),
        ("SELECT 1 -- ; no\n + 2; SELECT 3", ["SELECT 1 -- ; no\n + 2", "SELECT 3"]),
        ("SELECT 1 /* ; /* ; */ ; */ + 2; SELECT 3", ["SELECT 1 /* ; /* ; */ ; */ + 2", "SELECT 3"]),
        ("-- only a comment", []),
        ("", []),
    ],
)
def test_a_semicolon_ends_a_question_only_where_it_is_one(written: str, expected: list[str]) -> None:
    assert texts(written) == expected


def test_comments_know_where_they_stand() -> None:
    pieces, behind = split("-- a\n/* b */\nSELECT 1 -- c\n; -- d\n-- e\nSELECT 2; -- f")
    assert [(c.text, c.line, c.place) for c in pieces[0].comments] == [
        ("a", 1, "before"),
        ("b", 2, "before"),
        ("c", 3, "inside"),
    ]
    assert [(c.text, c.place) for c in pieces[1].comments] == [("d", "behind"), ("e", "before")]
    assert [c.text for c in behind] == ["f"]
    assert [piece.line for piece in pieces] == [3, 6]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("SELECT 1 /* not closed", "P-100"),
        ("SELECT 1\x00", "P-103"),
        ("x" * (5 << 20), "P-102"),
    ],
)
def test_what_is_no_file_of_questions_is_refused(written: str, code: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        split(written)
    assert refused.value.code == code


def test_where_duckdb_counts_other_statements_the_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # The fault this is for: words of SQL that the splitter reads otherwise than the parser.
    monkeypatch.setattr("dither.sql.split.embedded.parse_json", lambda text: {"statements": [1, 2, 3]})
    with pytest.raises(QueryRefused, match="not clear"):
        split("SELECT 1; SELECT 2")
