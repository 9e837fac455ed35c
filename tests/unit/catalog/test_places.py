"""The line of a key, however TOML lets it be written."""

from __future__ import annotations

from dither.catalog.places import line_of, places

WRITTEN = '''# a comment with [brackets] = and "quotes"
[tables . "main.visits"]   # 2
columns.age = { type = "integer", bounds = [ # 3
    0,
    # nothing = [here]
    110, # 6
], values = [{a = 1}, [2, "]"]] } # 7
note = """
[tables.fake]
bounds = 1 \\""" still text
""" # 11
other = \'\'\'x = "\'\'\' # 12
'key with = sign' = 1.5 # 13
[[list]] # 14
"a\\u0062" = 2020-01-01 00:00:00 # 15
'''


def test_headers_dotted_and_quoted_keys_lists_and_inline_tables_are_placed() -> None:
    visits = ("tables", "main.visits")
    age = (*visits, "columns", "age")
    assert places(WRITTEN) == {
        ("tables",): 2,
        visits: 2,
        (*visits, "columns"): 3,
        age: 3,
        (*age, "type"): 3,
        (*age, "bounds"): 3,
        (*age, "bounds", 0): 4,
        (*age, "bounds", 1): 6,
        (*age, "values"): 7,
        (*age, "values", 0): 7,
        (*age, "values", 0, "a"): 7,
        (*age, "values", 1): 7,
        (*age, "values", 1, 0): 7,
        (*age, "values", 1, 1): 7,
        (*visits, "note"): 8,
        (*visits, "other"): 12,
        (*visits, "key with = sign"): 13,
        ("list",): 14,
        ("list", "ab"): 15,
    }


def test_a_key_that_is_not_written_has_the_line_of_the_nearest_above_it() -> None:
    assert line_of(WRITTEN, ("tables", "main.visits", "columns", "age", "scale")) == 3
    assert line_of(WRITTEN, ("tables", "main.visits", "privacy_unit")) == 2
    assert line_of(WRITTEN, ("budget", "epsilon")) is None


def test_a_key_of_thousands_of_parts_is_placed_without_thousands_of_entries() -> None:
    assert len(places("a" + ".a" * 5000 + " = 1")) < 20
