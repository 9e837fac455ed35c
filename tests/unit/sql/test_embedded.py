"""The embedded DuckDB's conversions of texts, kept when short, never shared; and what it need not be run for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dither.sql import embedded

QUESTION = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"


def test_a_tree_is_the_readers_own() -> None:
    first = embedded.parse_json(QUESTION)
    first["statements"][0]["node"]["select_list"].clear()
    assert len(embedded.parse_json(QUESTION)["statements"][0]["node"]["select_list"]) == 2


def test_the_same_text_is_parsed_once_and_another_one_anew() -> None:
    embedded._kept.cache_clear()
    for _ in range(3):
        tree = embedded.parse_json(QUESTION)
    assert embedded._kept.cache_info().misses == 1
    assert embedded.parse_json(QUESTION + " ") == tree and embedded._kept.cache_info().misses == 2
    # The tree as a text is none of the question: what is kept goes by what is done to it too.
    assert embedded.print_tree(tree) == "SELECT g, count_star() AS n FROM t GROUP BY g"


def test_long_texts_are_not_kept() -> None:
    embedded._kept.cache_clear()
    long = "SELECT " + "1 + " * embedded.LONGEST_KEPT + "1"
    embedded.parse_json(long)
    assert embedded._kept.cache_info().currsize == 0


def texts(*values: str | None) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


DAYS = np.array(["2020-01-01", "2021-02-03", "NaT"], dtype="datetime64[us]")
ARRAYS: dict[str, Any] = {
    "integers": np.array([3, -(2**62), 0]),
    "integers, some hidden": np.ma.MaskedArray([3, 1, 2], [True, False, True]),
    "integers, none hidden": np.ma.MaskedArray([3, 1, 2], [False, False, False]),
    "all hidden": np.ma.MaskedArray([3, 1], [True, True]),
    "none at all": np.array([], dtype=np.int64),
    "short integers": np.array([3, 1], dtype=np.int32),
    "unsigned integers": np.array([3, 2**63], dtype=np.uint64),
    "doubles": np.array([0.1, -0.0, np.inf]),
    "doubles that are no numbers": np.array([0.1, np.nan]),
    "doubles, some hidden": np.ma.MaskedArray([0.5, 1.5], [True, False]),
    "floats": np.array([0.5, 1.5], dtype=np.float32),
    "booleans": np.array([True, False]),
    "days": DAYS[:2],
    "days and none": DAYS,
    "texts": texts("a", "", "ä"),
    "texts and none": texts("a", None),
    "texts, some hidden": np.ma.MaskedArray(texts("a", "b"), [True, False]),
    "no texts": texts(),
}


@pytest.mark.parametrize("type", [None, "BIGINT", "DOUBLE", "VARCHAR", "DATE", "BOOLEAN", "HUGEINT"])
@pytest.mark.parametrize("values", ARRAYS.values(), ids=ARRAYS)
def test_what_is_said_of_a_column_shown_as_it_is_is_what_running_gives(values: Any, type: str | None) -> None:
    said = embedded.shown(values, type)
    if said is None:
        return
    columns, types = embedded.run("SELECT c FROM t", {"t": {"c": values}}, {"t": {"c": type}} if type else None)
    array, sql_type = said
    found = columns["c"]
    assert (sql_type, array.dtype, array.tolist()) == (types[0], found.dtype, found.tolist())
    assert np.ma.isMaskedArray(array) == np.ma.isMaskedArray(found)
    assert not np.shares_memory(np.ma.getdata(array), np.ma.getdata(values)) or not len(values)


@pytest.mark.parametrize("name", ["integers", "integers, some hidden", "doubles", "texts", "texts, some hidden"])
def test_the_columns_of_most_answers_need_no_running(name: str) -> None:
    type = {"i": "BIGINT", "f": "DOUBLE", "O": "VARCHAR"}[ARRAYS[name].dtype.kind]
    assert embedded.shown(ARRAYS[name], type) is not None
